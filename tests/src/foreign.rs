//! Names and pages that are not ours, however they are dressed: what a browser may be led here by.

/// Values of `Host` that must be refused where this port is listened on.
pub fn hosts(port: u16) -> Vec<String> {
    let plain = ["evil.example", "0x7f.1", "10.0.0.1", "192.168.0.1", ""];
    let made = [
        format!("evil.example:{port}"),
        format!("127.0.0.1.evil.example:{port}"),
        format!("localhost.evil.example:{port}"),
        format!("evil-localhost:{port}"),
        format!("localhost@evil.example:{port}"),
        format!("evil.example#localhost:{port}"),
        format!("localhost:{port}, evil.example"),
        format!("localhost:{port}:80"),
        format!("0.0.0.0:{port}"),
    ];
    plain.map(str::to_owned).into_iter().chain(made).collect()
}

/// Values of `Origin`, likewise.
pub fn origins(port: u16) -> Vec<String> {
    let plain = [
        "http://evil.example",
        "https://evil.example",
        "null",
        "NULL",
        "file://",
        "chrome-extension://abcdefgh",
        "http://",
        "nonsense",
        "http://192.168.0.1",
    ];
    let made = [
        format!("http://evil.example:{port}"),
        format!("http://127.0.0.1.evil.example:{port}"),
        format!("http://localhost.evil.example:{port}"),
        format!("http://evil.example/http://localhost:{port}"),
        format!("http://localhost:{port}@evil.example"),
        format!("http://evil.example#http://localhost:{port}"),
        format!("http://localhost:{port} http://evil.example"),
    ];
    plain.map(str::to_owned).into_iter().chain(made).collect()
}

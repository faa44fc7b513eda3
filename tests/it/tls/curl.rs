//! Debian's curl and h2load, which share no code with the product.

use std::process::Command;

use kit::run::run;

use super::{Encrypted, text};

#[test]
fn curl_speaks_http_1_1_over_both_versions_of_tls() {
    let front = Encrypted::start(&[]);
    let authority = front.authority.file(&front.room, "authority.pem");
    let url = format!("https://localhost:{}/healthz", front.address().port());
    for version in ["1.2", "1.3"] {
        let mut command = Command::new("curl");
        command.args([
            "--silent",
            "--show-error",
            "--fail",
            "--http1.1",
            "--cacert",
            text(&authority),
        ]);
        command.args(["--tlsv1.2", "--tls-max", version]);
        command.args(["--write-out", " %{http_version}", &url]);
        let said = run(command, b"");
        let said = said.text();
        assert!(said.contains(r#""status":"ok""#) && said.ends_with(" 1.1"), "{said}");
    }
    let mut stranger = Command::new("curl");
    stranger.args(["--silent", "--show-error", "--fail", &url]);
    assert_eq!(run(stranger, b"").code, Some(60), "curl does not trust an authority of the tests");
}

#[test]
fn h2load_gets_every_answer_over_tls() {
    let front = Encrypted::start(&[]);
    let url = format!("https://localhost:{}/healthz", front.address().port());
    let mut command = Command::new("h2load");
    command.args(["--h1", "--requests", "2000", "--clients", "20", "--threads", "1", &url]);
    let said = run(command, b"");
    let said = String::from_utf8_lossy(said.good()).into_owned();
    assert!(said.contains("2000 succeeded, 0 failed, 0 errored, 0 timeout"), "{said}");
    assert!(said.contains("TLSv1.3"), "{said}");
}

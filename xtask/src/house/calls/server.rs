//! An MCP server over Streamable HTTP that has one tool, without a session.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

const TOOLS: &str = r#"{"tools":[{"name":"add_days","inputSchema":{"type":"object"}}]}"#;
const RESULT: &str = r#"{"content":[{"type":"text","text":"2026-03-02"}]}"#;
const HELLO: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"way","version":"1"}}"#;

pub(super) struct Server(SocketAddr);

impl Server {
    /// It serves until this program ends.
    pub(super) fn start() -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("cannot listen: {error}");
        let listener = TcpListener::bind("127.0.0.1:0").map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                std::thread::spawn(move || serve(stream));
            }
        });
        Ok(Self(address))
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/mcp", self.0)
    }
}

/// One connection, until it ends.
fn serve(stream: TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    loop {
        let mut length = 0;
        let mut is_post = false;
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line)? == 0 {
                return Ok(());
            }
            is_post |= line.starts_with("POST ");
            let lower = line.to_ascii_lowercase();
            if let Some(value) = lower.trim_end().strip_prefix("content-length: ") {
                length = value.parse().unwrap_or(0);
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body)?;
        let answer = if is_post { answer(&String::from_utf8_lossy(&body)) } else { refused() };
        stream.get_mut().write_all(answer.as_bytes())?;
    }
}

/// There is no stream for what belongs to no request.
fn refused() -> String {
    "HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n".to_owned()
}

fn answer(request: &str) -> String {
    let word = |name: &str| Some(request.split_once(&format!("\"{name}\":"))?.1.trim_start());
    let Some(id) = word("id").and_then(|rest| rest.split([',', '}']).next()) else {
        return "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n".to_owned();
    };
    let method = word("method").and_then(|rest| rest.split('"').nth(1)).unwrap_or_default();
    let outcome = match method {
        "initialize" => format!("\"result\":{HELLO}"),
        "tools/list" => format!("\"result\":{TOOLS}"),
        "tools/call" => format!("\"result\":{RESULT}"),
        "ping" => "\"result\":{}".to_owned(),
        _ => "\"error\":{\"code\":-32601,\"message\":\"unknown method\"}".to_owned(),
    };
    let body = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{outcome}}}");
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

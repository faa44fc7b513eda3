//! The heads of HTTP responses.

use serde_json::Value;

/// What becomes of the connection after a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Close {
    No,
    /// `Connection: close`, and so it is.
    Announced,
    /// Closed without having said so, as a proxy with a short idle time does.
    Silent,
}

impl Close {
    pub(super) fn of(option: &Value) -> Self {
        match option.as_str() {
            Some("announced") => Self::Announced,
            Some("silent") => Self::Silent,
            _ => Self::No,
        }
    }
}

pub(super) fn head(
    status: u16,
    headers: &[(&str, &str)],
    session: Option<&str>,
    length: usize,
    close: Close,
) -> String {
    let mut head = format!("HTTP/1.1 {status} {}\r\n", reason(status));
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if let Some(session) = session {
        head.push_str(&format!("Mcp-Session-Id: {session}\r\n"));
    }
    if close == Close::Announced {
        head.push_str("Connection: close\r\n");
    }
    head.push_str(&format!("Content-Length: {length}\r\n\r\n"));
    head
}

pub(super) fn stream_head(session: Option<&str>) -> Vec<u8> {
    let session = session.map(|id| format!("Mcp-Session-Id: {id}\r\n")).unwrap_or_default();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n{session}Transfer-Encoding: chunked\r\n\r\n"
    )
    .into_bytes()
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        202 => "Accepted",
        302 => "Found",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Status",
    }
}

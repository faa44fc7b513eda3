//! One line as it came from the program under test, and its parts as written.

use crate::scan;

/// The bytes of a line without its newline.
#[derive(Clone, PartialEq, Eq)]
pub struct Line(pub Vec<u8>);

impl Line {
    /// The `id` as spelled.
    pub fn id(&self) -> Option<&[u8]> {
        scan::get(&self.0, "id")
    }

    /// What `method` says.
    pub fn method(&self) -> Option<String> {
        scan::text(scan::get(&self.0, "method")?)
    }

    pub fn is_answer_to(&self, id: &[u8]) -> bool {
        self.id() == Some(id) && scan::get(&self.0, "method").is_none()
    }

    pub fn is_notification(&self, method: &str) -> bool {
        self.id().is_none() && self.method().as_deref() == Some(method)
    }

    /// The bytes of `result`; a test that asks for them expects one.
    #[track_caller]
    pub fn result(&self) -> &[u8] {
        self.try_result().unwrap_or_else(|| panic!("a result was expected: {self}"))
    }

    pub fn try_result(&self) -> Option<&[u8]> {
        scan::get(&self.0, "result")
    }

    /// The bytes of `error`; a test that asks for them expects one.
    #[track_caller]
    pub fn error(&self) -> &[u8] {
        self.try_error().unwrap_or_else(|| panic!("an error was expected: {self}"))
    }

    pub fn try_error(&self) -> Option<&[u8]> {
        scan::get(&self.0, "error")
    }

    #[track_caller]
    pub fn code(&self) -> i64 {
        scan::get(self.error(), "code")
            .and_then(|code| std::str::from_utf8(code).ok()?.parse().ok())
            .unwrap_or_else(|| panic!("an integer code was expected: {self}"))
    }

    #[track_caller]
    pub fn message(&self) -> String {
        scan::get(self.error(), "message")
            .and_then(scan::text)
            .unwrap_or_else(|| panic!("an error message was expected: {self}"))
    }

    /// What is wrong with this line as a JSON-RPC message of a server, if anything.
    pub fn fault(&self) -> Option<&'static str> {
        if std::str::from_utf8(&self.0).is_err() {
            return Some("not UTF-8");
        }
        if !scan::is_json(&self.0) {
            return Some("not JSON");
        }
        let Some(members) = scan::members(&self.0) else {
            return Some("not an object");
        };
        let count = |key: &str| members.iter().filter(|m| m.key == key.as_bytes()).count();
        if scan::get(&self.0, "jsonrpc") != Some(b"\"2.0\"") {
            return Some("not JSON-RPC 2.0");
        }
        if ["\"id\"", "\"method\"", "\"result\"", "\"error\""].iter().any(|key| count(key) > 1) {
            return Some("a member of the envelope is doubled");
        }
        match (count("\"method\""), count("\"result\"") + count("\"error\""), count("\"id\"")) {
            (1, 0, _) | (0, 1, 1) => None,
            _ => Some("neither a request, a notification nor an answer"),
        }
    }
}

impl std::fmt::Debug for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// For messages of failed tests: long lines are cut.
impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const SHOWN: usize = 400;
        let shown = String::from_utf8_lossy(&self.0[..self.0.len().min(SHOWN)]);
        match self.0.len() {
            len if len > SHOWN => write!(f, "{shown}… ({len} bytes)"),
            _ => f.write_str(&shown),
        }
    }
}

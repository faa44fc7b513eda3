//! The answer as it came, body complete.

use std::fmt;

/// An answer. Its `Debug` shows neither values of headers nor the body: both may hold tokens.
#[derive(Clone, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, Vec<u8>)>,
    pub body: Vec<u8>,
}

impl Response {
    /// The values of all fields of this name that are visible ASCII.
    pub fn texts<'s, 'n>(&'s self, name: &'n str) -> impl Iterator<Item = &'s str> + use<'s, 'n> {
        let named = self.headers.iter().filter(move |(own, _)| own.eq_ignore_ascii_case(name));
        named.filter_map(|(_, value)| {
            let visible = value.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\t'));
            if visible { str::from_utf8(value).ok() } else { None }
        })
    }

    /// The value of the first field of this name, if it is visible ASCII.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.texts(name).next()
    }

    pub fn is_success(&self) -> bool {
        matches!(self.status, 200..=299)
    }
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Response")
            .field("status", &self.status)
            .field("headers", &names)
            .field("body_bytes", &self.body.len())
            .finish()
    }
}

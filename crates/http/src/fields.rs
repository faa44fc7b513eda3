//! The header fields of one message, and what a field may consist of.

use crate::bad_head::BadHead;
use httparse::Header;

/// The header fields of a message in the order received. Names are compared without case.
#[derive(Debug, Clone, Default)]
pub struct Headers<'a> {
    fields: Vec<Header<'a>>,
}

impl<'a> Headers<'a> {
    pub(crate) fn new(fields: &[Header<'a>]) -> Self {
        Self { fields: fields.to_vec() }
    }

    /// The value of the first field of this name, without the white space around it.
    pub fn get(&self, name: &str) -> Option<&'a [u8]> {
        self.all(name).next()
    }

    /// The values of all fields of this name.
    pub fn all<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'a [u8]> + use<'s, 'a> {
        let named = self.fields.iter().filter(move |field| field.name.eq_ignore_ascii_case(name));
        named.map(|field| trim(field.value))
    }

    /// The first value of this name as text: visible ASCII, with spaces inside at most.
    pub fn text(&self, name: &str) -> Option<&'a str> {
        let value = self.get(name)?;
        // RFC 9110, 5.5: bytes beyond ASCII are opaque. What is read as text here is compared and
        // shown, so that it must mean the same to everyone.
        let visible = value.iter().all(|byte| matches!(byte, b' '..=b'~'));
        if visible { str::from_utf8(value).ok() } else { None }
    }

    /// The only value of this name; a second field of the name is an error, whatever it says.
    pub fn once(&self, name: &'static str) -> Result<Option<&'a [u8]>, BadHead> {
        let mut values = self.all(name);
        let first = values.next();
        if values.next().is_some() { Err(BadHead::Repeated(name)) } else { Ok(first) }
    }

    /// The members of a comma-separated list, over all fields of this name.
    pub fn tokens<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'a [u8]> + use<'s, 'a> {
        let members = self.all(name).flat_map(|value| value.split(|byte| *byte == b','));
        members.map(trim).filter(|member| !member.is_empty())
    }

    /// Is the token in the list of this name? Compared without case.
    pub fn has_token(&self, name: &str, token: &str) -> bool {
        self.tokens(name).any(|member| member.eq_ignore_ascii_case(token.as_bytes()))
    }

    pub fn iter(&self) -> impl Iterator<Item = (&'a str, &'a [u8])> {
        self.fields.iter().map(|field| (field.name, trim(field.value)))
    }
}

/// May this be the name of a header field? (An RFC 9110 token.)
pub fn is_field_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(is_token_byte)
}

/// May this be the value of a header field? Line ends and other control bytes may not.
pub fn is_field_value(value: &[u8]) -> bool {
    value.iter().all(|byte| is_value_byte(*byte))
}

pub(crate) fn is_value_byte(byte: u8) -> bool {
    // RFC 9110, 5.5: CR, LF and NUL in a value are dangerous: a reader may take them for the end of
    // the field and the start of another.
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

fn is_token_byte(byte: u8) -> bool {
    // RFC 9110, 5.6.2.
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// HTTP's optional white space is space and tab, and nothing else: what more a lenient reader
/// trims, it may take for another value than the next one does.
pub(crate) fn trim(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers<'a>(fields: &[(&'a str, &'a [u8])]) -> Headers<'a> {
        let fields: Vec<_> = fields.iter().map(|(name, value)| Header { name, value }).collect();
        Headers::new(&fields)
    }

    #[test]
    fn fields_are_found_without_regard_to_case() {
        let headers = headers(&[("ACCEPT", b" a "), ("accept", b"b"), ("X", b"")]);
        assert_eq!(headers.get("Accept"), Some(&b"a"[..]));
        assert_eq!(headers.all("accept").collect::<Vec<_>>(), [b"a", b"b"]);
        assert_eq!(headers.get("x"), Some(&b""[..]));
        assert_eq!(headers.get("y"), None);
        assert_eq!(headers.once("Accept"), Err(BadHead::Repeated("Accept")));
        assert_eq!(headers.once("x"), Ok(Some(&b""[..])));
        assert_eq!(headers.once("y"), Ok(None));
        assert_eq!(headers.iter().count(), 3);
    }

    #[test]
    fn text_is_visible_ascii() {
        let headers = headers(&[("a", b"Bearer x"), ("b", b"caf\xc3\xa9"), ("c", b"x\ty")]);
        assert_eq!(headers.text("A"), Some("Bearer x"));
        assert_eq!(headers.text("b"), None);
        assert_eq!(headers.text("c"), None);
    }

    #[test]
    fn lists_span_fields() {
        let headers = headers(&[("connection", b"a,, Keep-Alive"), ("Connection", b"\tb ,")]);
        let tokens: Vec<_> = headers.tokens("Connection").collect();
        assert_eq!(tokens, [&b"a"[..], b"Keep-Alive", b"b"]);
        assert!(headers.has_token("connection", "keep-alive"));
        assert!(!headers.has_token("connection", "keep"));
    }

    #[test]
    fn what_a_field_may_be() {
        for name in ["Accept", "x-1", "a.b_c~"] {
            assert!(is_field_name(name), "{name}");
        }
        for name in ["", "a b", "a:", "é", "a\r", "(a)"] {
            assert!(!is_field_name(name), "{name}");
        }
        assert!(is_field_value(b"Bearer \t caf\xc3\xa9"));
        for value in [&b"a\nb"[..], b"a\rb", b"\0", b"\x7f", b"\x0bchunked"] {
            assert!(!is_field_value(value), "{value:?}");
        }
    }
}

//! Fields of a form, and of a query: `application/x-www-form-urlencoded`. Pure.

use trunkline_http::{decode_value, encode_value};

/// In the order they came; a name may come several times.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Form(Vec<(String, String)>);

/// More are not read: nobody writes them by hand.
const MOST_FIELDS: usize = 2_000;

impl Form {
    /// What cannot be decoded is left out.
    pub(crate) fn read(text: &str) -> Self {
        let pairs = text.split('&').filter(|pair| !pair.is_empty()).take(MOST_FIELDS);
        let fields = pairs.filter_map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((plain(name)?, plain(value)?))
        });
        Self(fields.collect())
    }

    pub(crate) fn read_body(body: &[u8]) -> Self {
        std::str::from_utf8(body).map(Self::read).unwrap_or_default()
    }

    /// The first of this name.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// The first of this name without the blanks around it; `None` if it is blank.
    pub(crate) fn filled(&self, name: &str) -> Option<&str> {
        self.get(name).map(str::trim).filter(|value| !value.is_empty())
    }

    /// A field that is there but empty is no tick.
    pub(crate) fn is_ticked(&self, name: &str) -> bool {
        self.all(name).any(|value| !value.trim().is_empty())
    }

    pub(crate) fn all<'s, 'n>(
        &'s self,
        name: &'n str,
    ) -> impl Iterator<Item = &'s str> + use<'s, 'n> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// A value for a query: everything but letters and digits is escaped.
pub(crate) fn encode(text: &str) -> String {
    encode_value(text).into_owned()
}

/// Browsers end lines with CR LF, whatever the person's system does.
fn plain(text: &str) -> Option<String> {
    decode_value(text).ok().map(|text| text.replace("\r\n", "\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_decoded_once() {
        let form = Form::read("a=1+2&b=%2B%26&a=x%0D%0Ay&c&d=%25zz&e=%zz&=z&&f=+");
        for (name, expected) in [
            ("a", Some("1 2")),
            ("b", Some("+&")),
            ("c", Some("")),
            ("d", Some("%zz")),
            ("e", None),
            ("", Some("z")),
            ("f", Some(" ")),
        ] {
            assert_eq!(form.get(name), expected, "{name}");
        }
        assert_eq!(form.all("a").collect::<Vec<_>>(), ["1 2", "x\ny"]);
        assert_eq!(
            (form.filled("f"), form.is_ticked("c"), form.is_ticked("a")),
            (None, false, true)
        );
        assert_eq!(form.iter().count(), 7);
    }

    #[test]
    fn what_is_encoded_is_read_again() {
        for text in ["", "a b", "a+b&c=d", "ä/ö?#%", "..", "<script>"] {
            let read = Form::read(&format!("x={}", encode(text)));
            assert_eq!(read.get("x"), Some(text));
            assert!(!encode(text).contains(['&', '=', '+', '/', '<']), "{text}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_no_form() {
        assert_eq!(Form::read_body(b"a=\xff"), Form::default());
        assert_eq!(Form::read(&"a&".repeat(10 * MOST_FIELDS)).iter().count(), MOST_FIELDS);
    }
}

//! `Pattern`: what stands behind `like`.

use serde_json::Value;

/// Texts with any letters between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    /// What the text begins with.
    first: Box<str>,
    /// What follows, in this order and apart from each other.
    between: Box<[Box<str>]>,
    /// What the text ends with; `None`: there is no wildcard, the text is `first`.
    last: Option<Box<str>>,
}

impl Pattern {
    /// From Cedar's JSON form.
    pub(super) fn read(elements: &Value) -> Option<Self> {
        let (mut parts, mut part) = (Vec::new(), String::new());
        for element in elements.as_array()? {
            match element {
                Value::String(word) if word == "Wildcard" => {
                    parts.push(std::mem::take(&mut part).into_boxed_str());
                }
                element => part.push_str(element.get("Literal")?.as_str()?),
            }
        }
        let last = part.into_boxed_str();
        let mut parts = parts.into_iter();
        Some(match parts.next() {
            None => Self { first: last, between: Box::default(), last: None },
            Some(first) => {
                let between = parts.filter(|part| !part.is_empty()).collect();
                Self { first, between, last: Some(last) }
            }
        })
    }

    pub(super) fn fits(&self, text: &str) -> bool {
        let Some(last) = &self.last else { return *text == *self.first };
        let Some(mut rest) = text.strip_prefix(&*self.first) else { return false };
        for part in &self.between {
            // The earliest place leaves the most to those behind it.
            match rest.split_once(&**part) {
                Some((_, behind)) => rest = behind,
                None => return false,
            }
        }
        rest.ends_with(&**last)
    }
}

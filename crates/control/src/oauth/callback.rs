//! What the browser brings back, and whether it is an answer to what was asked (RFC 9207).

use trunkline_http::{BadPercent, read_form};

use crate::oauth::secret::Secret;

/// The parameters of the redirect, not yet believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Callback {
    pub state: String,
    pub code: Option<Secret>,
    pub iss: Option<String>,
    error: Option<String>,
    description: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadCallback {
    #[error("the answer cannot be read: {0}")]
    Form(#[from] BadPercent),
    #[error("the answer says `{0}` twice")]
    Repeated(&'static str),
    #[error("the answer does not say what it answers (`state`)")]
    NoState,
    #[error("the answer does not say which authorization server gave it (`iss`)")]
    NoIssuer,
    #[error("the answer is from another authorization server than was asked")]
    OtherIssuer,
    #[error("the authorization server refused: {0}")]
    Denied(String),
    #[error("the answer has no code")]
    NoCode,
}

impl Callback {
    /// From the query of the redirect.
    pub fn parse(query: &str) -> Result<Self, BadCallback> {
        let fields = read_form(query)?;
        let once = |name: &'static str| {
            let mut named = fields.iter().filter(|(own, _)| own == name).map(|(_, value)| value);
            let first = named.next().cloned();
            if named.next().is_some() { Err(BadCallback::Repeated(name)) } else { Ok(first) }
        };
        Ok(Self {
            state: once("state")?.filter(|state| !state.is_empty()).ok_or(BadCallback::NoState)?,
            code: once("code")?.filter(|code| !code.is_empty()).map(Secret::new),
            iss: once("iss")?,
            error: once("error")?,
            description: once("error_description")?,
        })
    }

    /// As the parameters come from a program that has read the query itself.
    pub fn new(state: &str, code: &str, iss: Option<&str>) -> Self {
        Self {
            state: state.to_owned(),
            code: Some(Secret::new(code)),
            iss: iss.map(str::to_owned),
            error: None,
            description: None,
        }
    }

    /// Does it bring a code?
    pub fn has_code(&self) -> bool {
        self.code.is_some() && self.error.is_none()
    }

    /// The code, if this is the answer of `issuer`. Nothing of an answer is acted on or shown before
    /// it is known whose it is.
    pub(crate) fn check(&self, issuer: &str, says_iss: bool) -> Result<&Secret, BadCallback> {
        match &self.iss {
            Some(iss) if iss != issuer => return Err(BadCallback::OtherIssuer),
            None if says_iss => return Err(BadCallback::NoIssuer),
            _ => {}
        }
        if let Some(error) = &self.error {
            return Err(BadCallback::Denied(shown(error, self.description.as_deref())));
        }
        self.code.as_ref().ok_or(BadCallback::NoCode)
    }
}

/// An error of the authorization server's as it may be shown: it writes the words.
pub(crate) fn shown(error: &str, description: Option<&str>) -> String {
    let clean = |text: &str, most: usize| -> String {
        text.chars().filter(|c| matches!(c, ' '..='~')).take(most).collect()
    };
    match description {
        Some(description) => format!("{} ({})", clean(error, 60), clean(description, 200)),
        None => clean(error, 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_that_cannot_be_read() {
        for (query, bad) in [
            ("", BadCallback::NoState),
            ("code=c", BadCallback::NoState),
            ("state=&code=c", BadCallback::NoState),
            ("state=s&state=s&code=c", BadCallback::Repeated("state")),
            ("state=s&code=c&code=d", BadCallback::Repeated("code")),
            ("state=s&code=c&iss=a&iss=a", BadCallback::Repeated("iss")),
            ("state=%z", BadCallback::Form(BadPercent::Digits)),
        ] {
            assert_eq!(Callback::parse(query), Err(bad), "{query}");
        }
    }

    #[test]
    fn the_table_of_the_specification_and_what_follows_it() {
        let denied = |words: &str| Err(BadCallback::Denied(words.to_owned()));
        for (query, says_iss, expected) in [
            ("state=s&code=c&iss=https%3A%2F%2Fa", true, Ok("c")),
            ("state=s&code=c&iss=https%3A%2F%2Fa", false, Ok("c")),
            ("state=s&code=c", false, Ok("c")),
            ("state=s&code=c", true, Err(BadCallback::NoIssuer)),
            ("state=s&code=c&iss=https%3A%2F%2Fb", true, Err(BadCallback::OtherIssuer)),
            ("state=s&code=c&iss=https%3A%2F%2Fb", false, Err(BadCallback::OtherIssuer)),
            ("state=s&code=c&iss=https%3A%2F%2Fa%2F", false, Err(BadCallback::OtherIssuer)),
            ("state=s&code=c&iss=HTTPS%3A%2F%2Fa", false, Err(BadCallback::OtherIssuer)),
            ("state=s&code=c&iss=", false, Err(BadCallback::OtherIssuer)),
            ("state=s&error=access_denied", false, denied("access_denied")),
            ("state=s&error=e&error_description=no%0a%1b%5bm", false, denied("e (no[m)")),
            ("state=s&code=c&error=e", false, denied("e")),
            // Not even shown: it is not known who says it.
            ("state=s&error=e&iss=evil", false, Err(BadCallback::OtherIssuer)),
            ("state=s&error=e", true, Err(BadCallback::NoIssuer)),
            ("state=s", false, Err(BadCallback::NoCode)),
            ("state=s&code=", false, Err(BadCallback::NoCode)),
        ] {
            let callback = Callback::parse(query).unwrap();
            let got = callback.check("https://a", says_iss).map(|code| code.reveal().to_owned());
            assert_eq!(got, expected.map(str::to_owned), "{query} {says_iss}");
        }
    }

    #[test]
    fn debug_shows_no_code() {
        let shown = format!("{:?}", Callback::parse("state=s&code=s3cret").unwrap());
        assert!(!shown.contains("s3cret"), "{shown}");
    }
}

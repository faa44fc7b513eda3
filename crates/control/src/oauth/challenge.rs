//! What a server says when it refuses a request: the `Bearer` challenge of `WWW-Authenticate`.
//!
//! RFC 9110, 11.6.1: a header holds several challenges, each a scheme with either one token68 or
//! parameters, and the comma separates both. So it is read token by token.

/// What matters of a `Bearer` challenge. All of it was said by a server and is trusted with nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Challenge {
    /// Where its metadata is.
    pub resource_metadata: Option<String>,
    /// The scopes that the refused request needs.
    pub scope: Option<String>,
    pub error: Option<String>,
}

/// Most bytes of one header that are looked at.
const LONGEST: usize = 16 * 1024;

impl Challenge {
    /// From the values of all `WWW-Authenticate` fields: the first `Bearer` challenge that names
    /// metadata, or else the first one.
    pub fn find<'a>(values: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let values = values.into_iter().filter(|value| value.len() <= LONGEST);
        let bearers: Vec<Self> = values.flat_map(bearers).collect();
        let named = bearers.iter().find(|bearer| bearer.resource_metadata.is_some());
        named.or(bearers.first()).cloned()
    }

    /// Does the request need more than was granted?
    pub fn wants_more_scope(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }
}

fn bearers(value: &str) -> Vec<Challenge> {
    let mut found = Vec::new();
    let mut current: Option<Challenge> = None;
    let mut rest = Rest(value);
    loop {
        rest.skip(|c| c.is_ascii_whitespace() || c == ',');
        let word = rest.take(is_token);
        if word.is_empty() {
            break; // the end, or something that no grammar allows: what was read before counts
        }
        let spaced = rest.skip(|c| c == ' ' || c == '\t');
        match rest.parameter() {
            Some(text) => {
                if let Some(challenge) = &mut current {
                    challenge.set(word, text);
                }
            }
            None => {
                found.extend(current.take());
                current = word.eq_ignore_ascii_case("bearer").then(Challenge::default);
                // A token68 stands between the scheme and the next comma.
                if spaced && !rest.looks_like_parameter() {
                    rest.take(|c| is_token(c) || c == '/' || c == '=');
                }
            }
        }
    }
    found.extend(current);
    found
}

impl Challenge {
    /// The first of a name counts: a second one is somebody's addition.
    fn set(&mut self, name: &str, text: String) {
        let place = match name.to_ascii_lowercase().as_str() {
            "resource_metadata" => &mut self.resource_metadata,
            "scope" => &mut self.scope,
            "error" => &mut self.error,
            _ => return,
        };
        place.get_or_insert(text);
    }
}

struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    fn take(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let end = self.0.find(|c| !wanted(c)).unwrap_or(self.0.len());
        let (taken, rest) = self.0.split_at_checked(end).unwrap_or((self.0, ""));
        self.0 = rest;
        taken
    }

    fn skip(&mut self, unwanted: impl Fn(char) -> bool) -> bool {
        !self.take(unwanted).is_empty()
    }

    /// Behind a name: `=` and a token or quoted text. A scheme is followed by neither.
    fn parameter(&mut self) -> Option<String> {
        let rest = self.0.strip_prefix('=')?.trim_start_matches([' ', '\t']);
        let before = std::mem::replace(&mut self.0, rest);
        let text = if rest.starts_with('"') {
            self.quoted()
        } else {
            Some(self.take(|c| is_token(c) || c == ':' || c == '/').to_owned())
        };
        if text.is_none() {
            self.0 = before;
        }
        text
    }

    fn quoted(&mut self) -> Option<String> {
        let mut text = String::new();
        let mut characters = self.0.strip_prefix('"')?.chars();
        loop {
            match characters.next()? {
                '"' => break,
                '\\' => text.push(characters.next()?),
                other => text.push(other),
            }
        }
        self.0 = characters.as_str();
        Some(text)
    }

    fn looks_like_parameter(&self) -> bool {
        let name_end = self.0.find(|c| !is_token(c)).unwrap_or(self.0.len());
        let behind = self.0.get(name_end..).unwrap_or_default().trim_start_matches([' ', '\t']);
        // `abc==` is a token68 with padding, `abc=x` a parameter.
        behind.strip_prefix('=').is_some_and(|value| {
            !value.is_empty() && !value.starts_with(['=', ',']) && name_end > 0
        })
    }
}

fn is_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn challenge(metadata: &str, scope: &str, error: &str) -> Option<Challenge> {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let (resource_metadata, scope) = (some(metadata), some(scope));
        Some(Challenge { resource_metadata, scope, error: some(error) })
    }

    #[test]
    fn challenges_as_servers_write_them() {
        let url = "https://h/.well-known/oauth-protected-resource";
        for (values, expected) in [
            (&[][..], None),
            (&[""][..], None),
            (&["Basic realm=\"x\""], None),
            (&["Bearer"], challenge("", "", "")),
            (&["bEARER"], challenge("", "", "")),
            (
                &[
                    "Bearer resource_metadata=\"https://h/.well-known/oauth-protected-resource\",\t scope=\"files:read a\"",
                ],
                challenge(url, "files:read a", ""),
            ),
            (
                &[
                    "Bearer realm=\"a, b=c\", error=\"invalid_token\", Resource_Metadata = \"https://h/.well-known/oauth-protected-resource\"",
                ],
                challenge(url, "", "invalid_token"),
            ),
            (
                &["Bearer error=insufficient_scope, scope=a:b/c"],
                challenge("", "a:b/c", "insufficient_scope"),
            ),
            (
                &["Negotiate abcd==, Bearer scope=\"x\", Basic realm=\"scope\""],
                challenge("", "x", ""),
            ),
            (
                &["Basic scope=\"no\", resource_metadata=\"no\"", "Bearer scope=\"yes\""],
                challenge("", "yes", ""),
            ),
            (&["Bearer scope=\"a\"", "Bearer resource_metadata=u"], challenge("u", "", "")),
            (&["Bearer scope=\"a\", scope=\"b\""], challenge("", "a", "")),
            (&["Bearer scope=\"a\\\"b\\\\c\""], challenge("", "a\"b\\c", "")),
            (&["Bearer error=\"x\", scope=\"unterminated"], challenge("", "", "x")),
            (&["Bearer error=\"x\", \"junk\", scope=y"], challenge("", "", "x")),
            (&[",, ,Bearer ,scope=a"], challenge("", "a", "")),
            (&["DPoP algs=\"ES256\", Bearer error=\"e\""], challenge("", "", "e")),
        ] {
            assert_eq!(Challenge::find(values.iter().copied()), expected, "{values:?}");
        }
        assert_eq!(
            Challenge::find([format!("Bearer scope={}", "x".repeat(LONGEST)).as_str()]),
            None
        );
        assert!(Challenge::find(["Bearer error=insufficient_scope"]).unwrap().wants_more_scope());
    }
}

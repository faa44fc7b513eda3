//! A REST client for a running `serve`.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use trunkline_control::net::{Client, Limits, Request, Response};
use trunkline_http::Url;

/// `serve` may ask servers and issuers before it answers, so its deadline is longer than theirs.
const LIMITS: Limits = Limits { deadline: Duration::from_secs(60), max_body: 16 * 1024 * 1024 };

/// Where `serve` listens unless it is told otherwise.
pub(crate) const USUAL: &str = "http://127.0.0.1:3006";

#[derive(Clone)]
pub(crate) struct Rest {
    base: Url,
    token: Option<String>,
}

/// Why a request got no usable answer.
#[derive(Debug)]
pub(crate) enum Unanswered {
    /// No connection could be made.
    Away(String),
    /// The token that was shown is not known there, or none was shown.
    Stranger { showed_token: bool },
    /// The status, and what was said.
    Refused(u16, String),
}

impl std::fmt::Display for Unanswered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Away(why) | Self::Refused(_, why) => f.write_str(why),
            Self::Stranger { showed_token: true } => {
                f.write_str("the token is not accepted there: it is wrong, expired or revoked")
            }
            Self::Stranger { showed_token: false } => f.write_str("a token is needed there"),
        }
    }
}

impl Rest {
    pub(crate) fn new(base: Url, token: Option<String>) -> Self {
        Self { base, token }
    }

    /// The address, without what may be secret.
    pub(crate) fn address(&self) -> String {
        self.base.origin().to_string()
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Value, Unanswered> {
        self.ask("GET", path, None).await
    }

    /// Asks, and reads the answer as JSON; nothing is null.
    pub(crate) async fn ask(
        &self,
        method: &'static str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, Unanswered> {
        let answer = self.send(method, path, body).await?;
        let value: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        match answer.status {
            _ if answer.is_success() => Ok(value),
            401 => Err(Unanswered::Stranger { showed_token: self.token.is_some() }),
            status => Err(Unanswered::Refused(status, words(status, &value))),
        }
    }

    /// The answer, whatever it is.
    pub(crate) async fn send(
        &self,
        method: &'static str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Response, Unanswered> {
        let away = |why: String| Unanswered::Away(why);
        let url = self.base.join(path).map_err(|bad| away(bad.to_string()))?;
        // A POST without a body still carries `Content-Length: 0` (RFC 9110 §8.6).
        let bytes = body.map(|body| body.to_string().into_bytes());
        let bytes = bytes.or_else(|| (method == "POST").then(Vec::new));
        let mut request = Request::new(method, url, bytes);
        if request.body.is_some() {
            request = request.header("Content-Type", "application/json");
        }
        if let Some(token) = &self.token {
            request = request.header("Authorization", &format!("Bearer {token}"));
        }
        // No address is refused: the user named this one.
        let client = Client::new(Arc::new(|_| Ok(())));
        client.send(request, LIMITS).await.map_err(|error| away(error.to_string()))
    }
}

/// What a problem says, with its advice; of several mistakes, every one.
fn words(status: u16, body: &Value) -> String {
    let text = |name| body.get(name).and_then(Value::as_str);
    let mistakes = body.get("errors").and_then(Value::as_array).into_iter().flatten();
    let mistakes: Vec<String> = mistakes.filter_map(mistake).collect();
    if !mistakes.is_empty() {
        return mistakes.join("; ");
    }
    let why = text("detail").map_or_else(|| format!("HTTP {status}"), str::to_owned);
    match text("hint") {
        Some(hint) => format!("{why} ({hint})"),
        None => why,
    }
}

/// `url: is not a URL that can be used`: the field by its name, for users who wrote flags and no JSON.
fn mistake(error: &Value) -> Option<String> {
    let pointer = error.get("pointer")?.as_str()?.trim_start_matches('/');
    let place = pointer.strip_prefix("connection_config/").unwrap_or(pointer);
    Some(format!("{place}: {}", error.get("message")?.as_str()?))
}

/// The admin's token that a platform keeps in its data directory, if we may read it.
pub(crate) fn admin_token(data_dir: &Path) -> Option<String> {
    let text = std::fs::read_to_string(data_dir.join("admin-token")).ok()?;
    Some(text.trim().to_owned()).filter(|token| !token.is_empty())
}

/// A name as it stands in a path.
pub(crate) fn escaped(text: &str) -> String {
    let escape = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(escape).collect()
}

impl std::fmt::Debug for Rest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rest").field("base", &self.address()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_refusal_says_what_is_wrong_and_what_to_do() {
        let one = |pointer: &str, message: &str| json!({"pointer": pointer, "message": message});
        let errors = [one("/name", "is empty"), one("/connection_config/url", "is no URL")];
        let hint = "correct everything listed in `errors`";
        let table = [
            (json!({"detail": "no", "hint": "do this"}), "no (do this)"),
            (json!({"detail": "no"}), "no"),
            (json!(null), "HTTP 418"),
            (
                json!({"detail": "2 mistakes", "hint": hint, "errors": errors}),
                "name: is empty; url: is no URL",
            ),
        ];
        for (body, expected) in table {
            assert_eq!(words(418, &body), expected);
        }
    }
}

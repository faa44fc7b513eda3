//! Token requests and what their answers mean.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;
use trunkline_http::{Url, encode_value, write_form};

use crate::net::{Request, Response};
use crate::oauth::callback::shown;
use crate::oauth::registration::{Auth, OAuthClient};
use crate::oauth::secret::Secret;

const FORM: &str = "application/x-www-form-urlencoded";
/// Most bytes of a token: it has to fit a header.
const LONGEST: usize = 16 * 1024;
/// Longest life of a token that is believed, so that sums stay in range: ten years.
const LONGEST_LIFE: u64 = 10 * 366 * 24 * 3600;
/// Longest pause a server can ask for.
const LONGEST_PAUSE: u64 = 60;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tokens {
    pub(super) access: Secret,
    pub(super) refresh: Option<Secret>,
    pub(super) lifetime: Option<Duration>,
    pub(super) scope: Option<String>,
}

/// What an answer of the token endpoint means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TokenAnswer {
    Granted(Tokens),
    /// It will say the same next time.
    Refused(String),
    /// It may say something else later.
    Later {
        why: String,
        after: Option<Duration>,
    },
}

/// A request to an endpoint of the issuer, in the client's name.
pub(crate) fn request(endpoint: Url, client: &OAuthClient, fields: &[(&str, &str)]) -> Request {
    written(endpoint, client, fields, SecretPlacement::AsAgreed)
}

/// A request to an endpoint that has refused the usual one: some look for a secret in the form (the revocation of
/// the Python SDK, whatever was agreed on, and an empty one where there is none).
pub(super) fn request_with_form(
    endpoint: Url,
    client: &OAuthClient,
    fields: &[(&str, &str)],
) -> Request {
    written(endpoint, client, fields, SecretPlacement::AlsoInForm)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SecretPlacement {
    AsAgreed,
    AlsoInForm,
}

fn written(
    endpoint: Url,
    client: &OAuthClient,
    fields: &[(&str, &str)],
    secrets: SecretPlacement,
) -> Request {
    let mut fields = fields.to_vec();
    let id = client.id.as_str();
    let mut header = None;
    // Also beside a header that says it: RFC 6749 allows it, and some look for it only here.
    fields.push(("client_id", id));
    match &client.auth {
        Auth::None if secrets == SecretPlacement::AlsoInForm => fields.push(("client_secret", "")),
        Auth::None => {}
        Auth::Post(secret) => fields.push(("client_secret", secret.reveal())),
        Auth::Basic(secret) => {
            if secrets == SecretPlacement::AlsoInForm {
                fields.push(("client_secret", secret.reveal()));
            }
            // RFC 6749, 2.3.1: both are encoded like a form before they are joined.
            let pair = format!("{}:{}", encode_value(id), encode_value(secret.reveal()));
            header = Some(format!("Basic {}", BASE64_STANDARD.encode(pair)));
        }
    }
    let body = write_form(&fields).into_bytes();
    // Not repeatable: codes are good once, and so are refresh tokens that their server rotates.
    let request = Request::post(endpoint, FORM, body).header("Accept", "application/json");
    match header {
        Some(header) => request.header("Authorization", &header),
        None => request,
    }
}

pub(super) fn judge(answer: &Response) -> TokenAnswer {
    let document: Option<Value> = serde_json::from_slice(&answer.body).ok();
    match answer.status {
        200 => match document.as_ref().map(tokens) {
            Some(Ok(tokens)) => TokenAnswer::Granted(tokens),
            // An answer with 200 that cannot be read is a fault of the server's, not a refusal: the
            // grant stays.
            Some(Err(why)) => later(format!("its answer {why}")),
            None => later("its answer is not JSON".to_owned()),
        },
        // RFC 6749, 5.2: errors come with 400 or 401; some servers use 403.
        status @ (400..=403) => {
            let text = |name: &str| document.as_ref()?.get(name)?.as_str();
            match text("error") {
                // These say that the issuer is at fault; the grant is not lost by it.
                Some("temporarily_unavailable" | "server_error" | "slow_down") => {
                    later(format!("it answered {status}"))
                }
                Some(error) => TokenAnswer::Refused(shown(error, text("error_description"))),
                // A 401 without words is about the client, which will not get better by itself.
                None if status == 401 => TokenAnswer::Refused("invalid_client".to_owned()),
                // A 400 or 403 without a word may come from a proxy in between.
                None => later(format!("it answered {status}")),
            }
        }
        status => {
            let seconds = answer.text("retry-after").and_then(|text| text.trim().parse().ok());
            // Bounded: a server that says "in a day" must not switch a login off for a day.
            let after = seconds.map(|seconds: u64| Duration::from_secs(seconds.min(LONGEST_PAUSE)));
            TokenAnswer::Later { why: format!("it answered {status}"), after }
        }
    }
}

/// Does it not know the client, or not by what it was shown?
pub(crate) fn is_about_client(answer: &Response) -> bool {
    let document: Option<Value> = serde_json::from_slice(&answer.body).ok();
    let error = document.as_ref().and_then(|document| document.get("error")?.as_str());
    // RFC 6749, 5.2: 401 if the client tried a header, 400 if it did not.
    answer.status == 401 || (answer.status == 400 && error == Some("invalid_client"))
}

fn later(why: String) -> TokenAnswer {
    TokenAnswer::Later { why, after: None }
}

fn tokens(document: &Value) -> Result<Tokens, &'static str> {
    let token = |name: &str| -> Result<Option<Secret>, &'static str> {
        match document.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => {
                let text =
                    value.as_str().filter(|text| is_token(text)).ok_or("holds no usable token")?;
                Ok(Some(Secret::new(text)))
            }
        }
    };
    let access = token("access_token")?.ok_or("holds no access token")?;
    let kind = document.get("token_type").and_then(Value::as_str).ok_or("has no token type")?;
    // RFC 6749, 5.1: the type is compared without case. Another one (DPoP, mac) could not be sent
    // as Bearer.
    if !kind.eq_ignore_ascii_case("bearer") {
        return Err("is of another type than Bearer");
    }
    let lifetime = match document.get("expires_in") {
        None | Some(Value::Null) => None,
        Some(value) => {
            let seconds = value.as_u64().or_else(|| whole_seconds(value));
            let seconds = seconds.ok_or("has an `expires_in` that is no number of seconds")?;
            // Bounded, so that adding it to the clock cannot overflow.
            Some(Duration::from_secs(seconds.min(LONGEST_LIFE)))
        }
    };
    let scope = document.get("scope").and_then(Value::as_str).map(str::to_owned);
    Ok(Tokens { access, refresh: token("refresh_token")?, lifetime, scope })
}

/// Some write 3600.0.
fn whole_seconds(value: &Value) -> Option<u64> {
    let text = value.as_number()?.to_string();
    text.strip_suffix(".0")?.parse().ok()
}

/// What can stand in a header, without a space: RFC 6750's token68 and whatever else is visible.
fn is_token(text: &str) -> bool {
    !text.is_empty() && text.len() <= LONGEST && text.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Response {
        let headers =
            headers.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()));
        Response { status, headers: headers.collect(), body: body.as_bytes().to_vec() }
    }

    fn granted(refresh: Option<&str>, seconds: Option<u64>, scope: Option<&str>) -> TokenAnswer {
        TokenAnswer::Granted(Tokens {
            access: Secret::new("a"),
            refresh: refresh.map(Secret::new),
            lifetime: seconds.map(Duration::from_secs),
            scope: scope.map(str::to_owned),
        })
    }

    #[test]
    fn answers_that_grant() {
        for (body, expected) in [
            (r#"{"access_token":"a","token_type":"Bearer"}"#, granted(None, None, None)),
            (
                r#"{"access_token":"a","token_type":"bearer","expires_in":3600,"refresh_token":"r","scope":"x y"}"#,
                granted(Some("r"), Some(3600), Some("x y")),
            ),
            (
                r#"{"access_token":"a","token_type":"BEARER","expires_in":60.0}"#,
                granted(None, Some(60), None),
            ),
            (
                r#"{"access_token":"a","token_type":"Bearer","expires_in":0,"refresh_token":null}"#,
                granted(None, Some(0), None),
            ),
            (
                r#"{"access_token":"a","token_type":"Bearer","expires_in":18446744073709551615}"#,
                granted(None, Some(LONGEST_LIFE), None),
            ),
        ] {
            assert_eq!(judge(&answer(200, &[], body)), expected, "{body}");
        }
    }

    #[test]
    fn answers_that_are_no_grant_though_they_say_200() {
        for body in [
            "",
            "<html>",
            "[]",
            "{}",
            r#"{"access_token":"","token_type":"Bearer"}"#,
            r#"{"access_token":"a b","token_type":"Bearer"}"#,
            r#"{"access_token":"a\r\nEvil: 1","token_type":"Bearer"}"#,
            r#"{"access_token":7,"token_type":"Bearer"}"#,
            r#"{"access_token":"a"}"#,
            r#"{"access_token":"a","token_type":"DPoP"}"#,
            r#"{"access_token":"a","token_type":"Bearer","expires_in":"3600"}"#,
            r#"{"access_token":"a","token_type":"Bearer","expires_in":-1}"#,
            r#"{"access_token":"a","token_type":"Bearer","expires_in":1.5}"#,
            r#"{"access_token":"a","token_type":"Bearer","refresh_token":""}"#,
            r#"{"access_token":"a","token_type":"Bearer","refresh_token":["r"]}"#,
        ] {
            let verdict = judge(&answer(200, &[], body));
            assert!(matches!(verdict, TokenAnswer::Later { .. }), "{body} {verdict:?}");
        }
    }

    #[test]
    fn refusals_and_troubles() {
        let refused = |words: &str| TokenAnswer::Refused(words.to_owned());
        let later = |status: u16, seconds: Option<u64>| TokenAnswer::Later {
            why: format!("it answered {status}"),
            after: seconds.map(Duration::from_secs),
        };
        for (status, headers, body, expected) in [
            (400, &[][..], r#"{"error":"invalid_grant"}"#, refused("invalid_grant")),
            (
                400,
                &[],
                r#"{"error":"invalid_grant","error_description":"gone"}"#,
                refused("invalid_grant (gone)"),
            ),
            (401, &[], r#"{"error":"invalid_client"}"#, refused("invalid_client")),
            (401, &[], "", refused("invalid_client")),
            (403, &[], r#"{"error":"unauthorized_client"}"#, refused("unauthorized_client")),
            (400, &[], r#"{"error":"temporarily_unavailable"}"#, later(400, None)),
            (400, &[], "<html>", later(400, None)),
            (404, &[], r#"{"error":"invalid_grant"}"#, later(404, None)),
            (307, &[("Location", "https://elsewhere/")], "", later(307, None)),
            (429, &[("Retry-After", "7")], "", later(429, Some(7))),
            (429, &[("Retry-After", "9999")], "", later(429, Some(60))),
            (503, &[("Retry-After", "Fri, 31 Dec 1999 23:59:59 GMT")], "", later(503, None)),
            (500, &[], r#"{"error":"invalid_grant"}"#, later(500, None)),
        ] {
            assert_eq!(judge(&answer(status, headers, body)), expected, "{status} {body}");
        }
    }

    #[test]
    fn what_is_about_the_client() {
        for (status, body, expected) in [
            (401, "", true),
            (401, r#"{"error":"unauthorized_client"}"#, true),
            (400, r#"{"error":"invalid_client"}"#, true),
            (400, r#"{"error":"invalid_grant"}"#, false),
            (400, "<html>", false),
            (200, r#"{"error":"invalid_client"}"#, false),
            (503, "", false),
        ] {
            assert_eq!(is_about_client(&answer(status, &[], body)), expected, "{status} {body}");
        }
    }

    #[test]
    fn a_client_proves_itself_as_agreed() {
        let endpoint = || Url::parse("https://a/token").unwrap();
        let secret = || Secret::new("s:/é");
        for (auth, body, header) in [
            (Auth::None, "g=x&client_id=c%3A1", None),
            (Auth::Post(secret()), "g=x&client_id=c%3A1&client_secret=s%3A%2F%C3%A9", None),
            (
                Auth::Basic(secret()),
                "g=x&client_id=c%3A1",
                Some("Basic YyUzQTE6cyUzQSUyRiVDMyVBOQ=="),
            ),
        ] {
            let client =
                OAuthClient { id: "c:1".to_owned(), auth, redirect_uri: None, expires_at: None };
            let request = request(endpoint(), &client, &[("g", "x")]);
            assert_eq!(request.body.as_deref(), Some(body.as_bytes()));
            let named = request.headers.iter().find(|(name, _)| name == "Authorization");
            assert_eq!(named.map(|(_, value)| value.as_str()), header);
            let again = request_with_form(endpoint(), &client, &[("g", "x")]);
            let form = String::from_utf8(again.body.unwrap_or_default()).unwrap();
            let secret = if client.auth == Auth::None { "" } else { "s%3A%2F%C3%A9" };
            assert_eq!(form, format!("g=x&client_id=c%3A1&client_secret={secret}"));
            assert_eq!(again.headers, request.headers);
        }
    }
}

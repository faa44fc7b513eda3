//! How a screen asks for data: the routes of REST, in process, as the request.

use serde_json::Value;
use trunkline_control::access::Action;
use trunkline_control::api::handle::Inside;
use trunkline_gateway::{WebConnection, WebHeaders, WebRequest};

use crate::lenient_json;
use crate::page_request::PageRequest;

/// What the API says went wrong (RFC 9457), or what we say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ApiError {
    pub(crate) status: u16,
    /// The last part of its type: `invalid`, `name-taken`…
    pub(crate) kind: String,
    pub(crate) title: String,
    pub(crate) detail: String,
    pub(crate) hint: String,
    pub(crate) mistakes: Vec<Mistake>,
}

/// One thing that is wrong with what was sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Mistake {
    /// Where in the body, as a JSON Pointer.
    pub(crate) pointer: String,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

/// An answer and the tag it goes by.
#[derive(Debug)]
pub(crate) struct ApiResponse {
    pub(crate) value: Value,
    pub(crate) etag: Option<String>,
}

impl PageRequest<'_> {
    /// `path` with its query, as `GET` over the network would have it.
    pub(crate) async fn get(&self, path: &str) -> Result<Value, ApiError> {
        Ok(self.ask("GET", path, None, &[]).await?.value)
    }

    /// Changes something.
    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, ApiError> {
        Ok(self.ask(method, path, body, &[]).await?.value)
    }

    pub(crate) async fn ask(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
        headers: &[(&str, &str)],
    ) -> Result<ApiResponse, ApiError> {
        let body = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        let answer = self.raw(method, path, body, headers).await;
        if answer.status >= 400 {
            return Err(ApiError::read(answer.status, &answer.body));
        }
        let value = match answer.body.is_empty() {
            true => Value::Null,
            false => lenient_json::read(&answer.body).ok_or_else(ApiError::unreadable)?,
        };
        Ok(ApiResponse { value, etag: answer.etag })
    }

    /// Sends a body as it is and hands back the answer unread, whatever its status.
    pub(crate) async fn raw(
        &self,
        method: &str,
        path: &str,
        body: Vec<u8>,
        headers: &[(&str, &str)],
    ) -> Inside {
        let json = (!body.is_empty()).then_some(("Content-Type", "application/json"));
        let all = headers.iter().copied().chain(json);
        let all = all.map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec()));
        let visit = WebRequest {
            method: method.to_owned(),
            target: path.to_owned(),
            headers: WebHeaders::new(all.collect()),
            body,
            unread: false,
            peer: self.visit.peer,
            certificate: None,
            is_secure: self.visit.is_secure,
            connection: WebConnection::default(),
        };
        self.state.api.inside(self.principal(), &visit).await
    }

    /// May the request do this? For what is shown; what is done is decided by the API.
    pub(crate) fn may(&self, action: Action) -> bool {
        self.principal().require(action).is_ok()
    }
}

impl ApiError {
    pub(crate) fn new(status: u16, title: &str, detail: &str, hint: &str) -> Self {
        let [title, detail, hint] = [title, detail, hint].map(str::to_owned);
        Self { status, title, detail, hint, ..Self::default() }
    }

    pub(crate) fn nothing_here() -> Self {
        let detail = "There is no such page.";
        Self::new(404, "Nothing here", detail, "The menu leads to everything there is.")
    }

    fn unreadable() -> Self {
        Self::new(500, "Something went wrong", "The answer cannot be read.", "See the log.")
    }

    fn read(status: u16, body: &[u8]) -> Self {
        let problem = &serde_json::from_slice::<Value>(body).unwrap_or_default();
        let word = |key: &str| problem[key].as_str().unwrap_or_default().to_owned();
        let mistakes = problem["errors"].as_array().into_iter().flatten();
        let kind = word("type");
        Self {
            status,
            kind: kind.rsplit(':').next().unwrap_or_default().to_owned(),
            title: word("title"),
            detail: word("detail"),
            hint: word("hint"),
            mistakes: mistakes.map(Mistake::read).collect(),
        }
    }

    /// The mistakes at this place of the body, and below it.
    pub(crate) fn at<'s>(&'s self, pointer: &'s str) -> impl Iterator<Item = &'s Mistake> {
        self.mistakes.iter().filter(move |mistake| mistake.is_at(pointer))
    }

    /// What a person at the dashboard can do about it. What the API advises is for programs.
    pub(crate) fn advice(&self) -> Option<&str> {
        match self.kind.as_str() {
            "name-taken" => Some("Choose another name, or edit the server that has it."),
            "stale" => Some("Somebody else was faster: load the page again and repeat the change."),
            "server-unavailable" => Some("Connect it first."),
            _ => Some(self.hint.as_str()).filter(|hint| is_for_people(hint)),
        }
    }

    /// In one sentence, for a notice.
    pub(crate) fn sentence(&self) -> String {
        let mistakes: Vec<String> = self.mistakes.iter().map(Mistake::sentence).collect();
        let detail = match mistakes.is_empty() {
            true => self.detail.clone(),
            false => mistakes.join("; "),
        };
        match (detail.is_empty(), self.advice()) {
            (true, _) => self.title.clone(),
            (false, None) => format!("{}: {detail}", self.title),
            (false, Some(advice)) => format!("{}: {detail} ({advice})", self.title),
        }
    }
}

/// Is this advice for somebody who looks at pages, and writes no requests?
pub(crate) fn is_for_people(hint: &str) -> bool {
    let of_programs =
        ["/api/v1", "GET ", "POST ", "PATCH ", "PUT ", "ETag", "`errors`", "`next_cursor`"];
    !hint.is_empty() && !of_programs.iter().any(|word| hint.contains(word))
}

impl Mistake {
    fn read(value: &Value) -> Self {
        let word = |key: &str| value[key].as_str().map(str::to_owned);
        let place = word("pointer").or_else(|| word("parameter"));
        Self {
            pointer: place.unwrap_or_default(),
            message: word("message").unwrap_or_default(),
            hint: word("hint"),
        }
    }

    /// `url is bad`: with the field's name instead of a pointer into JSON.
    pub(crate) fn sentence(&self) -> String {
        let field = self.pointer.trim_start_matches('/').trim_start_matches("connection_config/");
        let field = field.replace(['/', '_'], " ");
        format!("{field} {}", self.message).trim_start().to_owned()
    }

    pub(crate) fn is_at(&self, pointer: &str) -> bool {
        let rest = self.pointer.strip_prefix(pointer);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_of_the_api_is_read_whole() {
        let body =
            br#"{"type":"urn:trunkline:problem:invalid","title":"T","status":422,"detail":"D",
            "hint":"H","errors":[{"pointer":"/connection_config/url","message":"is bad","hint":"x"},
            {"parameter":"limit","message":"is big"}]}"#;
        let trouble = ApiError::read(422, body);
        assert_eq!((trouble.status, &*trouble.kind), (422, "invalid"));
        assert_eq!(trouble.sentence(), "T: url is bad; limit is big (H)");
        assert_eq!(trouble.at("/connection_config").count(), 1);
        assert_eq!(trouble.at("/connection").count(), 0);
        assert_eq!(trouble.at("limit").next().map(|it| &*it.message), Some("is big"));
    }

    #[test]
    fn advice_for_programs_is_not_shown_to_people() {
        for (kind, hint, advice) in [
            (
                "name-taken",
                "choose another name, or PATCH the server that has it",
                "edit the server",
            ),
            (
                "stale",
                "GET it again and repeat the change with the new ETag",
                "load the page again",
            ),
            ("forbidden", "write the value itself", "write the value itself"),
            ("invalid", "correct everything listed in `errors`", ""),
            ("no-such-key", "GET /api/v1/keys lists them", ""),
            ("x", "", ""),
        ] {
            let body = format!(
                r#"{{"type":"urn:trunkline:problem:{kind}","title":"T","detail":"D","hint":"{hint}"}}"#
            );
            let trouble = ApiError::read(400, body.as_bytes());
            let given = trouble.advice().unwrap_or_default();
            assert!(
                given.contains(advice) && given.is_empty() == advice.is_empty(),
                "{kind}: {given}"
            );
            assert!(!trouble.sentence().contains("PATCH"), "{}", trouble.sentence());
        }
    }

    #[test]
    fn what_is_no_problem_is_still_trouble() {
        let trouble = ApiError::read(500, b"<html>");
        assert_eq!((trouble.status, trouble.mistakes.len()), (500, 0));
    }
}

//! What goes wrong, as the caller sees it: RFC 9457 problems. The HTTP statuses are chosen here.

use serde_json::{Map, Value, json};
use trunkline_wire::{encode, is_json};

use super::fault::{Fault, MOST_FAULTS};

pub const MEDIA_TYPE: &str = "application/problem+json";

/// Every kind of problem the API has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    Malformed,
    BadHeader,
    Unauthenticated,
    Forbidden,
    StdioForbidden,
    NoSuchPath,
    NoSuchServer,
    NoSuchTool,
    NoSuchKey,
    NoSuchSecret,
    NoSuchSkill,
    NoSuchSuggestion,
    WrongMethod,
    NameTaken,
    FromFile,
    NoLogin,
    SecretInUse,
    SetByHand,
    Decided,
    Stale,
    TooLarge,
    WrongMediaType,
    Invalid,
    TooMany,
    Internal,
    ServerError,
    BadAnswer,
    LoginFailed,
    ServerUnavailable,
    StoreUnavailable,
    Timeout,
    StoreFull,
}

/// A kind in words.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    /// The last part of its type.
    pub name: &'static str,
    pub status: u16,
    pub title: &'static str,
    /// What to do, where the problem itself knows nothing better.
    pub hint: &'static str,
}

const fn facts(name: &'static str, status: u16, title: &'static str, hint: &'static str) -> Facts {
    Facts { name, status, title, hint }
}

impl Kind {
    pub const ALL: [Self; 32] = [
        Self::Malformed,
        Self::BadHeader,
        Self::Unauthenticated,
        Self::Forbidden,
        Self::StdioForbidden,
        Self::NoSuchPath,
        Self::NoSuchServer,
        Self::NoSuchTool,
        Self::NoSuchKey,
        Self::NoSuchSecret,
        Self::NoSuchSkill,
        Self::NoSuchSuggestion,
        Self::WrongMethod,
        Self::NameTaken,
        Self::FromFile,
        Self::NoLogin,
        Self::SecretInUse,
        Self::SetByHand,
        Self::Decided,
        Self::Stale,
        Self::TooLarge,
        Self::WrongMediaType,
        Self::Invalid,
        Self::TooMany,
        Self::Internal,
        Self::ServerError,
        Self::BadAnswer,
        Self::LoginFailed,
        Self::ServerUnavailable,
        Self::StoreUnavailable,
        Self::Timeout,
        Self::StoreFull,
    ];

    #[rustfmt::skip]
    pub fn facts(self) -> Facts {
        match self {
            Self::Malformed => facts("malformed", 400, "The body is not JSON", "correct it at the place named in `detail`"),
            Self::BadHeader => facts("bad-header", 400, "A header cannot be read", "correct the header named in `detail`, or leave it out"),
            Self::Unauthenticated => facts("unauthenticated", 401, "No valid token", "send `Authorization: Bearer TOKEN` with the admin token, an API key or an access token"),
            Self::Forbidden => facts("forbidden", 403, "The token does not allow this", "use a token with a higher role"),
            Self::StdioForbidden => facts("stdio-forbidden", 403, "Commands may not be registered over REST", "start Trunkline with `--allow-stdio-registration` and use an admin's token, or put the server into the config file"),
            Self::NoSuchPath => facts("no-such-path", 404, "There is nothing at this path", "see /api/v1/docs for what there is"),
            Self::NoSuchServer => facts("no-such-server", 404, "There is no such server", "GET /api/v1/aggregator/servers lists them"),
            Self::NoSuchTool => facts("no-such-tool", 404, "There is no such tool", "GET /api/v1/tools lists them"),
            Self::NoSuchKey => facts("no-such-key", 404, "There is no such key", "GET /api/v1/keys lists them"),
            Self::NoSuchSecret => facts("no-such-secret", 404, "There is no such secret", "GET /api/v1/secrets lists them"),
            Self::NoSuchSkill => facts("no-such-skill", 404, "There is no such skill", "GET /api/v1/skills lists them"),
            Self::NoSuchSuggestion => facts("no-such-suggestion", 404, "There is no such suggestion", "GET /api/v1/skills/suggestions lists them"),
            Self::WrongMethod => facts("wrong-method", 405, "The path does not have this method", "the `Allow` header lists those it has"),
            Self::NameTaken => facts("name-taken", 409, "Another server has this name", "choose another name, or PATCH the server that has it"),
            Self::FromFile => facts("from-file", 409, "The server comes from the config file", "change the config file; it is read again when it changes"),
            Self::NoLogin => facts("no-login", 409, "Nobody can log in there", "only servers in the network that are given no `Authorization` header have logins"),
            Self::SecretInUse => facts("secret-in-use", 409, "Servers refer to the secret", "change those servers, or remove it with `?force=true`: they cannot be connected then"),
            Self::SetByHand => facts("set-by-hand", 409, "Somebody has set the skills of this tool", "DELETE them first: then they are Trunkline's to find out again"),
            Self::Decided => facts("decided", 409, "It was decided on before", "GET /api/v1/skills/suggestions shows how"),
            Self::Stale => facts("stale", 412, "It has changed since you read it", "GET it again and repeat the change with the new ETag"),
            Self::TooLarge => facts("too-large", 413, "The body is too large", "send less"),
            Self::WrongMediaType => facts("wrong-media-type", 415, "The body is not declared as JSON", "send `Content-Type: application/json`"),
            Self::Invalid => facts("invalid", 422, "The request has mistakes", "correct everything listed in `errors`"),
            Self::TooMany => facts("too-many", 429, "Too many requests", "wait as long as `Retry-After` says"),
            Self::Internal => facts("internal", 500, "Trunkline made a mistake", "look into its log for this time, and report it"),
            Self::ServerError => facts("server-error", 502, "The server answered with an error", "`error` is what it said; the call has reached it"),
            Self::BadAnswer => facts("bad-answer", 502, "The server's answer cannot be used", "the call has run; look at the server's log"),
            Self::LoginFailed => facts("login-failed", 502, "The login could not be begun", "`detail` says what the server or its authorization server did not do; a client can be configured by hand (`oauth`)"),
            Self::ServerUnavailable => facts("server-unavailable", 503, "The server is not connected", "connect it: POST /api/v1/aggregator/servers/{id}/connect"),
            Self::StoreUnavailable => facts("store-unavailable", 503, "The store cannot be reached", "nothing was changed; try again when it is back"),
            Self::Timeout => facts("timeout", 504, "The server did not answer in time", "the call may have run: check before you repeat it"),
            Self::StoreFull => facts("store-full", 507, "The store takes no more", "nothing was changed; make room on its disk"),
        }
    }

    pub fn status(self) -> u16 {
        self.facts().status
    }

    /// The last part of its type.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// The problem's type: a name, not an address.
    pub fn urn(self) -> String {
        format!("urn:trunkline:problem:{}", self.facts().name)
    }
}

/// The server a problem is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    pub id: String,
    pub name: String,
    pub status: &'static str,
}

/// Small enough to be the other side of a `Result`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub kind: Kind,
    said: Box<Said>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Said {
    detail: String,
    hint: Option<String>,
    instance: Option<String>,
    errors: Vec<Fault>,
    server: Option<About>,
    /// A JSON-RPC error as its server wrote it.
    error: Option<Vec<u8>>,
}

impl Problem {
    pub fn new(kind: Kind, detail: impl Into<String>) -> Self {
        Self { kind, said: Box::new(Said { detail: detail.into(), ..Said::default() }) }
    }

    /// A request with mistakes, all of them.
    pub fn invalid(errors: Vec<Fault>) -> Self {
        let detail = match errors.as_slice() {
            [one] => format!("one mistake: {}", said(one)),
            [first, ..] => format!("{} mistakes; the first: {}", errors.len(), said(first)),
            [] => "the request cannot be used".to_owned(),
        };
        let mut problem = Self::new(Kind::Invalid, detail);
        problem.said.errors = errors;
        problem
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.said.hint = Some(hint.into());
        self
    }

    /// The path of the request it belongs to.
    #[must_use]
    pub fn instance(mut self, path: impl Into<String>) -> Self {
        self.said.instance = Some(path.into());
        self
    }

    #[must_use]
    pub fn server(mut self, server: About) -> Self {
        self.said.server = Some(server);
        self
    }

    /// The error object of the server, to be passed on as it is. What is not JSON is left out.
    #[must_use]
    pub fn error(mut self, verbatim: &[u8]) -> Self {
        self.said.error = is_json(verbatim).then(|| verbatim.to_vec());
        self
    }

    pub fn status(&self) -> u16 {
        self.kind.status()
    }

    pub fn detail(&self) -> &str {
        &self.said.detail
    }

    pub fn errors(&self) -> &[Fault] {
        &self.said.errors
    }

    /// The body of the answer.
    pub fn json(&self) -> Vec<u8> {
        let facts = self.kind.facts();
        let mut members = Map::new();
        let mut put = |key: &str, value: Value| members.insert(key.to_owned(), value);
        put("type", self.kind.urn().into());
        put("title", facts.title.into());
        put("status", facts.status.into());
        put("detail", self.said.detail.as_str().into());
        put("hint", self.said.hint.as_deref().unwrap_or(facts.hint).into());
        if let Some(instance) = &self.said.instance {
            put("instance", instance.as_str().into());
        }
        if !self.said.errors.is_empty() {
            let shown: Vec<_> =
                self.said.errors.iter().take(MOST_FAULTS).map(Fault::json).collect();
            put("errors", shown.into());
        }
        if let Some(About { id, name, status }) = &self.said.server {
            put("server", json!({"id": id, "name": name, "status": status}));
        }
        let mut body = Value::Object(members).to_string().into_bytes();
        if let Some(error) = &self.said.error {
            // Numbers and escapes stay as the server wrote them, so this is not built with values.
            body.pop();
            body.push(b',');
            body.extend(encode("error"));
            body.push(b':');
            body.extend_from_slice(error);
            body.push(b'}');
        }
        body
    }
}

fn said(fault: &Fault) -> String {
    use super::fault::Place;
    match &fault.place {
        Place::Body(pointer) if pointer.as_str().is_empty() => {
            format!("the body {}", fault.message)
        }
        Place::Body(pointer) => {
            format!("{} {}", trunkline_catalog::name::escaped(pointer.as_str()), fault.message)
        }
        Place::Query(name) => {
            format!("parameter {} {}", trunkline_catalog::name::escaped(name), fault.message)
        }
        Place::Header(name) => format!("header {name} {}", fault.message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::fault::Pointer;
    use std::collections::HashSet;

    #[test]
    fn every_kind_has_its_own_name_and_an_error_status() {
        let names: HashSet<_> = Kind::ALL.iter().map(|kind| kind.facts().name).collect();
        assert_eq!(names.len(), Kind::ALL.len());
        for kind in Kind::ALL {
            let facts = kind.facts();
            assert!((400..600).contains(&facts.status), "{kind:?}");
            assert!(facts.name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "{kind:?}");
            assert!(!facts.title.is_empty() && !facts.hint.is_empty(), "{kind:?}");
        }
    }

    #[test]
    fn a_problem_in_full() {
        let about = About { id: "1".into(), name: "github".into(), status: "DISCONNECTED" };
        let problem = Problem::new(Kind::ServerUnavailable, "github is not connected")
            .server(about)
            .instance("/api/v1/tools/call");
        assert_eq!(
            String::from_utf8(problem.json()).unwrap(),
            concat!(
                r#"{"type":"urn:trunkline:problem:server-unavailable","#,
                r#""title":"The server is not connected","status":503,"#,
                r#""detail":"github is not connected","#,
                r#""hint":"connect it: POST /api/v1/aggregator/servers/{id}/connect","#,
                r#""instance":"/api/v1/tools/call","#,
                r#""server":{"id":"1","name":"github","status":"DISCONNECTED"}}"#
            )
        );
    }

    #[test]
    fn all_mistakes_are_listed_and_the_first_is_in_the_detail() {
        let at = Pointer::root();
        let faults = vec![Fault::at(&at.key("a"), "is missing"), Fault::at(&at.key("b"), "is bad")];
        let problem = Problem::invalid(faults);
        assert_eq!(problem.detail(), "2 mistakes; the first: /a is missing");
        let json: Value = serde_json::from_slice(&problem.json()).unwrap();
        assert_eq!(json["errors"][1], json!({"pointer": "/b", "message": "is bad"}));
        let many = vec![Fault::at(&at, "is bad"); 1000];
        let json: Value = serde_json::from_slice(&Problem::invalid(many).json()).unwrap();
        assert_eq!(json["errors"].as_array().unwrap().len(), MOST_FAULTS);
    }

    #[test]
    fn the_error_of_a_server_is_passed_on_to_the_byte() {
        let verbatim =
            br#"{"code": -32000, "message":"\u0041", "data":[1.0, 12345678901234567890]}"#;
        let body = Problem::new(Kind::ServerError, "x").error(verbatim).json();
        assert!(body.ends_with(&[&b",\"error\":"[..], verbatim, b"}"].concat()));
        assert!(is_json(&body));
        let body = Problem::new(Kind::ServerError, "x").error(b"{broken").json();
        assert!(is_json(&body) && !body.windows(7).any(|part| part == b"\"error\""));
    }
}

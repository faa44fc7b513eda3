//! Problems as callers see them: RFC 9457. The HTTP statuses are chosen here.

use serde_json::{Map, Value, json};
use trunkline_wire::encode;

use super::fault::{FaultPlace, MOST_FAULTS, RequestFault};
pub use crate::fault::{About, Problem, ProblemKind as Kind};

pub const MEDIA_TYPE: &str = "application/problem+json";

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

impl Kind {
    #[rustfmt::skip]
    pub fn facts(self) -> Facts {
        let (status, title, hint) = match self {
            Self::Malformed => (400, "The body is not JSON", "correct it at the place named in `detail`"),
            Self::BadHeader => (400, "A header cannot be read", "correct the header named in `detail`, or leave it out"),
            Self::Unauthenticated => (401, "No valid token", "send `Authorization: Bearer TOKEN` with the admin token, an API key or an access token"),
            Self::Forbidden => (403, "The token does not allow this", "use a token with a higher role"),
            Self::StdioForbidden => (403, "Commands may not be registered over REST", "start Trunkline with `--allow-stdio-registration` and use an admin's token, or put the server into the config file"),
            Self::NoSuchPath => (404, "There is nothing at this path", "see /api/v1/docs for what there is"),
            Self::NoSuchServer => (404, "There is no such server", "GET /api/v1/aggregator/servers lists them"),
            Self::NoSuchTool => (404, "There is no such tool", "GET /api/v1/tools lists them"),
            Self::NoSuchKey => (404, "There is no such key", "GET /api/v1/keys lists them"),
            Self::NoSuchSecret => (404, "There is no such secret", "GET /api/v1/secrets lists them"),
            Self::NoSuchSkill => (404, "There is no such skill", "GET /api/v1/skills lists them"),
            Self::NoSuchSuggestion => (404, "There is no such suggestion", "GET /api/v1/skills/suggestions lists them"),
            Self::WrongMethod => (405, "The path does not have this method", "the `Allow` header lists those it has"),
            Self::NameTaken => (409, "Another server has this name", "choose another name, or PATCH the server that has it"),
            Self::FromFile => (409, "The server comes from the config file", "change the config file; it is read again when it changes"),
            Self::NoLogin => (409, "Nobody can log in there", "only servers in the network that are given no `Authorization` header have logins"),
            Self::SecretInUse => (409, "Servers refer to the secret", "change those servers, or remove it with `?force=true`: they cannot be connected then"),
            Self::SetByHand => (409, "Somebody has set the skills of this tool", "DELETE them first: then they are Trunkline's to find out again"),
            Self::Decided => (409, "It was decided on before", "GET /api/v1/skills/suggestions shows how"),
            Self::Stale => (412, "It has changed since you read it", "GET it again and repeat the change with the new ETag"),
            Self::TooLarge => (413, "The body is too large", "send less"),
            Self::WrongMediaType => (415, "The body is not declared as JSON", "send `Content-Type: application/json`"),
            Self::Invalid => (422, "The request has mistakes", "correct everything listed in `errors`"),
            Self::TooMany => (429, "Too many requests", "wait as long as `Retry-After` says"),
            Self::Internal => (500, "Trunkline made a mistake", "look into its log for this time, and report it"),
            Self::ServerError => (502, "The server answered with an error", "`error` is what it said; the call has reached it"),
            Self::BadAnswer => (502, "The server's answer cannot be used", "the call has run; look at the server's log"),
            Self::LoginFailed => (502, "The login could not be begun", "`detail` says what the server or its authorization server did not do; a client can be configured by hand (`oauth`)"),
            Self::ServerUnavailable => (503, "The server is not connected", "connect it: POST /api/v1/aggregator/servers/{id}/connect"),
            Self::StoreUnavailable => (503, "The store cannot be reached", "nothing was changed; try again when it is back"),
            Self::Timeout => (504, "The server did not answer in time", "the call may have run: check before you repeat it"),
            Self::StoreFull => (507, "The store takes no more", "nothing was changed; make room on its disk"),
        };
        Facts { name: self.name(), status, title, hint }
    }

    pub fn status(self) -> u16 {
        self.facts().status
    }

    /// The problem's type: a name, not an address.
    pub fn urn(self) -> String {
        format!("urn:trunkline:problem:{}", self.name())
    }
}

impl Problem {
    pub fn status(&self) -> u16 {
        self.kind.status()
    }

    /// The body of the answer.
    pub fn json(&self) -> Vec<u8> {
        let facts = self.kind.facts();
        let mut members = Map::new();
        let mut put = |key: &str, value: Value| members.insert(key.to_owned(), value);
        put("type", self.kind.urn().into());
        put("title", facts.title.into());
        put("status", facts.status.into());
        put("detail", self.text.detail.as_str().into());
        put("hint", self.text.hint.as_deref().unwrap_or(facts.hint).into());
        if let Some(instance) = &self.text.instance {
            put("instance", instance.as_str().into());
        }
        if !self.text.errors.is_empty() {
            let shown: Vec<_> =
                self.text.errors.iter().take(MOST_FAULTS).map(RequestFault::json).collect();
            put("errors", shown.into());
        }
        if let Some(About { id, name, status }) = &self.text.server {
            put("server", json!({"id": id, "name": name, "status": status}));
        }
        let mut body = Value::Object(members).to_string().into_bytes();
        if let Some(error) = &self.text.error {
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

impl RequestFault {
    pub fn json(&self) -> Value {
        let (key, value) = match &self.place {
            FaultPlace::Body(pointer) => ("pointer", pointer.as_str()),
            FaultPlace::Query(name) => ("parameter", name.as_str()),
            FaultPlace::Header(name) => ("header", *name),
        };
        let mut members = Map::new();
        members.insert(key.to_owned(), value.into());
        members.insert("message".to_owned(), self.message.as_str().into());
        if let Some(hint) = &self.hint {
            members.insert("hint".to_owned(), hint.as_str().into());
        }
        Value::Object(members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::fault::Pointer;
    use std::collections::HashSet;
    use trunkline_wire::is_json;

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
        let faults = vec![
            RequestFault::at(&at.key("a"), "is missing"),
            RequestFault::at(&at.key("b"), "is bad"),
        ];
        let problem = Problem::invalid(faults);
        assert_eq!(problem.detail(), "2 mistakes; the first: /a is missing");
        let json: Value = serde_json::from_slice(&problem.json()).unwrap();
        assert_eq!(json["errors"][1], json!({"pointer": "/b", "message": "is bad"}));
        let many = vec![RequestFault::at(&at, "is bad"); 1000];
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

    #[test]
    fn a_fault_says_where_it_stands() {
        let fault =
            RequestFault::at(&Pointer::root().key("name"), "is too long").hint("shorten it");
        assert_eq!(
            fault.json().to_string(),
            r#"{"pointer":"/name","message":"is too long","hint":"shorten it"}"#
        );
        assert_eq!(
            RequestFault::parameter("limit", "is no number").json().to_string(),
            r#"{"parameter":"limit","message":"is no number"}"#
        );
    }
}

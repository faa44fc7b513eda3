//! Problems as callers see them: RFC 9457.

use serde_json::{Map, Value, json};
use trunkline_wire::encode;

use super::fault::{FaultPlace, MOST_FAULTS, RequestFault};
pub use crate::fault::{About, Problem, ProblemKind as Kind};

pub const MEDIA_TYPE: &str = "application/problem+json";

impl Kind {
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

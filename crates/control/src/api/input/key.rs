//! `POST /keys`: a key to be made.

use super::body::Declared;
use crate::access::{CERTIFICATES, Role};
use crate::api::fault::{Pointer, RequestFault};
use crate::api::problem::Problem;
use crate::api::schema::{
    Described as _, LIMITS, Moment, Schema, TextFormat, request, text, words,
};
use trunkline_catalog::config::LimitRules;

words! { for Role, name: "viewer", "caller", "operator", "admin" }

const PATTERNS: Schema =
    Schema::List { of: &text(1, 512, TextFormat::ToolPattern), least: 0, most: 1000 };

request! {
    /// A key to be made.
    #[derive(Debug)]
    #[refused(
        "id": "is given by Trunkline",
        "key": "is made by Trunkline and shown once, in the answer",
    )]
    pub struct NewKey as "NewKey" {
        /// Whose it is, or what for.
        #[example = "ci"] pub name: String => text(1, 100, TextFormat::Line),
        /// What it may do.
        #[example = "caller"] pub role: Role => Role::SCHEMA,
        /// Only these tools are seen and called with it: `server.tool`, `server.*`, `*.tool`, with `\.`
        /// for a dot in a server's name. All, unless said otherwise.
        #[example = ["github-mcp.*"]] pub tools?: Vec<String> => Schema::Nullable(&PATTERNS),
        /// What it may have at most; the platform's defaults hold for what is not said.
        #[example = {"calls_per_second": 5, "open_calls": 8}]
        pub limits?: LimitRules => Schema::Nullable(&LIMITS),
        /// From then on it is refused. Never, unless said otherwise.
        pub expires_at?: i64 as Moment => Schema::Nullable(&text(20, 40, TextFormat::Time)),
    }
}

request! {
    /// What is changed about a key.
    #[derive(Debug)]
    #[refused(
        "name": "cannot be changed: make another key",
        "role": "cannot be changed: make another key",
        "tools": "cannot be changed: make another key",
        "expires_at": "cannot be changed: make another key",
    )]
    pub struct KeyPatch as "KeyPatch" {
        /// What it may have at most from now on, as a whole; the platform's defaults hold for what is not said.
        #[example = {"calls_per_second": 5, "open_calls": 8}]
        pub limits: LimitRules => LIMITS,
    }
}

impl KeyPatch {
    pub fn read(body: &Declared<'_>) -> Result<Self, Problem> {
        body.read_and_check(|_: &Self, _| {})
    }
}

impl NewKey {
    /// `now` in milliseconds since 1970.
    pub fn read(body: &Declared<'_>, now: i64) -> Result<Self, Problem> {
        body.read_and_check(|new: &Self, faults| {
            if new.expires_at.is_some_and(|moment| moment <= now) {
                faults.push(RequestFault::at(&Pointer::root().key("expires_at"), "is in the past"));
            }
            // The audit log has both kinds of names in one place.
            if new.name.starts_with(CERTIFICATES) {
                let why = format!("begins with `{CERTIFICATES}`, as the names of certificates do");
                faults.push(RequestFault::at(&Pointer::root().key("name"), why));
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<NewKey, Problem> {
        let content_type = Some(&b"application/json"[..]);
        let body = Declared { content_type, bytes: json.as_bytes() };
        NewKey::read(&body, 1_736_330_400_000)
    }

    #[test]
    fn keys_are_read() {
        let key = read(r#"{"name":"ci","role":"caller"}"#).unwrap();
        let expected = NewKey {
            name: "ci".to_owned(),
            role: Role::Caller,
            tools: None,
            limits: None,
            expires_at: None,
        };
        assert_eq!(key, expected);
        let key = read(
            r#"{"name":"ci","role":"caller","limits":{"calls_per_second":0.5,"burst":null,"sessions":0}}"#,
        );
        let limits =
            LimitRules { calls_per_second: Some(500), sessions: Some(0), ..LimitRules::default() };
        assert_eq!(key.unwrap().limits, Some(limits));
        let key = read(
            r#"{"name":"ci","role":"viewer","tools":["a.*"],"expires_at":"2025-01-08T10:00:01Z"}"#,
        )
        .unwrap();
        assert_eq!(key.tools, Some(vec!["a.*".to_owned()]));
        assert_eq!(key.expires_at, Some(1_736_330_401_000));
        // an empty list is no tools, not all of them
        let none = read(r#"{"name":"ci","role":"viewer","tools":[]}"#).unwrap();
        assert_eq!(none.tools, Some(vec![]));
    }

    #[test]
    fn every_word_of_a_role_is_one() {
        let Schema::Enum(values) = Role::SCHEMA else { panic!("no enumeration") };
        assert_eq!(values.known, Role::ALL.map(Role::name));
    }

    #[test]
    fn bad_keys_are_refused() {
        for (json, expected) in [
            ("{}", "2 mistakes; the first: /name is missing"),
            (r#"{"name":"a","role":"root"}"#, "must be one of viewer, caller, operator, admin"),
            (r#"{"name":"a","role":"Admin"}"#, "must be one of"),
            (r#"{"name":"a\u0000","role":"admin"}"#, "/name has a control character"),
            (r#"{"name":"cert:ci","role":"admin"}"#, "/name begins with `cert:`"),
            (r#"{"name":"a","role":"admin","tools":"*"}"#, "/tools must be an array"),
            (r#"{"name":"a","role":"admin","tools":["a.*","x"]}"#, "/tools/1 cannot be read"),
            (
                r#"{"name":"a","role":"admin","expires_at":"2025-01-08T10:00:00Z"}"#,
                "/expires_at is in the past",
            ),
            (
                r#"{"name":"a","role":"admin","expires_at":"next week, on monday"}"#,
                "/expires_at is not a time",
            ),
            (r#"{"name":"a","role":"admin","key":"x"}"#, "/key is made by Trunkline"),
            (r#"{"name":"a","role":"admin","limits":{"open_calls":1.5}}"#, "/limits/open_calls"),
            (r#"{"name":"a","role":"admin","limits":{"rate":1}}"#, "/limits/rate"),
            (r#"{"name":"a","role":"admin","limits":5}"#, "/limits must be"),
        ] {
            let problem = read(json).expect_err(json);
            assert_eq!(problem.status(), 422);
            assert!(problem.detail().contains(expected), "{json}: {}", problem.detail());
        }
    }
}

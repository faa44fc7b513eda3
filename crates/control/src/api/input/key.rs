//! `POST /keys`: a key to be made.

use super::body::{Declared, none};
use super::fields::Fields;
use crate::access::Role;
use crate::api::fault::{Fault, Pointer};
use crate::api::problem::Problem;
use crate::api::shape::{Case, Form, Object, Shape, Words, optional, required, text};
use crate::api::time;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewKey {
    pub name: String,
    pub role: Role,
    /// Patterns of the tools it may see and call; `None` is all.
    pub tools: Option<Vec<String>>,
    /// Milliseconds since 1970.
    pub expires_at: Option<i64>,
}

impl NewKey {
    /// `now` in milliseconds since 1970.
    pub fn read(body: &Declared<'_>, now: i64) -> Result<Self, Problem> {
        let (document, mut faults) = body.read(&Shape::Object(&NEW_KEY))?;
        let fields = Fields::of(&document.root);
        let expires_at = fields.text("expires_at").and_then(time::parse);
        if expires_at.is_some_and(|moment| moment <= now) {
            faults.push(Fault::at(&Pointer::root().key("expires_at"), "is in the past"));
        }
        none(faults)?;
        Ok(Self {
            name: fields.text("name").unwrap_or_default().to_owned(),
            role: fields.text("role").and_then(Role::named).unwrap_or(Role::Viewer),
            tools: fields.texts("tools"),
            expires_at,
        })
    }
}

pub static ROLES: Words =
    Words { known: &["viewer", "caller", "operator", "admin"], case: Case::AsWritten };

pub static NEW_KEY: Object = Object {
    refused: &[
        ("id", "is given by Trunkline"),
        ("key", "is made by Trunkline and shown once, in the answer"),
    ],
    ..Object::request(
        "NewKey",
        "A key to be made.",
        &[
            required("name", text(1, 100, Form::Line), "Whose it is, or what for."),
            required("role", Shape::Word(&ROLES), "What it may do."),
            optional(
                "tools",
                Shape::OrNull(&Shape::List { of: &text(1, 512, Form::ToolPattern), most: 1000 }),
                "Only these tools are seen and called with it: `server.tool`, `server.*`, \
                 `*.tool`, with `\\.` for a dot in a server's name. All, unless said otherwise.",
            ),
            optional(
                "expires_at",
                Shape::OrNull(&text(20, 40, Form::Time)),
                "From then on it is refused. Never, unless said otherwise.",
            ),
        ],
    )
};

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
        let expected =
            NewKey { name: "ci".to_owned(), role: Role::Caller, tools: None, expires_at: None };
        assert_eq!(key, expected);
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
        for word in ROLES.known {
            assert_eq!(Role::named(word).map(Role::name), Some(*word));
        }
    }

    #[test]
    fn bad_keys_are_refused() {
        for (json, expected) in [
            ("{}", "2 mistakes; the first: /name is missing"),
            (r#"{"name":"a","role":"root"}"#, "must be one of viewer, caller, operator, admin"),
            (r#"{"name":"a","role":"Admin"}"#, "must be one of"),
            (r#"{"name":"a\u0000","role":"admin"}"#, "/name has a control character"),
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
        ] {
            let problem = read(json).expect_err(json);
            assert_eq!(problem.status(), 422);
            assert!(problem.detail().contains(expected), "{json}: {}", problem.detail());
        }
    }
}

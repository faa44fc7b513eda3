//! Keys, and who is asking.

use serde_json::{Value, json};

use super::{MOMENT, NEXT_CURSOR, moment, moment_or_null};
use crate::api::input::ROLES;
use crate::api::shape::{Object, Shape, any_text, count, required};

/// A key without its secret, which nobody has any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyView<'a> {
    pub id: &'a str,
    pub name: &'a str,
    pub role: &'a str,
    pub tools: Option<&'a [String]>,
    pub created_at: i64,
    pub expires_at: Option<i64>,
    pub last_used_at: Option<i64>,
    pub revoked_at: Option<i64>,
}

impl KeyView<'_> {
    pub fn json(&self) -> Value {
        json!({
            "id": self.id,
            "name": self.name,
            "role": self.role,
            "tools": self.tools,
            "created_at": moment(self.created_at),
            "expires_at": moment_or_null(self.expires_at),
            "last_used_at": moment_or_null(self.last_used_at),
            "revoked_at": moment_or_null(self.revoked_at),
        })
    }

    /// The answer to making it: the only one that holds the key itself.
    pub fn created(&self, key: &str) -> Value {
        json!({
            "id": self.id,
            "name": self.name,
            "role": self.role,
            "key": key,
            "tools": self.tools,
            "created_at": moment(self.created_at),
            "expires_at": moment_or_null(self.expires_at),
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeView<'a> {
    pub name: &'a str,
    pub role: &'a str,
    /// What kind of token it was: `admin-token`, `token`, `key`, `jwt`.
    pub credential: &'a str,
    pub tools: Option<&'a [String]>,
    pub actions: &'a [&'a str],
}

impl MeView<'_> {
    pub fn json(&self) -> Value {
        json!({
            "name": self.name,
            "role": self.role,
            "credential": self.credential,
            "tools": self.tools,
            "actions": self.actions,
        })
    }
}

const PATTERNS: Shape = Shape::OrNull(&Shape::List { of: &any_text(), most: usize::MAX });
const PATTERNS_DOC: &str = "The tools it may see and call; null is all.";

pub static KEY: Object = Object::answer(
    "Key",
    "A key, without its secret.",
    &[
        required("id", any_text(), ""),
        required("name", any_text(), ""),
        required("role", Shape::Word(&ROLES), ""),
        required("tools", PATTERNS, PATTERNS_DOC),
        required("created_at", MOMENT, ""),
        required("expires_at", Shape::OrNull(&MOMENT), ""),
        required("last_used_at", Shape::OrNull(&MOMENT), ""),
        required("revoked_at", Shape::OrNull(&MOMENT), ""),
    ],
);

pub static CREATED_KEY: Object = Object::answer(
    "CreatedKey",
    "A key that was made.",
    &[
        required("id", any_text(), ""),
        required("name", any_text(), ""),
        required("role", Shape::Word(&ROLES), ""),
        required("key", any_text(), "The key itself. It is shown here and never again."),
        required("tools", PATTERNS, PATTERNS_DOC),
        required("created_at", MOMENT, ""),
        required("expires_at", Shape::OrNull(&MOMENT), ""),
    ],
);

pub static KEY_LIST: Object = Object::answer(
    "KeyList",
    "A page of keys.",
    &[
        required("keys", Shape::List { of: &Shape::Object(&KEY), most: usize::MAX }, ""),
        required("total", count(), "On all pages."),
        required("next_cursor", Shape::OrNull(&any_text()), NEXT_CURSOR),
    ],
);

pub static ME: Object = Object::answer(
    "Me",
    "Who the token belongs to.",
    &[
        required("name", any_text(), ""),
        required("role", Shape::Word(&ROLES), ""),
        required("credential", any_text(), "What kind of token it is."),
        required("tools", PATTERNS, PATTERNS_DOC),
        required(
            "actions",
            Shape::List { of: &any_text(), most: usize::MAX },
            "Everything the token allows.",
        ),
    ],
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::view::tests::assert_fits;

    #[test]
    fn keys_and_their_owner_have_their_shapes() {
        let tools = ["github-mcp.*".to_owned()];
        let key = KeyView {
            id: "k1",
            name: "ci",
            role: "caller",
            tools: Some(&tools),
            created_at: 0,
            expires_at: None,
            last_used_at: Some(1),
            revoked_at: None,
        };
        assert_fits(&key.json().to_string(), &Shape::Object(&KEY));
        let created = key.created("tl_k1_secret").to_string();
        assert_fits(&created, &Shape::Object(&CREATED_KEY));
        assert!(
            created.starts_with(r#"{"id":"k1","name":"ci","role":"caller","key":"tl_k1_secret""#)
        );
        let me = MeView {
            name: "ci",
            role: "caller",
            credential: "key",
            tools: None,
            actions: &["call-tool"],
        };
        assert_fits(&me.json().to_string(), &Shape::Object(&ME));
    }
}

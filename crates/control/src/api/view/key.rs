//! Keys, and who is asking.

use serde_json::Value;

use super::NEXT_CURSOR;
use crate::access::Role;
use crate::api::schema::{Described as _, Moment, Schema, ShownLimits, answer};

const ROLE: Schema = Role::SCHEMA;
const TOOLS_DOC: &str = "The tools it may see and call; null is all.";

answer! {
    /// A key, without its secret.
    pub struct KeyView<'a> as "Key" {
        #[example = "k7Qm2xVd"] pub id: &'a str,
        #[example = "ci"] pub name: &'a str,
        #[example = "caller"] pub role: &'a str => ROLE,
        #[doc = TOOLS_DOC]
        #[example = ["github-mcp.*"]] pub tools: Option<&'a [String]>,
        pub limits: ShownLimits,
        /// Calls that were refused because of its limits, since this process was started.
        pub limited_calls: u64,
        pub created_at: i64 as Moment,
        pub expires_at: Option<i64> as Moment,
        #[example = "2025-01-08T10:05:00Z"] pub last_used_at: Option<i64> as Moment,
        pub revoked_at: Option<i64> as Moment,
    }
}

answer! {
    /// A key that was made.
    pub struct CreatedKey<'a> as "CreatedKey" {
        #[example = "k7Qm2xVd"] pub id: &'a str,
        #[example = "ci"] pub name: &'a str,
        #[example = "caller"] pub role: &'a str => ROLE,
        /// The key itself. It is shown here and never again.
        #[example = "tl_k7Qm2xVd_…"] pub key: &'a str,
        #[doc = TOOLS_DOC]
        #[example = ["github-mcp.*"]] pub tools: Option<&'a [String]>,
        pub limits: ShownLimits,
        pub created_at: i64 as Moment,
        pub expires_at: Option<i64> as Moment,
    }
}

impl KeyView<'_> {
    /// The answer to making it: the only one that holds the key itself.
    pub fn created(&self, key: &str) -> Value {
        let Self { id, name, role, tools, limits, created_at, expires_at, .. } = *self;
        CreatedKey { id, name, role, key, tools, limits, created_at, expires_at }.json()
    }
}

answer! {
    /// A page of keys.
    pub struct KeyList<'a> as "KeyList" {
        pub keys: Vec<KeyView<'a>>,
        /// On all pages.
        #[example = 1] pub total: usize,
        #[doc = NEXT_CURSOR]
        pub next_cursor: Option<String>,
    }
}

answer! {
    /// Who the token belongs to.
    pub struct MeView<'a> as "Me" {
        #[example = "ci"] pub name: &'a str,
        #[example = "caller"] pub role: &'a str => ROLE,
        /// What kind of token it is: `admin-token`, `token`, `key`, `jwt`, `certificate` or `open`.
        #[example = "key"] pub credential: &'a str,
        #[doc = TOOLS_DOC]
        #[example = ["github-mcp.*"]] pub tools: Option<&'a [String]>,
        /// Everything the token allows.
        #[example = ["read-tools", "call-tool"]] pub actions: &'a [&'a str],
    }
}

#[cfg(test)]
mod tests {
    use trunkline_catalog::config::LimitRules;

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
            limits: ShownLimits(LimitRules::of(|_| Some(500))),
            limited_calls: 0,
            created_at: 0,
            expires_at: None,
            last_used_at: Some(1),
            revoked_at: None,
        };
        assert_fits(&key.json().to_string(), &KeyView::SCHEMA);
        let created = key.created("tl_k1_secret").to_string();
        assert_fits(&created, &CreatedKey::SCHEMA);
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
        assert_fits(&me.json().to_string(), &MeView::SCHEMA);
    }
}

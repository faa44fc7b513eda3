//! Secrets, without what they hold.

use serde_json::Value;

use super::NEXT_CURSOR;
use crate::api::schema::{Moment, answer, list};
use crate::secrets::{NamedSecret, SecretUser};

answer! {
    /// A secret, without its value.
    pub struct SecretView<'a> as "Secret" {
        #[hidden] pub secret: &'a NamedSecret,
        /// Servers refer to it with `${secret:NAME}`.
        #[example = "github"] name: &str = |it| it.secret.name,
        /// When its value was put there.
        updated_at: Moment<i64> = |it| Moment(it.secret.updated_at),
        /// Who did that.
        #[example = "admin"] updated_by: Option<&str> = |it| it.secret.updated_by,
        #[hidden] pub used_by: Option<&'a [SecretUser]>,
        /// The servers that refer to it; null while the store is locked.
        #[example = [{"id":"0d9c4c5e-8a2b-4a9e-9d62-8f4f2f1f2a10","name":"github-mcp"}]]
        used_by: Option<Vec<SecretUserView<'_>>> = |it| it.used_by.map(SecretUserView::all),
    }
}

answer! {
    /// A server that refers to a secret.
    pub struct SecretUserView<'a> as "SecretUser" {
        #[example = "0d9c4c5e-8a2b-4a9e-9d62-8f4f2f1f2a10"] pub id: &'a str,
        #[example = "github-mcp"] pub name: &'a str,
    }
}

impl<'a> SecretUserView<'a> {
    fn all(users: &'a [SecretUser]) -> Vec<Self> {
        users.iter().map(|user| Self { id: &user.id, name: &user.name }).collect()
    }
}

answer! {
    /// A page of secrets.
    pub struct SecretList as "SecretList" {
        pub secrets: Vec<Value> => list(&SecretView::SCHEMA),
        /// On all pages.
        #[example = 1] pub total: usize,
        #[doc = NEXT_CURSOR]
        pub next_cursor: Option<String>,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::view::tests::assert_fits;

    #[test]
    fn secrets_have_their_shape() {
        let [id, name] = ["1", "github"].map(str::to_owned);
        let users = [SecretUser { id, name }];
        for (updated_by, used_by) in [(Some("ci".to_owned()), Some(&users[..])), (None, None)] {
            let secret = NamedSecret { name: "db".to_owned(), updated_at: 0, updated_by };
            let view = SecretView { secret: &secret, used_by };
            assert_fits(&view.json().to_string(), &SecretView::SCHEMA);
        }
    }
}

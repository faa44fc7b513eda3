//! Secrets, without what they hold.

use serde_json::{Value, json};

use super::{MOMENT, NEXT_CURSOR, moment};
use crate::api::shape::{Object, Shape, any_text, count, required};
use crate::secrets::{NamedSecret, SecretUser};

/// `used_by` is `None` where nobody can tell: the store is locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SecretView<'a> {
    pub secret: &'a NamedSecret,
    pub used_by: Option<&'a [SecretUser]>,
}

impl SecretView<'_> {
    pub fn json(&self) -> Value {
        let user = |user: &SecretUser| json!({"id": user.id, "name": user.name});
        json!({
            "name": self.secret.name,
            "updated_at": moment(self.secret.updated_at),
            "updated_by": self.secret.updated_by,
            "used_by": self.used_by.map(|users| users.iter().map(user).collect::<Vec<_>>()),
        })
    }
}

static USER: Object = Object::answer(
    "SecretUser",
    "A server that refers to a secret.",
    &[required("id", any_text(), ""), required("name", any_text(), "")],
);

pub static SECRET: Object = Object::answer(
    "Secret",
    "A secret, without its value.",
    &[
        required("name", any_text(), "Servers refer to it with `${secret:NAME}`."),
        required("updated_at", MOMENT, "When its value was put there."),
        required("updated_by", Shape::OrNull(&any_text()), "Who did that."),
        required(
            "used_by",
            Shape::OrNull(&Shape::List { of: &Shape::Object(&USER), most: usize::MAX }),
            "The servers that refer to it; null while the store is locked.",
        ),
    ],
);

pub static SECRET_LIST: Object = Object::answer(
    "SecretList",
    "A page of secrets.",
    &[
        required("secrets", Shape::List { of: &Shape::Object(&SECRET), most: usize::MAX }, ""),
        required("total", count(), "On all pages."),
        required("next_cursor", Shape::OrNull(&any_text()), NEXT_CURSOR),
    ],
);

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
            assert_fits(&view.json().to_string(), &Shape::Object(&SECRET));
        }
    }
}

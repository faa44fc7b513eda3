//! Clients that are connected, and what the platform runs with.

use serde_json::{Value, json};

use super::{MOMENT, moment, moment_or_null};
use crate::api::shape::{Case, Object, Shape, Words, any_text, count, required};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientView<'a> {
    pub name: Option<&'a str>,
    pub version: Option<&'a str>,
    pub way: &'a str,
    pub revision: Option<&'a str>,
    pub who: &'a str,
    pub credential: Option<&'a str>,
    pub address: Option<&'a str>,
    pub since: Option<i64>,
    pub last_heard: i64,
    pub open_calls: usize,
}

impl ClientView<'_> {
    fn json(&self) -> Value {
        json!({
            "name": self.name,
            "version": self.version,
            "way": self.way,
            "revision": self.revision,
            "who": self.who,
            "credential": self.credential,
            "address": self.address,
            "since": moment_or_null(self.since),
            "last_heard": moment(self.last_heard),
            "open_calls": self.open_calls,
        })
    }
}

pub fn client_list<'a>(clients: impl IntoIterator<Item = ClientView<'a>>) -> Value {
    let clients: Vec<_> = clients.into_iter().map(|client| client.json()).collect();
    json!({"total": clients.len(), "clients": clients})
}

static WAYS: Words = Words { known: &["session", "sse", "stateless"], case: Case::AsWritten };

static CLIENT: Object = Object::answer(
    "Client",
    "A client that is connected.",
    &[
        required("name", Shape::OrNull(&any_text()), "What it calls itself."),
        required("version", Shape::OrNull(&any_text()), ""),
        required(
            "way",
            Shape::Word(&WAYS),
            "A session of `/mcp`, a stream of `/sse`, or requests that stand for themselves.",
        ),
        required("revision", Shape::OrNull(&any_text()), "The revision of MCP that was agreed on."),
        required("who", any_text(), "Whose token it shows."),
        required("credential", Shape::OrNull(&any_text()), ""),
        required("address", Shape::OrNull(&any_text()), "Where it was let in from."),
        required("since", Shape::OrNull(&MOMENT), ""),
        required("last_heard", MOMENT, ""),
        required("open_calls", count(), ""),
    ],
);

pub static CLIENT_LIST: Object = Object::answer(
    "ClientList",
    "Everybody who is connected to this process.",
    &[
        required("clients", Shape::List { of: &Shape::Object(&CLIENT), most: usize::MAX }, ""),
        required("total", count(), ""),
    ],
);

static REGISTRATIONS: Words =
    Words { known: &["refused", "only", "allowed"], case: Case::AsWritten };
static STORES: Words = Words { known: &["sqlite", "postgres"], case: Case::AsWritten };

pub static SETTINGS: Object = Object::answer(
    "Settings",
    "What this Trunkline runs with. Nothing of it is a secret.",
    &[
        required("version", any_text(), ""),
        required("listen", any_text(), ""),
        required("public_url", Shape::OrNull(&any_text()), "How browsers reach it."),
        required("data_dir", any_text(), ""),
        required("store", Shape::Word(&STORES), ""),
        required("store_url", any_text(), "Without its password."),
        required("is_locked", Shape::Flag, "It was sealed with another key."),
        required("mcp_without_token", Shape::Flag, "Whoever reaches the address may speak MCP."),
        required("stdio_registration", Shape::Word(&REGISTRATIONS), "Commands as servers."),
        required("stdio_commands", Shape::List { of: &any_text(), most: usize::MAX }, ""),
        required("allowed_networks", Shape::List { of: &any_text(), most: usize::MAX }, ""),
        required("health_interval", count(), "Seconds."),
        required("issuer", Shape::OrNull(&any_text()), "Whose access tokens are taken."),
        required("traces", Shape::Flag, "Requests are followed."),
        required("language_model", Shape::OrNull(&any_text()), "Asked for skills."),
    ],
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::view::tests::assert_fits;

    #[test]
    fn clients_have_their_shape() {
        let view = ClientView {
            name: Some("a"),
            version: None,
            way: "session",
            revision: Some("2025-11-25"),
            who: "admin",
            credential: Some("admin-token"),
            address: None,
            since: Some(0),
            last_heard: 0,
            open_calls: 1,
        };
        let list = client_list([view.clone(), ClientView { since: None, ..view }]);
        assert_fits(&list.to_string(), &Shape::Object(&CLIENT_LIST));
        assert_eq!(list["total"], 2);
    }
}

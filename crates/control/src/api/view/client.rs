//! Clients that are connected, and what the platform runs with.

use serde_json::Value;

use crate::api::schema::{Case, EnumValues, Moment, Schema, answer};

const TRANSPORTS: Schema =
    Schema::Enum(&EnumValues { known: &["session", "sse", "stateless"], case: Case::Sensitive });

answer! {
    /// A client that is connected.
    pub struct ClientView<'a> as "Client" {
        /// What it calls itself.
        #[example = "claude-code"] pub name: Option<&'a str>,
        #[example = "2.1.0"] pub version: Option<&'a str>,
        /// A session of `/mcp`, a stream of `/sse`, or requests that stand for themselves.
        pub way: &'a str => TRANSPORTS,
        /// The revision of MCP that was agreed on.
        #[example = "2025-11-25"] pub revision: Option<&'a str>,
        /// Whose token it shows.
        #[example = "laptop"] pub who: &'a str,
        #[example = "key:abcdefghij"] pub credential: Option<&'a str>,
        /// Where it was let in from.
        #[example = "127.0.0.1"] pub address: Option<&'a str>,
        #[example = "2025-01-08T10:00:00Z"] pub since: Option<i64> as Moment,
        pub last_heard: i64 as Moment,
        pub open_calls: usize,
    }
}

answer! {
    /// Everybody who is connected to this process.
    pub struct ClientList<'a> as "ClientList" {
        #[example = 1] total: usize = |it| it.clients.len(),
        pub clients: Vec<ClientView<'a>>,
    }
}

pub fn client_list<'a>(clients: impl IntoIterator<Item = ClientView<'a>>) -> Value {
    ClientList { clients: clients.into_iter().collect() }.json()
}

const STORES: Schema =
    Schema::Enum(&EnumValues { known: &["sqlite", "postgres"], case: Case::Sensitive });
const REGISTRATIONS: Schema =
    Schema::Enum(&EnumValues { known: &["refused", "only", "allowed"], case: Case::Sensitive });

answer! {
    /// What this Trunkline runs with. Nothing of it is a secret.
    pub struct SettingsView<'a> as "Settings" {
        #[example = "0.1.0"] pub version: &'a str,
        #[example = "127.0.0.1:3006"] pub listen: String,
        /// How browsers reach it.
        #[example = "http://127.0.0.1:3006"] pub public_url: Option<&'a str>,
        #[example = "/var/lib/trunkline"] pub data_dir: String,
        pub store: &'a str => STORES,
        /// Without its password.
        #[example = "sqlite:/var/lib/trunkline/trunkline.db"] pub store_url: String,
        /// It was sealed with another key.
        pub is_locked: bool,
        /// Clients without a token may use MCP now: `--open` was given, and there is no API key.
        #[example = false] pub mcp_without_token: bool,
        /// Commands as servers.
        pub stdio_registration: &'a str => REGISTRATIONS,
        #[example = []] pub stdio_commands: Vec<String>,
        #[example = []] pub allowed_networks: Vec<String>,
        /// Seconds.
        #[example = 30] pub health_interval: u64,
        /// Whose access tokens are taken.
        pub issuer: Option<&'a str>,
        /// Whose people sign in to the dashboard.
        pub people_issuer: Option<&'a str>,
        /// Requests are followed.
        pub traces: bool,
        /// Asked for skills.
        pub language_model: Option<&'a str>,
    }
}

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
        let clients = vec![view.clone(), ClientView { since: None, ..view }];
        let list = ClientList { clients }.json();
        assert_fits(&list.to_string(), &ClientList::SCHEMA);
        assert_eq!(list["total"], 2);
    }
}

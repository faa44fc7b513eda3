//! A server as the API shows it. Values of headers and variables are never among it.

use serde_json::{Map, Value, json};
use trunkline_catalog::config::{CallRules, SandboxRules, Transport};

use super::health::HealthView;
use super::{NEXT_CURSOR, Status};
use crate::api::input::{OAuthClient, ON_CHANGES, SANDBOXES, SECRET_SHOWN, TransportType};
use crate::api::schema::{Case, EnumValues, Moment, Schema, answer, list, words};
use crate::secrets::sandbox_json;
pub use crate::secrets::shown_url;

words! {
    /// Where a server was defined.
    pub enum DefinedIn {
        /// The config file: cannot be changed over REST.
        File = "file",
        Api = "api",
    }
}

const ERAS: Schema =
    Schema::Enum(&EnumValues { known: &["legacy", "modern"], case: Case::Sensitive });

answer! {
    /// A registered server.
    pub struct ServerView<'a> as "Server" {
        /// Stays the same when the server is renamed.
        #[example = "0d9c4c5e-8a2b-4a9e-9d62-8f4f2f1f2a10"] pub id: &'a str,
        /// The prefix of its tools.
        #[example = "github-mcp"] pub name: &'a str,
        #[example = "GitHub MCP Server for repository operations"] pub description: Option<&'a str>,
        pub status: Status,
        #[hidden] pub transport: &'a Transport,
        #[example = "SSE"] transport_type: TransportType = |it| TransportType::of(it.transport),
        /// As it was given, with `***` for the values of headers, variables and queries.
        #[example = {"url":"https://github-mcp.example.com/sse","headers":{"Authorization":"***"}}]
        connection_config: Value = |it| shown_config(it.transport),
        /// `file`: from the config file, and read-only here.
        #[example = "api"] pub source: DefinedIn,
        #[example = true] pub auto_connect: bool,
        #[hidden] pub health_check_url: Option<&'a str>,
        #[example = "https://github-mcp.example.com/health"]
        health_check_url: Option<String> = |it| it.health_check_url.map(shown_url),
        #[shared] pub calls: CallRules,
        /// What happens when it defines a tool in another way than before: `allow`, `warn` or `hold`.
        #[example = "warn"] pub on_change: &'a str => ON_CHANGES,
        #[hidden] pub sandbox: Option<&'a SandboxRules>,
        /// The walls around a command; null: the platform's default.
        #[example = null]
        sandbox: Option<Value> = |it| it.sandbox.map(sandbox_json) => Schema::Nullable(&SANDBOXES),
        pub health: &'a HealthView,
        /// How many it has.
        #[example = 26] pub tools: usize,
        /// Which era of MCP it speaks: `legacy` or `modern`, once that is known.
        #[example = "legacy"] pub era: Option<&'a str> => Schema::Nullable(&ERAS),
        /// The revision of MCP it speaks.
        #[example = "2025-06-18"] pub protocol_version: Option<&'a str>,
        #[hidden] pub oauth: Option<&'a OAuthClient>,
        /// As it was given, with `***` for the secret.
        oauth: Option<Value> = |it| it.oauth.map(OAuthClient::shown),
        /// The state of the login there; null where none was made or is needed.
        pub auth: Option<&'a AuthView>,
        /// Why it is `DEGRADED` or `ERROR`; null while it is neither.
        pub reason: Option<&'a str>,
        /// What went wrong last, also if it is well now.
        pub last_error: Option<LastError<'a>>,
        /// How often it came back after it had run and gone.
        pub restarts: u32,
        pub registered_at: i64 as Moment,
        pub updated_at: i64 as Moment,
        /// Counts its changes.
        #[example = 1] pub revision: i64,
    }
}

words! {
    pub enum AuthState {
        NeedsAuth = "needs-auth",
        LoggedIn = "logged-in",
    }
}

answer! {
    /// The login at a server that requires one.
    pub struct AuthView as "Auth" {
        #[hidden] pub needs_login: bool,
        /// `needs-auth`: it cannot be used before a login.
        state: AuthState = |it| match it.needs_login {
            true => AuthState::NeedsAuth,
            false => AuthState::LoggedIn,
        },
        /// POST to it to log in, DELETE it to log out.
        pub login_url: String,
        /// What was granted.
        pub scopes: Vec<String>,
        /// Who granted it.
        pub issuer: Option<String>,
    }
}

answer! {
    /// What went wrong last.
    pub struct LastError<'a> as "LastError" {
        pub at: i64 as Moment,
        pub message: &'a str,
        /// What to do about it.
        pub hint: Option<&'a str>,
    }
}

answer! {
    /// A page of servers, by name.
    pub struct ServerList as "ServerList" {
        pub servers: Vec<Value> => list(&ServerView::SCHEMA),
        /// On all pages.
        #[example = 1] pub total: usize,
        #[doc = NEXT_CURSOR]
        pub next_cursor: Option<String>,
    }
}

answer! {
    /// The connection is being made, or is there already.
    pub struct Connecting as "Connecting" {
        #[example = "CONNECTING"] pub status: Status,
        #[example = "Connection initiated"] pub message: &'static str,
    }
}

impl Connecting {
    /// There was nothing to do.
    pub const ALREADY: Self = Self { status: Status::Connected, message: "Already connected" };
    pub const BEGUN: Self = Self { status: Status::Connecting, message: "Connection initiated" };
}

answer! {
    /// The connection is closed.
    pub struct Disconnected as "Disconnected" {
        #[example = "DISCONNECTED"] pub status: Status,
        /// Calls that had not ended within 30 seconds.
        pub pending_requests: usize,
    }
}

answer! {
    /// A login that has to be completed in a browser.
    pub struct LoginView<'a> as "Login" {
        /// Open it in a browser, within ten minutes.
        #[example = "https://auth.example.com/authorize?response_type=code&client_id=abc&state=xyz"]
        pub authorization_url: &'a str,
        /// After this a new login has to be begun.
        pub expires_at: i64 as Moment,
        /// The authorization server that is asked.
        #[example = "https://auth.example.com"] pub issuer: &'a str,
        /// Who granted access before, if that was another one: think twice.
        pub previous_issuer: Option<&'a str>,
        /// What is asked for.
        #[example = "read write"] pub scope: Option<&'a str>,
    }
}

/// The names of headers and variables are shown, their values are not, and nothing behind a `=`
/// in a query.
pub fn shown_config(transport: &Transport) -> Value {
    let hidden = |pairs: &[(String, String)]| -> Map<String, Value> {
        pairs.iter().map(|(name, _)| (name.clone(), SECRET_SHOWN.into())).collect()
    };
    match transport {
        Transport::Stdio { command, args, env, cwd } => {
            json!({"command": command, "args": args, "env": hidden(env), "cwd": cwd})
        }
        Transport::Remote { url, headers, .. } => {
            json!({"url": shown_url(url), "headers": hidden(headers)})
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::view::HealthStatus;
    use crate::api::view::tests::assert_fits;
    use trunkline_catalog::config::RemoteKind;

    const HEALTH: HealthView = HealthView {
        status: HealthStatus::Healthy,
        last_check: Some(1_736_330_400_000),
        p50: Some(1.5),
        p95: Some(12.0),
        error_rate: Some(0.0),
        ..HealthView::UNKNOWN
    };

    fn pair(name: &str, value: &str) -> Vec<(String, String)> {
        vec![(name.to_owned(), value.to_owned())]
    }

    fn view(transport: &Transport) -> ServerView<'_> {
        ServerView {
            id: "0d9c4c5e-8a2b-4a9e-9d62-8f4f2f1f2a10",
            name: "github-mcp",
            description: None,
            transport,
            status: Status::Connected,
            source: DefinedIn::Api,
            auto_connect: true,
            health_check_url: Some("https://h/health?key=hunter2"),
            calls: CallRules::of(|_| Some(500)),
            on_change: "warn",
            sandbox: None,
            health: &HEALTH,
            tools: 12,
            era: Some("legacy"),
            protocol_version: Some("2025-06-18"),
            oauth: None,
            auth: None,
            reason: Some("93 % of 74 calls failed; last: -32603 from `search`"),
            restarts: 2,
            last_error: Some(LastError { at: 0, message: "refused", hint: None }),
            registered_at: 1_736_330_400_000,
            updated_at: 1_736_330_400_000,
            revision: 3,
        }
    }

    #[test]
    fn servers_have_their_shape_and_no_secret() {
        for transport in [
            Transport::Stdio {
                command: "npx".to_owned(),
                args: vec!["-y".to_owned()],
                env: pair("TOKEN", "hunter2"),
                cwd: None,
            },
            Transport::Remote {
                url: "https://h/mcp?key=hunter2&hunter2".to_owned(),
                kind: RemoteKind::Sse,
                headers: pair("Authorization", "Bearer hunter2"),
                network: Default::default(),
            },
        ] {
            let servers = vec![view(&transport).json()];
            let list = ServerList { servers, total: 1, next_cursor: None }.json().to_string();
            assert_fits(&list, &ServerList::SCHEMA);
            assert!(!list.contains("hunter2"), "{list}");
            assert!(list.contains(r#"TOKEN":"***"#) || list.contains(r#"Authorization":"***"#));
        }
    }

    #[test]
    fn the_answers_of_003_to_the_letter() {
        assert_eq!(
            Connecting::BEGUN.json().to_string(),
            r#"{"status":"CONNECTING","message":"Connection initiated"}"#
        );
        let disconnected = Disconnected { status: Status::Disconnected, pending_requests: 0 };
        assert_eq!(
            disconnected.json().to_string(),
            r#"{"status":"DISCONNECTED","pending_requests":0}"#
        );
        for answer in [Connecting::BEGUN, Connecting::ALREADY] {
            assert_fits(&answer.json().to_string(), &Connecting::SCHEMA);
        }
        assert_fits(&disconnected.json().to_string(), &Disconnected::SCHEMA);
    }

    #[test]
    fn queries_are_hidden() {
        for (url, expected) in [
            ("https://h/mcp", "https://h/mcp"),
            ("https://h/mcp?", "https://h/mcp?"),
            ("https://h/mcp?a=b", "https://h/mcp?a=***"),
            ("https://h/mcp?a=b=c&d&e=", "https://h/mcp?a=***&***&e=***"),
        ] {
            assert_eq!(shown_url(url), expected);
        }
    }
}

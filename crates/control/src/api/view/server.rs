//! A server as the API shows it. Values of headers and variables are never among it.

use std::time::Duration;

use serde_json::{Map, Value, json};
use trunkline_catalog::config::Transport;

use super::health::{HEALTH, HealthView};
use super::status::STATUSES;
use super::{MOMENT, NEXT_CURSOR, Status, moment};
use crate::api::input::{OAuthClient, SECRET_SHOWN, TRANSPORTS, TransportType};
use crate::api::shape::{Case, Object, Shape, Words, any_text, count, optional, required};
pub use crate::secrets::shown_url;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The config file: cannot be changed over REST.
    File,
    Api,
}

#[derive(Debug, Clone)]
pub struct ServerView<'a> {
    pub id: &'a str,
    pub name: &'a str,
    pub description: Option<&'a str>,
    pub transport: &'a Transport,
    pub status: Status,
    pub source: Source,
    pub auto_connect: bool,
    pub health_check_url: Option<&'a str>,
    pub call_timeout: Option<Duration>,
    pub max_concurrency: Option<u32>,
    pub health: &'a HealthView,
    pub tools: usize,
    /// "legacy" or "modern", once it is known.
    pub era: Option<&'a str>,
    pub protocol_version: Option<&'a str>,
    /// A client that was registered by hand.
    pub oauth: Option<&'a OAuthClient>,
    /// Whether somebody has logged in there for us; none where that does not matter.
    pub auth: Option<&'a AuthView>,
    /// Why it is DEGRADED or ERROR.
    pub reason: Option<&'a str>,
    pub last_error: Option<LastError<'a>>,
    pub restarts: u32,
    pub registered_at: i64,
    pub updated_at: i64,
    pub revision: i64,
}

/// How it stands with the login at a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthView {
    pub needs_login: bool,
    pub login_url: String,
    pub scopes: Vec<String>,
    pub issuer: Option<String>,
}

impl AuthView {
    fn json(&self) -> Value {
        json!({
            "state": if self.needs_login { "needs-auth" } else { "logged-in" },
            "login_url": self.login_url,
            "scopes": self.scopes,
            "issuer": self.issuer,
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastError<'a> {
    pub at: i64,
    pub message: &'a str,
    pub hint: Option<&'a str>,
}

impl ServerView<'_> {
    pub fn json(&self) -> Value {
        let last_error = self.last_error.as_ref().map(
            |error| json!({"at": moment(error.at), "message": error.message, "hint": error.hint}),
        );
        json!({
            "id": self.id,
            "name": self.name,
            "description": self.description,
            "status": self.status.as_str(),
            "transport_type": TransportType::of(self.transport).as_str(),
            "connection_config": shown_config(self.transport),
            "source": self.source.as_str(),
            "auto_connect": self.auto_connect,
            "health_check_url": self.health_check_url.map(shown_url),
            "call_timeout": self.call_timeout.map(|time| time.as_secs()),
            "max_concurrency": self.max_concurrency,
            "health": self.health.json(),
            "tools": self.tools,
            "era": self.era,
            "protocol_version": self.protocol_version,
            "oauth": self.oauth.map(OAuthClient::shown),
            "auth": self.auth.map(AuthView::json),
            "reason": self.reason,
            "last_error": last_error,
            "restarts": self.restarts,
            "registered_at": moment(self.registered_at),
            "updated_at": moment(self.updated_at),
            "revision": self.revision,
        })
    }
}

impl Source {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Api => "api",
        }
    }
}

/// One page. `total` counts all pages.
pub fn server_list<'a>(
    servers: impl IntoIterator<Item = ServerView<'a>>,
    total: usize,
    next_cursor: Option<&str>,
) -> Value {
    let servers: Vec<_> = servers.into_iter().map(|server| server.json()).collect();
    json!({"servers": servers, "total": total, "next_cursor": next_cursor})
}

/// The answer of `…/connect` if there is nothing to do.
pub fn connected() -> Value {
    json!({"status": Status::Connected.as_str(), "message": "Already connected"})
}

/// The answer of `…/connect`.
pub fn connecting() -> Value {
    json!({"status": Status::Connecting.as_str(), "message": "Connection initiated"})
}

/// The answer of `…/disconnect`.
pub fn disconnected(pending_requests: usize) -> Value {
    json!({"status": Status::Disconnected.as_str(), "pending_requests": pending_requests})
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

static SOURCES: Words = Words { known: &["file", "api"], case: Case::AsWritten };
static ERAS: Words = Words { known: &["legacy", "modern"], case: Case::AsWritten };

static LAST_ERROR: Object = Object::answer(
    "LastError",
    "What went wrong last.",
    &[
        required("at", MOMENT, ""),
        required("message", any_text(), ""),
        required("hint", Shape::OrNull(&any_text()), "What to do about it."),
    ],
);

static AUTH_STATES: Words = Words { known: &["needs-auth", "logged-in"], case: Case::AsWritten };

static AUTH: Object = Object::answer(
    "Auth",
    "How it stands with the login at a server that wants one.",
    &[
        required(
            "state",
            Shape::Word(&AUTH_STATES),
            "`needs-auth`: it cannot be used before somebody has logged in.",
        ),
        required("login_url", any_text(), "POST to it to log in, DELETE it to log out."),
        required("scopes", Shape::List { of: &any_text(), most: usize::MAX }, "What was granted."),
        required("issuer", Shape::OrNull(&any_text()), "Who granted it."),
    ],
);

pub static SERVER: Object = Object::answer(
    "Server",
    "A registered server.",
    &[
        required("id", any_text(), "Stays the same when the server is renamed."),
        required("name", any_text(), "The prefix of its tools."),
        required("description", Shape::OrNull(&any_text()), ""),
        required("status", Shape::Word(&STATUSES), ""),
        required("transport_type", Shape::Word(&TRANSPORTS), ""),
        required(
            "connection_config",
            Shape::AnyObject,
            "As it was given, with `***` for the values of headers, variables and queries.",
        ),
        required(
            "source",
            Shape::Word(&SOURCES),
            "`file`: from the config file, and read-only here.",
        ),
        required("auto_connect", Shape::Flag, ""),
        required("health_check_url", Shape::OrNull(&any_text()), ""),
        required("call_timeout", Shape::OrNull(&count()), "Seconds a call may take."),
        required("max_concurrency", Shape::OrNull(&count()), "Calls it may have open at a time."),
        required("health", Shape::Object(&HEALTH), ""),
        required("tools", count(), "How many it has."),
        required("era", Shape::OrNull(&Shape::Word(&ERAS)), "Which era of MCP it speaks."),
        required("protocol_version", Shape::OrNull(&any_text()), "The revision of MCP it speaks."),
        optional(
            "oauth",
            Shape::OrNull(&Shape::AnyObject),
            "As it was given, with `***` for the secret.",
        ),
        optional(
            "auth",
            Shape::OrNull(&Shape::Object(&AUTH)),
            "How it stands with the login there; null where nobody has logged in or has to.",
        ),
        required(
            "reason",
            Shape::OrNull(&any_text()),
            "Why it is `DEGRADED` or `ERROR`; null while it is neither.",
        ),
        required(
            "last_error",
            Shape::OrNull(&Shape::Object(&LAST_ERROR)),
            "What went wrong last, also if it is well now.",
        ),
        required("restarts", count(), "How often it came back after it had run and gone."),
        required("registered_at", MOMENT, ""),
        required("updated_at", MOMENT, ""),
        required("revision", count(), "Counts its changes."),
    ],
);

pub static SERVER_LIST: Object = Object::answer(
    "ServerList",
    "A page of servers, by name.",
    &[
        required("servers", Shape::List { of: &Shape::Object(&SERVER), most: usize::MAX }, ""),
        required("total", count(), "On all pages."),
        required("next_cursor", Shape::OrNull(&any_text()), NEXT_CURSOR),
    ],
);

pub static CONNECTING: Object = Object::answer(
    "Connecting",
    "The connection is being made, or is there already.",
    &[required("status", Shape::Word(&STATUSES), ""), required("message", any_text(), "")],
);

pub static LOGIN: Object = Object::answer(
    "Login",
    "A login that somebody has to end in a browser.",
    &[
        required("authorization_url", any_text(), "Open it in a browser, within ten minutes."),
        required("expires_at", MOMENT, "After this a new login has to be begun."),
        required("issuer", any_text(), "The authorization server that is asked."),
        required(
            "previous_issuer",
            Shape::OrNull(&any_text()),
            "Who granted access before, if that was another one: think twice.",
        ),
        required("scope", Shape::OrNull(&any_text()), "What is asked for."),
    ],
);

pub static DISCONNECTED: Object = Object::answer(
    "Disconnected",
    "The connection is closed.",
    &[
        required("status", Shape::Word(&STATUSES), ""),
        required("pending_requests", count(), "Calls that had not ended within 30 seconds."),
    ],
);

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
            source: Source::Api,
            auto_connect: true,
            health_check_url: Some("https://h/health?key=hunter2"),
            call_timeout: None,
            max_concurrency: Some(4),
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
            },
        ] {
            let list = server_list([view(&transport)], 1, None).to_string();
            assert_fits(&list, &Shape::Object(&SERVER_LIST));
            assert!(!list.contains("hunter2"), "{list}");
            assert!(list.contains(r#"TOKEN":"***"#) || list.contains(r#"Authorization":"***"#));
        }
    }

    #[test]
    fn the_answers_of_003_to_the_letter() {
        assert_eq!(
            connecting().to_string(),
            r#"{"status":"CONNECTING","message":"Connection initiated"}"#
        );
        assert_eq!(
            disconnected(0).to_string(),
            r#"{"status":"DISCONNECTED","pending_requests":0}"#
        );
        for answer in [connecting(), connected()] {
            assert_fits(&answer.to_string(), &Shape::Object(&CONNECTING));
        }
        assert_fits(&disconnected(2).to_string(), &Shape::Object(&DISCONNECTED));
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

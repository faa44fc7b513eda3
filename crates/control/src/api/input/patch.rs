//! `PATCH /aggregator/servers/{id}`: what is to be different (JSON merge patch, RFC 7396).
//!
//! What is not named stays; null takes away; members of `headers` and `env` are changed one by
//! one. A secret that comes back as it was shown (`***`) stays, so that a server can be read,
//! edited and sent back.

use std::time::Duration;

use trunkline_catalog::config::Transport;

use super::body::{Declared, none};
use super::fields::Fields;
use super::oauth::{OAUTH, OAUTH_DOC, OAuthClient};
use super::register::{
    ARGS, ARGS_DOC, COMMAND, COMMAND_DOC, CONCURRENCY_DOC, CWD, CWD_DOC, DESCRIPTION, HEADER_NAME,
    HEADER_VALUE, HEALTH_DOC, NAME, NAME_DOC, OPEN_CALLS, SECONDS, SECRET_SHOWN, TIMEOUT_DOC,
    TransportType, URL, URL_DOC, VARIABLE_NAME, VARIABLE_VALUE,
};
use crate::api::problem::Problem;
use crate::api::shape::{Case, Field, Map, Object, Shape, optional};
use crate::api::view::shown_url;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Change<T> {
    #[default]
    Keep,
    Set(T),
    Clear,
}

/// Headers or variables: those named are set, or taken away where there is no value.
pub type Pairs = Vec<(String, Option<String>)>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchServer {
    pub name: Option<String>,
    pub description: Change<String>,
    pub config: ConfigPatch,
    pub auto_connect: Option<bool>,
    pub health_check_url: Change<String>,
    pub call_timeout: Change<Duration>,
    pub max_concurrency: Change<u32>,
    /// As a whole.
    pub oauth: Change<OAuthClient>,
}

/// `Debug` shows no values: they may be secrets.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ConfigPatch {
    pub command: Option<String>,
    pub args: Change<Vec<String>>,
    pub env: Change<Pairs>,
    pub cwd: Change<String>,
    pub url: Option<String>,
    pub headers: Change<Pairs>,
}

impl std::fmt::Debug for ConfigPatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConfigPatch").field("empty", &self.is_empty()).finish_non_exhaustive()
    }
}

impl PatchServer {
    /// `kind` is the server's: it decides what its `connection_config` may hold.
    pub fn read(body: &Declared<'_>, kind: TransportType) -> Result<Self, Problem> {
        let shape = match kind {
            TransportType::Stdio => Shape::Object(&PATCH_STDIO),
            TransportType::Sse | TransportType::Http => Shape::Object(&PATCH_REMOTE),
        };
        let (document, faults) = body.read(&shape)?;
        none(faults)?;
        let fields = Fields::of(&document.root);
        let client = fields.object("oauth");
        let client = fields.is_object("oauth").then(|| OAuthClient::read(&client));
        let config = fields.object("connection_config");
        let owned = |fields: &Fields<'_>, name: &str| fields.text(name).map(str::to_owned);
        let text = |fields: &Fields<'_>, name| change(fields, name, owned(fields, name));
        let pairs = |name| {
            let pairs = config.value(name).map(|_| without_shown(config.pairs(name)));
            change(&config, name, pairs)
        };
        Ok(Self {
            name: owned(&fields, "name"),
            description: text(&fields, "description"),
            auto_connect: fields.flag("auto_connect"),
            health_check_url: text(&fields, "health_check_url"),
            call_timeout: change(&fields, "call_timeout", fields.seconds("call_timeout")),
            max_concurrency: change(&fields, "max_concurrency", fields.whole("max_concurrency")),
            oauth: change(&fields, "oauth", client),
            config: ConfigPatch {
                command: owned(&config, "command"),
                args: change(&config, "args", config.texts("args")),
                env: pairs("env"),
                cwd: text(&config, "cwd"),
                url: owned(&config, "url"),
                headers: pairs("headers"),
            },
        })
    }
}

impl PatchServer {
    /// Does the secret of this client stay as it is?
    pub fn leaves_client_secret(&self, client: Option<&OAuthClient>) -> bool {
        let has_one = client.is_some_and(|client| client.client_secret.is_some());
        has_one
            && match &self.oauth {
                Change::Keep => true,
                Change::Set(new) => new.client_secret.as_deref() == Some(SECRET_SHOWN),
                Change::Clear => false,
            }
    }
}

impl ConfigPatch {
    /// Does the server have to be connected anew?
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Those of these headers whose values stay as they are.
    pub fn leaves_headers<'a>(
        &'a self,
        headers: &'a [(String, String)],
    ) -> impl Iterator<Item = &'a str> {
        left(&self.headers, headers, Case::Any)
    }

    /// The same for variables.
    pub fn leaves_variables<'a>(
        &'a self,
        env: &'a [(String, String)],
    ) -> impl Iterator<Item = &'a str> {
        left(&self.env, env, Case::AsWritten)
    }

    pub fn apply(self, transport: &mut Transport) {
        match transport {
            Transport::Stdio { command, args, env, cwd } => {
                set(command, self.command);
                self.args.apply(args);
                merge(env, self.env, Case::AsWritten);
                match self.cwd {
                    Change::Keep => {}
                    Change::Set(new) => *cwd = Some(new),
                    Change::Clear => *cwd = None,
                }
            }
            Transport::Remote { url, headers, .. } => {
                set(url, self.url.filter(|new| !is_as_shown(new, url)));
                merge(headers, self.headers, Case::Any);
            }
        }
    }
}

impl<T: Default> Change<T> {
    fn apply(self, value: &mut T) {
        match self {
            Self::Keep => {}
            Self::Set(new) => *value = new,
            Self::Clear => *value = T::default(),
        }
    }
}

impl<T> Change<T> {
    /// What becomes of a value that there may be.
    pub fn of(self, before: Option<T>) -> Option<T> {
        match self {
            Self::Keep => before,
            Self::Set(new) => Some(new),
            Self::Clear => None,
        }
    }
}

impl Change<String> {
    /// The same; an address that comes back as it was shown stays.
    pub fn of_url(self, before: Option<String>) -> Option<String> {
        match (self, before) {
            (Self::Set(new), Some(url)) if is_as_shown(&new, &url) => Some(url),
            (change, before) => change.of(before),
        }
    }
}

impl Change<OAuthClient> {
    /// The same; a secret that comes back as it was shown stays.
    pub fn of_client(self, before: Option<OAuthClient>) -> Option<OAuthClient> {
        let secret = before.as_ref().and_then(|client| client.client_secret.clone());
        let mut client = self.of(before)?;
        if client.client_secret.as_deref() == Some(SECRET_SHOWN) {
            client.client_secret = secret;
        }
        Some(client)
    }
}

fn change<T>(fields: &Fields<'_>, name: &str, value: Option<T>) -> Change<T> {
    match value {
        _ if fields.is_null(name) => Change::Clear,
        Some(value) => Change::Set(value),
        None => Change::Keep,
    }
}

/// What we had shown of this address was sent back.
fn is_as_shown(new: &str, url: &str) -> bool {
    new == shown_url(url)
}

fn set(value: &mut String, new: Option<String>) {
    if let Some(new) = new {
        *value = new;
    }
}

fn without_shown(pairs: Pairs) -> Pairs {
    pairs.into_iter().filter(|(_, value)| value.as_deref() != Some(SECRET_SHOWN)).collect()
}

fn merge(pairs: &mut Vec<(String, String)>, change: Change<Pairs>, case: Case) {
    let changes = match change {
        Change::Keep => return,
        Change::Clear => {
            pairs.clear();
            return;
        }
        Change::Set(changes) => changes,
    };
    for (name, value) in changes {
        let same = |known: &str| is_same(known, &name, case);
        match (pairs.iter_mut().find(|(known, _)| same(known)), value) {
            (Some(pair), Some(value)) => *pair = (name, value),
            (None, Some(value)) => pairs.push((name, value)),
            (_, None) => pairs.retain(|(known, _)| !same(known)),
        }
    }
}

fn left<'a>(
    change: &'a Change<Pairs>,
    pairs: &'a [(String, String)],
    case: Case,
) -> impl Iterator<Item = &'a str> {
    let stays = move |name: &&str| match change {
        Change::Keep => true,
        Change::Clear => false,
        Change::Set(changes) => !changes.iter().any(|(given, _)| is_same(given, name, case)),
    };
    pairs.iter().map(|(name, _)| name.as_str()).filter(stays)
}

fn is_same(known: &str, name: &str, case: Case) -> bool {
    match case {
        Case::AsWritten => known == name,
        Case::Any => known.eq_ignore_ascii_case(name),
    }
}

static HEADERS: Map =
    Map { names: HEADER_NAME, values: Shape::OrNull(&HEADER_VALUE), case: Case::Any, most: 100 };
static ENV: Map = Map {
    names: VARIABLE_NAME,
    values: Shape::OrNull(&VARIABLE_VALUE),
    case: Case::AsWritten,
    most: 500,
};

const MERGED: &str = "Those named are changed, null takes one away, `***` leaves it.";

static STDIO_CONFIG: Object = Object {
    refused: &[
        ("url", "belongs to servers of transport SSE and HTTP; this one is STDIO"),
        ("headers", "belongs to servers of transport SSE and HTTP; this one is STDIO"),
    ],
    ..Object::request(
        "PatchStdioConfig",
        "What is different about the command.",
        &[
            optional("command", COMMAND, COMMAND_DOC),
            optional("args", Shape::OrNull(&ARGS), ARGS_DOC),
            optional("env", Shape::OrNull(&Shape::Map(&ENV)), MERGED),
            optional("cwd", Shape::OrNull(&CWD), CWD_DOC),
        ],
    )
};

static REMOTE_CONFIG: Object = Object {
    refused: &[
        ("command", "belongs to servers of transport STDIO; this one is on the network"),
        ("args", "belongs to servers of transport STDIO; this one is on the network"),
        ("env", "belongs to servers of transport STDIO; this one is on the network"),
        ("cwd", "belongs to servers of transport STDIO; this one is on the network"),
    ],
    ..Object::request(
        "PatchRemoteConfig",
        "What is different about the address.",
        &[
            optional("url", URL, URL_DOC),
            optional("headers", Shape::OrNull(&Shape::Map(&HEADERS)), MERGED),
        ],
    )
};

const fn fields(config: Shape) -> [Field; 7] {
    [
        optional("name", Shape::Text(NAME), NAME_DOC),
        optional("description", Shape::OrNull(&DESCRIPTION), "What it is for."),
        optional("connection_config", config, "Where it is, and what it is given."),
        optional("auto_connect", Shape::Flag, "Connect it whenever Trunkline starts."),
        optional("health_check_url", Shape::OrNull(&URL), HEALTH_DOC),
        optional("call_timeout", Shape::OrNull(&SECONDS), TIMEOUT_DOC),
        optional("max_concurrency", Shape::OrNull(&OPEN_CALLS), CONCURRENCY_DOC),
    ]
}

const FIXED: &[(&str, &str)] = &[
    ("id", "cannot be changed"),
    ("transport_type", "cannot be changed: register the server anew"),
    ("status", "is what Trunkline finds; use connect and disconnect"),
    ("registered_at", "cannot be changed"),
    ("revision", "cannot be changed; send it as `If-Match`"),
];

static STDIO_FIELDS: [Field; 7] = fields(Shape::Object(&STDIO_CONFIG));
static REMOTE_FIELDS: [Field; 8] = {
    let [a, b, c, d, e, f, g] = fields(Shape::Object(&REMOTE_CONFIG));
    [a, b, c, d, e, f, g, optional("oauth", Shape::OrNull(&Shape::Object(&OAUTH)), OAUTH_DOC)]
};

pub static PATCH_STDIO: Object = Object {
    refused: FIXED,
    ..Object::request("PatchStdioServer", "Changes to a server of transport STDIO.", &STDIO_FIELDS)
};
pub static PATCH_REMOTE: Object = Object {
    refused: FIXED,
    ..Object::request(
        "PatchRemoteServer",
        "Changes to a server of transport SSE or HTTP.",
        &REMOTE_FIELDS,
    )
};

#[cfg(test)]
mod tests {
    use super::*;
    use trunkline_catalog::config::RemoteKind;

    fn read(json: &str, kind: TransportType) -> Result<PatchServer, Problem> {
        let content_type = Some(&b"application/json"[..]);
        PatchServer::read(&Declared { content_type, bytes: json.as_bytes() }, kind)
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn what_is_not_named_stays() {
        let patch = read("{}", TransportType::Http).unwrap();
        assert_eq!((patch.name, patch.description), (None, Change::Keep));
        assert!(patch.config.is_empty());
        let patch =
            read(r#"{"description":null,"name":"b","call_timeout":null}"#, TransportType::Sse);
        let patch = patch.unwrap();
        assert_eq!((patch.name.as_deref(), patch.description), (Some("b"), Change::Clear));
        assert_eq!(patch.call_timeout, Change::Clear);
        assert_eq!(patch.max_concurrency, Change::Keep);
    }

    #[test]
    fn headers_are_changed_one_by_one() {
        let before = [("Authorization", "Bearer a"), ("X-Old", "1"), ("X-Kept", "2")];
        for (config, expected) in [
            (r#"{}"#, pairs(&before)),
            (r#"{"headers":{}}"#, pairs(&before)),
            (r#"{"headers":null}"#, vec![]),
            (
                r#"{"headers":{"authorization":"Bearer b","x-old":null,"X-New":"3","X-Kept":"***"}}"#,
                pairs(&[("authorization", "Bearer b"), ("X-Kept", "2"), ("X-New", "3")]),
            ),
        ] {
            let json = format!(r#"{{"connection_config":{config}}}"#);
            let patch = read(&json, TransportType::Http).unwrap();
            let mut transport = Transport::Remote {
                url: "http://h".to_owned(),
                kind: RemoteKind::Http,
                headers: pairs(&before),
            };
            patch.config.apply(&mut transport);
            let Transport::Remote { url, headers, .. } = transport else { panic!() };
            assert_eq!((url.as_str(), headers), ("http://h", expected), "{config}");
        }
    }

    #[test]
    fn an_address_that_comes_back_as_it_was_shown_stays() {
        for (given, expected) in [
            ("https://h/mcp?key=***", "https://h/mcp?key=hunter2"),
            ("https://h/mcp?key=new", "https://h/mcp?key=new"),
            ("https://other/mcp", "https://other/mcp"),
        ] {
            let json = format!(r#"{{"connection_config":{{"url":"{given}"}}}}"#);
            let mut transport = Transport::Remote {
                url: "https://h/mcp?key=hunter2".to_owned(),
                kind: RemoteKind::Http,
                headers: vec![],
            };
            read(&json, TransportType::Http).unwrap().config.apply(&mut transport);
            let Transport::Remote { url, .. } = transport else { panic!() };
            assert_eq!(url, expected);
        }
    }

    #[test]
    fn a_command_is_changed() {
        let json = r#"{"connection_config":{"command":"uvx","args":null,"cwd":null,
            "env":{"A":null,"a":"2"}}}"#;
        let patch = read(json, TransportType::Stdio).unwrap();
        let mut transport = Transport::Stdio {
            command: "npx".to_owned(),
            args: vec!["-y".to_owned()],
            env: pairs(&[("A", "1")]),
            cwd: Some("/".to_owned()),
        };
        patch.config.apply(&mut transport);
        let expected = Transport::Stdio {
            command: "uvx".to_owned(),
            args: vec![],
            env: pairs(&[("a", "2")]),
            cwd: None,
        };
        assert!(transport == expected);
    }

    #[test]
    fn what_cannot_be_changed_is_refused() {
        for (json, kind, expected) in [
            (r#"{"id":"x"}"#, TransportType::Http, "/id cannot be changed"),
            (r#"{"transport_type":"SSE"}"#, TransportType::Http, "register the server anew"),
            (r#"{"name":null}"#, TransportType::Http, "/name must be a string, not null"),
            (r#"{"name":""}"#, TransportType::Http, "/name must not be empty"),
            (r#"{"connection_config":null}"#, TransportType::Http, "must be an object"),
            (
                r#"{"connection_config":{"url":null}}"#,
                TransportType::Http,
                "/connection_config/url must be a string, not null",
            ),
            (
                r#"{"connection_config":{"command":"sh"}}"#,
                TransportType::Http,
                "this one is on the network",
            ),
            (
                r#"{"connection_config":{"url":"http://h"}}"#,
                TransportType::Stdio,
                "this one is STDIO",
            ),
            (r#"{"auto_conect":true}"#, TransportType::Http, "is not known here"),
            (r#"[]"#, TransportType::Http, "the body must be an object"),
        ] {
            let problem = read(json, kind).expect_err(json);
            assert_eq!(problem.status(), 422);
            assert!(problem.detail().contains(expected), "{json}: {}", problem.detail());
        }
    }

    #[test]
    fn debug_shows_no_secret() {
        let json = r#"{"connection_config":{"headers":{"Authorization":"hunter2"}}}"#;
        let patch = read(json, TransportType::Http).unwrap();
        assert!(!format!("{patch:?}").contains("hunter2"));
    }
}

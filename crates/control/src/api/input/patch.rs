//! `PATCH /aggregator/servers/{id}`: what is to be different (JSON merge patch, RFC 7396).
//!
//! What is not named stays; null takes away; members of `headers` and `env` are changed one by
//! one. A secret that comes back as it was shown (`***`) stays, so that a server can be read,
//! edited and sent back.

use trunkline_catalog::config::{CALL_SETTINGS, CallRules, OnChange, SandboxRules, Transport};
use trunkline_catalog::jsonc::Value;

use super::body::{Declared, none};
use super::members::Members;
use super::oauth::OAuthClient;
use super::sandbox::{self, SANDBOX};
use super::settings::{
    AUTO_CONNECT, COMMAND, CWD, DESCRIPTION, HEALTH_CHECK_URL, NAME, OAUTH, ON_CHANGE,
    PATCHED_ARGS, PATCHED_ENV, PATCHED_HEADERS, SECRET_SHOWN, TransportType, URL,
    connection_config, read_on_change,
};
use crate::api::problem::Problem;
use crate::api::schema::{CALL_RULES, Case, Field, FromJson, ObjectSchema, Schema, read_setting};
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
    pub calls: CallRulesPatch,
    pub on_change: Change<OnChange>,
    /// As a whole.
    pub oauth: Change<OAuthClient>,
    /// As a whole.
    pub sandbox: Change<SandboxRules>,
}

/// One change for each setting, in the table's order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRulesPatch([Change<u32>; CALL_SETTINGS.len()]);

impl CallRulesPatch {
    fn read(members: &Members<'_>) -> Self {
        Self(CALL_SETTINGS.each_ref().map(|setting| {
            let value = read_setting(setting, members.value(setting.name));
            Change::of_member(members, setting.name, value)
        }))
    }

    pub fn of(self, before: CallRules) -> CallRules {
        let mut values = self.0.into_iter().zip(before.values()).map(|(it, (_, now))| it.of(now));
        CallRules::of(|_| values.next().flatten())
    }
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
        let schema = match kind {
            TransportType::Stdio => Schema::Object(&PATCH_STDIO),
            TransportType::Sse | TransportType::Http => Schema::Object(&PATCH_REMOTE),
        };
        let (document, mut faults) = body.checked(&schema)?;
        let members = Members::of(&document.root);
        let sandbox = sandbox::read(&members, &mut faults);
        none(faults)?;
        let config = members.object("connection_config");
        let pairs = |name| {
            let pairs = config.value(name).map(|_| without_masked(config.pairs(name)));
            Change::of_member(&config, name, pairs)
        };
        Ok(Self {
            name: members.read(NAME.name),
            description: Change::read(&members, DESCRIPTION.name),
            auto_connect: members.read(AUTO_CONNECT.name),
            health_check_url: Change::read(&members, HEALTH_CHECK_URL.name),
            calls: CallRulesPatch::read(&members),
            on_change: Change::of_member(&members, ON_CHANGE.name, read_on_change(&members)),
            oauth: Change::of_member(&members, OAUTH.name, members.read_object(OAUTH.name)),
            sandbox: Change::of_member(&members, SANDBOX.name, sandbox),
            config: ConfigPatch {
                command: config.read(COMMAND.name),
                args: Change::read(&config, PATCHED_ARGS.name),
                env: pairs(PATCHED_ENV.name),
                cwd: Change::read(&config, CWD.name),
                url: config.read(URL.name),
                headers: pairs(PATCHED_HEADERS.name),
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
        left(&self.headers, headers, Case::Insensitive)
    }

    /// Those of these variables whose values stay as they are.
    pub fn leaves_variables<'a>(
        &'a self,
        env: &'a [(String, String)],
    ) -> impl Iterator<Item = &'a str> {
        left(&self.env, env, Case::Sensitive)
    }

    pub fn apply(self, transport: &mut Transport) {
        match transport {
            Transport::Stdio { command, args, env, cwd } => {
                set(command, self.command);
                self.args.apply(args);
                merge(env, self.env, Case::Sensitive);
                match self.cwd {
                    Change::Keep => {}
                    Change::Set(new) => *cwd = Some(new),
                    Change::Clear => *cwd = None,
                }
            }
            Transport::Remote { url, headers, .. } => {
                set(url, self.url.filter(|new| !is_as_shown(new, url)));
                merge(headers, self.headers, Case::Insensitive);
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
    /// Null takes away, what is not named stays (RFC 7396, 2).
    fn of_member(members: &Members<'_>, name: &str, value: Option<T>) -> Self {
        match value {
            _ if matches!(members.value(name), Some(Value::Null)) => Self::Clear,
            Some(value) => Self::Set(value),
            None => Self::Keep,
        }
    }

    fn read(members: &Members<'_>, name: &str) -> Self
    where
        T: FromJson,
    {
        Self::of_member(members, name, members.read(name))
    }

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
    /// As `of`; an address that comes back as it was shown stays.
    pub fn of_url(self, before: Option<String>) -> Option<String> {
        match (self, before) {
            (Self::Set(new), Some(url)) if is_as_shown(&new, &url) => Some(url),
            (change, before) => change.of(before),
        }
    }
}

impl Change<OAuthClient> {
    /// As `of`; a secret that comes back as it was shown stays.
    pub fn of_client(self, before: Option<OAuthClient>) -> Option<OAuthClient> {
        let secret = before.as_ref().and_then(|client| client.client_secret.clone());
        let mut client = self.of(before)?;
        if client.client_secret.as_deref() == Some(SECRET_SHOWN) {
            client.client_secret = secret;
        }
        Some(client)
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

fn without_masked(pairs: Pairs) -> Pairs {
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
        Case::Sensitive => known == name,
        Case::Insensitive => known.eq_ignore_ascii_case(name),
    }
}

const OF_REMOTE: &str = "belongs to servers of transport SSE and HTTP; this one is STDIO";
const OF_STDIO: &str = "belongs to servers of transport STDIO; this one is on the network";

const STDIO_CONFIG: ObjectSchema = ObjectSchema {
    refused: &[("url", OF_REMOTE), ("headers", OF_REMOTE)],
    ..ObjectSchema::request(
        "PatchStdioConfig",
        "What is different about the command.",
        &[COMMAND.optional(), PATCHED_ARGS, PATCHED_ENV, CWD],
    )
};

const REMOTE_CONFIG: ObjectSchema = ObjectSchema {
    refused: &[("command", OF_STDIO), ("args", OF_STDIO), ("env", OF_STDIO), ("cwd", OF_STDIO)],
    ..ObjectSchema::request(
        "PatchRemoteConfig",
        "What is different about the address.",
        &[URL.optional(), PATCHED_HEADERS],
    )
};

const fn fields(config: Schema) -> [Field; 6] {
    [
        NAME.optional().without_example(),
        DESCRIPTION,
        connection_config(config).optional(),
        Field { doc: "Connect it whenever Trunkline starts.", ..AUTO_CONNECT.without_example() },
        HEALTH_CHECK_URL.without_example(),
        ON_CHANGE.without_example(),
    ]
}

const STDIO_FIELDS: [Field; 7] = {
    let [a, b, c, d, e, f] = fields(Schema::Object(&STDIO_CONFIG));
    [a, b, c, d, e, f, SANDBOX]
};
const REMOTE_FIELDS: [Field; 7] = {
    let [a, b, c, d, e, f] = fields(Schema::Object(&REMOTE_CONFIG));
    [a, b, c, d, e, f, OAUTH]
};

const fn patch(name: &'static str, doc: &'static str, fields: &'static [Field]) -> ObjectSchema {
    ObjectSchema {
        shared: CALL_RULES,
        refused: &[
            ("id", "cannot be changed"),
            ("transport_type", "cannot be changed: register the server anew"),
            ("status", "is what Trunkline finds; use connect and disconnect"),
            ("registered_at", "cannot be changed"),
            ("revision", "cannot be changed; send it as `If-Match`"),
        ],
        ..ObjectSchema::request(name, doc, fields)
    }
}

pub const PATCH_STDIO: ObjectSchema =
    patch("PatchStdioServer", "Changes to a server of transport STDIO.", &STDIO_FIELDS);
pub const PATCH_REMOTE: ObjectSchema =
    patch("PatchRemoteServer", "Changes to a server of transport SSE or HTTP.", &REMOTE_FIELDS);

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
        let calls = patch.calls.of(CallRules::of(|_| Some(4)));
        assert_eq!((calls.timeout, calls.max_concurrency), (None, Some(4)));
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
                network: Default::default(),
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
                network: Default::default(),
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
            (r#"{"auto_conect":true}"#, TransportType::Http, "unknown field `auto_conect`"),
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

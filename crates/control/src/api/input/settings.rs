//! What can be said about a server: the members that a registration and a patch share, each once.

use trunkline_catalog::config::{ON_CHANGE_WORDS, OnChange, RemoteKind, Transport};

use super::members::Members;
use super::oauth::OAUTH_CLIENT;
use crate::api::schema::{
    Case, EnumValues, Field, MapSchema, Schema, TextFormat, TextRule, optional, required, text,
    words,
};

/// Answers show this instead of a secret. No real secret is three asterisks.
pub const SECRET_SHOWN: &str = "***";

/// What to tell a client that sends the mask where there is nothing to keep.
pub(super) const MASKED: &str = "`***` is the mask, not a value";

words! {
    /// How a server is reached. Shown so, and read in any case.
    pub enum TransportType {
        Stdio = "STDIO",
        Sse = "SSE",
        Http = "HTTP",
    }
}

impl TransportType {
    pub fn of(transport: &Transport) -> Self {
        match transport {
            Transport::Stdio { .. } => Self::Stdio,
            Transport::Remote { kind: RemoteKind::Sse, .. } => Self::Sse,
            Transport::Remote { .. } => Self::Http,
        }
    }

    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str().eq_ignore_ascii_case(word))
    }
}

/// What is wrong with a server's name, if anything is: for names that do not come in a body.
pub fn server_name_fault(name: &str) -> Option<String> {
    match name.chars().count() {
        0 => Some("must not be empty".to_owned()),
        length if length > SERVER_NAME.most => {
            Some(format!("has more than {} characters", SERVER_NAME.most))
        }
        _ => SERVER_NAME.format.fault(name).map(|(message, _)| message),
    }
}

const SERVER_NAME: TextRule = TextRule { least: 1, most: 64, format: TextFormat::ServerName };
const ADDRESS: Schema = text(1, 4000, TextFormat::Url);
const HEADER_NAME: TextRule = TextRule { least: 1, most: 200, format: TextFormat::HeaderName };
const HEADER_VALUE: Schema = text(0, 16_000, TextFormat::HeaderValue);
const VARIABLE_NAME: TextRule = TextRule { least: 1, most: 200, format: TextFormat::VariableName };
const VARIABLE_VALUE: Schema = text(0, 32_000, TextFormat::Value);
const ARGUMENTS: Schema = Schema::List { of: &VARIABLE_VALUE, least: 0, most: 1000 };

pub(super) const NAME: Field = required(
    "name",
    Schema::Text(SERVER_NAME),
    "Letters, digits, `-`, `_` and `.`; the prefix of the server's tools.",
)
.example("\"github-mcp\"");
pub(super) const DESCRIPTION: Field =
    optional("description", Schema::Nullable(&text(0, 4000, TextFormat::Prose)), "What it is for.")
        .example("\"GitHub MCP Server for repository operations\"");
pub(super) const AUTO_CONNECT: Field = optional(
    "auto_connect",
    Schema::Bool,
    "Connect it now and whenever Trunkline starts; true unless said otherwise.",
)
.example("true");
pub(super) const HEALTH_CHECK_URL: Field = optional(
    "health_check_url",
    Schema::Nullable(&ADDRESS),
    "Asked at each health check; without it, health is what the server's messages say.",
)
.example("\"https://github-mcp.example.com/health\"");
pub(super) const ON_CHANGE: Field = optional(
    "on_change",
    Schema::Nullable(&ON_CHANGES),
    "What happens when the server defines a tool in another way than before, or a new one: callers are \
     shown it (`allow`), are shown it and it waits for review (`warn`, the default), or keep what was \
     approved until it is approved (`hold`).",
)
.example("\"hold\"");
pub const ON_CHANGES: Schema =
    Schema::Enum(&EnumValues { known: &ON_CHANGE_WORDS, case: Case::Sensitive });
pub(super) const OAUTH: Field = optional(
    "oauth",
    Schema::Nullable(&OAUTH_CLIENT),
    "Who Trunkline is to the server's authorization server, where that cannot be found out.",
);

pub(super) fn read_on_change(members: &Members<'_>) -> Option<OnChange> {
    OnChange::of_word(&members.read::<String>(ON_CHANGE.name)?)
}

pub(super) const fn transport_type(values: &'static EnumValues) -> Field {
    required("transport_type", Schema::Enum(values), "How it is reached: STDIO, SSE or HTTP.")
}

pub(super) const fn connection_config(schema: Schema) -> Field {
    required("connection_config", schema, "Where it is, and what it is given.")
}

pub(super) const COMMAND: Field =
    required("command", text(1, 4000, TextFormat::Value), "The program; no shell reads it.")
        .example("\"npx\"");
pub(super) const ARGS: Field = optional("args", ARGUMENTS, "Its arguments.");
pub(super) const CWD: Field = optional(
    "cwd",
    Schema::Nullable(&text(1, 4000, TextFormat::Value)),
    "The directory it is started in.",
);
pub(super) const ENV: Field = optional(
    "env",
    Schema::Map(&MapSchema {
        names: VARIABLE_NAME,
        values: VARIABLE_VALUE,
        case: Case::Sensitive,
        most: 500,
    }),
    "Its variables. Values are kept sealed and never shown; `${NAME}` and `${secret:NAME}` are \
     resolved when the server is connected.",
);
pub(super) const URL: Field = required(
    "url",
    ADDRESS,
    "Where the server is: http:// or https://. `${NAME}` may stand in the path and the query.",
)
.example("\"https://github-mcp.example.com/sse\"");
pub(super) const HEADERS: Field = optional(
    "headers",
    Schema::Map(&MapSchema {
        names: HEADER_NAME,
        values: HEADER_VALUE,
        case: Case::Insensitive,
        most: 100,
    }),
    "Sent with every request. Values are kept sealed and never shown; `${NAME}` and \
     `${secret:NAME}` are resolved when the server is connected.",
)
.example(r#"{"Authorization":"Bearer ${GITHUB_TOKEN}"}"#);

const MERGED: &str = "Those named are changed, null takes one away, `***` leaves it.";

/// In a patch a member of a map may be null: it is taken away.
pub(super) const PATCHED_ENV: Field = optional(
    "env",
    Schema::Nullable(&Schema::Map(&MapSchema {
        names: VARIABLE_NAME,
        values: Schema::Nullable(&VARIABLE_VALUE),
        case: Case::Sensitive,
        most: 500,
    })),
    MERGED,
);
pub(super) const PATCHED_HEADERS: Field = optional(
    "headers",
    Schema::Nullable(&Schema::Map(&MapSchema {
        names: HEADER_NAME,
        values: Schema::Nullable(&HEADER_VALUE),
        case: Case::Insensitive,
        most: 100,
    })),
    MERGED,
);
pub(super) const PATCHED_ARGS: Field =
    optional("args", Schema::Nullable(&ARGUMENTS), "Its arguments.");

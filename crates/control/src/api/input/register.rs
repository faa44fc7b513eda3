//! `POST /aggregator/servers`: a server as somebody describes it.

use std::time::Duration;

use trunkline_catalog::config::{RemoteKind, Transport};

use super::body::{Declared, none};
use super::fields::Fields;
use super::oauth::{self, OAUTH, OAUTH_DOC, OAuthClient};
use crate::api::fault::{Fault, Pointer};
use crate::api::problem::Problem;
use crate::api::shape::{
    Case, Field, Form, Map, Object, Shape, Text, Variants, Words, optional, required, text,
};
pub use crate::secrets::SECRET_SHOWN;

/// How secrets are shown; nobody can mean it as a value.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransportType {
    Stdio,
    Sse,
    Http,
}

/// A registration that can be used. `Debug` shows no values of headers and variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisterServer {
    pub name: String,
    pub description: Option<String>,
    /// References (`${…}`) as they were written.
    pub transport: Transport,
    pub auto_connect: bool,
    pub health_check_url: Option<String>,
    pub call_timeout: Option<Duration>,
    pub max_concurrency: Option<u32>,
    pub oauth: Option<OAuthClient>,
}

impl RegisterServer {
    pub fn read(body: &Declared<'_>) -> Result<Self, Problem> {
        let (document, mut faults) = body.read(&Shape::Variants(&REGISTER))?;
        let fields = Fields::of(&document.root);
        hidden_values(&fields, &mut faults);
        oauth::faults(&fields, &mut faults);
        none(faults)?;
        let kind = fields.text("transport_type").and_then(TransportType::named);
        let config = fields.object("connection_config");
        let owned = |name: &str| fields.text(name).map(str::to_owned);
        Ok(Self {
            name: owned("name").unwrap_or_default(),
            description: owned("description"),
            transport: transport(kind, &config),
            auto_connect: fields.flag("auto_connect").unwrap_or(true),
            health_check_url: owned("health_check_url"),
            call_timeout: fields.seconds("call_timeout"),
            max_concurrency: fields.whole("max_concurrency"),
            oauth: fields.is_object("oauth").then(|| OAuthClient::read(&fields.object("oauth"))),
        })
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
        [Self::Stdio, Self::Sse, Self::Http]
            .into_iter()
            .find(|kind| kind.as_str().eq_ignore_ascii_case(word))
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stdio => "STDIO",
            Self::Sse => "SSE",
            Self::Http => "HTTP",
        }
    }
}

/// What is wrong with a server's name, if anything is: for names that do not come in a body.
pub fn server_name_fault(name: &str) -> Option<String> {
    match name.chars().count() {
        0 => Some("must not be empty".to_owned()),
        length if length > NAME.most => Some(format!("has more than {} characters", NAME.most)),
        _ => NAME.form.fault(name).map(|(message, _)| message),
    }
}

fn transport(kind: Option<TransportType>, config: &Fields<'_>) -> Transport {
    let pairs = |name| {
        let pairs = config.pairs(name).into_iter();
        pairs.filter_map(|(name, value)| Some((name, value?))).collect()
    };
    let owned = |name: &str| config.text(name).map(str::to_owned);
    let remote = |kind| Transport::Remote {
        url: owned("url").unwrap_or_default(),
        kind,
        headers: pairs("headers"),
    };
    match kind {
        Some(TransportType::Sse) => remote(RemoteKind::Sse),
        Some(TransportType::Http) => remote(RemoteKind::Http),
        Some(TransportType::Stdio) | None => Transport::Stdio {
            command: owned("command").unwrap_or_default(),
            args: config.texts("args").unwrap_or_default(),
            env: pairs("env"),
            cwd: owned("cwd"),
        },
    }
}

/// Somebody has sent back what we had shown him.
fn hidden_values(fields: &Fields<'_>, faults: &mut Vec<Fault>) {
    let at = Pointer::root().key("connection_config");
    for map in ["headers", "env"] {
        for (name, value) in fields.object("connection_config").pairs(map) {
            if value.as_deref() == Some(SECRET_SHOWN) {
                let fault =
                    Fault::at(&at.key(map).key(&name), "is not a value: secrets are shown so");
                faults.push(fault.hint("write the value itself, `${NAME}` or `${secret:NAME}`"));
            }
        }
    }
}

pub(super) const NAME: Text = Text { least: 1, most: 64, form: Form::ServerName };
pub(super) const DESCRIPTION: Shape = text(0, 4000, Form::Prose);
pub(super) const URL: Shape = text(1, 4000, Form::Url);
pub(super) const SECONDS: Shape = Shape::Whole { least: 1, most: 86_400 };
pub(super) const OPEN_CALLS: Shape = Shape::Whole { least: 1, most: 10_000 };
pub(super) const COMMAND: Shape = text(1, 4000, Form::Value);
pub(super) const ARGS: Shape = Shape::List { of: &text(0, 32_000, Form::Value), most: 1000 };
pub(super) const CWD: Shape = text(1, 4000, Form::Value);

pub(super) const HEADER_NAME: Text = Text { least: 1, most: 200, form: Form::HeaderName };
pub(super) const HEADER_VALUE: Shape = text(0, 16_000, Form::HeaderValue);
pub(super) const VARIABLE_NAME: Text = Text { least: 1, most: 200, form: Form::VariableName };
pub(super) const VARIABLE_VALUE: Shape = text(0, 32_000, Form::Value);

static HEADERS: Map = Map { names: HEADER_NAME, values: HEADER_VALUE, case: Case::Any, most: 100 };
static ENV: Map =
    Map { names: VARIABLE_NAME, values: VARIABLE_VALUE, case: Case::AsWritten, most: 500 };

/// Every transport, as it is shown; read in any case.
pub static TRANSPORTS: Words = Words { known: &["STDIO", "SSE", "HTTP"], case: Case::Any };
static STDIO_ONLY: Words = Words { known: &["STDIO"], case: Case::Any };
static REMOTE_ONLY: Words = Words { known: &["SSE", "HTTP"], case: Case::Any };

pub(super) const COMMAND_DOC: &str = "The program; no shell reads it.";
pub(super) const ARGS_DOC: &str = "Its arguments.";
pub(super) const CWD_DOC: &str = "The directory it is started in.";
pub(super) const URL_DOC: &str =
    "Where the server is: http:// or https://. `${NAME}` may stand in the path and the query.";
const ENV_DOC: &str = "Its variables. Values are kept sealed and never shown; `${NAME}` and \
                       `${secret:NAME}` are resolved when the server is connected.";
const HEADERS_DOC: &str = "Sent with every request. Values are kept sealed and never shown; \
                           `${NAME}` and `${secret:NAME}` are resolved when the server is \
                           connected.";
pub(super) const HEALTH_DOC: &str =
    "Asked at each health check; without it, health is what the server's messages say.";
pub(super) const TIMEOUT_DOC: &str = "Seconds a call may take.";
pub(super) const CONCURRENCY_DOC: &str = "Calls the server may have open at a time.";
pub(super) const NAME_DOC: &str =
    "Letters, digits, `-`, `_` and `.`; the prefix of the server's tools.";

static STDIO_CONFIG: Object = Object {
    refused: &[
        ("url", "belongs to servers of transport SSE and HTTP"),
        ("headers", "belongs to servers of transport SSE and HTTP"),
    ],
    ..Object::request(
        "StdioConfig",
        "A command on the machine Trunkline runs on.",
        &[
            required("command", COMMAND, COMMAND_DOC),
            optional("args", ARGS, ARGS_DOC),
            optional("env", Shape::Map(&ENV), ENV_DOC),
            optional("cwd", Shape::OrNull(&CWD), CWD_DOC),
        ],
    )
};

static REMOTE_CONFIG: Object = Object {
    refused: &[
        ("command", "belongs to servers of transport STDIO"),
        ("args", "belongs to servers of transport STDIO"),
        ("env", "belongs to servers of transport STDIO"),
        ("cwd", "belongs to servers of transport STDIO"),
    ],
    ..Object::request(
        "RemoteConfig",
        "A server on the network.",
        &[required("url", URL, URL_DOC), optional("headers", Shape::Map(&HEADERS), HEADERS_DOC)],
    )
};

/// What every registration has, around the two members that differ.
const fn fields(kind: Shape, config: Shape) -> [Field; 8] {
    [
        required("name", Shape::Text(NAME), NAME_DOC),
        optional("description", Shape::OrNull(&DESCRIPTION), "What it is for."),
        required("transport_type", kind, "How it is reached: STDIO, SSE or HTTP."),
        required("connection_config", config, "Where it is, and what it is given."),
        optional(
            "auto_connect",
            Shape::Flag,
            "Connect it now and whenever Trunkline starts; true unless said otherwise.",
        ),
        optional("health_check_url", Shape::OrNull(&URL), HEALTH_DOC),
        optional("call_timeout", Shape::OrNull(&SECONDS), TIMEOUT_DOC),
        optional("max_concurrency", Shape::OrNull(&OPEN_CALLS), CONCURRENCY_DOC),
    ]
}

static STDIO_FIELDS: [Field; 8] = fields(Shape::Word(&STDIO_ONLY), Shape::Object(&STDIO_CONFIG));
static REMOTE_FIELDS: [Field; 9] = {
    let [a, b, c, d, e, f, g, h] = fields(Shape::Word(&REMOTE_ONLY), Shape::Object(&REMOTE_CONFIG));
    [a, b, c, d, e, f, g, h, optional("oauth", Shape::OrNull(&Shape::Object(&OAUTH)), OAUTH_DOC)]
};
static COMMON_FIELDS: [Field; 8] = fields(Shape::Word(&TRANSPORTS), Shape::AnyObject);

const GIVEN_BY_US: &[(&str, &str)] = &[
    ("id", "is given by Trunkline"),
    ("status", "is what Trunkline finds; use `auto_connect`, or connect and disconnect"),
    ("registered_at", "is given by Trunkline"),
];

static STDIO: Object = Object {
    refused: GIVEN_BY_US,
    ..Object::request("RegisterStdioServer", "A server that is a command.", &STDIO_FIELDS)
};
static REMOTE: Object = Object {
    refused: GIVEN_BY_US,
    ..Object::request("RegisterRemoteServer", "A server on the network.", &REMOTE_FIELDS)
};
static COMMON: Object =
    Object { refused: GIVEN_BY_US, ..Object::request("RegisterAnyServer", "", &COMMON_FIELDS) };

pub static REGISTER: Variants = Variants {
    name: "RegisterServer",
    doc: "A server to register.",
    tag: "transport_type",
    cases: &[(&["STDIO"], &STDIO), (&["SSE", "HTTP"], &REMOTE)],
    common: &COMMON,
};

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<RegisterServer, Problem> {
        let content_type = Some(&b"application/json"[..]);
        RegisterServer::read(&Declared { content_type, bytes: json.as_bytes() })
    }

    fn places(json: &str) -> Vec<String> {
        let problem = read(json).expect_err(json);
        assert_eq!(problem.status(), 422, "{json}: {}", problem.detail());
        let pointer = |fault: &Fault| {
            fault.json().get("pointer").and_then(|p| p.as_str().map(str::to_owned)).unwrap()
        };
        problem.errors().iter().map(pointer).collect()
    }

    #[test]
    fn the_example_of_003_is_read() {
        let server = read(
            r#"{"name":"github-mcp","description":"GitHub MCP Server for repository operations",
            "transport_type":"SSE","connection_config":{"url":"https://github-mcp.example.com/sse",
            "headers":{"Authorization":"Bearer ${GITHUB_TOKEN}"}},"auto_connect":true,
            "health_check_url":"https://github-mcp.example.com/health"}"#,
        )
        .unwrap();
        assert_eq!(server.name, "github-mcp");
        assert_eq!(TransportType::of(&server.transport), TransportType::Sse);
        assert_eq!(
            server.health_check_url.as_deref(),
            Some("https://github-mcp.example.com/health")
        );
        let Transport::Remote { url, headers, .. } = &server.transport else { panic!() };
        assert_eq!(url, "https://github-mcp.example.com/sse");
        let expected = ("Authorization".to_owned(), "Bearer ${GITHUB_TOKEN}".to_owned());
        assert_eq!(headers, &[expected]);
        assert!(!format!("{server:?}").contains("GITHUB_TOKEN"));
    }

    #[test]
    fn all_transports_are_read_in_any_case() {
        for (kind, config, expected) in [
            ("STDIO", r#"{"command":"npx","args":["-y","x"],"env":{"A":"b"},"cwd":"/"}"#, "STDIO"),
            ("stdio", r#"{"command":"npx"}"#, "STDIO"),
            ("Http", r#"{"url":"http://h"}"#, "HTTP"),
            ("sse", r#"{"url":"http://h","headers":{}}"#, "SSE"),
        ] {
            let json =
                format!(r#"{{"name":"a","transport_type":"{kind}","connection_config":{config}}}"#);
            let server = read(&json).unwrap();
            assert_eq!(TransportType::of(&server.transport).as_str(), expected);
            assert!(server.auto_connect);
        }
    }

    #[test]
    fn options_are_read() {
        let server = read(
            r#"{"name":"a","transport_type":"HTTP","connection_config":{"url":"http://h"},
            "auto_connect":false,"call_timeout":30,"max_concurrency":8,"description":null}"#,
        )
        .unwrap();
        assert!(!server.auto_connect);
        assert_eq!(server.call_timeout, Some(Duration::from_secs(30)));
        assert_eq!((server.max_concurrency, server.description), (Some(8), None));
    }

    #[test]
    fn every_mistake_has_its_place() {
        for (json, expected) in [
            ("{}", &["/name", "/transport_type", "/connection_config"][..]),
            (r#"{"name":"a","transport_type":"HTTP"}"#, &["/connection_config"]),
            (r#"{"name":"a","transport_type":"FTP","connection_config":{}}"#, &["/transport_type"]),
            (
                r#"{"name":"a","transport_type":"HTTP","connection_config":{"command":"x"}}"#,
                &["/connection_config/command", "/connection_config/url"],
            ),
            (
                r#"{"name":"a","transport_type":"STDIO","connection_config":{"url":"http://h"}}"#,
                &["/connection_config/url", "/connection_config/command"],
            ),
            (
                r#"{"name":"a b","transport_type":"HTTP","connection_config":{"url":"h",
                "headers":{"X-A":"b\r\nc","Host":"x","x-a":"d"}},"auto_connect":"yes",
                "health_check_url":"file:///x","call_timeout":0,"max_concurrency":1.5}"#,
                &[
                    "/name",
                    "/connection_config/url",
                    "/connection_config/headers/x-a",
                    "/connection_config/headers/X-A",
                    "/connection_config/headers/Host",
                    "/auto_connect",
                    "/health_check_url",
                    "/call_timeout",
                    "/max_concurrency",
                ],
            ),
            (
                r#"{"name":"a","transport_type":"STDIO","connection_config":{"command":"x\u0000",
                "args":["ok",1],"env":{"A=B":"","C":"${"}}}"#,
                &[
                    "/connection_config/command",
                    "/connection_config/args/1",
                    "/connection_config/env/A=B",
                    "/connection_config/env/C",
                ],
            ),
            (
                r#"{"name":"a","transport_type":"HTTP","connection_config":{"url":"http://h",
                "headers":{"Authorization":"***"}},"id":"x"}"#,
                &["/id", "/connection_config/headers/Authorization"],
            ),
        ] {
            assert_eq!(places(json), expected, "{json}");
        }
    }

    #[test]
    fn a_misspelt_key_is_asked_about() {
        let problem =
            read(r#"{"name":"a","transportType":"HTTP","connection_config":{"uri":"http://h"}}"#)
                .unwrap_err();
        let hints: Vec<_> = problem.errors().iter().filter_map(|f| f.hint.clone()).collect();
        assert_eq!(hints, ["did you mean `transport_type`?"]);
    }

    #[test]
    fn names_have_a_length() {
        let long = "x".repeat(65);
        let json = format!(
            r#"{{"name":"{long}","transport_type":"HTTP","connection_config":{{"url":"http://h"}}}}"#
        );
        assert_eq!(places(&json), ["/name"]);
        for (name, expected) in [
            ("a", None),
            ("", Some("must not be empty")),
            (".a", Some("is not a name a server can have")),
            (&long, Some("has more than 64 characters")),
        ] {
            assert_eq!(server_name_fault(name).as_deref(), expected, "{name}");
        }
    }
}

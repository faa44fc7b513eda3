//! `POST /aggregator/servers`: the description of a server to register.

use trunkline_catalog::config::{
    CallRules, NetworkRules, OnChange, RemoteKind, SandboxRules, Transport,
};

use super::body::{Declared, none};
use super::members::Members;
use super::oauth::{self, OAuthClient};
use super::sandbox::{self, SANDBOX};
use super::settings::{
    ARGS, AUTO_CONNECT, COMMAND, CWD, DESCRIPTION, ENV, HEADERS, HEALTH_CHECK_URL, MASKED, NAME,
    OAUTH, ON_CHANGE, SECRET_SHOWN, TransportType, URL, connection_config, read_on_change,
    transport_type,
};
use crate::api::fault::{Pointer, RequestFault};
use crate::api::problem::Problem;
use crate::api::schema::{
    CALL_RULES, Case, EnumValues, Field, ObjectSchema, Schema, TaggedObjects, read_setting,
};

/// A registration that can be used. `Debug` shows no values of headers and variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisterServer {
    pub name: String,
    pub description: Option<String>,
    /// References (`${…}`) as they were written.
    pub transport: Transport,
    pub auto_connect: bool,
    pub health_check_url: Option<String>,
    pub calls: CallRules,
    pub on_change: Option<OnChange>,
    pub oauth: Option<OAuthClient>,
    /// `None`: the platform's default.
    pub sandbox: Option<SandboxRules>,
}

impl RegisterServer {
    pub fn read(body: &Declared<'_>) -> Result<Self, Problem> {
        let (document, mut faults) = body.checked(&Schema::Tagged(&REGISTER))?;
        let members = Members::of(&document.root);
        let oauth = members.read_object(OAUTH.name);
        masked_values(&members, &mut faults);
        oauth::check(oauth.as_ref(), &mut faults);
        let sandbox = sandbox::read(&members, &mut faults);
        none(faults)?;
        Ok(Self {
            name: members.read(NAME.name).unwrap_or_default(),
            description: members.read(DESCRIPTION.name),
            transport: transport(&members),
            auto_connect: members.read(AUTO_CONNECT.name).unwrap_or(true),
            health_check_url: members.read(HEALTH_CHECK_URL.name),
            calls: CallRules::of(|it| read_setting(it, members.value(it.name))),
            on_change: read_on_change(&members),
            oauth,
            sandbox,
        })
    }
}

fn transport(members: &Members<'_>) -> Transport {
    let kind = members.read::<String>("transport_type");
    let kind = kind.as_deref().and_then(TransportType::named);
    let config = members.object("connection_config");
    let pairs = |name| {
        let pairs = config.pairs(name).into_iter();
        pairs.filter_map(|(name, value)| Some((name, value?))).collect()
    };
    let remote = |kind| Transport::Remote {
        url: config.read(URL.name).unwrap_or_default(),
        kind,
        headers: pairs(HEADERS.name),
        network: NetworkRules::default(),
    };
    match kind {
        Some(TransportType::Sse) => remote(RemoteKind::Sse),
        Some(TransportType::Http) => remote(RemoteKind::Http),
        Some(TransportType::Stdio) | None => Transport::Stdio {
            command: config.read(COMMAND.name).unwrap_or_default(),
            args: config.read(ARGS.name).unwrap_or_default(),
            env: pairs(ENV.name),
            cwd: config.read(CWD.name),
        },
    }
}

/// Values that were sent back as they are shown.
fn masked_values(members: &Members<'_>, faults: &mut Vec<RequestFault>) {
    let at = Pointer::root().key("connection_config");
    for map in [HEADERS.name, ENV.name] {
        for (name, value) in members.object("connection_config").pairs(map) {
            if value.as_deref() == Some(SECRET_SHOWN) {
                let fault = RequestFault::at(&at.key(map).key(&name), MASKED);
                faults.push(fault.hint("write the value itself, `${NAME}` or `${secret:NAME}`"));
            }
        }
    }
}

const OF_REMOTE: &str = "belongs to servers of transport SSE and HTTP";
const OF_STDIO: &str = "belongs to servers of transport STDIO";

const STDIO_CONFIG: ObjectSchema = ObjectSchema {
    refused: &[("url", OF_REMOTE), ("headers", OF_REMOTE)],
    ..ObjectSchema::request(
        "StdioConfig",
        "A command on the machine Trunkline runs on.",
        &[COMMAND, ARGS, ENV, CWD],
    )
};

const REMOTE_CONFIG: ObjectSchema = ObjectSchema {
    refused: &[("command", OF_STDIO), ("args", OF_STDIO), ("env", OF_STDIO), ("cwd", OF_STDIO)],
    ..ObjectSchema::request("RemoteConfig", "A server on the network.", &[URL, HEADERS])
};

const fn fields(values: &'static EnumValues, config: Schema) -> [Field; 7] {
    [
        NAME,
        DESCRIPTION,
        transport_type(values),
        connection_config(config),
        AUTO_CONNECT,
        HEALTH_CHECK_URL,
        ON_CHANGE,
    ]
}

const fn named(values: &'static [&'static str]) -> EnumValues {
    EnumValues { known: values, case: Case::Insensitive }
}

const STDIO_FIELDS: [Field; 8] = {
    let [a, b, c, d, e, f, g] = fields(&named(&["STDIO"]), Schema::Object(&STDIO_CONFIG));
    [a, b, c, d, e, f, g, SANDBOX]
};
const REMOTE_FIELDS: [Field; 8] = {
    let [a, b, c, d, e, f, g] = fields(&named(&["SSE", "HTTP"]), Schema::Object(&REMOTE_CONFIG));
    [a, b, c, d, e, f, g, OAUTH]
};

const fn registration(
    name: &'static str,
    doc: &'static str,
    fields: &'static [Field],
) -> ObjectSchema {
    ObjectSchema {
        shared: CALL_RULES,
        refused: &[
            ("id", "is given by Trunkline"),
            ("status", "is what Trunkline finds; use `auto_connect`, or connect and disconnect"),
            ("registered_at", "is given by Trunkline"),
        ],
        ..ObjectSchema::request(name, doc, fields)
    }
}

pub static REGISTER: TaggedObjects = TaggedObjects {
    name: "RegisterServer",
    doc: "A server to register.",
    tag: "transport_type",
    cases: &[
        (
            &["STDIO"],
            &registration("RegisterStdioServer", "A server that is a command.", &STDIO_FIELDS),
        ),
        (
            &["SSE", "HTTP"],
            &registration("RegisterRemoteServer", "A server on the network.", &REMOTE_FIELDS),
        ),
    ],
    common: &registration(
        "RegisterAnyServer",
        "",
        &fields(&named(TransportType::VALUES.known), Schema::AnyObject),
    ),
};

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::api::input::server_name_fault;

    fn read(json: &str) -> Result<RegisterServer, Problem> {
        let content_type = Some(&b"application/json"[..]);
        RegisterServer::read(&Declared { content_type, bytes: json.as_bytes() })
    }

    fn places(json: &str) -> Vec<String> {
        let problem = read(json).expect_err(json);
        assert_eq!(problem.status(), 422, "{json}: {}", problem.detail());
        let pointer = |fault: &RequestFault| {
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
        assert_eq!(server.calls.timeout, Some(Duration::from_secs(30)));
        assert_eq!((server.calls.max_concurrency, server.description), (Some(8), None));
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

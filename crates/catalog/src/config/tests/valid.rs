//! Configs that load, and what they say.

use super::{check_rows, read, server};
use crate::config::{
    Config, ConfigSource, NetworkRules, RemoteKind, Rules, ServerSpec, Transport, load,
};
use crate::name::Naming;

fn stdio(command: &str, args: &[&str], env: &[(&str, &str)], cwd: Option<&str>) -> Transport {
    Transport::Stdio {
        command: command.to_owned(),
        args: args.iter().map(|&arg| arg.to_owned()).collect(),
        env: pairs(env),
        cwd: cwd.map(str::to_owned),
    }
}

fn remote(url: &str, kind: RemoteKind, headers: &[(&str, &str)]) -> Transport {
    Transport::Remote {
        url: url.to_owned(),
        kind,
        headers: pairs(headers),
        network: NetworkRules::default(),
    }
}

fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn loaded(text: &str, rules: Rules) -> Config {
    read(text, rules).unwrap_or_else(|problems| panic!("{problems}\n{text}"))
}

fn only(text: &str, rules: Rules) -> ServerSpec {
    let config = loaded(text, rules);
    assert!(config.warnings.is_empty(), "{}", config.warnings);
    let [spec] = <[ServerSpec; 1]>::try_from(config.servers).expect("one server");
    spec
}

#[test]
fn fr_001_the_example_of_the_data_model_loads_under_both_rules() {
    let text = r#"{
      "mcpServers": {
        "filesystem": {
          "command": "npx",
          "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/user"],
          "env": { "LOG_LEVEL": "info" }
        },
        "postgres": {
          "command": "node",
          "args": ["/path/to/postgres-server.js"],
          "env": { "DATABASE_URL": "${API_KEY}" }
        }
      }
    }"#;
    for rules in [Rules::Full, Rules::Simple] {
        let config = loaded(text, rules);
        let keys: Vec<&str> = config.servers.iter().map(|server| server.key.as_str()).collect();
        assert_eq!(keys, ["filesystem", "postgres"]);
        let args = ["-y", "@modelcontextprotocol/server-filesystem", "/home/user"];
        let expected = stdio("npx", &args, &[("LOG_LEVEL", "info")], None);
        assert_eq!(config.servers[0].transport, expected);
        let env = [("DATABASE_URL", "s3cr3t-value")];
        let expected = stdio("node", &["/path/to/postgres-server.js"], &env, None);
        assert_eq!(config.servers[1].transport, expected);
        assert!(config.warnings.is_empty() && config.notes.is_empty());
    }
}

#[test]
fn fr_010_only_the_command_is_required_and_order_is_kept() {
    let spec = only(&server(r#""command": "a""#), Rules::Simple);
    assert_eq!(spec.transport, stdio("a", &[], &[], None));
    assert!(!spec.disabled && spec.secrets.is_empty());

    let spec = only(&server(r#""env": {"Z": "1", "A": "2"}, "command": "a""#), Rules::Simple);
    assert_eq!(spec.transport, stdio("a", &[], &[("Z", "1"), ("A", "2")], None));

    let text = r#"{"mcpServers": {"z": {"command": "1"}, "a b:c": {"command": "2"}, "ключ": {"command": "3"}}}"#;
    let keys: Vec<String> =
        loaded(text, Rules::Simple).servers.into_iter().map(|s| s.key).collect();
    assert_eq!(keys, ["z", "a b:c", "ключ"]);
}

#[test]
fn full_rules_read_what_the_clients_write() {
    use RemoteKind::{Detect, Http, Sse};
    let table = [
        (
            r#""command": "a", "type": "stdio", "cwd": "$HOME/x""#,
            stdio("a", &[], &[], Some("/home/me/x")),
        ),
        (r#""command": "a", "type": "local""#, stdio("a", &[], &[], None)),
        (
            r#""command": "a", "env": {"PORT": 8080, "ON": true, "F": 1.50}"#,
            stdio("a", &[], &[("PORT", "8080"), ("ON", "true"), ("F", "1.50")], None),
        ),
        (r#""url": "http://h/mcp""#, remote("http://h/mcp", Detect, &[])),
        (r#""serverUrl": "${URL}/mcp""#, remote("https://example.com/mcp", Detect, &[])),
        (r#""httpUrl": "HTTPS://h""#, remote("HTTPS://h", Http, &[])),
        (r#""url": "http://h", "type": "http""#, remote("http://h", Http, &[])),
        (r#""url": "http://h", "type": "streamable-http""#, remote("http://h", Http, &[])),
        (r#""url": "http://h", "type": "streamableHttp""#, remote("http://h", Http, &[])),
        (r#""url": "http://h", "type": "streamable_http""#, remote("http://h", Http, &[])),
        (
            r#""type": "sse", "url": "http://h", "headers": {"Authorization": "Bearer $API_KEY"}"#,
            remote("http://h", Sse, &[("Authorization", "Bearer s3cr3t-value")]),
        ),
    ];
    for (members, transport) in table {
        assert!(only(&server(members), Rules::Full).transport == transport, "{members}");
    }
    let vs_code = r#"{"inputs": [], "servers": {"s": {"type": "stdio", "command": "a"}}}"#;
    assert_eq!(only(vs_code, Rules::Full).transport, stdio("a", &[], &[], None));
}

#[test]
fn headers_that_trunkline_sets_itself_are_ignored_with_a_word() {
    let text =
        server(r#""url": "http://h", "headers": {"Accept": "*/*", "X": "y", "MCP-Param-a": "b"}"#);
    let config = read(&text, Rules::Full).expect("it loads");
    let expected = remote("http://h", RemoteKind::Detect, &[("X", "y")]);
    assert!(config.servers.iter().all(|server| server.transport == expected));
    super::check(
        &text,
        Rules::Full,
        &[
            "warning $.mcpServers.s.headers.Accept 1:54 `Accept` is set by Trunkline itself and is ignored here",
            "warning $.mcpServers.s.headers.MCP-Param-a 1:81 `MCP-Param-a` is set by Trunkline itself and is ignored here",
        ],
    );
}

#[test]
fn a_disabled_server_is_checked_but_not_expanded() {
    let table = [
        (r#""command": "$UNSET", "disabled": true"#, true),
        (r#""command": "${broken", "enabled": false"#, true),
        (r#""url": "${UNSET}/x", "enabled": false, "disabled": true"#, true),
        (r#""command": "a", "disabled": false"#, false),
        (r#""command": "a", "enabled": true"#, false),
    ];
    for (members, disabled) in table {
        assert_eq!(only(&server(members), Rules::Full).disabled, disabled, "{members}");
    }
    let expected = stdio("$UNSET", &[], &[], None);
    let spec = only(&server(r#""command": "$UNSET", "disabled": true"#), Rules::Full);
    assert_eq!(spec.transport, expected);
    let table = r#"
        "command": "$UNSET", "args": "x", "disabled": true => 1:52 `args` must be an array of strings, found a string
    "#;
    check_rows(&[Rules::Full], server, "invalid_schema $.mcpServers.s.args ", table);
}

#[test]
fn unknown_keys_are_noted_one_by_one() {
    let text = "{\n\"$schema\": \"x\", \"inputs\": [],\n\"mcpServers\": {\"s\": {\"command\": \"a\",\n\"timeout\": 5, \"headers\": {}}}\n}";
    let notes: Vec<String> =
        loaded(text, Rules::Full).notes.iter().map(ToString::to_string).collect();
    let expected = [
        "ignored key $.inputs (line 2)",
        "ignored key $.mcpServers.s.timeout (line 4)",
        "ignored key $.mcpServers.s.headers (line 4)",
    ];
    assert_eq!(notes, expected);
    let text = server(r#""url": "http://h", "env": {}, "args": []"#);
    assert_eq!(loaded(&text, Rules::Full).notes.len(), 2);
}

#[test]
fn json_with_comments_commas_mark_and_crlf_loads() {
    let text = "\u{feff}// top\r\n{ /* a */ \"mcpServers\": {\r\n  \"s\": { \"command\": \"a\", \"args\": [\"x\", /* y, */ \"//z\",], }, // end\r\n},}\r\n/**/";
    for rules in [Rules::Full, Rules::Simple] {
        assert_eq!(only(text, rules).transport, stdio("a", &["x", "//z"], &[], None));
    }
}

#[test]
fn secrets_are_the_expanded_and_the_suspicious() {
    let names = |members: &str| -> Vec<String> {
        let spec = only(&server(members), Rules::Full);
        let mut names: Vec<String> = spec.secrets.names().map(str::to_owned).collect();
        names.sort();
        names.dedup();
        names
    };
    let table: [(&str, &[&str]); 16] = [
        (r#""command": "a", "args": ["--token", "abcdef", "-y", "--port", "8080"]"#, &["--token"]),
        (r#""command": "a", "args": ["--api-key=abcdef", "--level=info"]"#, &["--api-key"]),
        (
            r#""command": "a", "args": ["-e", "GH_TOKEN=abcdef", "image@sha256:0a1b2c"]"#,
            &["GH_TOKEN"],
        ),
        (r#""command": "a", "args": ["--header", "X-Api-Key: abcdef"]"#, &["X-Api-Key"]),
        (
            r#""command": "a", "args": ["https://h/?key=abcdef&x=1", "pg://me:passwd@h/db"]"#,
            &["args", "key"],
        ),
        (r#""command": "a", "args": ["--key-file", "/etc/key", "mcp-server-1@2025.11.25"]"#, &[]),
        (r#""command": "a", "args": ["--token", "abcdef"], "disabled": true"#, &[]),
        (r#""command": "a", "args": ["--key=$API_KEY", "$HOME"]"#, &["API_KEY"]),
        (r#""command": "a", "env": {"PWD": "/srv/data", "MYSQL_PWD": "abcdef"}"#, &["MYSQL_PWD"]),
        (r#""command": "a", "env": {"HOME": "$API_KEY", "TMPDIR": "${HOME}/tmp"}"#, &["API_KEY"]),
        (r#""command": "a", "env": {"GH_TOKEN": "abcdef", "LOG": "debug"}"#, &["GH_TOKEN"]),
        (r#""command": "a", "env": {"X": "d41d8cd98f00b204e9800998ecf8427e"}"#, &["X"]),
        (r#""command": "a", "env": {"DB": "pg://me:passwd@h/db"}"#, &["DB"]),
        (r#""command": "a", "env": {"LEVEL": "${UNSET:-info}"}"#, &[]),
        (r#""command": "a", "env": {"PASSWORD": "${UNSET:-hunter2}"}"#, &["PASSWORD"]),
        (r#""url": "http://h", "headers": {"X-Key": "abcdef"}"#, &["X-Key"]),
    ];
    for (members, expected) in table {
        assert_eq!(names(members), expected, "{members}");
    }
    let spec = only(&server(r#""command": "a", "env": {"T": "pre-${API_KEY}"}"#), Rules::Full);
    assert_eq!(spec.secrets.redact("got s3cr3t-value"), "got [redacted API_KEY]");
}

#[test]
fn co_4_co_5_the_examples_of_the_documentation_load() {
    let page = include_str!("../../../../../docs/config.md");
    let blocks = page.split("```json\n").skip(1).filter_map(|rest| rest.split("```").next());
    let mut files: Vec<&str> = blocks.filter(|block| block.contains("\"mcpServers\"")).collect();
    files.push(include_str!("../../../../../examples/coordinator.json"));
    assert!(files.len() >= 4, "{}", files.len());
    for text in files {
        let source = ConfigSource { name: "config.md", text: text.as_bytes() };
        let config = load(&source, Rules::Full, &|_| Some("x".to_owned()));
        let config = config.unwrap_or_else(|problems| panic!("{problems}\n{text}"));
        assert!(config.warnings.is_empty() && config.notes.is_empty(), "{text}");
        assert_eq!(config.check_names(&Naming::default()).err(), None);
    }
}

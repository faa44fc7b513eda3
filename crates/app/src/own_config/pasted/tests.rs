//! What people paste, and the servers it means.

use serde_json::json;

use super::*;

#[track_caller]
fn servers(text: &str) -> Vec<(Option<String>, Value)> {
    let read = read_pasted(text).unwrap_or_else(|why| panic!("{text}: {why}"));
    read.into_iter().map(|server| (server.name, Value::Object(server.entry))).collect()
}

#[track_caller]
fn one(text: &str, name: &str, entry: &Value) {
    let expected = (!name.is_empty()).then(|| name.to_owned());
    assert_eq!(servers(text), [(expected, entry.clone())], "{text}");
}

#[test]
fn snippets_of_every_kind() {
    let npx = json!({"command": "npx", "args": ["-y", "a"]});
    for text in [
        r#"{"mcpServers": {"a": {"command": "npx", "args": ["-y", "a"]}}}"#,
        "// copied\n{\"mcpServers\": {\"a\": {\"command\": \"npx\", /* c */ \"args\": [\"-y\", \"a\",]}}}",
        r#"{"servers": {"a": {"type": "stdio", "command": "npx", "args": ["-y", "a"]}}}"#,
        r#"{"mcp": {"servers": {"a": {"command": "npx", "args": ["-y", "a"]}}}}"#,
        r#"{"a": {"command": "npx", "args": ["-y", "a"]}}"#,
        r#""a": {"command": "npx", "args": ["-y", "a"]},"#,
        r#"{"name": "a", "command": "npx", "args": ["-y", "a"]}"#,
        "```json\n{\"a\": {\"command\": \"npx\", \"args\": [\"-y\", \"a\"]}}\n```\n",
        "[mcp_servers.a]\ncommand = \"npx\"\nargs = [\"-y\", \"a\"]\n",
    ] {
        one(text, "a", &npx);
    }
    one(r#"{"url": "https://h/mcp"}"#, "", &json!({"url": "https://h/mcp"}));
    let two = r#"{"mcpServers": {"a": {"command": "x"}, "b": {"url": "https://h"}}}"#;
    assert_eq!(servers(two).len(), 2);
    let input = r#"{"inputs": [{"id": "key", "type": "promptString"}], "servers": {"a": {"url": "https://h", "headers": {"K": "${input:key}"}}}}"#;
    assert_eq!(servers(input)[0].1["headers"]["K"], "${INPUT_KEY}");
}

#[test]
fn lines_of_other_programs() {
    let npx = json!({"command": "npx", "args": ["-y", "a"]});
    let with_env = json!({"command": "npx", "args": ["-y", "a"], "env": {"K": "v w", "L": "2"}});
    for (line, entry) in [
        ("claude mcp add a -- npx -y a", &npx),
        ("$ claude mcp add --transport stdio a -s user -- npx -y a", &npx),
        ("claude mcp add a npx -y a", &npx),
        ("claude mcp add a --env K='v w' -e L=2 -- npx -y a", &with_env),
        ("claude mcp add --env \"K=v w\" L=2 --scope local a \\\n  -- npx -y a", &with_env),
        ("codex mcp add a --env \"K=v w\" --env L=2 -- npx -y a", &with_env),
        (
            "claude mcp add-json a '{\"command\":\"npx\",\"args\":[\"-y\",\"a\"]}' --scope user",
            &npx,
        ),
        ("code --add-mcp '{\"name\":\"a\",\"command\":\"npx\",\"args\":[\"-y\",\"a\"]}'", &npx),
    ] {
        one(line, "a", entry);
    }
    let http = json!({"type": "http", "url": "https://h/mcp", "headers": {"A": "b: c"}});
    for line in [
        "claude mcp add --transport http a https://h/mcp --header \"A: b: c\"",
        "claude mcp add a -t http -H 'A: b: c' https://h/mcp",
        "gemini mcp add -t http --trust a https://h/mcp -H 'A: b: c'",
    ] {
        one(line, "a", &http);
    }
    one("claude mcp add a https://h/mcp", "a", &json!({"url": "https://h/mcp"}));
    let bearer = json!({"url": "https://h", "headers": {"Authorization": "Bearer ${T}"}});
    one("codex mcp add a --url https://h --bearer-token-env-var T", "a", &bearer);
}

#[test]
fn what_is_no_server_is_refused_without_being_quoted() {
    for (text, why) in [
        ("", "nothing to add"),
        ("s3cret", "neither JSON"),
        ("claude mcp add", "names no server"),
        ("claude mcp add a", "neither a command nor an address"),
        ("claude mcp add a -- b; rm s3cret", "more than one command"),
        ("claude mcp add --s3cret a -- b", "has no flag"),
        ("claude mcp add a -e s3cret -- b", "takes NAME=VALUE"),
        ("{\"mcpServers\": s3cret}", "line 1, column"),
        ("{\"mcpServers\": {}}", "no server in it"),
        ("{\"hello\": \"s3cret\"}", "no server was found"),
        (
            "{\"mcpServers\": {\"t\": {\"command\": \"trunkline\", \"args\": [\"--config\", \"s3cret\"]}}}",
            "is Trunkline itself",
        ),
    ] {
        let told = read_pasted(text).unwrap_err();
        assert!(told.contains(why), "{text}: {told}");
        assert!(!told.contains("s3cret") || told.contains("has no flag"), "{text}: {told}");
    }
}

#[test]
fn packages_of_the_registry() {
    let file = |package: Value| {
        json!({"$schema": "…", "name": "io.github.me/weather", "version": "1.2.3", "packages": [package]})
            .to_string()
    };
    for (package, command, args) in [
        (
            json!({"registryType": "npm", "identifier": "@a/b", "version": "1.2.3"}),
            "npx",
            json!(["-y", "@a/b@1.2.3"]),
        ),
        (
            json!({"registry_type": "npm", "identifier": "b", "runtime_arguments": [{"type": "named", "name": "-y"}]}),
            "npx",
            json!(["-y", "b"]),
        ),
        (
            json!({"registryType": "pypi", "identifier": "b", "version": "2", "runtimeHint": "uvx"}),
            "uvx",
            json!(["b@2"]),
        ),
        (
            json!({"registryType": "nuget", "identifier": "B", "version": "2", "packageArguments": [{"type": "positional", "value": "mcp"}]}),
            "dnx",
            json!(["--yes", "B@2", "--", "mcp"]),
        ),
        (
            json!({"registryType": "oci", "identifier": "ghcr.io/a/b:1", "environmentVariables": [{"name": "T", "value": "x"}]}),
            "docker",
            json!(["run", "-i", "--rm", "-e", "T", "ghcr.io/a/b:1"]),
        ),
        (
            json!({"registryType": "npm", "identifier": "b", "packageArguments": [
            {"type": "named", "name": "--port", "default": "80"}, {"type": "named", "name": "--quiet"},
            {"type": "positional", "valueHint": "root", "value": "{dir}/x", "variables": {"dir": {"default": "/d"}}},
            {"type": "named", "name": "--maybe", "description": "…", "valueHint": "x"}]}),
            "npx",
            json!(["-y", "b", "--port", "80", "--quiet", "/d/x"]),
        ),
    ] {
        let read = servers(&file(package));
        assert_eq!(read[0].0.as_deref(), Some("weather"));
        assert_eq!((&read[0].1["command"], &read[0].1["args"]), (&json!(command), &args));
    }
    let bundle = file(json!({"registryType": "mcpb", "identifier": "https://h/x.mcpb"}));
    assert!(read_pasted(&bundle).unwrap_err().contains("is a bundle"));
}

#[test]
fn what_the_registry_says_is_needed_is_asked_for() {
    let text = json!({"server": {"name": "a/b", "packages": [{
    "registryType": "npm", "identifier": "b", "transport": {"type": "stdio"},
    "environmentVariables": [
        {"name": "API_KEY", "description": "Your key", "isRequired": true, "isSecret": true},
        {"name": "REGION", "default": "eu"}, {"name": "DEBUG"},
    ]}]}})
    .to_string();
    let read = read_pasted(&text).unwrap();
    assert_eq!(read[0].entry["env"], json!({"API_KEY": "${API_KEY}", "REGION": "eu"}));
    let needed =
        NeededValue { name: "API_KEY".to_owned(), about: "Your key".to_owned(), is_secret: true };
    assert_eq!(read[0].needs, [needed]);
    let text = json!({"name": "com.h/b", "remotes": [{"type": "streamable-http", "url": "https://{host}/mcp",
        "variables": {"host": {"default": "h"}},
        "headers": [{"name": "Authorization", "value": "Bearer {api_key}", "variables": {"api_key": {"isSecret": true}}},
            {"name": "X-Team", "isRequired": true}, {"name": "X-Other"}]}]})
    .to_string();
    let read = read_pasted(&text).unwrap();
    let headers = json!({"Authorization": "Bearer ${API_KEY}", "X-Team": "${X_TEAM}"});
    assert_eq!(
        Value::Object(read[0].entry.clone()),
        json!({"type": "http", "url": "https://h/mcp", "headers": headers})
    );
    let names: Vec<_> = read[0].needs.iter().map(|it| (it.name.as_str(), it.is_secret)).collect();
    assert_eq!(names, [("API_KEY", true), ("X_TEAM", false)]);
}

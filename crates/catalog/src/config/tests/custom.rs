//! Custom tools in the file, and whether their names stay their own.

use super::{check, check_rows, lines, read};
use crate::client::Client;
use crate::config::Rules::{Full, Simple};
use crate::config::{CustomTool, Subtool};
use crate::name::Naming;

/// A file with the servers `fs`, `git` (disabled) and these custom tools.
fn file(tools: &str) -> String {
    let servers = r#"{"fs": {"command": "a"}, "git": {"command": "a", "disabled": true}, "fs2": {"command": "a"}}"#;
    format!("{{\"mcpServers\": {servers},\n\"tools\": {tools}}}")
}

fn subtool(server: &str, tool: &str, description: Option<&str>) -> Subtool {
    let description = description.map(str::to_owned);
    Subtool { server: server.to_owned(), tool: tool.to_owned(), description }
}

#[test]
fn co_5_custom_tools_are_read_in_file_order() {
    let text = file(
        r#"{
        "z": {"description": "Z $HOME", "subtools": {
            "fs": {"tools": [{"name": "read", "description": "Reads"}, {"name": "stat"}, "list"]}}},
        "a": {"subtools": {"fs": {"tools": ["read", "read"]}}, "description": "", "x": 1}}"#,
    );
    let config = read(&text, Full).unwrap_or_else(|problems| panic!("{problems}"));
    let z = [
        subtool("fs", "read", Some("Reads")),
        subtool("fs", "stat", None),
        subtool("fs", "list", None),
    ];
    let expected = [
        CustomTool {
            name: "z".to_owned(),
            description: "Z $HOME".to_owned(),
            subtools: z.into(),
            selection: None,
        },
        CustomTool {
            name: "a".to_owned(),
            description: String::new(),
            subtools: vec![subtool("fs", "read", None)],
            selection: None,
        },
    ];
    assert_eq!(config.custom, expected);
    assert_eq!(config.notes.len(), 1);
    let twice = ["warning $.tools.a.subtools.fs.tools[1] 5:53 `read` is given twice in this list"];
    assert_eq!(lines(&config.warnings, &twice), twice);
    assert!(read(&file("{}"), Full).unwrap().warnings.is_empty());
}

#[test]
fn co_5_what_is_wrong_with_a_custom_tool() {
    let table = r#"
        []                                        => tools 2:10 `tools` must be an object of custom tools, found an array
        {"": {"description": "", "subtools": {"fs": {"tools": ["a"]}}}} => tools[""] 2:11 the name is empty
        {"t": {"description": ""}}                => tools.t.subtools 2:11 missing required field `subtools`
        {"t": {"subtools": {"fs": {"tools": ["a"]}}}} => tools.t.description 2:11 missing required field `description`
        {"t": {"description": 5, "subtools": {"fs": {"tools": ["a"]}}}} => tools.t.description 2:32 `description` must be a string, found a number
        {"t": {"description": "", "subtools": []}} => tools.t.subtools 2:48 `subtools` must be an object with servers as keys, found an array
        {"t": {"description": "", "subtools": {}}} => tools.t.subtools 2:48 `subtools` is empty: there is nothing to call
        {"t": {"description": "", "subtools": {"fs": []}}} => tools.t.subtools.fs 2:55 `fs` must be {"tools": […]}, found an array
        {"t": {"description": "", "subtools": {"fs": {}}}} => tools.t.subtools.fs.tools 2:49 missing required field `tools`
        {"t": {"description": "", "subtools": {"fs": {"tools": "a"}}}} => tools.t.subtools.fs.tools 2:65 `tools` must be an array, found a string
        {"t": {"description": "", "subtools": {"fs": {"tools": [5]}}}} => tools.t.subtools.fs.tools[0] 2:66 `tools[0]` must be a string or {"name": …, "description": …}, found a number
        {"t": {"description": "", "subtools": {"fs": {"tools": [{}]}}}} => tools.t.subtools.fs.tools[0].name 2:66 missing required field `name`
        {"t": {"description": "", "subtools": {"fz": {"tools": ["a"]}}}} => tools.t.subtools.fz 2:49 no server is called `fz`
        {"t": {"description": "", "subtools": {"other": {"tools": ["a"]}}}} => tools.t.subtools.other 2:49 no server is called `other` | the servers of this file are `fs`, `git`, `fs2`
        {"t": {"description": "", "subtools": {"fs": {"tools": []}}}} => tools.t.subtools 2:48 `subtools` names no tool: there is nothing to call | write {"SERVER": {"tools": ["TOOL", …]}}
        {"t": {"description": "", "subtools": {"fs": {"tools": [""]}}}} => tools.t.subtools.fs.tools[0] 2:66 the name of a tool is empty | write "TOOL" or {"name": "TOOL", "description": "…"}
        {"t": {"description": "", "subtools": {"fs": {"tools": [{"name": ""}]}}}} => tools.t.subtools.fs.tools[0] 2:66 the name of a tool is empty
        {"t": {"desc": "", "subtools": {"fs": {"tools": ["a"]}}}} => tools.t.description 2:11 missing required field `description`
        {"t": {"descripton": "", "subtools": {"fs": {"tools": ["a"]}}}} => tools.t.description 2:11 missing required field `description` | did you mean `description`?
        {"t": {"description": "", "subtools": {"gitt": {"tools": ["a"]}}}} => tools.t.subtools.gitt 2:49 no server is called `gitt` | did you mean `git`?
        {"t": {"description": "", "subtools": {"fs": {"tools": ["a"]}}}, "u": 5} => tools.u 2:80 a custom tool must be an object, found a number
    "#;
    check_rows(&[Full], file, "invalid_schema $.", table);
    let table = r#"
        {"t": {"description": "", "subtools": {"git": {"tools": ["a"]}}}} => tools.t.subtools.git 2:49 server `git` is disabled: its tools cannot be called
        {"t": {"description": "", "subtools": {"fs": {"tools": ["a"]}, "fs2": {"tools": []}}}} => tools.t.subtools.fs2 2:73 no tool of this server is named: it has no effect
        {"core": ["ls"], "sandbox": true, "shell": {"pager": "cat"}} => tools 2:1 `tools` holds no custom tool and is ignored
    "#;
    check_rows(&[Full], file, "warning $.", table);
    let refused = "invalid_schema $.tools 1:41 `tools` is not in the standard config";
    check(r#"{"mcpServers": {"s": {"command": "a"}}, "tools": {}}"#, Simple, &[refused]);
}

#[test]
fn co_5_a_server_with_a_problem_of_its_own_is_still_a_server() {
    let text = r#"{"mcpServers": {"fs": 5}, "tools": {"t": {"description": "", "subtools": {"fs": {"tools": ["a"]}}}}}"#;
    let expected = "invalid_schema $.mcpServers.fs 1:23 a server must be an object, found a number";
    check(text, Full, &[expected]);
}

#[test]
fn co_5_a_custom_tool_is_not_named_like_a_servers_tool() {
    let problems = |name: &str, naming: &Naming| {
        let tool = r#"{"description": "", "subtools": {"fs": {"tools": ["a"]}}}"#;
        let text = file(&format!("{{\"ok\": {tool},\n\"{name}\": {tool}}}"));
        read(&text, Full).and_then(|config| config.check_names(naming)).err()
    };
    let table = [
        ("fs:read", ":", true),
        ("fs:", ":", true),
        ("git:x", ":", true),
        ("fs__read", ":", true),
        ("fs.read", ".", true),
        ("fs.read", ":", false),
        ("fs:read", ".", true),
        ("fs", ":", false),
        ("fs_read", ":", false),
        ("x:fs:read", ":", false),
    ];
    for (name, separator, clashes) in table {
        let found = problems(name, &Naming::canonical(separator)).is_some();
        assert_eq!(found, clashes, "{name} {separator}");
    }
    let naming = Naming::for_client(":", Client::ClaudeCode);
    let found = problems("fs:read", &naming).expect("a problem");
    let expected = [
        r#"invalid_schema $.tools["fs:read"] 3:1 the custom tool `fs:read` is named like a tool of server `fs` | give it a name of its own"#,
    ];
    assert_eq!(lines(&found, &expected), expected);
    assert_eq!(found.file(), "mcp.json");
    assert!(
        found.render(crate::config::Style::Plain).contains("3 | \"fs:read\": {"),
        "it is quoted"
    );
}

#[test]
fn co_5_every_problem_of_the_custom_tools_is_told_at_once() {
    let text = file(
        r#"{"fs:x": {"subtools": {"fs": {"tools": [""]}}},
"git__y": 5,
"z": {}}"#,
    );
    let expected = [
        "invalid_schema $.tools[\"fs:x\"] 2:11 the custom tool `fs:x` is named like a tool of server `fs`",
        "invalid_schema $.tools[\"fs:x\"].description 2:11 missing required field `description`",
        "invalid_schema $.tools[\"fs:x\"].subtools.fs.tools[0] 2:50 the name of a tool is empty",
        "invalid_schema $.tools.git__y 3:1 the custom tool `git__y` is named like a tool of server `git`",
        "invalid_schema $.tools.git__y 3:11 a custom tool must be an object, found a number",
        "invalid_schema $.tools.z.description 4:1 missing required field `description`",
        "invalid_schema $.tools.z.subtools 4:1 missing required field `subtools`",
    ];
    check(&text, Full, &expected);
    let alone = [
        "invalid_schema $.tools.x.description 2:11 missing required field `description`",
        "invalid_schema $.tools.x.subtools 2:11 missing required field `subtools`",
    ];
    check(&file(r#"{"x": {}}"#), Full, &alone);
}

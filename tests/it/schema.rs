//! The JSON Schema of the config file, in the hands of a validator nobody here wrote: it agrees with
//! the loader about the shape of a file.

use std::path::{Path, PathBuf};
use std::process::Command;

use kit::bin;
use kit::room::Room;
use kit::run::run;
use serde_json::{Value, json};

use crate::peers::python;

#[test]
fn the_shipped_schema_is_the_programs_own() {
    let shipped =
        std::fs::read_to_string(repository("docs/config.schema.json")).expect("it is there");
    let stale = "stale: cargo run -- schema > docs/config.schema.json";
    assert!(shipped == printed(), "{stale}");
}

#[test]
fn every_example_of_the_documentation_is_valid() {
    let room = Room::new();
    let mut examples = Vec::new();
    for page in files("docs", "md").into_iter().chain([repository("README.md")]) {
        let text = std::fs::read_to_string(&page).expect("a page can be read");
        let blocks = text.split("```").skip(1).step_by(2).filter_map(|block| {
            let body = block.strip_prefix("jsonc\n").or_else(|| block.strip_prefix("json\n"))?;
            // Entries of other clients' files stand in the pages as well: those are theirs.
            let is_config = body.trim_start().starts_with('{') && body.contains("\"mcpServers\"");
            is_config.then(|| (page.display().to_string(), body.to_owned()))
        });
        examples.extend(blocks);
    }
    for file in files("examples", "json") {
        let text = std::fs::read_to_string(&file).expect("an example can be read");
        examples.push((file.display().to_string(), text));
    }
    assert!(examples.len() >= 6, "{examples:?}");
    let texts: Vec<&str> = examples.iter().map(|(_, text)| text.as_str()).collect();
    for ((page, text), verdict) in examples.iter().zip(judged(&room, &texts)) {
        assert_eq!(verdict, None, "{page}:\n{text}");
    }
}

/// Files that the loader takes. Disabled servers are checked and not started.
const GOOD: &[&str] = &[
    r#"{"mcpServers": {}}"#,
    r#"{"$schema": "config.schema.json", "mcpServers": {}, "inputs": [], "theme": 1}"#,
    r#"{"servers": {"s": {"command": "a", "disabled": true}}}"#,
    r#"{"mcpServers": {"a b:c": {"command": "a", "disabled": true, "timeout": "30s"}}}"#,
    r#"{"mcpServers": {"s": {"command": "a", "args": ["-y"], "env": {"A": "b", "N": 1, "T": true}, "cwd": "/", "disabled": true}}}"#,
    r#"{"mcpServers": {"s": {"command": "a", "type": "STDIO", "enabled": false}}}"#,
    r#"{"mcpServers": {"s": {"command": "a", "type": "local", "headers": 5, "disabled": true, "enabled": false}}}"#,
    r#"{"mcpServers": {"s": {"url": "https://h.example:8443/mcp?x=1", "headers": {"A": "b\tc", "N": 1}, "disabled": true}}}"#,
    r#"{"mcpServers": {"s": {"serverUrl": "${URL}/mcp", "type": "streamableHttp", "disabled": true, "args": 5}}}"#,
    r#"{"mcpServers": {"s": {"httpUrl": "http://[::1]:80", "type": "SSE", "disabled": true}}}"#,
    r#"{"mcpServers": {"s": {"command": "a", "disabled": true, "share": "per-session", "era": "legacy", "callTimeout": 0.5, "maxConcurrency": 3}}}"#,
    r#"{"onChange": "hold", "mcpServers": {"s": {"command": "a", "disabled": true, "onChange": "warn"}}}"#,
    r#"{"start": "eager", "idleStop": "off", "mcpServers": {"s": {"command": "a", "disabled": true, "start": "lazy", "idleStop": "15m"}}}"#,
    r#"{"idleStop": false, "mcpServers": {"s": {"url": "http://h", "disabled": true, "idleStop": 900}}}"#,
    r#"{"mcpServers": {"s": {"command": "a", "disabled": true, "exposedTools": ["t", {"original": "u", "exposed": "v"}], "hiddenTools": ["w"]}}}"#,
    r#"{"mcpServers": {"s": {"command": "a", "disabled": true, "tools": {"t": {"approval_mode": "auto"}}}}}"#,
    r#"{"mcpServers": {"s": {"command": "a", "disabled": true, "tools": [{"name": "t"}, 1]}}}"#,
    r#"{"mcpServers": {"s": {"command": "a", "disabled": true, "tools": ["*"]}}}"#,
    r#"{"mcpServers": {"s": {"command": "a", "disabled": true}}, "tools": {"core": ["x"], "sandbox": false}}"#,
    r#"{"mcpServers": {"s": {"command": "a", "disabled": true}}, "tools": {"t": {"description": "d", "subtools": {"s": {"tools": ["x", {"name": "y", "description": "z"}]}}}}}"#,
];

/// Files that are refused for their shape.
const BAD: &[&str] = &[
    "[]",
    "{}",
    r#"{"mcpservers": {}}"#,
    r#"{"mcpServers": []}"#,
    r#"{"mcpServers": {}, "servers": {}}"#,
    r#"{"mcpServers": {"": {"command": "a"}}}"#,
    r#"{"mcpServers": {"a\nb": {"command": "a"}}}"#,
    r#"{"mcpServers": {"s": null}}"#,
    r#"{"mcpServers": {"s": {}}}"#,
    r#"{"mcpServers": {"s": {"comand": "a"}}}"#,
    r#"{"mcpServers": {"s": {"command": "  "}}}"#,
    r#"{"mcpServers": {"s": {"command": "a\u0000b"}}}"#,
    r#"{"mcpServers": {"s": {"command": ["npx"]}}}"#,
    r#"{"mcpServers": {"s": {"command": "a", "args": "-y"}}}"#,
    r#"{"mcpServers": {"s": {"command": "a", "args": [8080]}}}"#,
    r#"{"mcpServers": {"s": {"command": "a", "env": []}}}"#,
    r#"{"mcpServers": {"s": {"command": "a", "env": {"A": null}}}}"#,
    r#"{"mcpServers": {"s": {"command": "a", "env": {"": "b"}}}}"#,
    r#"{"mcpServers": {"s": {"command": "a", "env": {"A=B": "b"}}}}"#,
    r#"{"mcpServers": {"s": {"command": "a", "cwd": ""}}}"#,
    r#"{"mcpServers": {"s": {"command": "a", "url": "http://h"}}}"#,
    r#"{"mcpServers": {"s": {"command": 5, "url": "http://h"}}}"#,
    r#"{"mcpServers": {"s": {"url": "http://h", "httpUrl": "http://h"}}}"#,
    r#"{"mcpServers": {"s": {"url": "h:80"}}}"#,
    r#"{"mcpServers": {"s": {"url": "ftp://h"}}}"#,
    r#"{"mcpServers": {"s": {"url": "http://"}}}"#,
    r#"{"mcpServers": {"s": {"url": "http://u:p@h/"}}}"#,
    r#"{"mcpServers": {"s": {"url": "http://a b"}}}"#,
    r#"{"mcpServers": {"s": {"url": "http://h:x/"}}}"#,
    r#"{"mcpServers": {"s": {"url": "http://h", "headers": {"A b": "c"}}}}"#,
    r#"{"mcpServers": {"s": {"url": "http://h", "headers": {"A": "c\nd"}}}}"#,
    r#"{"mcpServers": {"s": {"url": "http://h", "type": "stdio"}}}"#,
    r#"{"mcpServers": {"s": {"command": "a", "type": "sse"}}}"#,
    r#"{"mcpServers": {"s": {"url": "http://h", "type": "ws"}}}"#,
    r#"{"mcpServers": {"s": {"type": "http"}}}"#,
    r#"{"mcpServers": {"s": {"command": "a", "disabled": "yes"}}}"#,
    r#"{"mcpServers": {"s": {"command": "a", "disabled": true, "enabled": true}}}"#,
    r#"{"mcpServers": {"s": {"command": "a", "share": "both"}}}"#,
    r#"{"mcpServers": {"s": {"command": "a", "era": "Modern"}}}"#,
    r#"{"mcpServers": {"s": {"command": "a", "callTimeout": "30s"}}}"#,
    r#"{"mcpServers": {"s": {"command": "a", "callTimeout": 0}}}"#,
    r#"{"mcpServers": {"s": {"command": "a", "callTimeout": 86401}}}"#,
    r#"{"mcpServers": {"s": {"command": "a", "maxConcurrency": 0}}}"#,
    r#"{"mcpServers": {"s": {"command": "a", "maxConcurrency": 1.5}}}"#,
    r#"{"mcpServers": {"s": {"command": "a", "start": "Lazy"}}}"#,
    r#"{"mcpServers": {"s": {"command": "a", "onChange": "ask"}}}"#,
    r#"{"onChange": true, "mcpServers": {"s": {"command": "a"}}}"#,
    r#"{"mcpServers": {"s": {"command": "a", "idleStop": "soon"}}}"#,
    r#"{"mcpServers": {"s": {"command": "a", "idleStop": "0s"}}}"#,
    r#"{"mcpServers": {"s": {"command": "a", "idleStop": 0}}}"#,
    r#"{"mcpServers": {"s": {"command": "a", "idleStop": true}}}"#,
    r#"{"start": 1, "mcpServers": {}}"#,
    r#"{"mcpServers": {"s": {"command": "a", "exposedTools": "t"}}}"#,
    r#"{"mcpServers": {"s": {"command": "a", "exposedTools": [""]}}}"#,
    r#"{"mcpServers": {"s": {"command": "a", "exposedTools": [{"exposed": "t"}]}}}"#,
    r#"{"mcpServers": {"s": {"command": "a", "includeTools": [{"original": "t", "exposed": "a\u001b"}]}}}"#,
    r#"{"mcpServers": {"s": {"command": "a", "hiddenTools": [1]}}}"#,
    r#"{"mcpServers": {"s": {"command": "a", "tools": "t"}}}"#,
    r#"{"mcpServers": {"s": {"command": "a", "tools": [1]}}}"#,
    r#"{"mcpServers": {"s": {"command": "a"}}, "tools": []}"#,
    r#"{"mcpServers": {"s": {"command": "a"}}, "tools": {"t": {}}}"#,
    r#"{"mcpServers": {"s": {"command": "a"}}, "tools": {"t": {"description": "d"}}}"#,
    r#"{"mcpServers": {"s": {"command": "a"}}, "tools": {"t": {"description": "d", "subtools": {}}}}"#,
    r#"{"mcpServers": {"s": {"command": "a"}}, "tools": {"t": {"description": "d", "subtools": {"s": {"tools": []}}}}}"#,
    r#"{"mcpServers": {"s": {"command": "a"}}, "tools": {"t": {"description": 1, "subtools": {"s": {"tools": ["x"]}}}}}"#,
    r#"{"mcpServers": {"s": {"command": "a"}}, "tools": {"t": {"description": "d", "subtools": {"s": {"tools": [{"description": "x"}]}}}}}"#,
    r#"{"mcpServers": {"s": {"command": "a"}}, "tools": {"t": {"description": "d", "subtools": {"s": ["x"]}}}}"#,
];

/// Files that are refused for what no schema can say.
const BEYOND: &[&str] = &[
    r#"{"mcpServers": {"s": {"command": "a"}, "s": {"command": "a"}}}"#,
    r#"{"mcpServers": {"s": {"command": "${NOT_SET_ANYWHERE}"}}}"#,
    r#"{"mcpServers": {"s": {"url": "http://h:65536/"}}}"#,
    r#"{"mcpServers": {"s": {"command": "a"}}, "tools": {"t": {"description": "d", "subtools": {"other": {"tools": ["x"]}}}}}"#,
    r#"{"mcpServers": {"s": {"command": "a", "exposedTools": ["t"], "includeTools": ["u"]}}}"#,
];

#[test]
fn what_the_loader_refuses_for_its_shape_the_schema_refuses_and_nothing_else() {
    let room = Room::new();
    let all = [GOOD, BAD, BEYOND].concat();
    let verdicts = judged(&room, &all);
    for (text, verdict) in all.iter().zip(verdicts) {
        assert_eq!(verdict.is_some(), BAD.contains(text), "{text}: {verdict:?}");
        let mut command = Command::new(bin::trunkline());
        command.args(["check", "--config"]).arg(room.write("mcp.json", text));
        let done = run(command, b"");
        let expected = if GOOD.contains(text) { 0 } else { 2 };
        assert_eq!(done.code, Some(expected), "{text}: {done}");
    }
}

/// What the validator says about each of these.
#[track_caller]
fn judged(room: &Room, texts: &[&str]) -> Vec<Option<String>> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/config_schema.py");
    let mut command = Command::new(python());
    command.arg(script).arg(room.write("schema.json", printed()));
    let done = run(command, json!(texts).to_string().as_bytes());
    let verdicts: Vec<Value> = serde_json::from_str(done.text()).expect("a list of verdicts");
    assert_eq!(verdicts.len(), texts.len());
    verdicts.into_iter().map(|verdict| verdict.as_str().map(str::to_owned)).collect()
}

#[track_caller]
fn printed() -> String {
    let mut command = Command::new(bin::trunkline());
    command.arg("schema");
    run(command, b"").text().to_owned()
}

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(repository(folder)).expect("the folder is there");
    let paths = entries.flatten().map(|entry| entry.path());
    let wanted = |path: &PathBuf| {
        path.extension().is_some_and(|found| found == extension)
            && !path.ends_with("config.schema.json")
    };
    let mut found: Vec<PathBuf> = paths.filter(wanted).collect();
    found.sort();
    found
}

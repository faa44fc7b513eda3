//! Many clients' servers as one list: the same server once, different ones under different names. Pure.

use serde_json::{Map, Value};

use super::owner::FileOwner;
use super::read::{Imported, ImportedServer};
use crate::install::{program_name, unwrapped};

/// A server of the new config, and where it came from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Merged {
    pub(crate) server: ImportedServer,
    /// Whose it is, by which name; the first is the one that was taken.
    pub(crate) from: Vec<(FileOwner, String)>,
}

/// In the order of the files. `taken` are servers that are there already.
pub(crate) fn merge(imported: &[Imported], taken: &[ImportedServer]) -> (Vec<Merged>, Vec<String>) {
    let mut merged: Vec<Merged> = Vec::new();
    let mut notes = Vec::new();
    for part in imported {
        for server in &part.servers {
            let origin = (part.owner, server.name.clone());
            if let Some(there) = taken.iter().find(|there| is_same(there, server)) {
                notes.push(format!("{} is there already as `{}`", said(&origin), there.name));
                continue;
            }
            if let Some(same) = merged.iter_mut().find(|same| is_same(&same.server, server)) {
                same.from.push(origin);
                // Who has it switched off in one client and on in another wants it to run.
                if server.entry.get("disabled") != Some(&Value::Bool(true)) {
                    same.server.entry.shift_remove("disabled");
                }
                continue;
            }
            let is_free = |name: &str| {
                let new = merged.iter().map(|it| &it.server);
                taken.iter().chain(new).all(|other| other.name != name)
            };
            let name = free_name(&server.name, part.owner, is_free);
            if name != server.name {
                let words = format!(
                    "{} is another server than the one already called so; it becomes `{name}`",
                    said(&origin)
                );
                notes.push(words);
            }
            let server = ImportedServer { name, entry: server.entry.clone() };
            merged.push(Merged { server, from: vec![origin] });
        }
    }
    (merged, notes)
}

fn said((owner, name): &(FileOwner, String)) -> String {
    format!("`{name}` of {}", owner.title())
}

/// `github`, `github-cursor`, `github-cursor-2`.
fn free_name(wanted: &str, owner: FileOwner, is_free: impl Fn(&str) -> bool) -> String {
    if is_free(wanted) {
        return wanted.to_owned();
    }
    let with_owner = format!("{wanted}-{owner}");
    let mut name = with_owner.clone();
    let mut number = 2;
    while !is_free(&name) {
        name = format!("{with_owner}-{number}");
        number += 1;
    }
    name
}

/// Whether both start one program with equal arguments, or reach one address. Names and what a client
/// says besides do not count, nor whether `npx` asks first, nor `cmd /c`, nor that a variable may be unset.
pub(super) fn is_same(one: &ImportedServer, other: &ImportedServer) -> bool {
    let keys = ["env", "cwd", "url", "headers"];
    line_of(&one.entry) == line_of(&other.entry)
        && keys.iter().all(|key| said_of(&one.entry, key) == said_of(&other.entry, key))
}

/// The program and its arguments, as far as they say which server it is: `cmd /c npx.cmd` is `npx`.
fn line_of(entry: &Map<String, Value>) -> Option<(Value, Vec<Value>)> {
    let command = entry.get("command")?;
    let args = entry.get("args").and_then(Value::as_array);
    let mut args: Vec<Value> = args.into_iter().flatten().cloned().collect();
    let Some(text) = command.as_str() else { return Some((command.clone(), args)) };
    let words: Option<Vec<&str>> = args.iter().map(Value::as_str).collect();
    let mut program = text.to_owned();
    if let Some(words) = words {
        let (command, words) = unwrapped(text, words);
        program = command.to_owned();
        args = words.into_iter().map(Value::from).collect();
    }
    // A path says which of several programs it is.
    if !program.contains(['/', '\\']) {
        program = program_name(&program);
    }
    if program == "npx" {
        args.retain(|arg| !matches!(arg.as_str(), Some("-y" | "--yes")));
    }
    Some((strict(program.into()), args.into_iter().map(strict).collect()))
}

fn said_of(entry: &Map<String, Value>, key: &str) -> Option<Value> {
    let value = entry.get(key)?.clone();
    let is_nothing = match &value {
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    };
    (!is_nothing).then(|| strict(value))
}

/// `${A:-}` as `${A}`.
fn strict(value: Value) -> Value {
    match value {
        Value::String(text) => Value::from(text.replace(":-}", "}")),
        Value::Array(items) => items.into_iter().map(strict).collect(),
        Value::Object(members) => {
            members.into_iter().map(|(key, value)| (key, strict(value))).collect()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use trunkline_catalog::client::Client;

    use super::*;

    fn part(owner: FileOwner, servers: &[(&str, Value)]) -> Imported {
        let server = |(name, entry): &(&str, Value)| ImportedServer {
            name: (*name).to_owned(),
            entry: entry.as_object().unwrap().clone(),
        };
        Imported {
            owner,
            file: "f".into(),
            scope: "user".to_owned(),
            servers: servers.iter().map(server).collect(),
            problems: Vec::new(),
        }
    }

    #[test]
    fn the_same_server_is_there_once_and_others_keep_apart() {
        let gh = json!({"command": "gh", "args": [], "env": {"T": "1"}});
        let parts = [
            part(
                FileOwner::Client(Client::ClaudeDesktop),
                &[("git", gh.clone()), ("web", json!({"url": "https://a/mcp"}))],
            ),
            part(
                FileOwner::Client(Client::Cursor),
                &[("github", json!({"command": "gh", "env": {"T": "1"}, "x": 1}))],
            ),
            part(
                FileOwner::Client(Client::VsCode),
                &[("web", json!({"url": "https://b/mcp"})), ("web-vscode", gh)],
            ),
            part(FileOwner::Client(Client::Zed), &[("web", json!({"url": "https://c/mcp"}))]),
            part(FileOwner::Client(Client::Zed), &[("web", json!({"url": "https://d/mcp"}))]),
        ];
        let (merged, notes) = merge(&parts, &[]);
        let names: Vec<&str> = merged.iter().map(|it| it.server.name.as_str()).collect();
        assert_eq!(names, ["git", "web", "web-vscode", "web-zed", "web-zed-2"]);
        assert_eq!(merged[0].from.len(), 3);
        assert_eq!(notes.len(), 3);
        assert!(notes[0].contains("`web` of VS Code"), "{notes:?}");
    }

    #[test]
    fn a_server_is_the_same_behind_the_shell_of_windows() {
        let one = |entry: Value| part(FileOwner::Client(Client::Cursor), &[("s", entry)]).servers;
        let npx = one(json!({"command": "npx", "args": ["-y", "git"]}));
        for (entry, expected) in [
            (json!({"command": "cmd", "args": ["/c", "npx", "-y", "git"]}), true),
            (json!({"command": "cmd.exe", "args": ["/c", "npx.cmd", "git"]}), true),
            (json!({"command": "NPX.cmd", "args": ["git"]}), true),
            (json!({"command": "cmd", "args": ["/c", "npx", "-y", "other"]}), false),
            (json!({"command": "cmd", "args": ["/c", "npx", "-y", "%GIT%"]}), false),
            (json!({"command": r"C:\other\npx.cmd", "args": ["git"]}), false),
        ] {
            assert_eq!(is_same(&npx[0], &one(entry.clone())[0]), expected, "{entry}");
        }
    }

    #[test]
    fn what_is_there_already_is_not_added_again() {
        let there = part(FileOwner::Trunkline, &[("a", json!({"command": "x"}))]).servers;
        let new = [part(
            FileOwner::Client(Client::Cursor),
            &[("b", json!({"command": "x"})), ("a", json!({"command": "y"}))],
        )];
        let (merged, notes) = merge(&new, &there);
        assert_eq!(merged.len(), 1);
        assert_eq!(merged[0].server.name, "a-cursor");
        assert_eq!(notes[0], "`b` of Cursor is there already as `a`");
    }
}

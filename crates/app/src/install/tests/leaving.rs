//! Taking the entry out again, and putting backups back: the file is what it was.

use std::fs;

use serde_json::{Value, json};
use trunkline_catalog::client::Client;

use super::kit::{Home, parsed, run};
use crate::import::{FileOwner, client_entry};
use crate::install::error::InstallError;
use crate::install::restore::PutBack;
use crate::install::uninstall::{Removed, Uninstalled};
use crate::install::{
    ConfigLocation, Extent, InstallRequest, Launch, flag_value, kept, restore, run as install,
    uninstall,
};

/// Client and the user's file.
const CLIENTS: [(Client, &str); 18] = [
    (Client::ClaudeDesktop, ".config/Claude/claude_desktop_config.json"),
    (Client::ClaudeCode, ".claude.json"),
    (Client::Cursor, ".cursor/mcp.json"),
    (Client::VsCode, ".config/Code/User/mcp.json"),
    (Client::Codex, ".codex/config.toml"),
    (Client::Gemini, ".gemini/settings.json"),
    (Client::Zed, ".config/zed/settings.json"),
    (Client::Windsurf, ".codeium/windsurf/mcp_config.json"),
    (Client::Cline, ".cline/data/settings/cline_mcp_settings.json"),
    (Client::Goose, ".config/goose/config.yaml"),
    (Client::Copilot, ".copilot/mcp-config.json"),
    (Client::Qwen, ".qwen/settings.json"),
    (Client::OpenCode, ".config/opencode/opencode.json"),
    (Client::Amp, ".config/amp/settings.json"),
    (Client::Crush, ".config/crush/crush.json"),
    (Client::Continue, ".continue/mcpServers/mcp.json"),
    (Client::Kiro, ".kiro/settings/mcp.json"),
    (Client::LmStudio, ".lmstudio/mcp.json"),
];

/// Files as people have them; `S` is the key of the servers.
const JSON: [&str; 12] = [
    "",
    "{}",
    "{}\n",
    "{\n}\n",
    "{\"S\":{}}",
    "{\"S\":{\"a\":{\"command\":\"x\"}}}",
    "{\n  \"S\": {}\n}\n",
    "{\n  \"S\": {\n  }\n}\n",
    "{\r\n\t\"x\": 1,\r\n\t\"S\": {\r\n\t\t\"a\": {\"command\": \"x\"}\r\n\t}\r\n}\r\n",
    "{\n  \"S\": {\n    \"a\": {\"url\": \"https://h/mcp\"}\n  },\n  \"z\": [1,2]\n}",
    "\u{FEFF}{\n  \"a\": 1\n}",
    "{ \"S\" : { \"b\" : {} , \"a\":{ \"command\":\"x\" } } , \"y\":2 }",
];

const COMMENTED: [&str; 6] = [
    "// nothing yet\n",
    "// top\n{\n  // servers\n  \"S\": {\n    // none\n  } // end\n}\n",
    "{\n  \"S\": {\n    \"a\": {\"command\": \"x\"}, // keep\n    /* and this */\n  },\n}\n",
    "{\n  \"S\": {\n    \"a\": {\"command\": \"x\"} // no comma, keep\n  },\n  \"t\": 1,\n}\n",
    "{\"S\":{\"a\":{},},}",
    "{ /* , */ \"S\": { \"a\": {} /* , */ } }",
];

const TOML: [&str; 9] = [
    "# top\n\n# about a\n[mcp_servers.a] # here\ncommand = \"x\" # good\n# no more\n\n# looks\n[tui]\nx = 1\n",
    "[mcp_servers.a]\ncommand = \"x\"\n\n[mcp_servers.a.env]\n# key\nK = \"v\"\n\n# others\n\n[mcp_servers.b]\ncommand = \"y\"\n",
    "\u{FEFF}[mcp_servers.a]\ncommand = \"x\"\n",
    "",
    "# mine\n",
    "model = \"x\" # good\n\n[tui]\ntheme = \"dark\"\n",
    "[mcp_servers.a]\ncommand = \"x\"\n\n# the end\n",
    "a = 1\r\n\r\n[mcp_servers.a]\r\ncommand = \"x\"\r\n",
    "[mcp_servers]\na = { command = \"x\" }\n",
];

const YAML: [&str; 8] = [
    "",
    "# mine\n",
    "---\nGOOSE_MODEL: x # good\n",
    "extensions:\n",
    "extensions: {}\nz: 1\n",
    "extensions:\n  a:\n    cmd: x\n\n# the end\n",
    "a: 1\r\nextensions:\r\n    a:\r\n        cmd: x\r\n",
    "\u{FEFF}extensions:\n  # first\n  a:\n    description: |\n      # no comment\n  b: {cmd: y}\nz: 1",
];

fn samples(client: Client) -> Vec<String> {
    let key = match client {
        Client::VsCode => "servers",
        Client::Zed => "context_servers",
        Client::OpenCode | Client::Crush => "mcp",
        Client::Amp => "amp.mcpServers",
        _ => "mcpServers",
    };
    let with_key = |text: &&str| text.replace("\"S\"", &format!("\"{key}\""));
    match client {
        Client::Codex => TOML.map(str::to_owned).to_vec(),
        Client::Goose => YAML.map(str::to_owned).to_vec(),
        Client::ClaudeDesktop | Client::ClaudeCode => JSON.iter().map(with_key).collect(),
        _ => JSON.iter().chain(&COMMENTED).map(with_key).collect(),
    }
}

impl Home {
    fn uninstall(&self, client: Client) -> Result<Removed, InstallError> {
        let request = self.request(client);
        Ok(uninstall(&request.target, &request.folders, request.now, &|_, _, _| Vec::new())?
            .outcome)
    }

    fn restore(&self, client: Client, extent: Extent) -> Result<PutBack, InstallError> {
        let request = self.request(client);
        let done = restore(&request.target, None, extent, &request.folders, request.now);
        Ok(done?.outcome)
    }
}

#[test]
fn what_was_installed_is_uninstalled_without_a_trace() {
    for (client, file) in CLIENTS {
        for before in samples(client) {
            let home = Home::new();
            home.write(file, &before);
            home.install(client).unwrap();
            assert_ne!(home.read(file), before);
            assert_eq!(home.uninstall(client).unwrap(), Removed::Undone, "{client}: {before:?}");
            assert_eq!(home.read(file), before, "{client}");
        }
    }
}

/// How the entries that follow each other lead to Trunkline.
const ENTRIES: [&[&str]; 6] = [
    &["mcp.json"],
    &["mcp.json", "address"],
    &["address", "mcp.json"],
    &["mcp.json", "address", "mcp.json"],
    &["mcp.json", "other.json"],
    &["other.json", "address", "mcp.json", "address"],
];

/// The server `a` goes behind each of the configs.
fn moved(text: &str) -> Vec<String> {
    let has_a = ["\"a\"", ".a]", " a:", "\na ="].iter().any(|mark| text.contains(mark));
    has_a.then(|| "a".to_owned()).into_iter().collect()
}

fn install_as(home: &Home, client: Client, way: &str) -> bool {
    let mut request: InstallRequest = home.request(client);
    request.launch = match way {
        "address" => {
            let url = format!("http://127.0.0.1:3006/mcp/for/{client}");
            let server = json!({"type": "http", "url": url});
            let server = server.as_object().unwrap();
            let Ok(members) = client_entry(FileOwner::Client(client), "trunkline", server) else {
                return false;
            };
            Launch::Address { members, url, token_variable: Vec::new() }
        }
        config => Launch::Command { config: config.into(), variables: vec![], flags: vec![] },
    };
    let is_config = way != "address";
    install(&request, &|_, text| if is_config { moved(text) } else { vec![] }).unwrap();
    true
}

fn leave(home: &Home, client: Client) -> Uninstalled {
    let behind = |_: &ConfigLocation, entry: &Value, text: &str| match flag_value(entry, "--config")
    {
        Some(_) => moved(text),
        None => Vec::new(),
    };
    let request = home.request(client);
    uninstall(&request.target, &request.folders, request.now, &behind).unwrap()
}

#[test]
fn after_several_entries_the_text_before_the_first_one_comes_back() {
    for (client, file) in CLIENTS {
        for before in samples(client).into_iter().filter(|text| !moved(text).is_empty()) {
            for ways in ENTRIES {
                let home = Home::new();
                home.write("other.json", "{}");
                home.write(file, &before);
                if !ways.iter().all(|way| install_as(&home, client, way)) {
                    continue;
                }
                let shown = format!("{client}: {before:?} with {ways:?}: {}", home.read(file));
                let done = leave(&home, client);
                assert_eq!(home.read(file), before, "{shown}");
                assert_eq!(
                    (done.outcome, done.returned),
                    (Removed::Undone, moved(&before)),
                    "{shown}"
                );
            }
        }
    }
}

/// Somebody has changed something else meanwhile: that stays, and the server comes back as it was written.
#[test]
fn after_several_entries_and_another_change_the_servers_come_back() {
    let json = "{\n  \"n\": 1,\n  \"S\": {\n    \"a\": {\"command\" : \"x\"}\n  }\n}\n";
    let commented =
        "// top\n{\n  \"n\": 1,\n  \"S\": {\n    \"a\": {\"command\": \"x\" /* here */}\n  }\n}\n";
    for (client, file) in CLIENTS {
        let before = match client {
            Client::Codex => {
                "n = 1\n\n# others\n\n# about a\n[mcp_servers.a] # here\ncommand = \"x\" # good\n\n[tui]\nx = 1\n"
            }
            Client::Goose => "n: 1\nextensions:\n  a:\n    cmd: \"x\"\n",
            Client::ClaudeCode | Client::ClaudeDesktop => json,
            _ => commented,
        };
        let before = before.replace("\"S\"", &format!("\"{}\"", client.config().unwrap().key));
        for ways in ENTRIES {
            let home = Home::new();
            home.write("other.json", "{}");
            home.write(file, &before);
            if !ways.iter().all(|way| install_as(&home, client, way)) {
                continue;
            }
            let changed = home.read(file).replacen("n\": 1", "n\": 2", 1);
            home.write(file, &changed.replacen("n = 1", "n = 2", 1).replacen("n: 1", "n: 2", 1));
            let shown = format!("{client} with {ways:?}: {}", home.read(file));
            let done = leave(&home, client);
            assert_eq!((done.outcome, done.returned), (Removed::Entry, moved(&before)), "{shown}");
            let wanted = before.replacen('1', "2", 1);
            assert_eq!(home.read(file), wanted, "{shown}");
        }
    }
}

#[test]
fn an_entry_that_was_replaced_by_force_comes_back() {
    let before = "{\"mcpServers\": {\"trunkline\": {\"command\": \"other\"}}}";
    let home = Home::new();
    home.write(".cursor/mcp.json", before);
    let mut request = home.request(Client::Cursor);
    request.target.force = true;
    run(&request).unwrap();
    assert_eq!(home.uninstall(Client::Cursor).unwrap(), Removed::Undone);
    assert_eq!(home.read(".cursor/mcp.json"), before);
    // Asked to take out an entry that is not ours, it does that.
    let none = |_: &ConfigLocation, _: &Value, _: &str| Vec::new();
    uninstall(&request.target, &request.folders, request.now, &none).unwrap();
    assert_eq!(home.read(".cursor/mcp.json"), "{\"mcpServers\": {}}");
}

#[test]
fn a_file_that_was_not_there_is_not_there_again() {
    for (client, file) in CLIENTS {
        let home = Home::new();
        home.install(client).unwrap();
        assert_eq!(home.uninstall(client).unwrap(), Removed::File, "{client}");
        assert!(!home.path.join(file).exists(), "{client}");
        assert_eq!(home.uninstall(client).unwrap(), Removed::Nothing, "{client}");
    }
}

/// Also without any backup to compare with, as far as the text itself tells.
#[test]
fn an_entry_leaves_the_text_as_it_would_be_without_it() {
    for (client, file) in CLIENTS {
        for before in samples(client) {
            let home = Home::new();
            home.write(file, &before);
            home.install(client).unwrap();
            for backup in
                kept(&home.request(client).target, &home.request(client).folders).unwrap().1
            {
                fs::remove_file(backup.path).unwrap();
            }
            let (after, outcome) = (home.read(file), home.uninstall(client).unwrap());
            if outcome == Removed::File {
                continue;
            }
            let left = home.read(file);
            let comments = |text: &str| {
                ["//", "/*", "# "].iter().map(|mark| text.matches(mark).count()).sum::<usize>()
            };
            assert_eq!(comments(&left), comments(&after), "{client}: {before:?} became {left:?}");
            assert!(!left.contains("trunkline"), "{left}");
            // where others are, nothing of the layout is lost either
            if before.contains("\"a\"") || before.contains(".a]") || before.contains(" a:") {
                assert_eq!(left, before, "{client}");
            }
        }
    }
}

#[test]
fn what_has_changed_since_stays() {
    for (client, file) in CLIENTS {
        let home = Home::new();
        let (before, now) = match client {
            Client::Codex => ("[a]\nb = 1\n", "[a]\nb = 22\n"),
            Client::Goose => ("a:\n  b: 1\n", "a:\n  b: 22\n"),
            _ => ("{\n  \"a\": 1\n}\n", "{\n  \"a\": 22\n}\n"),
        };
        home.write(file, before);
        home.install(client).unwrap();
        let changed = home.read(file).replace('1', "22");
        home.write(file, &changed);
        assert_eq!(home.uninstall(client).unwrap(), Removed::Entry, "{client}");
        assert_eq!(home.read(file), now, "{client}");
    }
}

#[test]
fn the_entry_after_an_update_leaves_as_well() {
    for (client, file) in CLIENTS {
        let home = Home::new();
        let before = samples(client).pop().unwrap();
        home.write(file, &before);
        home.install(client).unwrap();
        let mut request = home.request(client);
        request.executable = "/usr/local/bin/trunkline".into();
        run(&request).unwrap();
        home.uninstall(client).unwrap();
        assert_eq!(home.read(file), before, "{client}");
    }
}

#[test]
fn an_entry_that_is_not_ours_stays() {
    let home = Home::new();
    let text = "{\"mcpServers\": {\"trunkline\": {\"command\": \"other\"}}}";
    home.write(".cursor/mcp.json", text);
    assert!(matches!(home.uninstall(Client::Cursor), Err(InstallError::NotOurs { .. })));
    let text = "{\"mcpServers\": {\"gw\": {\"command\": \"/x/trunkline\"}}}";
    home.write(".cursor/mcp.json", text);
    let error = home.uninstall(Client::Cursor).unwrap_err().to_string();
    assert!(error.contains("gw that starts Trunkline; name one with --name"), "{error}");
    assert_eq!(home.read(".cursor/mcp.json"), text);
}

#[test]
fn a_dry_run_changes_nothing() {
    let home = Home::new();
    home.write(".cursor/mcp.json", "{}");
    home.install(Client::Cursor).unwrap();
    let (text, files) = (home.read(".cursor/mcp.json"), home.beside(".cursor/mcp.json"));
    let mut request = home.request(Client::Cursor);
    request.target.dry_run = true;
    uninstall(&request.target, &request.folders, request.now, &|_, _, _| Vec::new()).unwrap();
    restore(&request.target, None, Extent::Whole, &request.folders, request.now).unwrap();
    assert_eq!(home.read(".cursor/mcp.json"), text);
    assert_eq!(home.beside(".cursor/mcp.json"), files);
}

#[test]
fn the_newest_backup_is_put_back_to_the_byte() {
    for (client, file) in CLIENTS {
        for before in samples(client) {
            let home = Home::new();
            home.write(file, &before);
            home.install(client).unwrap();
            assert_eq!(home.restore(client, Extent::AsFits).unwrap(), PutBack::Whole, "{client}");
            assert_eq!(home.read(file), before, "{client}");
            assert_eq!(home.restore(client, Extent::AsFits).unwrap(), PutBack::Nothing);
        }
    }
}

#[test]
fn only_the_servers_are_put_back_when_the_client_wrote_other_things_since() {
    let home = Home::new();
    let before =
        "{\n  \"numStartups\": 7,\n  \"mcpServers\": {\n    \"a\" : {\"command\": \"x\"}\n  }\n}\n";
    home.write(".claude.json", before);
    home.install(Client::ClaudeCode).unwrap();
    home.write(".claude.json", &home.read(".claude.json").replace(": 7", ": 8"));
    let outcome = home.restore(Client::ClaudeCode, Extent::AsFits).unwrap();
    assert_eq!(outcome, PutBack::Servers);
    assert_eq!(home.read(".claude.json"), before.replace(": 7", ": 8"));
    assert_eq!(home.restore(Client::ClaudeCode, Extent::Whole).unwrap(), PutBack::Whole);
    assert_eq!(home.read(".claude.json"), before);
    let kept = home.beside(".claude.json");
    assert_eq!(kept.iter().filter(|name| name.contains("trunkline-replaced")).count(), 2);
}

#[test]
fn without_a_backup_there_is_nothing_to_put_back() {
    let home = Home::new();
    let error = home.restore(Client::Cursor, Extent::AsFits).unwrap_err();
    assert!(matches!(error, InstallError::NoBackup { .. }), "{error}");
    let file = home.write(".cursor/mcp.json", "{\"mcpServers\": {}}");
    assert_eq!(parsed(&file), json!({"mcpServers": {}}));
}

//! What can be in the way, and what the user is told.

use std::fs;

use trunkline_catalog::client::Client;

use super::kit::{Home, parsed, run};
use crate::install::Launch;
use crate::install::error::InstallError;
use crate::install::report::InstallOutcome;

const CURSOR: &str = ".cursor/mcp.json";
const SECRETS: &str = r#"{
  "mcpServers": {"github": {"command": "gh", "env": {"TOKEN": "hunter2"}}}
}"#;

#[test]
fn a_dry_run_shows_the_change_and_writes_nothing() {
    let home = Home::new();
    let mut request = home.request(Client::Cursor);
    request.target.dry_run = true;
    let report = run(&request).unwrap();
    assert_eq!(report.outcome, InstallOutcome::Created);
    assert!(!home.path.join(".cursor").exists());

    home.write(CURSOR, SECRETS);
    let report = run(&request).unwrap();
    assert_eq!(home.read(CURSOR), SECRETS);
    assert_eq!(home.beside(CURSOR), Vec::<String>::new());
    let (file, config) = (report.file.display(), home.path.join("mcp.json"));
    let diff = format!(
        "--- {file}\n+++ {file}\n   \"mcpServers\": {{\n+    \"trunkline\": {{\n\
         +      \"command\": \"/opt/bin/trunkline\",\n\
         +      \"args\": [\"--config\", \"{}\", \"--for\", \"cursor\"]\n+    }}\n   }}\n",
        config.display()
    );
    assert_eq!(report.diff, diff);
    assert!(report.to_string().starts_with("Cursor: would have added \"trunkline\" to /"));
    assert!(report.to_string().ends_with(&format!("dry run, nothing was written:\n{diff}")));
}

#[test]
fn no_report_ever_shows_what_another_entry_holds() {
    for (client, file, text) in [
        (Client::Cursor, CURSOR, SECRETS.to_owned()),
        (Client::Cursor, CURSOR, SECRETS.replace("github", "trunkline")),
        (Client::Cursor, CURSOR, SECRETS.replace('\n', "")),
        (
            Client::Codex,
            ".codex/config.toml",
            "[mcp_servers.trunkline]\ncommand='gh'\nenv={T='hunter2'}".to_owned(),
        ),
    ] {
        let home = Home::new();
        home.write(file, &text);
        let mut request = home.request(client);
        request.target.force = true;
        for dry_run in [true, false] {
            request.target.dry_run = dry_run;
            let report = run(&request).unwrap();
            assert!(!report.to_string().contains("hunter2"), "{report}");
            assert!(!report.diff.contains("hunter2") && !report.diff.is_empty(), "{}", report.diff);
        }
    }
}

#[test]
fn an_update_shows_the_old_and_the_new_value() {
    let home = Home::new();
    let cases = [
        (
            Client::Cursor,
            CURSOR,
            "-      \"command\": \"/old/trunkline\"\n+      \"command\": \"/opt/bin/trunkline\"\n",
        ),
        (
            Client::Codex,
            ".codex/config.toml",
            " [mcp_servers.trunkline]\n-command = \"/old/trunkline\"\n+command = \"/opt/bin/trunkline\"\n",
        ),
    ];
    for (client, file, expected) in cases {
        home.install(client).unwrap();
        home.write(file, &home.read(file).replace("/opt/bin/", "/old/"));
        let report = home.install(client).unwrap();
        assert!(report.diff.contains(expected), "{}", report.diff);
        assert!(!report.diff.contains("args"), "{}", report.diff);
    }
}

#[test]
fn a_file_that_cannot_be_read_is_refused_with_its_place_and_left_alone() {
    let strict = ".config/Claude/claude_desktop_config.json";
    let table = [
        (
            Client::Cursor,
            CURSOR,
            "{\n  \"a\": 1\n  \"b\": 2\n}",
            "mcp.json:3:3: expected `,` or `}`",
        ),
        (
            Client::ClaudeDesktop,
            strict,
            "{} // x",
            "config.json:1:4: the client does not accept comm",
        ),
        (Client::Codex, ".codex/config.toml", "a = 1\nb = = 2\n", "config.toml:2:5: "),
        (Client::Cursor, CURSOR, "[]", "the top level is not an object"),
        (Client::Cursor, CURSOR, "{\"mcpServers\": null}", "`mcpServers` is not an object"),
        (Client::Codex, ".codex/config.toml", "mcp_servers = 1", "`mcp_servers` is not an object"),
    ];
    for (client, file, text, expected) in table {
        let home = Home::new();
        home.write(file, text);
        let error = home.install(client).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert!(!error.is_usage());
        assert_eq!(home.read(file), text);
        assert_eq!(home.beside(file).len(), usize::from(file != CURSOR), "no backup, no rest");
    }
}

#[test]
fn a_file_that_is_not_text_is_refused() {
    let home = Home::new();
    let file = home.write(CURSOR, "");
    fs::write(&file, b"{\"a\": \"\xff\"}").unwrap();
    let error = home.install(Client::Cursor).unwrap_err();
    assert!(matches!(error, InstallError::FileNotText { .. }), "{error}");
}

#[test]
fn an_empty_file_is_filled() {
    for (client, file) in [(Client::Cursor, CURSOR), (Client::Codex, ".codex/config.toml")] {
        let home = Home::new();
        let file = home.write(file, "\n");
        assert_eq!(home.install(client).unwrap().outcome, InstallOutcome::Added);
        assert!(parsed(&file).as_object().unwrap().len() == 1);
    }
}

#[test]
fn an_entry_of_the_same_name_that_is_not_ours_is_replaced_only_by_force() {
    let foreign = r#"{"mcpServers": {"trunkline": {"url": "http://x", "headers": {"A": "b"}}}}"#;
    let home = Home::new();
    let file = home.write(CURSOR, foreign);
    let error = home.install(Client::Cursor).unwrap_err();
    assert!(error.to_string().contains("--force"), "{error}");
    assert_eq!(home.read(CURSOR), foreign);

    let mut request = home.request(Client::Cursor);
    request.target.force = true;
    let report = run(&request).unwrap();
    assert_eq!(report.outcome, InstallOutcome::Replaced);
    assert!(report.diff.contains("-    \"trunkline\": { … }  (url, headers)\n"), "{}", report.diff);
    let entry = &parsed(&file)["mcpServers"]["trunkline"];
    assert_eq!(entry.as_object().unwrap().keys().collect::<Vec<_>>(), ["command", "args"]);
    assert_eq!(fs::read_to_string(report.backup.unwrap()).unwrap(), foreign);
}

#[test]
fn another_name_makes_another_entry() {
    let home = Home::new();
    home.install(Client::Codex).unwrap();
    let mut request = home.request(Client::Codex);
    request.target.name = Some("gw".to_owned());
    let file = run(&request).unwrap().file;
    let servers = parsed(&file)["mcp_servers"].clone();
    assert_eq!(servers["gw"], servers["trunkline"]);
    request.target.name = Some("g w".to_owned());
    assert!(run(&request).unwrap_err().is_usage());
}

#[test]
fn a_long_name_is_allowed_with_a_note() {
    let home = Home::new();
    let mut request = home.request(Client::Cursor);
    request.target.name = Some("trunkline-for-work".to_owned());
    let report = run(&request).unwrap().to_string();
    assert!(
        report.contains("note:   Cursor puts the entry's name before every tool's"),
        "{report}"
    );
}

#[test]
fn the_report_says_what_was_done_and_what_comes_next() {
    let home = Home::new();
    home.write(".claude.json", "{}");
    let report = home.install(Client::ClaudeCode).unwrap().to_string();
    let home = home.path.display();
    assert_eq!(
        report,
        format!(
            "Claude Code: added \"trunkline\" to {home}/.claude.json\n\
             backup: {home}/.claude.json.trunkline-backup-20261115-100000\n\
             starts: /opt/bin/trunkline --config {home}/mcp.json --for claude-code\n\
             next:   start a new session; `claude mcp list` or `/mcp` shows the server\n"
        )
    );
}

#[test]
fn a_config_that_is_missing_or_is_the_clients_own_is_refused() {
    let home = Home::new();
    let mut request = home.request(Client::Cursor);
    request.launch = command("nowhere.json");
    let error = run(&request).unwrap_err();
    assert!(error.is_usage() && error.to_string().ends_with("/nowhere.json"), "{error}");

    home.write(CURSOR, "{}");
    request.launch = command(CURSOR);
    let error = run(&request).unwrap_err();
    assert!(matches!(error, InstallError::ConfigIsClientFile { .. }), "{error}");
}

#[test]
fn without_a_home_only_a_named_file_can_be_written() {
    let home = Home::new();
    let mut request = home.request(Client::Cursor);
    request.folders.home = None;
    assert!(matches!(run(&request).unwrap_err(), InstallError::NoHome));
    request.target.file = Some("here.json".into());
    assert_eq!(run(&request).unwrap().file, home.path.join("here.json"));
}

#[test]
fn codex_servers_in_any_spelling_of_toml_are_joined() {
    let table = [
        "mcp_servers = { gh = { command = 'gh' } } # short\n",
        "[mcp_servers]\ngh = { command = 'gh' }\n\n[tui]\nx = 1\n",
        "[mcp_servers.gh]\ncommand = 'gh'\n\n[[hooks]]\nx = 1\n",
        "[mcp_servers]\n# none yet\n[mcp_servers.gh]\ncommand = 'gh' # the tool",
    ];
    for text in table {
        let home = Home::new();
        let file = home.write(".codex/config.toml", text);
        let mut wanted = parsed(&file);
        home.install(Client::Codex).unwrap();
        let after = parsed(&file);
        wanted["mcp_servers"]["trunkline"] = after["mcp_servers"]["trunkline"].clone();
        assert_eq!(after["mcp_servers"]["trunkline"]["command"], "/opt/bin/trunkline");
        assert_eq!(after, wanted, "{}", home.read(".codex/config.toml"));
        for line in text.lines().filter(|line| !line.starts_with("mcp_servers = {")) {
            assert!(home.read(".codex/config.toml").contains(line), "{line}");
        }
    }
}

fn command(config: &str) -> Launch {
    Launch::Command { config: config.into(), variables: Vec::new(), flags: Vec::new() }
}

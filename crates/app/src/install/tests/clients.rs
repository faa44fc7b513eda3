//! One row for each client: its file, its key, and what the client reads there afterwards.

use serde_json::{Value, json};
use trunkline_catalog::client::{Client, FileFormat, System};

use super::kit::{Home, parsed, run};
use crate::install::error::InstallError;
use crate::install::report::InstallOutcome;
use crate::install::uninstall::Removed;
use crate::install::{Launch, locate, uninstall};

/// Client, file of the user, file of a project, key.
const TABLE: [(Client, &str, Option<&str>, &str); 17] = [
    (Client::ClaudeDesktop, ".config/Claude/claude_desktop_config.json", None, "mcpServers"),
    (Client::ClaudeCode, ".claude.json", Some(".mcp.json"), "mcpServers"),
    (Client::Cursor, ".cursor/mcp.json", Some(".cursor/mcp.json"), "mcpServers"),
    (Client::VsCode, ".config/Code/User/mcp.json", Some(".vscode/mcp.json"), "servers"),
    (Client::Codex, ".codex/config.toml", Some(".codex/config.toml"), "mcp_servers"),
    (Client::Gemini, ".gemini/settings.json", Some(".gemini/settings.json"), "mcpServers"),
    (Client::Zed, ".config/zed/settings.json", Some(".zed/settings.json"), "context_servers"),
    (Client::Windsurf, ".codeium/windsurf/mcp_config.json", None, "mcpServers"),
    (Client::Cline, ".cline/data/settings/cline_mcp_settings.json", None, "mcpServers"),
    (Client::Copilot, ".copilot/mcp-config.json", Some(".github/mcp.json"), "mcpServers"),
    (Client::Qwen, ".qwen/settings.json", Some(".qwen/settings.json"), "mcpServers"),
    (Client::OpenCode, ".config/opencode/opencode.json", Some("opencode.json"), "mcp"),
    (Client::Amp, ".config/amp/settings.json", Some(".amp/settings.json"), "amp.mcpServers"),
    (Client::Crush, ".config/crush/crush.json", Some(".crush.json"), "mcp"),
    (
        Client::Continue,
        ".continue/mcpServers/mcp.json",
        Some(".continue/mcpServers/mcp.json"),
        "mcpServers",
    ),
    (Client::Kiro, ".kiro/settings/mcp.json", Some(".kiro/settings/mcp.json"), "mcpServers"),
    (Client::LmStudio, ".lmstudio/mcp.json", None, "mcpServers"),
];

/// A file of that format which somebody has been using.
fn used(client: Client, key: &str) -> String {
    match client {
        Client::Codex => format!(
            "# my settings\nmodel = \"gpt-5.5\" # the good one\n\n[{key}.github]\ncommand = \"gh\"\n\
             env = {{ GITHUB_TOKEN = \"hunter2\" }}\n\n[tui]\ntheme = \"dark\"\n"
        ),
        Client::ClaudeDesktop | Client::ClaudeCode => format!(
            "{{\n    \"numStartups\": 7,\n    \"{key}\": {{\n        \"github\": \
             {{\"command\": \"gh\", \"env\": {{\"GITHUB_TOKEN\": \"hunter2\"}}}}\n    }},\n    \"z\": [1, 2]\n}}\n"
        ),
        _ => format!(
            "// my settings\n{{\n\t\"theme\": \"dark\", /* of course */\n\t\"{key}\": {{\n\t\t// work\n\t\t\"github\": \
             {{\"command\": \"gh\", \"env\": {{\"GITHUB_TOKEN\": \"hunter2\"}}}}, // keep\n\t}},\n}}\n"
        ),
    }
}

fn expected(home: &Home, client: Client) -> Value {
    let config = home.path.join("mcp.json").display().to_string();
    let args = ["--config", config.as_str(), "--for", client.id()];
    let line = [&["/opt/bin/trunkline"], &args[..]].concat();
    let mut entry = json!({ "command": "/opt/bin/trunkline", "args": args });
    let more = match client {
        Client::ClaudeCode | Client::VsCode | Client::Cline | Client::Continue => {
            json!({"type": "stdio"})
        }
        Client::Codex => {
            json!({"startup_timeout_sec": 30, "tool_timeout_sec": 600, "required": true})
        }
        Client::Copilot => json!({"type": "local", "tools": ["*"]}),
        Client::Crush => json!({"type": "stdio", "timeout": 60}),
        Client::OpenCode => {
            return json!({"type": "local", "command": line, "enabled": true, "timeout": 30000});
        }
        _ => json!({}),
    };
    let more = more.as_object().unwrap().clone();
    entry.as_object_mut().unwrap().extend(more);
    entry
}

#[test]
fn every_client_without_a_file_gets_one() {
    for (client, file, _, key) in TABLE {
        let home = Home::new();
        let report = home.install(client).unwrap();
        assert_eq!((report.outcome, report.backup), (InstallOutcome::Created, None), "{client}");
        assert_eq!(report.file, home.path.join(file));
        assert_eq!(parsed(&report.file), json!({key: {"trunkline": expected(&home, client)}}));
        assert!(home.read(file).ends_with('\n') && !home.read(file).starts_with('\n'));
    }
}

#[test]
fn every_client_with_a_file_keeps_everything_else_in_it() {
    for (client, file, _, key) in TABLE {
        let home = Home::new();
        let before = used(client, key);
        let path = home.write(file, &before);
        let mut wanted = parsed(&path);
        wanted[key]["trunkline"] = expected(&home, client);

        let report = home.install(client).unwrap();
        assert_eq!(report.outcome, InstallOutcome::Added, "{client}");
        assert_eq!(parsed(&path), wanted, "{client}");
        let after = home.read(file);
        let lines: Vec<&str> = after.lines().map(|line| line.trim_end_matches(',')).collect();
        for line in before.lines() {
            let line = line.trim_end_matches(',');
            assert!(lines.contains(&line), "{client} lost {line:?} in\n{after}");
        }
        let backup = report.backup.unwrap();
        assert_eq!(std::fs::read_to_string(backup).unwrap(), before);
    }
}

#[test]
fn every_client_is_done_after_the_first_time() {
    for (client, file, _, key) in TABLE {
        let home = Home::new();
        home.write(file, &used(client, key));
        home.install(client).unwrap();
        let (text, files) = (home.read(file), home.beside(file));

        let report = home.install(client).unwrap();
        assert_eq!((report.outcome, report.backup), (InstallOutcome::Unchanged, None), "{client}");
        assert_eq!((home.read(file), home.beside(file)), (text, files), "{client}");
    }
}

#[test]
fn every_client_is_updated_in_place_and_keeps_what_the_user_added() {
    for (client, file, _, key) in TABLE {
        let home = Home::new();
        home.write(file, &used(client, key));
        home.install(client).unwrap();
        let old = home.read(file).replace("/opt/bin", "/old/bin");
        let old = match client {
            Client::Codex => old.replace("--for", "--debug\", \"--for").replace(
                "[mcp_servers.trunkline]\n",
                "[mcp_servers.trunkline]\ncwd = \"/\" # slow disk\n",
            ),
            _ => old
                .replace("\"trunkline\": {", "\"trunkline\": {\"mine\": 9,")
                .replace("--for", "--debug\", \"--for"),
        };
        let path = home.write(file, &old);
        let mut wanted = parsed(&path);
        let expected = expected(&home, client);
        wanted[key]["trunkline"]["command"] = expected["command"].clone();
        let list = if expected.get("args").is_some() { "args" } else { "command" };
        let args = expected[list].as_array().unwrap().clone();
        wanted[key]["trunkline"][list] = [args, vec![json!("--debug")]].concat().into();

        assert_eq!(home.install(client).unwrap().outcome, InstallOutcome::Updated, "{client}");
        assert_eq!(parsed(&path), wanted, "{client}\n{}", home.read(file));
    }
}

#[test]
fn a_project_has_its_own_file() {
    for (client, _, file, key) in TABLE {
        let home = Home::new();
        let mut request = home.request(client);
        request.target.project = Some("work".into());
        match (file, run(&request)) {
            (Some(file), Ok(report)) => {
                assert_eq!(report.file, home.path.join("work").join(file), "{client}");
                assert_eq!(parsed(&report.file)[key]["trunkline"], expected(&home, client));
            }
            (None, Err(InstallError::NoProjectFile { .. })) => {}
            (_, other) => panic!("{client}: {other:?}"),
        }
    }
}

#[test]
fn a_client_that_has_moved_keeps_the_file_it_has() {
    let old = ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings";
    let old = format!("{old}/cline_mcp_settings.json");
    for (client, file) in
        [(Client::Windsurf, ".codeium/mcp_config.json"), (Client::Cline, old.as_str())]
    {
        let home = Home::new();
        let path = home.write(file, "{}");
        assert_eq!(home.install(client).unwrap().file, path, "{client}");
    }
}

#[test]
fn goose_gets_an_extension_among_its_own() {
    let home = Home::new();
    let file = ".config/goose/config.yaml";
    let before = "# mine\nGOOSE_MODEL: m\nextensions:\n  # built in\n  developer:\n    type: builtin\n    name: developer\n    enabled: true\n";
    home.write(file, before);
    let report = home.install(Client::Goose).unwrap();
    assert!(
        report.diff.contains(" extensions:\n+  trunkline:\n+    type: \"stdio\"\n"),
        "{}",
        report.diff
    );
    let config = home.path.join("mcp.json").display().to_string();
    let ours = format!(
        "  trunkline:\n    type: \"stdio\"\n    name: \"trunkline\"\n    cmd: \"/opt/bin/trunkline\"\n    args:\n      \
         - \"--config\"\n      - \"{config}\"\n      - \"--for\"\n      - \"goose\"\n    enabled: true\n    \
         description: \"Every MCP server of this machine, behind one\"\n"
    );
    assert_eq!(home.read(file), before.replace("extensions:\n", &format!("extensions:\n{ours}")));
    assert_eq!(home.install(Client::Goose).unwrap().outcome, InstallOutcome::Unchanged);
    // switched off by its user, and another program since
    let off = home.read(file).replace("enabled: true\n    desc", "enabled: false\n    desc");
    home.write(file, &off.replace("/opt/bin", "/old/bin"));
    assert_eq!(home.install(Client::Goose).unwrap().outcome, InstallOutcome::Updated);
    assert_eq!(home.read(file), off);
    home.write(file, "extensions: {a: {cmd: x}}\n");
    let error = home.install(Client::Goose).unwrap_err().to_string();
    assert!(error.contains("not edited here") && error.contains("not touched"), "{error}");
}

#[test]
fn a_set_of_name_rules_has_no_file_to_install_into() {
    let error = Home::new().install(Client::OpenAi).unwrap_err();
    assert!(error.is_usage());
    assert!(error.to_string().contains("--for openai"), "{error}");
}

#[test]
fn the_packaged_windows_app_is_preferred() {
    let home = Home::new();
    let mut request = home.request(Client::ClaudeDesktop);
    request.folders.system = System::Windows;
    request.folders.variables = vec![("LOCALAPPDATA", home.path.join("Local"))];
    std::fs::create_dir_all(home.path.join("Local/Packages/Claude_pzs8sxrjxfjjc")).unwrap();
    let file = run(&request).unwrap().file;
    let package = "Local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude";
    assert_eq!(file, home.path.join(package).join("claude_desktop_config.json"));
}

#[test]
fn variables_of_the_config_are_named_for_the_clients_that_hold_them_back() {
    let home = Home::new();
    for (client, key, member, value) in [
        (Client::Codex, "mcp_servers", "env_vars", json!(["A_TOKEN", "B_TOKEN"])),
        (
            Client::Gemini,
            "mcpServers",
            "env",
            json!({"A_TOKEN": "$A_TOKEN", "B_TOKEN": "$B_TOKEN"}),
        ),
    ] {
        let mut request = home.request(client);
        let variables = ["B_TOKEN", "A_TOKEN", "B_TOKEN"].map(str::to_owned).to_vec();
        request.launch =
            Launch::Command { config: "mcp.json".into(), variables, flags: Vec::new() };
        let report = run(&request).unwrap();
        assert_eq!(parsed(&report.file)[key]["trunkline"][member], value, "{client}");
        assert_eq!(run(&request).unwrap().outcome, InstallOutcome::Unchanged, "{client}");
    }
}

/// A new client needs no row here: its sample is found by its id.
#[test]
fn every_sample_gets_our_entry_and_is_its_old_self_after_uninstall() {
    let samples = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let samples = samples.join("../../tests/testdata/clients");
    for (client, spec) in Client::with_config() {
        let extension = match spec.format {
            FileFormat::Json(_) => "json",
            FileFormat::Toml => "toml",
            FileFormat::Yaml => "yaml",
        };
        let home = Home::new();
        let request = home.request(client);
        let location = locate(&request.target, &request.folders).unwrap();
        let sample = samples.join(format!("{client}.{extension}"));
        let before =
            std::fs::read_to_string(sample).unwrap_or_else(|error| panic!("{client}: {error}"));
        home.write(location.file.to_str().unwrap(), &before);
        assert_eq!(home.install(client).unwrap().outcome, InstallOutcome::Added, "{client}");
        let gone = uninstall(&request.target, &request.folders, request.now, &|_, _, _| Vec::new())
            .unwrap();
        assert_eq!(gone.outcome, Removed::Undone, "{client}");
        assert_eq!(std::fs::read_to_string(&location.file).unwrap(), before, "{client}");
    }
}

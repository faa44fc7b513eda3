//! The first run, through the shipped program: three clients with twelve servers go behind Trunkline and back.

use std::path::PathBuf;

use kit::room::{CACHE, Room};
use kit::say;
use kit::terminal::Terminal;
use serde_json::{Value, json};

use super::{done, put, read, trunkline};
use crate::peers::installed;

const CLAUDE: &str = ".claude.json";
const CURSOR: &str = ".cursor/mcp.json";
const CODEX: &str = ".codex/config.toml";
const OWN: &str = ".config/trunkline/config.json";

/// Three clients with twelve servers: five, four and three, of which two are in two clients and one in three.
/// Two of them are real ones.
fn twelve(room: &Room) {
    let fake = |name: &str| room.fake(name).tool("t", say::echo()).entry();
    let everything =
        installed("node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    let everything = json!({"command": "node", "args": [everything], "env": {}});
    let time = installed("venv/bin/mcp-server-time");
    let time = json!({"command": time, "args": ["--local-timezone", "Etc/UTC"]});
    let claude = json!({"numStartups": 7, "mcpServers": {
        "git": fake("git"), "files": fake("files"), "tickets": fake("tickets"),
        "everything": everything, "time": time,
    }});
    put(room, CLAUDE, &format!("{claude:#}\n"));
    let entry = |entry: Value| entry.to_string();
    put(
        room,
        CURSOR,
        &format!(
            "// my servers\n{{\n\t\"mcpServers\": {{\n\t\t\"git\": {}, // the same as Claude Code's\n\t\t\"notes\": {},\n\t\t\"wiki\": {},\n\t\t\"issues\": {}\n\t}}\n}}\n",
            entry(fake("git")),
            entry(fake("notes")),
            entry(fake("wiki")),
            entry(fake("tickets")),
        ),
    );
    let toml = |name: &str, entry: &Value| {
        let env = entry["env"].as_object().into_iter().flatten();
        let env: Vec<String> = env.map(|(name, value)| format!("{name} = {value}")).collect();
        format!(
            "[mcp_servers.{name}]\ncommand = {}\nargs = {}\nenv = {{ {} }}\n",
            entry["command"],
            entry["args"],
            env.join(", ")
        )
    };
    put(
        room,
        CODEX,
        &format!(
            "# mine\nmodel = \"m\" # good\n\n{}\n# the one of all\n{}\n{}\n[tui]\ntheme = \"dark\"\n",
            toml("mail", &fake("mail")),
            toml("git-tools", &fake("git")),
            toml("calendar", &fake("calendar")),
        ),
    );
}

fn texts(room: &Room) -> [String; 3] {
    [CLAUDE, CURSOR, CODEX].map(|file| read(room, file))
}

fn json_of(room: &Room, args: &[&str]) -> Value {
    let told = done(room, args);
    assert_eq!(told.code, Some(0), "{told}");
    serde_json::from_slice(&told.stdout).unwrap_or_else(|error| panic!("{error}: {told}"))
}

/// [`json_of`] with a place to remember lists in.
fn remembering(room: &Room, args: &[&str]) -> Value {
    let mut command = trunkline(room, args);
    command.env(CACHE, room.path("memory"));
    let told = kit::run::run(command, b"");
    assert_eq!(told.code, Some(0), "{told}");
    serde_json::from_slice(&told.stdout).unwrap_or_else(|error| panic!("{error}: {told}"))
}

/// The findings of `doctor` about servers that are there twice.
fn doubles(room: &Room, args: &[&str]) -> Vec<Value> {
    let line = [&["doctor", "--json", "--no-start", "--listen", "127.0.0.1:0"], args].concat();
    let told = json_of(room, &line);
    let all = told["findings"].as_array().expect("findings");
    all.iter().filter(|it| it["check"] == "double").cloned().collect()
}

#[test]
fn one_command_moves_twelve_servers_and_one_brings_every_byte_back() {
    let room = Room::new();
    twelve(&room);
    let before = texts(&room);
    // Nobody is there to be asked, or a plan is all that is wanted: nothing is changed.
    for args in [&["setup"][..], &["setup", "--dry-run"]] {
        let plan = done(&room, args);
        let text = plan.text();
        for part in [
            "Claude Code",
            "Cursor (as issues)",
            "Codex (as git-tools)",
            "9 servers will move to ",
            "2 of them are in several clients",
            "12 → 9 server processes",
            "these figures are estimated",
            "nothing was changed; `trunkline setup --yes` does it",
        ] {
            assert!(text.contains(part), "no {part:?} in {text}");
        }
        assert_eq!(texts(&room), before);
        assert!(!room.path(OWN).exists());
    }
    let told = remembering(&room, &["setup", "--yes", "--json"]);
    assert_eq!(told["servers"].as_array().map(Vec::len), Some(9), "{told:#}");
    assert_eq!((&told["done"], &told["check"]["ok"]), (&json!(true), &json!(true)), "{told:#}");
    let measured = &told["measured"];
    assert_eq!(measured["how"], "measured");
    let figure = |path: &str| measured.pointer(path).and_then(Value::as_u64).expect(path);
    assert!(figure("/processes/before") > figure("/processes/after"), "{measured:#}");
    assert!(figure("/megabytes/before") > figure("/megabytes/after"), "{measured:#}");
    assert!(figure("/clients/0/tokens/before") > 1000, "{measured:#}");
    assert!(figure("/clients/0/tokens/after") > figure("/clients/0/tokens/before"), "{measured:#}");
    for text in texts(&room) {
        assert!(text.contains("--for") && !text.contains(".script.json"), "{text}");
    }
    assert!(texts(&room)[1].starts_with("// my servers\n"), "{}", texts(&room)[1]);
    assert!(texts(&room)[2].starts_with("# mine\nmodel = \"m\" # good\n"), "{}", texts(&room)[2]);
    assert!(texts(&room)[2].contains("required = true"), "{}", texts(&room)[2]);
    // Their lists are remembered: the first client that starts has every tool at once.
    let remembered = remembering(&room, &["cache", "show", "--json"]);
    assert_eq!(remembered["servers"].as_array().map(Vec::len), Some(9), "{remembered:#}");
    // Each server is there once, and works.
    let own = room.path(OWN);
    let own = own.to_str().expect("a path of text");
    let tools = done(&room, &["tools", "--config", own]);
    for server in ["git", "files", "tickets", "notes", "wiki", "mail", "calendar"] {
        assert_eq!(tools.text().matches(&format!("{server}:t")).count(), 1, "{server}: {tools}");
    }
    assert!(tools.text().contains("everything:echo") && tools.text().contains("time:"), "{tools}");
    assert_eq!(doubles(&room, &["--config", own]), Vec::<Value>::new());
    // A second time there is nothing to do.
    let after = (texts(&room), read(&room, OWN));
    let again = done(&room, &["setup", "--yes"]);
    assert!(again.text().contains("nothing to do"), "{again}");
    assert_eq!((texts(&room), read(&room, OWN)), after);
    // And back, to the byte, with nothing left behind.
    let dry = done(&room, &["setup", "--undo", "--dry-run"]);
    assert!(dry.text().contains("dry run"), "{dry}");
    assert_eq!((texts(&room), read(&room, OWN)), after);
    done(&room, &["setup", "--undo"]).good();
    assert_eq!(texts(&room), before);
    assert!(!room.path(OWN).exists());
    for folder in ["", ".cursor", ".codex"] {
        let left = std::fs::read_dir(room.path(folder)).expect("a folder").flatten();
        let left: Vec<PathBuf> = left.map(|entry| entry.path()).collect();
        let is_ours = |path: &&PathBuf| path.display().to_string().contains("trunkline-backup");
        assert_eq!(left.iter().find(is_ours), None);
    }
    let nothing = done(&room, &["setup", "--undo"]);
    assert!(nothing.text().contains("nothing to undo"), "{nothing}");
}

/// A second run counts what is behind Trunkline already as seen, and says so if nothing moves.
#[test]
fn a_second_run_counts_only_what_moves_now() {
    let room = Room::new();
    let fake = |name: &str| room.fake(name).tool("t", say::echo()).entry();
    put(&room, CURSOR, &json!({"mcpServers": {"a": fake("a"), "b": fake("b")}}).to_string());
    put(&room, CLAUDE, &json!({"mcpServers": {"c": fake("c")}}).to_string());
    json_of(&room, &["setup", "--yes", "--no-check", "--json"]);
    let same = json_of(&room, &["setup", "--json"]);
    assert_eq!(same["nothing_to_do"], json!(true), "{same:#}");
    let before = |told: &Value, client: usize| {
        let seen = &told["savings"]["clients"][client];
        (seen["servers"]["before"].clone(), seen["servers"]["after"].clone())
    };
    for client in [0, 1] {
        assert_eq!(before(&same, client), (json!(3), json!(3)), "{same:#}");
        let tokens = &same["savings"]["clients"][client]["tokens"];
        assert_eq!(tokens["before"], tokens["after"], "{same:#}");
    }
    assert_eq!(same["savings"]["processes"], json!({"before": 3, "after": 3}), "{same:#}");
    // One more server in one client.
    let text = read(&room, CURSOR).replacen(
        "\"trunkline\"",
        &format!("\"d\": {}, \"trunkline\"", fake("d")),
        1,
    );
    put(&room, CURSOR, &text);
    let more = done(&room, &["setup", "--dry-run"]);
    let text = more.text();
    assert!(text.contains("1 server will move to "), "{more}");
    assert!(text.contains("4 → 4 server processes"), "{more}");
    assert_eq!(text.matches("3 servers").count(), 1, "Claude Code sees three now: {more}");
    assert!(!text.contains("0 servers"), "{more}");
    let told = json_of(&room, &["setup", "--yes", "--json"]);
    let measured = &told["measured"]["processes"];
    assert_eq!(measured["before"], measured["after"], "{told:#}");
    // The program is another one: entries change, and nothing is saved by that.
    let moved = read(&room, CURSOR).replacen("/trunkline\"", "/old/trunkline\"", 1);
    put(&room, CURSOR, &moved);
    let renewed = done(&room, &["setup", "--yes", "--no-check"]);
    assert!(renewed.text().contains("no server moves"), "{renewed}");
    assert!(!renewed.text().contains("tokens"), "{renewed}");
    assert!(!read(&room, CURSOR).contains("/old/"), "{}", read(&room, CURSOR));
}

/// A comment right above a server goes with it, what a blank line parts from it stays, and all of it comes back.
#[test]
fn comments_in_codex_s_file_are_neither_lost_nor_left_alone() {
    let before = "# my settings\nmodel = \"m\"\n\n# --- servers ---\n\n# the mail\n# of work\n[mcp_servers.mail] # here\ncommand = \"x\" # good\n# args = [\"old\"]\n\n[mcp_servers.notes]\ncommand = \"y\"\n\n# looks\n[tui]\ntheme = \"dark\"\n";
    let room = Room::new();
    put(&room, CODEX, before);
    done(&room, &["setup", "--yes", "--no-check"]).good();
    let text = read(&room, CODEX);
    for stays in ["# my settings\n", "# --- servers ---\n", "# looks\n[tui]\n"] {
        assert_eq!(text.matches(stays).count(), 1, "{stays}: {text}");
    }
    for goes in ["# the mail", "# of work", "# good"] {
        assert!(!text.contains(goes), "{goes}: {text}");
    }
    done(&room, &["setup", "--undo"]).good();
    assert_eq!(read(&room, CODEX), before);
    // Also when the client has written something meanwhile.
    done(&room, &["setup", "--yes", "--no-check"]).good();
    put(&room, CODEX, &read(&room, CODEX).replace("dark", "light"));
    done(&room, &["setup", "--undo"]).good();
    let after = read(&room, CODEX);
    let lines = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(lines(&after), lines(&before.replace("dark", "light")), "{after}");
    for together in ["# the mail\n# of work\n[mcp_servers.mail] # here\n", "# looks\n[tui]\n"] {
        assert!(after.contains(together), "{together}: {after}");
    }
}

#[test]
fn a_person_is_asked_once() {
    let room = Room::new();
    let entry = room.fake("s").tool("t", say::echo()).entry();
    put(&room, CURSOR, &json!({"mcpServers": {"s": entry}}).to_string());
    let before = read(&room, CURSOR);
    for (answer, is_done) in [("n\n", false), ("\n", false), ("y\n", true)] {
        let mut terminal = Terminal::spawn(&trunkline(&room, &["setup"]));
        terminal.wait("change 1 file, each with a backup? [y/N]");
        terminal.write(answer);
        assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
        let shown = terminal.shown();
        assert_eq!(shown.matches("[y/N]").count(), 1, "{shown}");
        assert_eq!(read(&room, CURSOR) != before, is_done, "{shown}");
        let end = if is_done { "these figures are measured" } else { "nothing was changed" };
        assert!(shown.contains(end), "{shown}");
    }
}

/// One server that does not start spoils nothing for the others, and its variable may be missing.
#[test]
fn what_was_broken_before_is_told_and_moves_all_the_same() {
    let room = Room::new();
    let good = room.fake("good").tool("t", say::echo()).entry();
    let needs =
        room.fake("needs").env("KEY", "${env:NOT_SET_ANYWHERE}").tool("t", say::echo()).entry();
    let servers = json!({
        "good": good, "needs": needs, "gone": {"command": "/no/such/program"},
    });
    put(&room, CURSOR, &json!({ "mcpServers": servers }).to_string());
    let told = done(&room, &["setup", "--yes"]);
    assert_eq!(told.code, Some(1), "{told}");
    let text = String::from_utf8_lossy(&told.stdout);
    assert!(text.contains("NOT_SET_ANYWHERE is not set here"), "{told}");
    assert!(text.contains("2 of 3 servers running"), "{told}");
    // The failure is told once, in the table.
    let all = format!("{text}{}", told.stderr);
    assert_eq!(all.matches("/no/such/program").count(), 1, "{told}");
}

/// `import`, then `install`: what a reader of the pages does.
#[test]
fn no_way_leaves_a_server_twice() {
    let room = Room::new();
    let fake = |name: &str| room.fake(name).tool("t", say::echo()).entry();
    let text = format!(
        "{{\n  // mine\n  \"mcpServers\": {{\n    \"a\": {},\n    \"b\": {} // second\n  }}\n}}\n",
        fake("a"),
        fake("b")
    );
    put(&room, CURSOR, &text);
    let told = done(&room, &["import", "--output", "all.json"]);
    assert!(told.text().contains("trunkline install CLIENT --config all.json"), "{told}");
    let dry = done(&room, &["install", "cursor", "--config", "all.json", "--dry-run"]);
    assert!(dry.text().contains("-    \"a\": { … }  (command, args, env)"), "{dry}");
    let told = json_of(&room, &["install", "cursor", "--config", "all.json", "--json"]);
    assert_eq!(told["moved"], json!(["a", "b"]));
    let servers = |room: &Room| -> Vec<String> {
        let text: String =
            read(room, CURSOR).lines().filter(|line| !line.trim().starts_with("//")).collect();
        let text = text.split(" // second").collect::<String>();
        let value: Value = serde_json::from_str(&text).expect("JSON");
        value["mcpServers"].as_object().expect("servers").keys().cloned().collect()
    };
    assert_eq!(servers(&room), ["trunkline"]);
    assert_eq!(doubles(&room, &["--config", "all.json"]), Vec::<Value>::new());
    // `uninstall` gives them back, to the byte.
    let told = json_of(&room, &["uninstall", "cursor", "--json"]);
    assert_eq!((&told["outcome"], &told["returned"]), (&json!("undone"), &json!(["a", "b"])));
    assert_eq!(read(&room, CURSOR), text);
    // Also after the client has changed something else.
    done(&room, &["install", "cursor", "--config", "all.json"]).good();
    let changed =
        read(&room, CURSOR).replace("\"mcpServers\"", "\"theme\": \"dark\",\n  \"mcpServers\"");
    put(&room, CURSOR, &changed);
    let told = json_of(&room, &["uninstall", "cursor", "--json"]);
    assert_eq!((&told["outcome"], &told["returned"]), (&json!("removed"), &json!(["a", "b"])));
    assert!(read(&room, CURSOR).contains("\"theme\"") && read(&room, CURSOR).contains("\"b\""));
    // Who wants both is told by `doctor`, with the command that mends it.
    put(&room, CURSOR, &text);
    done(&room, &["install", "cursor", "--config", "all.json", "--keep"]).good();
    assert_eq!(servers(&room).len(), 3);
    let found = doubles(&room, &["--config", "all.json"]);
    assert_eq!(found.len(), 2, "{found:#?}");
    let fix = found[0]["fix"].as_str().expect("a fix");
    let fix = fix.split('`').nth(1).expect("a command in backticks");
    let line: Vec<&str> = fix.split(' ').skip(1).collect();
    done(&room, &line).good();
    assert_eq!(servers(&room), ["trunkline"]);
    assert_eq!(doubles(&room, &["--config", "all.json"]), Vec::<Value>::new());
    // One server under two names in the config is told, too.
    room.config([("one", fake("a")), ("two", fake("a"))]);
    let found = doubles(&room, &["--config", "mcp.json"]);
    assert!(
        found
            .iter()
            .any(|it| it["problem"].to_string().contains("`two` is the same server as `one`")),
        "{found:#?}"
    );
}

/// A project's own file is left alone, counted, found by `doctor`, and emptied when it is asked for.
#[test]
fn servers_of_a_project_move_when_they_are_asked_for() {
    let room = Room::new();
    let fake = |name: &str| room.fake(name).tool("t", say::echo()).entry();
    put(&room, CURSOR, &json!({"mcpServers": {"a": fake("a")}}).to_string());
    let team = json!({"mcpServers": {"team": fake("team"), "a-too": fake("a")}}).to_string();
    put(&room, "work/.cursor/mcp.json", &team);
    let run = |args: &[&str]| {
        let mut command = trunkline(&room, args);
        command.current_dir(room.path("work"));
        kit::run::run(command, b"")
    };
    let told = run(&["setup", "--yes", "--no-check"]);
    assert!(told.text().contains("Cursor has 2 servers for the project here"), "{told}");
    assert_eq!(read(&room, "work/.cursor/mcp.json"), team);
    let told = run(&["doctor", "--json", "--no-start", "--listen", "127.0.0.1:0"]);
    let told: Value = serde_json::from_slice(told.good()).expect("JSON");
    let all = told["findings"].as_array().expect("findings");
    let found: Vec<&Value> = all.iter().filter(|it| it["check"] == "double").collect();
    assert_eq!(found.len(), 1, "{told:#}");
    let fix = found[0]["fix"].as_str().and_then(|fix| fix.split('`').nth(1)).expect("a command");
    let line: Vec<&str> = fix.split(' ').skip(1).chain(["--yes", "--no-check"]).collect();
    run(&line).good();
    let own: Value = serde_json::from_str(&read(&room, OWN)).expect("JSON");
    let names: Vec<&String> = own["mcpServers"].as_object().expect("servers").keys().collect();
    assert_eq!(names, ["a", "team"]);
    assert_eq!(read(&room, "work/.cursor/mcp.json"), "{\"mcpServers\":{}}");
    run(&["setup", "--undo"]).good();
    assert_eq!(read(&room, "work/.cursor/mcp.json"), team);
}

/// A client that writes its file, and one that cannot be written: nothing is lost.
#[test]
fn a_file_that_cannot_be_written_is_told_and_keeps_its_servers() {
    let room = Room::new();
    let fake = |name: &str| room.fake(name).tool("t", say::echo()).entry();
    put(&room, CURSOR, &json!({"mcpServers": {"a": fake("a")}}).to_string());
    put(&room, ".gemini/settings.json", "{ \"mcpServers\": s3cret");
    put(&room, ".qwen/settings.json", &json!({"mcpServers": {"q": fake("q")}}).to_string());
    let told = done(&room, &["setup", "--yes", "--no-check"]);
    told.hides("s3cret");
    assert!(told.text().contains("left as it is: Gemini CLI: "), "{told}");
    assert_eq!(read(&room, ".gemini/settings.json"), "{ \"mcpServers\": s3cret");
    // The config is where a folder is: nothing is changed.
    let room = Room::new();
    put(&room, CURSOR, "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}");
    std::fs::create_dir_all(room.path(OWN)).expect("the room can be written");
    let told = done(&room, &["setup", "--yes"]);
    told.bad(1, &["is not a regular file"]);
    assert_eq!(read(&room, CURSOR), "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}");
}

/// Client, its file, and what has to be in it: with a variable for the token, with the token itself.
const ADDRESSES: [(&str, &str, &str, &str); 17] = [
    ("claude-code", ".claude.json", "Bearer ${T_VAR}", "\"type\": \"http\""),
    ("cursor", ".cursor/mcp.json", "Bearer ${env:T_VAR}", "\"url\": "),
    ("vscode", ".config/Code/User/mcp.json", "Bearer ${env:T_VAR}", "\"type\": \"http\""),
    ("windsurf", ".codeium/windsurf/mcp_config.json", "Bearer ${env:T_VAR}", "\"serverUrl\": "),
    ("zed", ".config/zed/settings.json", "", "\"url\": "),
    ("codex", ".codex/config.toml", "bearer_token_env_var = \"T_VAR\"", "http_headers"),
    ("gemini", ".gemini/settings.json", "Bearer ${T_VAR}", "\"httpUrl\": "),
    ("goose", ".config/goose/config.yaml", "", "type: \"streamable_http\""),
    ("cline", ".cline/data/settings/cline_mcp_settings.json", "", "\"type\": \"streamableHttp\""),
    ("copilot", ".copilot/mcp-config.json", "Bearer ${T_VAR}", "\"tools\": [\"*\"]"),
    ("qwen", ".qwen/settings.json", "Bearer ${T_VAR}", "\"httpUrl\": "),
    ("opencode", ".config/opencode/opencode.json", "Bearer {env:T_VAR}", "\"type\": \"remote\""),
    ("amp", ".config/amp/settings.json", "Bearer ${T_VAR}", "\"amp.mcpServers\""),
    ("crush", ".config/crush/crush.json", "Bearer ${T_VAR}", "\"type\": \"http\""),
    (
        "continue",
        ".continue/mcpServers/mcp.json",
        "Bearer ${T_VAR}",
        "\"type\": \"streamable-http\"",
    ),
    ("kiro", ".kiro/settings/mcp.json", "Bearer ${T_VAR}", "\"url\": "),
    ("lmstudio", ".lmstudio/mcp.json", "", "\"url\": "),
];

#[test]
fn every_client_connects_to_a_serve_in_its_own_words() {
    const TOKEN: &str = "s3cret-token-of-sixteen";
    for (client, file, by_name, form) in ADDRESSES {
        let room = Room::new();
        let url = format!("http://127.0.0.1:3006/mcp/for/{client}");
        let by_env = ["install", client, "--url", "http://127.0.0.1:3006", "--token-env", "T_VAR"];
        let told = done(&room, &by_env);
        if by_name.is_empty() {
            told.bad(2, &["cannot refer to a variable", "--token"]);
        } else {
            assert!(told.text().contains(&format!("opens:  {url}")), "{told}");
            let text = read(&room, file);
            assert!(text.contains(by_name) && text.contains(&url), "{client}: {text}");
            let again = done(&room, &by_env);
            assert!(again.text().contains("nothing to do"), "{client}: {again}");
        }
        let literal = ["install", client, "--url", "http://127.0.0.1:3006/mcp", "--token", TOKEN];
        for more in [&["--dry-run"][..], &["--json"], &["--dry-run"]] {
            let told = done(&room, &[&literal[..], more].concat());
            assert_eq!(told.code, Some(0), "{told}");
            told.hides(TOKEN);
        }
        let told = done(&room, &[&literal[..], &["--dry-run", "--name", "other"]].concat());
        assert_eq!(told.text().contains("with --token-env NAME"), !by_name.is_empty(), "{told}");
        let text = read(&room, file);
        assert!(
            text.contains(TOKEN) && text.contains(&url) && text.contains(form),
            "{client}: {text}"
        );
        // What leads to Trunkline is no server to import, and goes as it came.
        let found = json_of(&room, &["import", "--from", client, "--json"]);
        assert_eq!(found["servers"], json!([]), "{client}: {found}");
        // From the address to a command and back: never both in one entry.
        room.config([]);
        done(&room, &["install", client, "--config", "mcp.json"]).good();
        let text = read(&room, file);
        assert!(text.contains("--for") && !text.contains("/mcp/for/"), "{client}: {text}");
        done(&room, &[&literal[..], &["--name", "gw"]].concat()).good();
        done(&room, &["uninstall", client, "--name", "gw"]).good();
        done(&room, &["uninstall", client]).good();
        assert!(
            !room.path(file).exists() || !read(&room, file).contains("trunkline"),
            "{client}: {}",
            read(&room, file)
        );
    }
    let room = Room::new();
    let desktop = ["install", "claude-desktop", "--url", "http://127.0.0.1:3006"];
    done(&room, &desktop).bad(2, &["takes commands only", "--config"]);
    let both = ["install", "cursor", "--url", "http://h", "--token", TOKEN, "--token-env", "A"];
    let told = done(&room, &both);
    assert_eq!(told.code, Some(2));
    told.hides(TOKEN);
    done(&room, &["install", "cursor", "--url", "http://h", "--token-env", "a-b"])
        .bad(2, &["the name of a variable"]);
    done(&room, &["install", "cursor", "--token", TOKEN]).bad(2, &["--url"]);
}

/// A path that is not Trunkline's own is kept as it is.
#[test]
fn an_address_behind_a_proxy_is_written_as_it_is_given() {
    let room = Room::new();
    let url = "https://mcp.example.com/team/mcp?key=s3cret";
    let told = done(&room, &["install", "cursor", "--url", url]);
    told.hides("s3cret");
    assert!(read(&room, CURSOR).contains(url), "{}", read(&room, CURSOR));
}

//! What people have on the clipboard, given to `add`.

use kit::room::Room;
use kit::run::{Done, run};
use kit::say;
use kit::terminal::Terminal;
use serde_json::{Value, json};

use super::{command, done, good, session, text, trunkline};

fn entry(room: &Room, name: &str) -> Value {
    room.fake(name).tool("echo", say::echo()).entry()
}

fn paste(room: &Room, args: &[&str], text: &str) -> Done {
    run(trunkline(room, args), text.as_bytes())
}

#[test]
fn snippets_are_read_from_standard_input_and_as_an_argument() {
    for (key, wrap) in [("mcpServers", true), ("servers", true), ("", false)] {
        let room = Room::new();
        let servers = json!({"a": entry(&room, "a"), "b": entry(&room, "b")});
        let snippet = if wrap { json!({ key: servers }) } else { servers };
        let snippet = format!("// copied from a page\n{snippet:#}\n");
        let out = paste(&room, &["add"], &snippet);
        assert!(out.text().starts_with("added `a`, `b` to "), "{out}");
        assert_eq!(session(&room, &[]).list_names(), ["a:echo", "b:echo"]);
    }
    let room = Room::new();
    let single = entry(&room, "c").to_string();
    done(&room, &["add", &single]).bad(2, &["does not name the server"]);
    good(&room, &["add", "c", &single]);
    good(&room, &["add", "d", &json!({"mcpServers": {"c": entry(&room, "d")}}).to_string()]);
    assert_eq!(session(&room, &[]).list_names(), ["c:echo", "d:echo"]);
}

#[test]
fn lines_of_other_programs_are_read() {
    let room = Room::new();
    let line = |before: &str, name: &str| {
        let quoted: Vec<String> =
            command(&room, name, &["echo"]).iter().map(|word| format!("'{word}'")).collect();
        format!("{before} {name} {}", quoted.join(" ").replace("'--env'", "--env"))
    };
    good(&room, &["add", &line("claude mcp add --scope user --transport stdio", "a")]);
    paste(&room, &["add"], &format!("$ {}\n", line("claude mcp add", "b"))).good();
    let json = entry(&room, "c").to_string();
    good(&room, &["add", &format!("claude mcp add-json c '{json}' -s local")]);
    // Unquoted, as somebody writes it behind `trunkline add`.
    let words = command(&room, "d", &["echo"]);
    let mut args = vec!["add", "claude", "mcp", "add", "-s", "user", "d"];
    args.extend(words.iter().map(String::as_str));
    good(&room, &args);
    assert_eq!(session(&room, &[]).list_names(), ["a:echo", "b:echo", "c:echo", "d:echo"]);
    done(&room, &["add", "claude mcp add x -- a; rm -rf b"]).bad(2, &["more than one command"]);
    paste(&room, &["add"], "hello there").bad(2, &["neither JSON with servers"]);
}

/// A program that stands in for `npx` and starts the scripted server.
fn npx(room: &Room, name: &str) -> String {
    let entry = entry(room, name);
    let words = [&entry["command"], &entry["args"][0], &entry["args"][1]];
    let words: Vec<String> =
        words.iter().map(|word| format!("'{}'", word.as_str().unwrap())).collect();
    let script =
        format!("echo \"$@\" > '{}'\nexec {}\n", room.path("said").display(), words.join(" "));
    std::fs::create_dir_all(room.path("bin")).unwrap();
    room.script("bin/npx", &script);
    format!("{}:{}", room.path("bin").display(), std::env::var("PATH").unwrap_or_default())
}

#[test]
fn a_server_json_of_the_registry_becomes_a_command() {
    const SECRET: &str = "s3cret-of-mine";
    let room = Room::new();
    let path = npx(&room, "weather");
    let server = json!({
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": "io.github.somebody/weather", "description": "…", "version": "1.2.3",
        "packages": [{
            "registryType": "npm", "identifier": "@somebody/weather", "version": "1.2.3",
            "transport": {"type": "stdio"},
            "packageArguments": [{"type": "named", "name": "--units", "default": "metric"}],
            "environmentVariables": [
                {"name": "WEATHER_KEY_OF_TEST", "description": "Your key", "isRequired": true, "isSecret": true},
                {"name": "DEBUG"},
            ],
        }],
    })
    .to_string();
    let run_with = |args: &[&str]| {
        let mut command = trunkline(&room, args);
        command.env("PATH", &path);
        run(command, server.as_bytes())
    };
    // Nobody is there to be asked: it is written, and off until the variable is set.
    let out = run_with(&["add"]);
    assert!(out.text().contains("needs WEATHER_KEY_OF_TEST"), "{out}");
    let written = text(&room);
    for part in ["\"weather\"", "${WEATHER_KEY_OF_TEST}", "\"disabled\": true", "--units"] {
        assert!(written.contains(part), "{part}: {written}");
    }
    assert!(!written.contains("DEBUG"), "{written}");
    let given = format!("WEATHER_KEY_OF_TEST={SECRET}");
    let out = run_with(&["add", "--force", "--env", &given]);
    out.hides(SECRET);
    assert!(out.text().contains("weather: 1 tool,"), "{out}");
    let written = text(&room);
    assert!(written.contains(SECRET) && !written.contains("disabled"), "{written}");
    let said = std::fs::read_to_string(room.path("said")).unwrap();
    assert_eq!(said.trim_end(), "-y @somebody/weather@1.2.3 --units metric");
}

#[test]
fn at_a_terminal_a_needed_value_is_asked_for_and_not_shown() {
    const SECRET: &str = "s3cret-of-mine";
    let room = Room::new();
    let path = npx(&room, "weather");
    let server = json!({"name": "a/weather", "packages": [{
    "registryType": "npm", "identifier": "weather",
    "environmentVariables": [
        {"name": "WEATHER_KEY_OF_TEST", "description": "Your key", "isRequired": true, "isSecret": true},
        {"name": "WEATHER_CITY_OF_TEST", "isRequired": true},
    ]}]});
    let mut command = trunkline(&room, &["add", &server.to_string()]);
    command.env("PATH", &path);
    let mut terminal = Terminal::spawn(&command);
    terminal.wait("WEATHER_KEY_OF_TEST (Your key)");
    terminal.write(&format!("{SECRET}\n"));
    terminal.wait("WEATHER_CITY_OF_TEST");
    terminal.write("Rome\n");
    assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
    assert!(!terminal.shown().contains(SECRET), "{}", terminal.shown());
    let written = text(&room);
    assert!(written.contains(SECRET) && written.contains("Rome"), "{written}");
    assert!(!written.contains("disabled"), "{written}");
}

//! `trunkline setup` as a person runs it: three clients with twelve servers go behind Trunkline, and back.

use std::time::{Duration, Instant};

use kit::terminal::Terminal;
use serde_json::{Map, Value, json};

use crate::house::{House, said, text};
use crate::model::{Model, Wanted};
use crate::requests::Client;
use crate::servers::Server;

const CLAUDE: &str = ".claude.json";
const CODEX: &str = ".codex/config.toml";
const CURSOR: &str = ".cursor/mcp.json";
/// All three, with the config that `setup` makes.
const FILES: [&str; 3] = [CLAUDE, CODEX, CURSOR];

/// What each client has: twelve entries, of which two are there twice.
const OF_CLAUDE: [&str; 5] = ["everything", "files", "memory", "time", "git"];
const OF_CODEX: [&str; 4] = ["docs", "fetch", "calculator", "git"];
const OF_CURSOR: [&str; 3] = ["browser", "thinking", "time"];

/// As long as a person would wait.
const PATIENCE: Duration = Duration::from_secs(300);

/// What was not kept.
pub(crate) fn run(house: &House) -> Result<Vec<String>, String> {
    let before = furnish(house)?;
    let mut missed = Vec::new();
    println!("=== three clients, {} servers", OF_CLAUDE.len() + OF_CODEX.len() + OF_CURSOR.len());
    let (asked, took) = set_up(house)?;
    println!("{:>7}  typed", "seconds");
    println!("{:>7.1}  trunkline setup          (the plan is shown)", asked.as_secs_f64());
    println!(
        "{:>7.1}  y                        (until every server has been checked)",
        (took - asked).as_secs_f64()
    );
    println!("{:>7.1}  in all", took.as_secs_f64());
    one_entry_each(house, &mut missed)?;
    let check = said(&mut house.trunkline(&["check", "--json", "--start-timeout", "300"]))?;
    let check: Value = serde_json::from_slice(&check.stdout).unwrap_or_default();
    let servers = check["servers"].as_array().map_or(0, Vec::len);
    println!("check: {servers} servers, ok: {}", check["ok"]);
    if check["ok"] != json!(true) || servers != 10 {
        missed.push("`check` is not green after setup".to_owned());
    }
    undo(house, &before, &FILES, &mut missed)?;
    // Once more, and now the clients run: they write into their own files.
    said(&mut house.trunkline(&["setup", "--yes", "--no-check"]))?;
    for client in Client::BOTH {
        call(house, client, &mut missed)?;
    }
    undo(house, &before, &[CODEX, CURSOR], &mut missed)?;
    let servers =
        |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default()["mcpServers"].clone();
    if servers(&house.read(CLAUDE)?) != servers(&before[0]) {
        missed.push("Claude Code's servers are not as they were".to_owned());
    }
    Ok(missed)
}

/// Writes the three files; returns their texts.
fn furnish(house: &House) -> Result<[String; 3], String> {
    drop(house.trunkline(&["stop", "--all"]).output());
    for left in
        [".claude.json", ".codex", ".cursor", ".config/trunkline", ".cache/trunkline", ".claude"]
    {
        let path = house.home.join(left);
        drop(std::fs::remove_file(&path));
        drop(std::fs::remove_dir_all(&path));
    }
    let entry = |name: &str| Server::named(name).entry(&house.home);
    let mut all: Map<String, Value> = Map::new();
    for name in OF_CLAUDE {
        let mut entry = entry(name);
        entry["type"] = json!("stdio");
        all.insert(name.to_owned(), entry);
    }
    let claude = format!("{:#}\n", json!({"hasCompletedOnboarding": true, "mcpServers": all}));
    let mut codex = String::from("# my settings\nmodel = \"none\" # the big one\n");
    for name in OF_CODEX {
        let entry = entry(name);
        codex.push_str(&format!(
            "\n# for {name}\n[mcp_servers.{name}]\ncommand = {}\nargs = {}\n",
            entry["command"], entry["args"]
        ));
    }
    codex.push_str("\n# looks\n[tui]\nshow_tooltips = false\n");
    let lines: Vec<String> =
        OF_CURSOR.iter().map(|name| format!("\t\t\"{name}\": {}", entry(name))).collect();
    let cursor = format!(
        "// my servers\n{{\n\t\"mcpServers\": {{\n{}, // the clock\n\t}},\n}}\n",
        lines.join(",\n")
    );
    let texts = [claude, codex, cursor];
    for (file, text) in FILES.iter().zip(&texts) {
        house.write(file, text)?;
    }
    Ok(texts)
}

/// How long until the question, and until the end.
fn set_up(house: &House) -> Result<(Duration, Duration), String> {
    let begun = Instant::now();
    let mut command = house.trunkline(&["setup"]);
    command.env("NO_COLOR", "1"); // what it shows is shown again
    let mut terminal = Terminal::spawn(&command);
    let until = |part: &str, terminal: &Terminal| {
        while !terminal.shown().contains(part) {
            if begun.elapsed() > PATIENCE {
                return Err(format!("setup does not show {part:?}: {}", terminal.shown()));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(begun.elapsed())
    };
    let asked = until("[y/N]", &terminal)?;
    terminal.write("y\n");
    until("next:", &terminal)?;
    let code = terminal.finish();
    let took = begun.elapsed();
    println!("$ trunkline setup\n{}", terminal.remains().replace('\r', ""));
    match code {
        Some(0) => Ok((asked, took)),
        code => Err(format!("setup ended with {code:?}")),
    }
}

/// The clients themselves say what they have.
fn one_entry_each(house: &House, missed: &mut Vec<String>) -> Result<(), String> {
    let claude: Value = serde_json::from_str(&house.read(CLAUDE)?).unwrap_or_default();
    let of_claude: Vec<String> = claude["mcpServers"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| name.clone())
        .collect();
    let codex = said(house.command("codex").args(["mcp", "list", "--json"]))?;
    let codex: Value = serde_json::from_slice(&codex.stdout).unwrap_or_default();
    let of_codex: Vec<String> = codex
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|it| it["name"].as_str().map(str::to_owned))
        .collect();
    let cursor = house.read(CURSOR)?;
    let plain: String =
        cursor.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let of_cursor = plain.matches("\"command\"").count();
    println!("entries: Claude Code {of_claude:?}, Codex {of_codex:?}, Cursor {of_cursor}");
    let is_one = of_claude == ["trunkline"] && of_codex == ["trunkline"] && of_cursor == 1;
    if !is_one || !cursor.contains("trunkline") {
        missed.push(format!("not one entry each: {cursor}"));
    }
    Ok(())
}

/// The client lists the tools, calls one, and gets what it gave.
fn call(house: &House, client: Client, missed: &mut Vec<String>) -> Result<(), String> {
    const TOOL: &str = "calculator__calculate";
    let wanted = Wanted { tool: TOOL, arguments: json!({"expression": "6*7"}) };
    let model = Model::start(Some(wanted))?;
    let output = said(&mut client.asks(house, &model, TOOL))?;
    let requests = model.requests();
    let tools = requests.first().map(|it| it.tools().len()).unwrap_or_default();
    let result = requests.iter().find_map(|it| it.result()).unwrap_or_default();
    println!("{}: {tools} tools in its first request, and 6*7 gave {result}", client.id());
    if tools == 0 || !result.contains("42") {
        missed.push(format!("{} has not called {TOOL}: {}", client.id(), text(&output.stderr)));
    }
    Ok(())
}

fn undo(
    house: &House,
    before: &[String; 3],
    files: &[&str],
    missed: &mut Vec<String>,
) -> Result<(), String> {
    let said = said(&mut house.trunkline(&["setup", "--undo"]))?;
    println!("$ trunkline setup --undo\n{}", text(&said.stdout));
    for (file, before) in FILES.iter().zip(before).filter(|(file, _)| files.contains(file)) {
        match house.read(file)? == *before {
            true => println!("{file}: as before, to the byte"),
            false => missed.push(format!("{file} is not as before: {}", house.read(file)?)),
        }
    }
    Ok(())
}

//! Is every tool of ten servers in the first request that a client sends to its model?

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::direct::{self, Expected};
use crate::house::{House, said, text};
use crate::model::Model;

/// For ten servers that start at once.
const PATIENCE: Duration = Duration::from_secs(300);

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Client {
    ClaudeCode,
    Codex,
}

impl Client {
    pub(crate) const BOTH: [Self; 2] = [Self::ClaudeCode, Self::Codex];

    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
        }
    }

    /// The client with one question for its model, without a person.
    pub(crate) fn asks(self, house: &House, model: &Model, tool: &str) -> Command {
        match self {
            Self::ClaudeCode => {
                let mut claude = house.command("claude");
                claude.args(["-p", "Work it out.", "--allowedTools"]);
                claude.arg(format!("mcp__trunkline__{tool}"));
                claude.env("ANTHROPIC_BASE_URL", &model.address).env("ANTHROPIC_API_KEY", "none");
                claude.env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
                claude.env("DISABLE_AUTOUPDATER", "1");
                // Else it shows its model a tool that finds the others, whoever they are of.
                claude.env("ENABLE_TOOL_SEARCH", "false");
                claude
            }
            Self::Codex => {
                let mut codex = house.command("codex");
                codex.args(["exec", "--skip-git-repo-check"]);
                // Without a person it would refuse to call a tool that may write.
                codex.arg("--dangerously-bypass-approvals-and-sandbox");
                let base = format!("{}/v1", model.address);
                let provider =
                    format!("{{name=\"stand-in\",base_url=\"{base}\",wire_api=\"responses\"}}");
                codex.args(["-c", "model=\"none\"", "-c", "model_provider=\"stand-in\""]);
                codex.args(["-c", &format!("model_providers.stand-in={provider}")]);
                codex.arg("Work it out.");
                codex
            }
        }
    }

    fn expected(self, expected: &Expected) -> BTreeSet<String> {
        match self {
            // It speaks revision 2026-07-28.
            Self::ClaudeCode => expected.all.difference(&expected.tasks_only).cloned().collect(),
            Self::Codex => expected.all.clone(),
        }
    }
}

/// What was not kept.
pub(crate) fn run(house: &House, starts: usize) -> Result<Vec<String>, String> {
    let expected = direct::ask(house)?;
    println!(
        "=== asked one by one without Trunkline, the ten servers list {} tools, {} of them for tasks only",
        expected.all.len(),
        expected.tasks_only.len()
    );
    house.write("mcp.json", &house.config())?;
    for client in Client::BOTH {
        said(&mut house.trunkline(&["install", client.id(), "--config", "mcp.json"]))?;
    }
    let mut missed = Vec::new();
    first_start_ever(house, expected.all.len(), &mut missed)?;
    let model = Model::start(None)?;
    for client in Client::BOTH {
        let wanted = client.expected(&expected);
        println!("=== {}: {starts} starts", client.id());
        println!(
            "{:>5}  {:<22}  {:>10}  {:>5}  {:>8}",
            "START", "RUNTIME", "FIRST WORD", "TOOLS", "EXPECTED"
        );
        let mut complete = 0;
        for start in 1..=starts {
            // Every other start finds nothing but what is remembered.
            let is_fresh = start % 2 == 1;
            if is_fresh {
                drop(house.trunkline(&["stop", "--all"]).output());
            }
            let (tools, after) = first_request(client, house, &model)?;
            let missing: Vec<&str> = wanted.difference(&tools).map(String::as_str).collect();
            let more = tools.difference(&wanted).count();
            complete += usize::from(missing.is_empty());
            let runtime = if is_fresh { "starts with the client" } else { "is there" };
            let (shown, wants) = (tools.len() - more, wanted.len());
            println!(
                "{start:>5}  {runtime:<22}  {:>7.0} ms  {shown:>5}  {wants:>8}",
                millis(after)
            );
            if !missing.is_empty() || more > 0 {
                missed.push(format!(
                    "{} start {start}: {more} too many, missing {missing:?}",
                    client.id()
                ));
            }
        }
        println!("{complete} of {starts} starts had every tool in the first request");
    }
    Ok(missed)
}

/// What somebody reads whose servers have never been seen before. The session lasts until all of them are up.
fn first_start_ever(house: &House, tools: usize, missed: &mut Vec<String>) -> Result<(), String> {
    drop(house.trunkline(&["stop", "--all"]).output());
    drop(house.trunkline(&["cache", "clear"]).output());
    let mut front = house.trunkline(&["--config", "mcp.json", "--for", "codex"]);
    front.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let begun = Instant::now();
    let mut child = front.spawn().map_err(|error| error.to_string())?;
    let mut input = child.stdin.take().ok_or("no pipe")?;
    let mut lines = BufReader::new(child.stdout.take().ok_or("no pipe")?).lines();
    let mut say = |message: Value| {
        input.write_all(format!("{message}\n").as_bytes()).map_err(|error| error.to_string())
    };
    say(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "first", "version": "1"}}}))?;
    say(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
    say(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}))?;
    let mut first = None;
    while let Some(Ok(line)) = lines.next() {
        let message: Value = serde_json::from_str(&line).unwrap_or_default();
        if message["id"] == 2 {
            let listed = message["result"]["tools"].as_array().map_or(0, Vec::len);
            first.get_or_insert((listed, begun.elapsed()));
            if listed == tools || begun.elapsed() > PATIENCE {
                break;
            }
        }
        // As clients do.
        if message["method"] == "notifications/tools/list_changed" {
            say(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}))?;
        }
    }
    let whole = begun.elapsed();
    drop(input);
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    let words = text(&output.stderr);
    let (listed, after) = first.unwrap_or_default();
    println!(
        "=== the first start ever: {listed} tools after {:.1} s, all after {:.1} s; it said:\n{words}",
        after.as_secs_f64(),
        whole.as_secs_f64()
    );
    if listed < tools && !words.contains("waiting for") {
        missed.push("the first start ever does not say what it waits for".to_owned());
    }
    Ok(())
}

/// The tools in the first request, and how long after the client's start it came.
pub(crate) fn first_request(
    client: Client,
    house: &House,
    model: &Model,
) -> Result<(BTreeSet<String>, Duration), String> {
    drop(model.requests());
    let begun = Instant::now();
    let output = said(&mut client.asks(house, model, "none"))?;
    let requests = model.requests();
    let first = requests
        .first()
        .ok_or_else(|| format!("{} has asked no model: {}", client.id(), text(&output.stderr)))?;
    Ok((first.tools(), first.at - begun))
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

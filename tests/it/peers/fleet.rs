//! Servers of both eras nobody here wrote, behind one endpoint, before clients nobody here wrote.

use std::path::Path;
use std::process::{Command, Stdio};

use kit::mcp::Speak as _;
use kit::room::{MARK, Room};
use kit::serve::Serve;
use kit::{LIMIT, bin};
use serde_json::{Value, json};

use super::assert_reported;
use super::stage::{Era, everything, installed, node, play, python};

/// A Python that starts is waited for, however busy the machine is.
const PATIENT: [&str; 2] = ["--start-timeout", "300"];

/// server-everything is of the older era, the two others are of the stateless one.
struct Fleet {
    room: Room,
    gateway: Serve,
}

impl Fleet {
    #[track_caller]
    fn set() -> Self {
        let room = Room::new();
        let repository = room.path("repository");
        let commit = "git init --quiet \"$1\" && cd \"$1\" && git -c user.name=a -c user.email=a@b commit --quiet --allow-empty -m first";
        let made = Command::new("/bin/sh")
            .args(["-euc", commit, "sh"])
            .arg(&repository)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .stdin(Stdio::null())
            .status();
        assert!(made.is_ok_and(|status| status.success()), "a repository");
        let env = json!({ MARK: room.marker() });
        let python = |name: &str, args: Value| json!({ "command": installed(&format!("venv/bin/{name}")), "args": args, "env": env });
        room.config([
            ("everything", json!({ "command": node(), "args": [everything()], "env": env })),
            ("time", python("mcp-server-time", json!(["--local-timezone", "Etc/UTC"]))),
            ("git", python("mcp-server-git", json!(["--repository", repository]))),
        ]);
        let gateway = room.serve(&PATIENT);
        // A client may remember its first list.
        let has = |names: &[String], server| names.iter().any(|name| name.starts_with(server));
        gateway.http().wait_list("the whole fleet", 4 * LIMIT, |names| {
            ["everything.", "git.", "time."].into_iter().all(|server| has(names, server))
        });
        Self { room, gateway }
    }

    /// Both fronts, in both eras.
    fn targets(&self) -> Vec<Value> {
        let eras = [Era::Legacy, Era::Modern];
        eras.iter()
            .flat_map(|era| ["http", "stdio"].map(|front| self.target(front, *era)))
            .collect()
    }

    fn target(&self, front: &str, era: Era) -> Value {
        let separator = if front == "stdio" { ":" } else { "." };
        let mut target = json!({
            "name": format!("{front}-{}", era.word()),
            "front": front,
            "era": era.word(),
            "asks": false,
            "deep": false,
            "fleet": self.room.path("repository"),
            "separator": separator,
            "prefix": format!("everything{separator}"),
        });
        if front == "stdio" {
            target["command"] = json!(bin::trunkline());
            // These clients pass hardly a variable on.
            let config = self.room.path("mcp.json");
            let args =
                [&["--config", config.to_str().expect("UTF-8"), "--no-shared"], &PATIENT[..]];
            target["args"] = json!(args.concat());
        } else {
            target["url"] = format!("http://{}/mcp", self.gateway.address()).into();
        }
        target
    }
}

const QUESTION: &str = "Please provide inputs for the following fields:";
const ANSWER: &str = "User inputs:\n- Name: Ada\n- Agreed to terms: true\n- Favorite Integer: 7";

#[track_caller]
fn everything_of_the_fleet(program: &Path, script: &str) {
    let fleet = Fleet::set();
    let targets = fleet.targets();
    let report = play(program, script, &targets);
    assert_reported(&report, &targets, |target| {
        let revision = if target["era"] == "modern" { "2026-07-28" } else { "2025-11-25" };
        json!({
            "revision": revision,
            "servers": ["everything", "git", "time"],
            "echo": "Echo: héllo 😀",
            "elicitation": { "asked": QUESTION, "fields": 13, "times": 1, "heard": ANSWER },
            "time": "+9.0h",
            "git": true,
        })
    });
}

#[test]
fn the_typescript_client_gets_servers_of_both_eras_in_either() {
    everything_of_the_fleet(&node(), "sdk2.mjs");
}

#[test]
fn the_python_client_gets_servers_of_both_eras_in_either() {
    everything_of_the_fleet(&python(), "python_sdk.py");
}

#[test]
fn the_fastmcp_client_gets_servers_of_both_eras_in_either() {
    everything_of_the_fleet(&python(), "fastmcp_client.py");
}

#[test]
fn the_inspector_gets_servers_of_both_eras_in_either() {
    let fleet = Fleet::set();
    let targets = fleet.targets();
    let report = play(&node(), "inspector.mjs", &targets);
    assert_reported(&report, &targets, |target| {
        let servers = ["everything", "git", "time"];
        json!({
            "connect": target["era"],
            "servers": [servers, servers],
            "elicitation": { "asked": QUESTION, "fields": 13, "heard": ANSWER },
            "time": "+9.0h",
            "git": true,
        })
    });
}

//! A platform as it looks after some minutes of work: the servers of the demo, one that is not there and one that
//! fails, calls, keys, clients, and skills to decide on.

use std::process::Command;
use std::time::{Duration, Instant};

use kit::browser::{Browser, By};
use kit::llm::{Asked, Llm, Said};
use kit::platform::{ADMIN, Platform, id_of, stdio};
use kit::process::wait_until;
use kit::room::Room;
use kit::streamable::Streamable;
use kit::{LIMIT, bin};
use serde_json::{Value, json};

pub struct House<'a> {
    room: &'a Room,
    pub platform: Platform,
    /// The one that most is shown of.
    pub main: String,
    pub gone: String,
    /// What has to stay for as long as pictures are taken.
    _kept: (Llm, Vec<Streamable>),
}

/// Charts are drawn in pieces of ten seconds: so long there is work, that there is something to draw.
const WORK: Duration = Duration::from_secs(140);

impl<'a> House<'a> {
    pub fn furnish(room: &'a Room) -> Self {
        let llm = Llm::start(|asked| Said::json(&judge(asked)));
        let platform = Platform::start(command(room, &llm.url()));
        let weather = stdio("weather", &demo("weather"));
        let main = id_of(&platform.register(&weather));
        platform.wait_status(&main, "CONNECTED");
        let archive = json!({ "name": "archive", "transport_type": "HTTP", "auto_connect": true,
            "description": "Letters and invoices since 1998",
            "connection_config": { "url": "http://127.0.0.1:9/mcp" } });
        platform.register(&archive);
        let inventory = json!({ "command": "inventory-mcp", "args": ["--stock", "shelf.db"] });
        let gone = id_of(&platform.register(&stdio("inventory", &inventory)));
        platform.wait_server(&gone, "it is known to fail", LIMIT, |it| it["status"] == "ERROR");
        let keys = keys(&platform);
        let clients = [("claude-code", "2.0.14"), ("nightly-build", "1.3")];
        let clients = clients
            .iter()
            .zip(&keys)
            .map(|((name, version), key)| client(&platform, key, name, version));
        let clients = clients.collect();
        work(&platform);
        let suggested = "/api/v1/skills/suggestions?state=pending";
        wait_until("skills are suggested", LIMIT, || {
            let told = platform.admin().get(suggested).is(200);
            told["suggestions"].as_array().is_some_and(|all| all.len() == 2)
        });
        Self { room, platform, main, gone, _kept: (llm, clients) }
    }

    /// In which the admin has signed in.
    pub fn browser(&self) -> Browser {
        let site = format!("http://{}", self.platform.serve().address());
        let browser = Browser::start(self.room, &site);
        browser.open("/");
        browser.fill(&By::Label("Token"), ADMIN);
        browser.click(&By::Words("Sign in"));
        browser.wait(&By::Words("Sign out"));
        browser
    }
}

/// A server of `serve --demo`. By its name, so that no picture shows where it was built.
fn demo(name: &str) -> Value {
    json!({ "command": "trunkline", "args": ["demo-server", name] })
}

fn command(room: &Room, llm: &str) -> Command {
    let servers = ["clock", "notes", "tables", "flaky"].map(|name| (name.to_owned(), demo(name)));
    let mut servers: serde_json::Map<String, Value> = servers.into_iter().collect();
    servers["tables"]["era"] = json!("legacy");
    let subtools = json!({
        "clock": { "tools": [{ "name": "now", "description": "What time it is" }] },
        "notes": { "tools": ["add", "search"] },
    });
    let desk = json!({ "description": "A desk with a clock and notes.", "subtools": subtools });
    let config = json!({ "mcpServers": servers, "tools": { "desk": desk } });
    let config = room.write("trunkline.json", config.to_string());
    let config = config.to_str().expect("UTF-8").to_owned();
    let flags = [
        ["--config", &config],
        ["--allow-net", "127.0.0.0/8"],
        ["--llm-url", llm],
        ["--llm-model", "scripted-1"],
        ["--health-interval", "5s"],
    ]
    .concat();
    let fails = "#!/bin/sh\necho 'inventory 0.4.1' >&2\necho 'opening shelf.db' >&2\n\
        echo 'shelf.db: the file is not a database' >&2\nexit 2\n";
    let program = room.write("inventory-mcp", fails);
    let may_run = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(program, may_run).expect("it is ours");
    let mut command = room.platform_command(&flags);
    let programs = bin::trunkline();
    let programs = programs.parent().expect("a directory").display();
    let path = std::env::var("PATH").unwrap_or_default();
    command
        .arg("--allow-stdio-registration")
        .env("PATH", format!("{programs}:{}:{path}", room.marker()));
    command.env("TRUNKLINE_LLM_KEY", "sk-of-the-pictures");
    command
}

/// The language model: what it gives the tools, and the two skills that it misses.
fn judge(asked: &Asked) -> Value {
    asked.each(|name| {
        let gives = |skill: &str| json!({ "skills": [{ "id": skill, "confidence": 0.91 }], "new_skill": null });
        let misses = |near: &str, id: &str, title: &str, keywords: &str, reason: &str| {
            let new = json!({ "id": id, "title": title, "keywords": keywords, "reason": reason });
            json!({ "skills": [{ "id": near, "confidence": 0.3 }], "new_skill": new })
        };
        match name {
            "reserve" => misses("calendar", "reservations", "Reservations", "table restaurant guests reserve book seat", "It books a table, and no skill is about that."),
            "crash" => misses("software_development", "fault_injection", "Fault injection", "crash hang slow fault chaos recover", "It makes a server fail on purpose."),
            "reserved" => gives("calendar"),
            "forecast" | "chart" | "warmer" => gives("weather_environment"),
            "add" | "remove" | "search" => gives("knowledge_memory"),
            "now" | "add_days" | "days_between" => gives("calendar"),
            _ => gives("software_development"),
        }
    })
}

/// The keys of two clients that are connected; two more are made, and one of them revoked.
fn keys(platform: &Platform) -> [String; 2] {
    let make = |name: &str, role: &str, tools: Value| {
        platform.make_key(&json!({ "name": name, "role": role, "tools": tools }))
    };
    let key = |made: &Value| made["key"].as_str().expect("a key").to_owned();
    let old = make("old-laptop", "caller", json!(["weather.*"]));
    platform.admin().delete(&format!("/api/v1/keys/{}", id_of(&old)));
    make("on-call", "operator", json!(["*"]));
    let code = make("anna-laptop", "caller", json!(["weather.*", "notes.*", "clock.*"]));
    let ci = make("build-machine", "caller", json!(["clock.*", "flaky.*"]));
    [key(&code), key(&ci)]
}

/// Somebody who is connected and says who they are.
fn client(platform: &Platform, key: &str, name: &str, version: &str) -> Streamable {
    let bearer = format!("Bearer {key}");
    let headers = [("Authorization", &bearer[..])];
    let client = Streamable::with_headers(platform.serve().address(), "/mcp", &headers);
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": name, "version": version } } });
    client.post(hello.to_string());
    client
}

/// Some calls of everything, for as long as a chart wants.
fn work(platform: &Platform) {
    let cities = ["Rome", "Oslo", "Kyoto", "Lima", "Nairobi"];
    let end = Instant::now() + WORK;
    for round in 0.. {
        let city = cities[round % cities.len()];
        let mut calls = vec![
            ("weather.forecast", json!({ "city": city, "days": 1 + round % 14 })),
            ("clock.now", json!({})),
            ("notes.search", json!({ "text": "a" })),
        ];
        match round % 5 {
            0 => calls.push(("weather.chart", json!({ "city": city }))),
            1 => calls.push(("notes.add", json!({ "title": city, "text": "pack an umbrella" }))),
            2 => calls.push(("flaky.sometimes", json!({}))),
            3 => calls.push(("flaky.slow", json!({ "seconds": 0.2 }))),
            _ => calls.push(("weather.warmer", json!({ "one": city, "other": "Lima" }))),
        }
        if round % 23 == 22 {
            calls.push(("flaky.crash", json!({})));
        }
        for (tool, arguments) in calls {
            platform.admin().send(&Platform::call_ask(tool, &arguments.to_string()));
        }
        if Instant::now() > end {
            break;
        }
        // More and less of it, as work goes.
        let pause = Duration::from_millis(600 + 500 * (round as u64 % 7));
        std::thread::sleep(pause);
    }
}

//! A platform as it looks after an hour of work: servers of several kinds, one of them gone, calls, keys,
//! clients, and skills to decide on.

use kit::LIMIT;
use kit::browser::{Browser, By};
use kit::config::Fake;
use kit::llm::{Asked, Llm, Said};
use kit::platform::{ADMIN, Platform, id_of};
use kit::process::wait_until;
use kit::room::Room;
use kit::say;
use kit::service::{Service, Wire};
use kit::streamable::Streamable;
use serde_json::{Value, json};

pub struct House<'a> {
    room: &'a Room,
    pub platform: Platform,
    /// The one that most is shown of.
    pub main: String,
    pub gone: String,
    /// What has to stay for as long as pictures are taken.
    _kept: (Llm, Vec<Service>, Vec<Streamable>),
}

/// A server: its name, and its tools with what they do.
type Offer = (&'static str, &'static [(&'static str, &'static str)]);

const OFFERS: [Offer; 6] = [
    (
        "github",
        &[
            ("create_issue", "Create a new issue in a GitHub repository"),
            ("list_issues", "List the issues of a repository, filtered by state and labels"),
            ("search_code", "Search the code of all repositories you can see"),
            ("create_pull_request", "Open a pull request from one branch to another"),
            ("get_file_contents", "Read a file of a repository at a branch or commit"),
            ("merge_pull_request", "Merge a pull request that has been approved"),
        ],
    ),
    (
        "postgres",
        &[
            ("run_query", "Run a read-only SQL query against the tables of the database"),
            ("list_tables", "List the tables and columns of a schema"),
            ("explain_query", "Explain how the database would run a query"),
        ],
    ),
    (
        "filesystem",
        &[
            ("read_file", "Read a text file from the allowed directories"),
            ("write_file", "Create a file or replace what is in it"),
            ("list_directory", "List the files and directories of a directory"),
            ("search_files", "Find files by a pattern of their names"),
        ],
    ),
    (
        "weather",
        &[
            ("get_forecast", "Weather forecast for a place: temperature, wind and rain"),
            ("get_alerts", "Warnings of storms, floods and frost for a region"),
        ],
    ),
    (
        "lab",
        &[
            ("grasp", "Move the gripper of the robot arm and grasp an object"),
            ("pipette", "Take a volume of liquid from a well of the plate"),
        ],
    ),
    ("jira", &[("get_ticket", "Read a ticket with its comments and history")]),
];

impl<'a> House<'a> {
    pub fn furnish(room: &'a Room) -> Self {
        let llm = Llm::start(|asked| Said::json(&judge(asked)));
        let url = llm.url();
        let flags = [
            "--allow-net",
            "127.0.0.0/8",
            "--llm-url",
            &url,
            "--llm-model",
            "scripted-1",
            "--health-interval",
            "2s",
        ];
        let mut command = room.platform_command(&flags);
        command.env("TRUNKLINE_LLM_KEY", "sk-of-the-pictures");
        let platform = Platform::start(command);
        let services = OFFERS.map(|offer| server(room, offer).listen(Wire::Http));
        let names = OFFERS.map(|(name, _)| name);
        let ids: Vec<String> =
            names.iter().zip(&services).map(|(name, it)| platform.connected(name, it)).collect();
        let keys = keys(&platform);
        let clients = keys.iter().map(|key| platform.mcp(key)).collect();
        work(&platform);
        // The last one breaks.
        services[5].kill();
        platform
            .wait_server(&ids[5], "it is known to be gone", LIMIT, |it| it["status"] == "ERROR");
        let suggested = "/api/v1/skills/suggestions?state=pending";
        wait_until("skills are suggested", LIMIT, || {
            let told = platform.admin().get(suggested).is(200);
            told["suggestions"].as_array().is_some_and(|all| all.len() == 2)
        });
        let kept = (llm, services.into(), clients);
        Self { room, platform, main: ids[0].clone(), gone: ids[5].clone(), _kept: kept }
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

fn server<'a>(room: &'a Room, (name, tools): Offer) -> Fake<'a> {
    let definitions: Vec<String> =
        tools.iter().map(|(tool, words)| definition(tool, words).to_string()).collect();
    let definitions: Vec<&str> = definitions.iter().map(String::as_str).collect();
    let mut fake = room.fake(name).definitions(&definitions);
    for (index, (tool, _)) in tools.iter().enumerate() {
        // Each takes its own time, so that there is something to draw.
        let pause = say::pause(4 + 11 * index as u64);
        let steps = match *tool {
            "merge_pull_request" => say::steps([
                pause,
                say::result(
                    r#"{"content":[{"type":"text","text":"not approved yet"}],"isError":true}"#,
                ),
            ]),
            "create_issue" => say::steps([pause, say::result(CREATED)]),
            _ => say::steps([pause, say::text("done")]),
        };
        fake = fake.tool(tool, steps);
    }
    fake
}

const CREATED: &str = r#"{"content":[{"type":"text","text":"Created issue 482 in acme/pump"}],"structuredContent":{"number":482,"url":"https://github.example/acme/pump/issues/482","state":"open","labels":["bug","plumbing"]}}"#;

fn definition(tool: &str, words: &str) -> Value {
    let reads = ["get", "list", "read", "search", "run", "explain"];
    let reads = reads.iter().any(|verb| tool.starts_with(verb));
    let schema = match tool {
        "create_issue" => json!({
            "type": "object",
            "properties": {
                "title": { "type": "string", "description": "One line that says what is wrong" },
                "body": { "type": "string", "description": "What happened, and what should have" },
                "priority": { "enum": ["low", "normal", "high"], "default": "normal" },
                "labels": { "type": "array", "items": { "type": "string" } },
                "repository": {
                    "type": "object",
                    "properties": {
                        "owner": { "type": "string" },
                        "name": { "type": "string" },
                    },
                    "required": ["owner", "name"],
                },
            },
            "required": ["title", "repository"],
        }),
        _ => json!({ "type": "object", "properties": { "query": { "type": "string" } } }),
    };
    let annotations =
        json!({ "readOnlyHint": reads, "destructiveHint": tool.starts_with("write") });
    json!({ "name": tool, "description": words, "inputSchema": schema, "annotations": annotations })
}

/// The language model: what it gives the tools, and the two skills that it misses.
fn judge(asked: &Asked) -> Value {
    asked.each(|name| {
        let gives = |skill: &str| json!({ "skills": [{ "id": skill, "confidence": 0.91 }], "new_skill": null });
        let misses = |id: &str, title: &str, keywords: &str, reason: &str| {
            let new = json!({ "id": id, "title": title, "keywords": keywords, "reason": reason });
            json!({ "skills": [{ "id": "home_iot", "confidence": 0.2 }], "new_skill": new })
        };
        match name {
            "grasp" => misses("robotics", "Robotics", "robot arm gripper joint grasp", "It moves a robot's arm, and no skill is about that."),
            "pipette" => misses("laboratory", "Laboratory work", "pipette plate well liquid assay", "It handles liquids in a laboratory."),
            name if name.contains("query") || name.contains("table") => gives("database"),
            name if name.contains("forecast") || name.contains("alert") => gives("weather_environment"),
            name if name.contains("file") || name.contains("directory") => gives("file_management"),
            name if name.contains("issue") || name.contains("ticket") => gives("issue_tracking"),
            _ => gives("code_management"),
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
    let code = make("claude-code", "caller", json!(["github.*", "filesystem.*"]));
    let ci = make("nightly-build", "caller", json!(["github.*", "postgres.*"]));
    [key(&code), key(&ci)]
}

/// Some calls of everything.
fn work(platform: &Platform) {
    for round in 0..12 {
        for (server, tools) in &OFFERS {
            for (tool, _) in
                tools.iter().filter(|(tool, _)| round % 4 == 0 || tool.len() % 3 == round % 3)
            {
                platform.call(&format!("{server}.{tool}"), &json!({ "query": round }));
            }
        }
    }
}

//! The README, typed in from top to bottom by a newcomer: every command runs, or it is said here why not.

use std::path::Path;
use std::process::Command;

use kit::bin;
use kit::room::{MARK, Room};
use kit::run::run;
use kit::say;
use kit::serve::Serve;
use serde_json::json;

use crate::pages::{commands, root, text};
use crate::peers::installed;

/// What becomes of a command.
#[derive(Debug, Clone, Copy)]
enum Fate {
    /// It ends with this code.
    Ends(i32),
    /// It listens, and is ended.
    Serves,
    /// Another test does it, or a person.
    Elsewhere,
}

/// The first that the line starts with; all others end well.
const FATES: [(&str, Fate); 9] = [
    // `cargo xtask first-call`
    ("cargo install ", Fate::Elsewhere),
    // runs this test
    ("cargo xtask ci", Fate::Elsewhere),
    // opens a browser
    ("npx @modelcontextprotocol/inspector -- ", Fate::Elsewhere),
    ("npx @modelcontextprotocol/inspector --transport", Fate::Elsewhere),
    // nobody is there to be asked
    ("trunkline call tables.reserve", Fate::Ends(1)),
    // the server ends before it answers
    ("trunkline call flaky.crash", Fate::Ends(1)),
    ("trunkline serve", Fate::Serves),
    ("TRUNKLINE_TOKEN=$(openssl", Fate::Serves),
    ("", Fate::Ends(0)),
];

#[test]
fn every_command_of_the_readme_does_what_it_says() {
    let room = Room::new();
    let reader = Reader::new(&room);
    let mut exported = String::new();
    let (mut ran, mut elsewhere) = (0, 0);
    for line in commands(&text(&root().join("README.md"))) {
        if let Some(rest) = line.strip_prefix("export ") {
            let rest = rest.replace("TOKEN=…", &format!("TOKEN={}", reader.token));
            exported.push_str(&format!("export {rest}\n"));
            continue;
        }
        let fate = FATES.iter().find(|(start, _)| line.starts_with(start));
        match fate.expect("the last fits all").1 {
            Fate::Elsewhere => elsewhere += 1,
            Fate::Ends(code) => {
                let done = run(reader.types(&format!("{exported}{line}")), b"");
                assert_eq!(done.code, Some(code), "{line}\n{done}");
                ran += 1;
            }
            Fate::Serves => {
                // The demo runs already; of the others, each has a port of its own.
                let line = match line.contains("--listen") {
                    true => line.replace(":3006", ":0"),
                    false => format!("{line} --listen 127.0.0.1:0"),
                };
                let line = line.replace("trunkline serve", "exec trunkline serve");
                drop(Serve::start(reader.types(&line)));
                ran += 1;
            }
        }
    }
    assert!(ran >= 30 && elsewhere == 4, "{ran} ran, {elsewhere} did not");
    for (file, what) in [
        ("mcp.json", "\"tickets\""),
        (".claude.json", "\"claude-code\""),
        (".config/Claude/claude_desktop_config.json", "\"claude-desktop\""),
        (".cursor/mcp.json", "\"--for\", \"cursor\""),
        (".codex/config.toml", "[mcp_servers.trunkline]"),
    ] {
        assert!(text(&room.path(file)).contains(what), "{file}: {}", text(&room.path(file)));
    }
}

/// Somebody with a terminal, a client with one server in it, and the demo running.
struct Reader<'r> {
    room: &'r Room,
    demo: Serve,
    token: String,
}

impl<'r> Reader<'r> {
    fn new(room: &'r Room) -> Self {
        let schema = r#"{"name":"search","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}"#;
        let greet = r#"{"name":"greet","arguments":[{"name":"name","required":true}]}"#;
        let tickets = room.fake("tickets").tool("search", say::echo()).definitions(&[schema]);
        let tickets = tickets.list("prompts", json!([greet])).get("greet", say::messages());
        let tickets = tickets.entry();
        let words = [&tickets["command"], &tickets["args"][0], &tickets["args"][1]];
        let started: Vec<&str> = words.iter().filter_map(|word| word.as_str()).collect();
        let entry = json!({"mcpServers": {"tickets": tickets.clone()}});
        std::fs::create_dir_all(room.path(".cursor")).expect("the room can be written");
        room.write(".cursor/mcp.json", entry.to_string());
        std::fs::create_dir_all(room.path("bin")).expect("the room can be written");
        let root = root().canonicalize().expect("the repository");
        let trunkline = bin::trunkline();
        let inspector = installed("node_modules/.bin/mcp-inspector");
        let programs = [
            ("trunkline", format!("exec {} \"$@\"", trunkline.display())),
            // from the checkout, built already
            ("cargo", format!("shift 3; cd {}; exec trunkline \"$@\"", root.display())),
            ("npx", format!("shift; exec {} \"$@\"", inspector.display())),
            // a package from elsewhere: the scripted server stands in for it
            ("uvx", format!("exec {}", started.join(" "))),
            // not on this machine: that it is asked is all that can be seen
            ("claude", "[ \"$1 $2\" = \"mcp add\" ]".to_owned()),
            ("curl", "PATH=$USUAL exec curl --fail --silent --show-error \"$@\"".to_owned()),
        ];
        for (name, script) in programs {
            room.script(&format!("bin/{name}"), &format!("{script}\n"));
        }
        let mut command = Command::new(trunkline);
        command.args(["serve", "--demo", "--listen", "127.0.0.1:0"]);
        command.env("TMPDIR", room.path("")).env(MARK, room.marker());
        let demo = Serve::start(command);
        // At a terminal it shows the token; here it says where that is.
        let said = demo.process().stderr();
        let file = said.split_whitespace().find(|word| word.ends_with("/admin-token"));
        let file = file.unwrap_or_else(|| panic!("no file of a token: {said}"));
        let token = std::fs::read_to_string(file).expect("a token").trim().to_owned();
        Self { room, demo, token }
    }

    fn types(&self, line: &str) -> Command {
        let address = self.demo.address();
        let line = line.replace("http://127.0.0.1:3006", &format!("http://{address}"));
        let line = line.replace("< examples/", &format!("< {}/examples/", root().display()));
        let usual = std::env::var_os("PATH").unwrap_or_default();
        let node = installed("node_modules/.bin/node");
        let node = node.parent().map(Path::to_owned).unwrap_or_default();
        let first = [self.room.path("bin"), node].into_iter();
        let path = std::env::join_paths(first.chain(std::env::split_paths(&usual)));
        let mut command = Command::new("bash");
        command.args(["-c", &line]).current_dir(self.room.path(""));
        command.env("HOME", self.room.path("")).env(MARK, self.room.marker());
        command.env("PATH", path.expect("a PATH")).env("USUAL", usual);
        command.env("PORT", address.port().to_string());
        for name in [
            "XDG_CONFIG_HOME",
            "CLAUDE_CONFIG_DIR",
            "CODEX_HOME",
            "MCP_PROXY_CONFIG_PATH",
            "TRUNKLINE_TOKEN",
            "TRUNKLINE_ADMIN_TOKEN",
        ] {
            command.env_remove(name);
        }
        command
    }
}

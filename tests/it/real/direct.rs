//! What the servers say when nothing stands in between: the measure for all that is behind a gateway.

use std::collections::BTreeSet;

use kit::client::Client;
use kit::line::Line;
use kit::mcp::{self, Speak, Tool};
use kit::modern::Modern;
use kit::scan;
use kit::scene::Talk;

use super::calls::{CALLS, Call, Ends};
use super::peers::{self, Eras, PEERS};
use super::scene::Scene;
use super::{START_LIMIT, outcome};

/// The servers themselves, each started once, and what they have said.
pub(super) struct Direct {
    clients: Vec<(&'static str, Talk)>,
    tools: Vec<(&'static str, Tool)>,
    answers: Vec<Line>,
}

impl Direct {
    /// The servers, started at the same time and asked for their tools by a client that declares nothing.
    pub(super) fn start(scene: &Scene, eras: Eras) -> Self {
        Self::start_declaring(scene, eras, "{}")
    }

    /// … by a client with these capabilities: a server may list more for one that can do more.
    pub(super) fn start_declaring(scene: &Scene, eras: Eras, capabilities: &str) -> Self {
        let entry = |name| peers::command(&peers::entry(scene, name));
        let processes: Vec<_> =
            PEERS.iter().map(|name| (*name, Client::spawn(entry(name)))).collect();
        let clients: Vec<_> = processes
            .into_iter()
            .map(|(name, process)| match eras.is_modern(name) {
                true => (name, Talk::Modern(Modern::stdio(process, capabilities))),
                false => (name, Talk::Stdio(initialized(process, capabilities))),
            })
            .collect();
        let tools = clients
            .iter()
            .flat_map(|(name, client)| client.list().into_iter().map(move |tool| (*name, tool)));
        let tools = tools.collect();
        Self { clients, tools, answers: Vec::new() }
    }

    /// [`Direct::start`] on fresh state, and every call of the table.
    pub(super) fn ask(scene: &Scene, eras: Eras) -> Self {
        scene.renew();
        let mut direct = Self::start(scene, eras);
        direct.answers = CALLS.iter().map(|call| direct.call(call, scene)).collect();
        direct
    }

    pub(super) fn call(&self, call: &Call, scene: &Scene) -> Line {
        self.client(call.server).call(call.tool, &scene.fill(call.arguments))
    }

    pub(super) fn client(&self, server: &str) -> &Talk {
        let found = self.clients.iter().find(|(name, _)| *name == server);
        &found.unwrap_or_else(|| panic!("there is no server {server}")).1
    }

    /// Every tool of every server.
    pub(super) fn tools(&self) -> &[(&'static str, Tool)] {
        &self.tools
    }

    /// The answers to [`CALLS`].
    pub(super) fn answers(&self) -> &[Line] {
        &self.answers
    }

    /// Equal answers show nothing when all of them are the same dull one: every call ends as the
    /// table says, and together they carry everything an answer can.
    pub(super) fn assert_that_the_calls_are_worth_it(&self) {
        let distinct: BTreeSet<_> =
            CALLS.iter().map(|call| (call.server, call.tool, call.arguments)).collect();
        assert!(distinct.len() >= 40, "only {} different calls", distinct.len());
        for (call, answer) in CALLS.iter().zip(&self.answers) {
            assert_eq!(ends(answer), call.ends, "{} {}: {answer}", call.server, call.tool);
        }
        for name in PEERS {
            let calls = || CALLS.iter().filter(|call| call.server == name);
            for end in [Ends::Well, Ends::Badly, Ends::Refused] {
                assert!(calls().any(|call| call.ends == end), "{name} never ends {end:?}");
            }
        }
        for part in PARTS {
            let carries = |answer: &Line| {
                std::str::from_utf8(outcome(answer).1).is_ok_and(|text| text.contains(part))
            };
            assert!(self.answers.iter().any(carries), "no answer carries {part}");
        }
        let longest = self.answers.iter().map(|answer| answer.0.len()).max();
        assert!(longest >= Some(LONG), "the longest answer has {longest:?} bytes");
    }
}

fn initialized(client: Client, capabilities: &str) -> Client {
    let id = client.fresh_id();
    client.send_line(mcp::initialize_with(&id, peers::REVISION, capabilities));
    let answer = client.answer(id.as_bytes(), START_LIMIT);
    let revision = scan::get(answer.result(), "protocolVersion").and_then(scan::text);
    assert_eq!(revision.as_deref(), Some(peers::REVISION), "{answer}");
    client.send_line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    client
}

const PARTS: [&str; 8] = [
    r#""type":"image""#,
    r#""type":"audio""#,
    r#""type":"resource""#,
    r#""type":"resource_link""#,
    r#""annotations":{"#,
    r#""structuredContent":{"#,
    r#"\ud800"#,
    "日本語",
];

const LONG: usize = 8 << 20;

fn ends(answer: &Line) -> Ends {
    match outcome(answer) {
        ("error", _) => Ends::Refused,
        (_, result) if scan::get(result, "isError") == Some(b"true") => Ends::Badly,
        _ => Ends::Well,
    }
}

//! A search is beside everything else: while none gets on, calls are made and lists are given.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use parking_lot::Mutex;
use trunkline_gateway::{AskedEmbedder, Embedder};
use trunkline_search::Vector;

use crate::scene::{Apart, Scene, Session, request};

pub(crate) const APART: &[Apart] = &[("a_call_is_answered_while_no_search_gets_on", WORD)];
pub(crate) const WORD: &str = "search-apart";

/// Holds whoever searches, in the middle of reading the tools, until it is told to go on.
#[derive(Debug)]
struct Barrier {
    reached: Sender<()>,
    open: Mutex<Receiver<()>>,
}

impl Embedder for Barrier {
    fn tools(&self, texts: &[String]) -> Vec<Option<Vector>> {
        self.reached.send(()).unwrap();
        // Once its other end is gone, nobody waits any more.
        let _ = self.open.lock().recv();
        vec![None; texts.len()]
    }

    fn version(&self) -> u64 {
        0
    }

    fn question(&self, _: &str) -> AskedEmbedder {
        Box::pin(async { None })
    }
}

const PATIENCE: Duration = Duration::from_secs(30);
/// More than may search at a time.
const SEARCHES: usize = 20;

pub(crate) fn a_call_is_answered_while_no_search_gets_on() -> ExitCode {
    let (reached, is_held) = mpsc::channel();
    let (go_on, open) = mpsc::channel();
    let scene = Scene::searched(Arc::new(Barrier { reached, open: Mutex::new(open) }));
    scene.keys.give("some", None);
    let search = request(
        "tools/call",
        r#"{"name":"search_tools","arguments":{"query":"read what alpha has"}}"#,
    );
    let mut searching: Vec<Session> = (0..SEARCHES).map(|_| scene.session("some")).collect();
    for session in &mut searching {
        let fields = session.fields();
        session.wire.send("POST /mcp", &fields, &search);
    }
    is_held.recv_timeout(PATIENCE).expect("a search has begun to read");
    // Of another session, of the other era, and by the names that the search would find.
    let mut other = scene.session("some");
    for name in ["alpha:read", "beta:write"] {
        let params = format!(r#"{{"name":"{name}","arguments":{{}}}}"#);
        assert!(other.said("tools/call", &params).contains("was asked tools/call"), "{name}");
        let through =
            format!(r#"{{"name":"call_tool","arguments":{{"name":"{name}","arguments":{{}}}}}}"#);
        assert!(other.said("tools/call", &through).contains("was asked tools/call"), "{name}");
        let params = format!(r#""name":"{name}","arguments":{{}}"#);
        let alone = scene.stateless("some", "tools/call", &params).body;
        assert!(alone.contains("was asked tools/call"), "{alone}");
    }
    assert!(other.said("tools/list", "{}").contains("search_tools"));
    let unknown = other.said("tools/call", r#"{"name":"alpha:raed","arguments":{}}"#);
    assert!(unknown.contains("did you mean `alpha:read`"), "{unknown}");
    drop(go_on);
    for mut session in searching {
        let found = session.wire.answer(false);
        assert!(found.body.contains(r#"\"name\":\"alpha:read\""#), "{found:?}");
    }
    ExitCode::SUCCESS
}

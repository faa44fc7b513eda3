//! `Caller`: a client that has calls open at all times and knows what became of each; and what the servers counted.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use kit::client::Client;
use kit::line::Line;
use kit::room::Room;
use kit::{LIMIT, ledger, mcp, say, scan};

/// The servers that a caller calls.
const SERVERS: [&str; 2] = ["a", "b"];
/// How many calls it has open.
const OPEN: usize = 8;

/// Lets the servers `a` and `b` say their process and the arguments of each call.
pub(super) fn counting_servers(room: &Room) {
    let fake = |name: &str| room.fake(name).tool("echo", say::echo()).entry();
    room.config(SERVERS.map(|name| (name, fake(name))));
}

/// What became of the calls of one client.
pub(super) struct Caller {
    pub(super) client: Client,
    number: usize,
    sent: usize,
    pub(super) open: HashMap<String, usize>,
    /// By the number of a call: does it have a result?
    pub(super) outcomes: HashMap<usize, bool>,
    /// The processes that have answered, with the names of their servers.
    pub(super) answered_by: BTreeSet<String>,
    pub(super) longest: Duration,
    heard: Instant,
}

impl Caller {
    /// The calls of no two callers have the same number.
    pub(super) fn new(client: Client, number: usize) -> Self {
        Self {
            client,
            number,
            sent: 0,
            open: HashMap::new(),
            outcomes: HashMap::new(),
            answered_by: BTreeSet::new(),
            longest: Duration::ZERO,
            heard: Instant::now(),
        }
    }

    /// Silence is measured from now on.
    pub(super) fn begin(&mut self) {
        self.heard = Instant::now();
    }

    pub(super) fn fill(&mut self) {
        while self.open.len() < OPEN {
            let nonce = self.number * 1_000_000 + self.sent;
            self.sent += 1;
            let id = format!("\"n{nonce}\"");
            let server = SERVERS[usize::from(self.sent.is_multiple_of(3))];
            let arguments = format!(r#"{{"nonce":{nonce}}}"#);
            self.client.send_line(mcp::call(&id, &format!("{server}:echo"), &arguments));
            self.open.insert(id, nonce);
        }
    }

    /// Takes all that has come, and waits so long for something.
    pub(super) fn take(&mut self, wait: Duration) {
        let mut wait = wait;
        while let Some(line) = self.client.try_wait_for(wait, |line| line.id().is_some()) {
            self.settle(&line);
            wait = Duration::ZERO;
        }
        self.longest = self.longest.max(self.heard.elapsed());
    }

    /// Waits for the outcome of every call that is open.
    pub(super) fn finish(&mut self) {
        while !self.open.is_empty() {
            let line = self.client.try_wait_for(LIMIT, |line| line.id().is_some());
            let line = line.unwrap_or_else(|| {
                panic!("no outcome: {:?}\n{}", self.open, self.client.describe())
            });
            self.settle(&line);
        }
        self.client.assert_only_protocol();
    }

    fn settle(&mut self, line: &Line) {
        self.heard = Instant::now();
        let id = String::from_utf8_lossy(line.id().unwrap_or_default()).into_owned();
        let nonce = self.open.remove(&id).unwrap_or_else(|| panic!("an outcome too many: {line}"));
        let ran = match line.try_result() {
            Some(result) => {
                let part = |name: &[&str]| {
                    let path: Vec<&str> = [&["structuredContent"], name].concat();
                    let found = scan::path(result, &path).unwrap_or_default();
                    String::from_utf8_lossy(found).into_owned()
                };
                assert_eq!(part(&["arguments", "nonce"]), nonce.to_string(), "crossed: {line}");
                self.answered_by.insert(format!("{} {}", part(&["from"]), part(&["pid"])));
                true
            }
            None => {
                assert!(line.message().contains("run"), "it does not say whether it ran: {line}");
                false
            }
        };
        assert_eq!(self.outcomes.insert(nonce, ran), None);
    }
}

/// Compares what the callers heard with what the servers have received: a call with a result ran once, one without
/// at most once, and none ran that nobody knows of. How many have a result, and how many have none.
pub(super) fn compare(room: &Room, callers: &[Caller]) -> (usize, usize) {
    let mut executed: HashMap<usize, usize> = HashMap::new();
    for name in SERVERS {
        for call in ledger::calls(&room.ledger(name)) {
            let nonce = scan::path(&call, &["params", "arguments", "nonce"]).unwrap_or_default();
            let nonce = String::from_utf8_lossy(nonce).parse().expect("a nonce");
            *executed.entry(nonce).or_default() += 1;
        }
    }
    let (mut results, mut doubts) = (0, 0);
    for (nonce, ran) in callers.iter().flat_map(|caller| &caller.outcomes) {
        let times = executed.remove(nonce).unwrap_or_default();
        match ran {
            true => assert_eq!(times, 1, "call {nonce} has a result"),
            false => assert!(times <= 1, "call {nonce} ran {times} times"),
        }
        *(if *ran { &mut results } else { &mut doubts }) += 1;
    }
    assert!(executed.is_empty(), "these ran without an outcome: {executed:?}");
    (results, doubts)
}

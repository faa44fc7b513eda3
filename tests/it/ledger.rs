//! The ledger: 100,000 calls, children killed at random, and an account of every single one.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use kit::client::Client;
use kit::line::Line;
use kit::rng::Rng;
use kit::room::Room;
use kit::{LIMIT, ledger, mcp, process, say, scan};
use rustix::process::Signal;

const CALLS: usize = 100_000;
const WINDOW: usize = 1_200;
const CHILDREN: usize = 10;
/// Per child; five exits within a minute would open its circuit, and this is not about that.
const KILLS: usize = 4;

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Result,
    MayHaveRun,
    DidNotRun,
}

fn server(child: usize) -> String {
    format!("c{child}")
}

/// One run: who was asked what, and what came of it.
struct Run {
    rng: Rng,
    asked: Vec<usize>,
    outcomes: Vec<Option<Outcome>>,
    /// A child that has just refused is left alone for a moment, so that calls are not wasted.
    resting: HashMap<usize, Instant>,
    kills: Vec<usize>,
}

#[test]
fn nfr_r_a_hundred_thousand_calls_have_one_outcome_each_while_children_are_killed() {
    let _turn = crate::ONE_AT_A_TIME.lock();
    let room = Room::new();
    let reply = r#"{"content":[],"structuredContent":{"from":"@SERVER@","arguments":@ARGS@}}"#;
    let servers = (0..CHILDREN).map(|child| {
        let fake = room.fake(&server(child)).tool("echo", say::steps([say::result(reply)]));
        (server(child), fake.entry())
    });
    room.config_of(servers.collect());
    let client = room.start_ready(&["--restart"]);
    let start = Instant::now();
    let run = drive(&room, &client);
    println!("{CALLS} calls in {:?}, kills {:?}", start.elapsed(), run.kills);
    client.assert_only_protocol();
    assert_account(&room, &run);
    let extra = client.try_wait_for(Duration::ZERO, |line| line.id().is_some());
    assert_eq!(extra, None, "an outcome too many");
    assert!(client.is_alive());
}

fn drive(room: &Room, client: &Client) -> Run {
    let mut run = Run {
        rng: Rng::new(100_000),
        asked: Vec::with_capacity(CALLS),
        outcomes: vec![None; CALLS],
        resting: HashMap::new(),
        kills: vec![0; CHILDREN],
    };
    let every = CALLS / (CHILDREN * KILLS + 1);
    for settled in 0..CALLS {
        run.fill_window(client, settled);
        let Some(line) = client.try_wait_for(LIMIT, |line| line.id().is_some()) else {
            panic!("no outcome within {LIMIT:?}: {:?}\n{}", run.open(), client.describe());
        };
        run.settle(&line);
        if settled % every == every - 1 {
            run.kill_one(room);
        }
    }
    run
}

impl Run {
    fn fill_window(&mut self, client: &Client, settled: usize) {
        let mut batch = String::new();
        while self.asked.len() < CALLS && self.asked.len() - settled < WINDOW {
            let number = self.asked.len();
            let child = self.choose();
            self.asked.push(child);
            let arguments = format!(r#"{{"nonce":{number}}}"#);
            let tool = format!("{}:echo", server(child));
            batch.push_str(&mcp::call(&format!("\"n{number}\""), &tool, &arguments));
            batch.push('\n');
        }
        if !batch.is_empty() {
            client.send(batch);
        }
    }

    /// Calls without an outcome: number and child.
    fn open(&self) -> Vec<(usize, usize)> {
        let asked = self.asked.iter().copied().enumerate();
        asked.filter(|(number, _)| self.outcomes[*number].is_none()).take(20).collect()
    }

    fn choose(&mut self) -> usize {
        let now = Instant::now();
        self.resting.retain(|_, until| *until > now);
        let awake: Vec<usize> =
            (0..CHILDREN).filter(|child| !self.resting.contains_key(child)).collect();
        match awake[..] {
            [] => self.rng.below(CHILDREN),
            _ => *self.rng.pick(&awake),
        }
    }

    #[track_caller]
    fn settle(&mut self, line: &Line) {
        let id = line.id().and_then(scan::text).unwrap_or_default();
        let number: usize = id.trim_start_matches('n').parse().expect("one of our ids");
        let child = self.asked[number];
        let outcome = outcome(line, &server(child), number);
        let before = self.outcomes[number].replace(outcome);
        assert_eq!(before, None, "a second outcome: {line}");
        if outcome != Outcome::Result {
            self.resting.insert(child, Instant::now() + Duration::from_millis(100));
        }
    }

    fn kill_one(&mut self, room: &Room) {
        let left: Vec<usize> = (0..CHILDREN).filter(|&child| self.kills[child] < KILLS).collect();
        if left.is_empty() {
            return;
        }
        let child = *self.rng.pick(&left);
        if let Some(&pid) = ledger::started(&room.ledger(&server(child))).last()
            && process::is_alive(pid)
        {
            process::kill(pid, Signal::KILL);
            self.kills[child] += 1;
        }
    }
}

/// An error must say whether the call may have run; a result must carry its own nonce.
#[track_caller]
fn outcome(line: &Line, server: &str, number: usize) -> Outcome {
    if let Some(result) = line.try_result() {
        let expected = format!(
            r#"{{"content":[],"structuredContent":{{"from":"{server}","arguments":{{"nonce":{number}}}}}}}"#
        );
        assert_eq!(String::from_utf8_lossy(result), expected, "crossed");
        return Outcome::Result;
    }
    let message = line.message();
    if message.contains("may have run") {
        Outcome::MayHaveRun
    } else {
        let says = message.contains("did not run") || message.contains("not run");
        assert!(says || line.code() == -32601, "it does not say whether it ran: {line}");
        Outcome::DidNotRun
    }
}

#[track_caller]
fn assert_account(room: &Room, run: &Run) {
    let mut executed = vec![0; CALLS];
    for child in 0..CHILDREN {
        for call in ledger::calls(&room.ledger(&server(child))) {
            let nonce = scan::path(&call, &["params", "arguments", "nonce"]).unwrap_or_default();
            let number: usize = String::from_utf8_lossy(nonce).parse().expect("a nonce");
            assert_eq!(run.asked[number], child, "a call reached the wrong child");
            executed[number] += 1;
        }
    }
    let mut count = HashMap::new();
    for (number, (times, outcome)) in executed.iter().zip(&run.outcomes).enumerate() {
        let outcome = outcome.unwrap_or_else(|| panic!("call {number} has no outcome"));
        *count.entry(format!("{outcome:?}")).or_insert(0) += 1;
        match outcome {
            Outcome::Result => assert_eq!(*times, 1, "call {number}: a result"),
            Outcome::MayHaveRun => assert!(*times <= 1, "call {number} ran {times} times"),
            Outcome::DidNotRun => assert_eq!(*times, 0, "call {number}: said not to have run"),
        }
    }
    println!("{count:?}");
    let kills: usize = run.kills.iter().sum();
    assert!(kills >= CHILDREN, "{kills} kills are too few to prove anything");
    assert!(count["Result"] > CALLS / 2, "too few results to prove anything: {count:?}");
}

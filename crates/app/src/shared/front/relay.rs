//! `Relay`: what passes between a client and its runtime, as bytes; it survives the runtime. No IO.
//!
//! Whole lines are passed on, so that half an answer of a lost runtime never reaches the client, and what a
//! lost runtime has not got whole is sent to the next one.

use std::collections::BTreeSet;

use trunkline_gateway::{over_limit, runtime_gone};
use trunkline_wire::{Kind, Lines, StreamLine, salvage_token, scan, upstream_id};

use super::requests::{LostRequest, OpenRequests, SessionMemory, is_own_id, messages};

/// Beyond this, a side that does not read is waited for before the other one is read.
const HIGH_WATER: usize = 256 * 1024;

#[derive(Debug)]
pub(super) struct Relay {
    from_client: Lines,
    from_runtime: Lines,
    pub(super) to_client: Pending,
    pub(super) to_runtime: Pending,
    requests: OpenRequests,
    memory: SessionMemory,
    /// Questions of servers that the client has not answered.
    questions: BTreeSet<Box<[u8]>>,
    last_question: u32,
    limit: usize,
    /// An oversize message is being skipped and its id is not yet known.
    oversize: bool,
    /// How the runtime said that it ends.
    farewell: Option<RuntimeEnding>,
    /// The runtime has said something to the client, or that it ends.
    pub(super) has_spoken: bool,
    /// Lines for standard error.
    notices: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RuntimeEnding {
    /// The next message of the client starts another runtime.
    WhenNeeded,
    /// Another runtime is started at once.
    Again,
}

/// Bytes that wait to be written.
#[derive(Debug, Default)]
pub(super) struct Pending {
    bytes: Vec<u8>,
    written: usize,
    /// Where the first line begins that is not wholly written.
    begun_line: usize,
}

impl Pending {
    pub(super) fn rest(&self) -> &[u8] {
        self.bytes.get(self.written..).unwrap_or_default()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.written == self.bytes.len()
    }

    pub(super) fn is_crowded(&self) -> bool {
        self.bytes.len() - self.written >= HIGH_WATER
    }

    pub(super) fn wrote(&mut self, count: usize) {
        // Only what is new is searched: one large line takes thousands of writes.
        let new = self.bytes.get(self.written..self.written + count).unwrap_or_default();
        if let Some(end) = new.iter().rposition(|byte| *byte == b'\n') {
            self.begun_line = self.written + end + 1;
        }
        self.written += count;
        if self.is_empty() {
            self.written = 0;
            self.begun_line = 0;
            // Grown for one large message, it is given back.
            if self.bytes.capacity() > 2 * HIGH_WATER {
                self.bytes = Vec::new();
            } else {
                self.bytes.clear();
            }
        } else if self.written >= HIGH_WATER {
            // The beginning of a line that is not wholly written stays: it may be needed again.
            let whole = std::mem::take(&mut self.begun_line);
            self.bytes.drain(..whole);
            self.written -= whole;
        }
    }

    fn line(&mut self, line: &[u8]) {
        self.bytes.extend_from_slice(line);
        self.bytes.push(b'\n');
    }

    /// Takes out the lines that are not wholly written.
    fn take_unsent(&mut self) -> Vec<u8> {
        let unsent = self.bytes.split_off(self.begun_line);
        *self = Self::default();
        unsent
    }
}

impl Relay {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            from_client: Lines::new(limit),
            // What the runtime sends was bounded where it came in.
            from_runtime: Lines::new(usize::MAX),
            to_client: Pending::default(),
            to_runtime: Pending::default(),
            requests: OpenRequests::default(),
            memory: SessionMemory::default(),
            questions: BTreeSet::new(),
            last_question: 0,
            limit,
            oversize: false,
            farewell: None,
            has_spoken: false,
            notices: Vec::new(),
        }
    }

    pub(super) fn client_room(&mut self) -> &mut Vec<u8> {
        self.from_client.room()
    }

    pub(super) fn runtime_room(&mut self) -> &mut Vec<u8> {
        self.from_runtime.room()
    }

    /// Bytes of the client have come.
    pub(super) fn take_from_client(&mut self) {
        while let Some(line) = self.from_client.next_line() {
            match line {
                StreamLine::Whole(line) => {
                    pass_to_runtime(
                        line,
                        &mut self.requests,
                        &mut self.memory,
                        &mut self.questions,
                        &mut self.to_runtime,
                    );
                }
                StreamLine::TooLong(head) => match salvage_token(head) {
                    Some(id) => self.to_client.line(&over_limit(id, self.limit)),
                    None => self.oversize = true,
                },
                StreamLine::TooLongEnd(tail) if std::mem::take(&mut self.oversize) => {
                    let id = salvage_token(tail).unwrap_or(b"null");
                    self.to_client.line(&over_limit(id, self.limit));
                }
                StreamLine::TooLongEnd(_) => {}
            }
        }
    }

    /// The client writes no more. A last message without a line end counts, too.
    pub(super) fn client_ended(&mut self) {
        let rest = self.from_client.remainder();
        if std::mem::take(&mut self.oversize) {
            let id = salvage_token(rest).unwrap_or(b"null");
            self.to_client.line(&over_limit(id, self.limit));
            return;
        }
        let (requests, memory) = (&mut self.requests, &mut self.memory);
        pass_to_runtime(rest, requests, memory, &mut self.questions, &mut self.to_runtime);
    }

    /// Bytes of the runtime have come.
    pub(super) fn take_from_runtime(&mut self) {
        while let Some(StreamLine::Whole(line)) = self.from_runtime.next_line() {
            if let Some(notice) = line.strip_prefix(b"#") {
                match notice {
                    b"!end" => self.farewell = Some(RuntimeEnding::WhenNeeded),
                    b"!again" => self.farewell = Some(RuntimeEnding::Again),
                    text => {
                        self.notices.extend_from_slice(text);
                        self.notices.push(b'\n');
                    }
                }
                continue;
            }
            self.has_spoken = true;
            let Ok(message) = scan(line) else {
                for answer in messages(line) {
                    self.requests.closed(answer.id());
                }
                self.to_client.line(line);
                continue;
            };
            match message.kind {
                Kind::Answer | Kind::Refusal if is_own_id(message.id()) => continue,
                Kind::Refusal if message.id() == b"null" => self.requests.refused_unread(),
                Kind::Answer | Kind::Refusal => {
                    self.memory.note_answer(&message);
                    self.requests.closed(message.id());
                }
                Kind::Request => {
                    self.last_question = upstream_id(message.id()).unwrap_or(self.last_question);
                    self.questions.insert(message.id().into());
                }
                Kind::Notification if &*message.method() == b"notifications/cancelled" => {
                    self.questions.remove(message.text(message.params.request_id));
                }
                Kind::Notification => {}
            }
            self.to_client.line(line);
        }
    }

    /// The runtime is gone, and all that it sent was taken. Every request that it had gets its outcome, or
    /// is made ready for the next runtime, like the client's session.
    pub(super) fn runtime_lost(&mut self) {
        self.from_runtime = Lines::new(usize::MAX);
        let unsent = self.to_runtime.take_unsent();
        let settled = self.requests.settle(&unsent);
        for lost in &settled.lost {
            match lost {
                LostRequest::Single(id) => self.to_client.line(&runtime_gone(id, true, None)),
                LostRequest::Batch(ids) => {
                    let answers: Vec<Vec<u8>> =
                        ids.iter().map(|id| runtime_gone(id, true, None)).collect();
                    self.to_client.line(&[&b"["[..], &answers.join(&b','), b"]"].concat());
                }
            }
        }
        // The client need not go on with what nobody waits for any more.
        for id in std::mem::take(&mut self.questions) {
            let head =
                br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"#;
            let tail = br#","reason":"the server that asked is gone"}}"#;
            self.to_client.line(&[&head[..], &id, tail].concat());
        }
        let mut next = settled.again;
        // What opened the session at the lost runtime is said anew to the next one.
        for line in unsent.split_inclusive(|byte| *byte == b'\n') {
            if !messages(line.trim_ascii_end()).iter().any(|message| is_own_id(message.id())) {
                next.extend_from_slice(line);
            }
        }
        self.to_runtime = Pending { bytes: next, ..Pending::default() };
    }

    /// Another runtime has the client now: it learns of the session before anything else.
    pub(super) fn runtime_found(&mut self) {
        (self.farewell, self.has_spoken) = (None, false);
        let waiting = self.to_runtime.take_unsent();
        let is_initializing = self.memory.initialize_id().is_none_or(|id| {
            let mut lines = waiting.split(|byte| *byte == b'\n');
            lines.any(|line| messages(line).iter().any(|message| message.id() == id))
        });
        let mut bytes = Vec::new();
        self.memory.replay(is_initializing, &mut bytes);
        bytes.extend_from_slice(&waiting);
        self.to_runtime = Pending { bytes, ..Pending::default() };
        self.memory.announce(&mut self.to_client.bytes);
    }

    /// No runtime can be had, and perhaps never will: every open request gets an error.
    pub(super) fn give_up(&mut self, why_none: Option<&str>) {
        let unsent = self.to_runtime.take_unsent();
        let is_unsent = |id: &[u8]| {
            let mut lines = unsent.split(|byte| *byte == b'\n');
            lines.any(|line| messages(line).iter().any(|message| message.id() == id))
        };
        for id in self.requests.give_up() {
            self.to_client.line(&runtime_gone(&id, !is_unsent(&id), why_none));
        }
    }

    pub(super) fn farewell(&self) -> Option<RuntimeEnding> {
        self.farewell
    }

    pub(super) fn last_question(&self) -> u32 {
        self.last_question
    }

    pub(super) fn has_open_requests(&self) -> bool {
        !self.requests.is_empty()
    }

    /// What is to be written to standard error.
    pub(super) fn take_notices(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.notices)
    }
}

fn pass_to_runtime(
    line: &[u8],
    requests: &mut OpenRequests,
    memory: &mut SessionMemory,
    questions: &mut BTreeSet<Box<[u8]>>,
    to_runtime: &mut Pending,
) {
    if line.iter().all(u8::is_ascii_whitespace) {
        return;
    }
    match scan(line) {
        Ok(message) => match message.kind {
            Kind::Request => {
                requests.opened(&message, None);
                memory.note(&message);
            }
            Kind::Notification => {
                if &*message.method() == b"notifications/cancelled" {
                    // A cancelled request gets no answer (2025-11-25, Cancellation).
                    requests.closed(message.text(message.params.request_id));
                }
                memory.note(&message);
            }
            Kind::Answer | Kind::Refusal => drop(questions.remove(message.id())),
        },
        Err(_) => requests.opened_batch(line, memory.has_batches),
    }
    to_runtime.line(line);
}

#[cfg(test)]
mod tests {
    use super::*;

    const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#;
    const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

    fn call(id: u32) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"a:b"}}}}"#)
    }

    fn answer(id: u32) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
    }

    fn say(relay: &mut Relay, text: &str) {
        relay.client_room().extend_from_slice(text.as_bytes());
        relay.take_from_client();
    }

    fn hear(relay: &mut Relay, text: &str) {
        relay.runtime_room().extend_from_slice(text.as_bytes());
        relay.take_from_runtime();
    }

    fn drained(pending: &mut Pending) -> String {
        let text = String::from_utf8(pending.rest().to_vec()).unwrap();
        pending.wrote(text.len());
        text
    }

    #[test]
    fn lines_pass_unchanged_both_ways() {
        let mut relay = Relay::new(1000);
        let odd = r#" {"id" : 1.0e0 ,"jsonrpc":"2.0","method":"ping","x":[1 , 2]}"#;
        say(&mut relay, &format!("{odd}\n\n  \n{}", call(2)));
        relay.client_ended();
        assert_eq!(drained(&mut relay.to_runtime), format!("{odd}\n{}\n", call(2)));
        hear(&mut relay, &answer(2));
        assert_eq!(drained(&mut relay.to_client), "", "half a line stays here");
        hear(&mut relay, "\n#trunkline: warning: x\n");
        assert_eq!(drained(&mut relay.to_client), format!("{}\n", answer(2)));
        assert_eq!(relay.take_notices(), b"trunkline: warning: x\n");
    }

    #[test]
    fn what_is_not_wholly_written_is_known_after_any_writes() {
        let text = format!("one\n{}\ntwo\nthree\n", "x".repeat(3 * HIGH_WATER));
        for step in [1, 3, 7, 1000, HIGH_WATER, 2 * HIGH_WATER] {
            let mut pending = Pending::default();
            pending.bytes.extend_from_slice(text.as_bytes());
            let mut written = 0;
            // Single bytes only around the line ends.
            while written < text.len() {
                let count = step.min(text.len() - written);
                pending.wrote(count);
                written += count;
                let left = text.get(..written).unwrap_or_default();
                let begun = left.rfind('\n').map_or(0, |end| end + 1);
                let unsent = pending.bytes.len() - pending.begun_line;
                let expected = if written == text.len() { 0 } else { text.len() - begun };
                assert_eq!(unsent, expected, "{written} of {} in steps of {step}", text.len());
                let near_the_end = text.len() - 30;
                if step < 10 && (20..near_the_end).contains(&written) {
                    pending.wrote(near_the_end - written);
                    written = near_the_end;
                }
            }
        }
    }

    #[test]
    fn a_lost_runtime_leaves_each_request_one_outcome() {
        let mut relay = Relay::new(1000);
        say(&mut relay, &format!("{INITIALIZE}\n{INITIALIZED}\n"));
        drained(&mut relay.to_runtime);
        hear(&mut relay, &format!("{}\n", answer(0)));
        say(&mut relay, &format!("{}\n", r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#));
        say(&mut relay, &format!("{}\n{}\n", call(2), call(3)));
        drained(&mut relay.to_runtime);
        say(&mut relay, &format!("{}\n{}\n", call(4), call(5)));
        relay.to_runtime.wrote(call(4).len() + 5); // the fourth is out, of the fifth a few bytes
        hear(&mut relay, &format!("{}\n{}", answer(2), answer(3)));
        drained(&mut relay.to_client);
        relay.runtime_lost();
        let unsent = String::from_utf8(relay.to_runtime.rest().to_vec()).unwrap();
        assert!(!unsent.contains("initialize"), "{unsent}");
        let told = drained(&mut relay.to_client);
        let told: Vec<&str> = told.lines().collect();
        relay.runtime_found();
        assert_eq!(told.len(), 2, "{told:?}");
        for (line, id) in told.iter().zip([3, 4]) {
            assert!(
                line.contains(&format!("\"id\":{id},")) && line.contains("may have run"),
                "{line}"
            );
        }
        let next = drained(&mut relay.to_runtime);
        let next: Vec<&str> = next.lines().collect();
        assert_eq!(next.len(), 4, "{next:?}");
        assert!(next[0].contains("trunkline-front:1") && next[0].contains("initialize"));
        assert_eq!(next[1], INITIALIZED);
        assert!(next[2].contains("tools/list"));
        assert_eq!(next[3], call(5));
        hear(&mut relay, "{\"jsonrpc\":\"2.0\",\"id\":\"trunkline-front:1\",\"result\":{}}\n");
        hear(&mut relay, &format!("{}\n{}\n", answer(1), answer(5)));
        let told = drained(&mut relay.to_client);
        assert!(told.starts_with(
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n"
        ));
        assert!(!told.contains("trunkline-front") && told.lines().count() == 3, "{told}");
        assert!(!relay.has_open_requests());
    }

    #[test]
    fn an_initialize_without_answer_is_simply_sent_again() {
        let mut relay = Relay::new(1000);
        say(&mut relay, &format!("{INITIALIZE}\n"));
        drained(&mut relay.to_runtime);
        relay.runtime_lost();
        relay.runtime_found();
        assert_eq!(drained(&mut relay.to_runtime), format!("{INITIALIZE}\n"));
        hear(&mut relay, &format!("{}\n", answer(0)));
        assert_eq!(drained(&mut relay.to_client), format!("{}\n", answer(0)));
    }

    #[test]
    fn a_session_that_nobody_needs_is_not_opened_again_and_never_twice() {
        let mut relay = Relay::new(1000);
        say(&mut relay, &format!("{INITIALIZE}\n{INITIALIZED}\n"));
        drained(&mut relay.to_runtime);
        hear(&mut relay, &format!("{}\n#!end\n", answer(0)));
        assert_eq!(relay.farewell(), Some(RuntimeEnding::WhenNeeded));
        relay.runtime_lost();
        assert!(relay.to_runtime.is_empty() && !relay.has_open_requests());
        for _ in 0..2 {
            relay.runtime_found();
            relay.to_runtime.wrote(3); // it is lost at once
            relay.runtime_lost();
        }
        relay.runtime_found();
        let next = drained(&mut relay.to_runtime);
        assert_eq!(next.matches("\"method\":\"initialize\"").count(), 1, "{next}");
    }

    #[test]
    fn questions_of_a_lost_runtime_are_withdrawn() {
        let mut relay = Relay::new(1000);
        let ask =
            |id: u32| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"roots/list\"}}\n");
        hear(&mut relay, &format!("{}{}", ask(1_000_000_000), ask(1_000_000_001)));
        say(&mut relay, &format!("{}\n", answer(1_000_000_000)));
        drained(&mut relay.to_client);
        relay.runtime_lost();
        let told = drained(&mut relay.to_client);
        assert!(told.contains("notifications/cancelled") && told.contains("1000000001"), "{told}");
        assert!(!told.contains("1000000000") && relay.last_question() == 1_000_000_001);
    }

    #[test]
    fn a_message_over_the_limit_is_refused_here() {
        let mut relay = Relay::new(100);
        let long = format!(r#"{{"jsonrpc":"2.0","id":9,"method":"{}"}}"#, "x".repeat(200));
        say(&mut relay, &format!("{long}\n{}\n", call(1)));
        let told = drained(&mut relay.to_client);
        assert!(
            told.contains("\"id\":9") && told.contains("over the limit of 100 bytes"),
            "{told}"
        );
        assert_eq!(drained(&mut relay.to_runtime), format!("{}\n", call(1)));
    }

    #[test]
    fn a_cancelled_call_gets_no_answer() {
        let mut relay = Relay::new(1000);
        let cancel =
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
        say(&mut relay, &format!("{}\n{cancel}\n", call(1)));
        drained(&mut relay.to_runtime);
        relay.runtime_lost();
        assert_eq!(drained(&mut relay.to_client), "");
    }

    #[test]
    fn what_was_written_is_dropped_by_whole_lines() {
        let mut relay = Relay::new(HIGH_WATER * 2);
        let long = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"ping","p":"{}"}}"#,
            "x".repeat(HIGH_WATER)
        );
        say(&mut relay, &format!("{}\n{long}\n", call(2)));
        relay.to_runtime.wrote(HIGH_WATER + 20);
        relay.runtime_lost();
        let next = drained(&mut relay.to_runtime);
        assert_eq!(next, format!("{long}\n"));
        assert!(drained(&mut relay.to_client).contains("\"id\":2"));
    }
}

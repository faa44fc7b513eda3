//! `OpenRequests`: the requests of the client that have no answer yet, and what becomes of each when the
//! runtime is lost.

use std::collections::{HashMap, VecDeque};

use trunkline_gateway::BATCH_MEMBERS;
use trunkline_wire::{
    Edits, Kind, Message, Revision, Span, decode, elements, encode, member, scan,
};

/// Requests that can be sent again without being carried out twice: they only read, or set what is set.
const REPEATABLE: [&[u8]; 16] = [
    b"initialize",
    b"ping",
    b"tools/list",
    b"resources/list",
    b"resources/templates/list",
    b"resources/read",
    b"resources/subscribe",
    b"resources/unsubscribe",
    b"prompts/list",
    b"prompts/get",
    b"completion/complete",
    b"logging/setLevel",
    b"server/discover",
    b"subscriptions/listen",
    b"tasks/get",
    b"tasks/list",
];

/// A longer request is not kept: its error says that it may have run.
const KEPT_REQUEST: usize = 64 * 1024;
/// All of them together.
const KEPT_BYTES: usize = 4 * 1024 * 1024;
/// A request that has ended so many runtimes is not sent to another one.
const MOST_REPEATS: u8 = 2;

#[derive(Debug, Default)]
pub(super) struct OpenRequests {
    open: HashMap<Box<[u8]>, OpenRequest>,
    /// Counts requests: their order.
    arrived: u64,
    kept_bytes: usize,
    /// The ids of batches that will be refused as a whole: by an error without an id, one after the other.
    unfit: VecDeque<Vec<Box<[u8]>>>,
}

#[derive(Debug)]
struct OpenRequest {
    arrived: u64,
    /// The line, if it can be sent again.
    kept: Option<Box<[u8]>>,
    repeats: u8,
    /// Further requests under the same id, against the protocol: each gets an answer, too.
    doubles: u32,
    /// It came in a batch, whose answers are one line.
    batch: Option<u64>,
}

/// What becomes of the requests that a lost runtime had.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Settled {
    /// Lines for the next runtime, each with its line end.
    pub(super) again: Vec<u8>,
    /// Ids of requests that may have run, in their order; those of a batch together.
    pub(super) lost: Vec<LostRequest>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum LostRequest {
    Single(Box<[u8]>),
    Batch(Vec<Box<[u8]>>),
}

impl OpenRequests {
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// A request is on its way to the runtime.
    pub(super) fn opened(&mut self, message: &Message<'_>, batch: Option<u64>) {
        self.arrived += 1;
        let method = message.method();
        let line = message.bytes;
        let is_kept = batch.is_none()
            && REPEATABLE.contains(&&*method)
            && line.len() <= KEPT_REQUEST
            && self.kept_bytes + line.len() <= KEPT_BYTES;
        if let Some(open) = self.open.get_mut(message.id()) {
            open.doubles += 1;
            return;
        }
        let kept = is_kept.then(|| line.into());
        self.kept_bytes += if is_kept { line.len() } else { 0 };
        let request = OpenRequest { arrived: self.arrived, kept, repeats: 0, doubles: 0, batch };
        self.open.insert(message.id().into(), request);
    }

    /// A batch is on its way: its requests. Answers and notifications in it need nothing. `has_batches`: the session's
    /// revision does.
    pub(super) fn opened_batch(&mut self, line: &[u8], has_batches: bool) {
        let batch = Some(self.arrived + 1);
        let mut ids = Vec::new();
        for message in messages(line) {
            if message.kind == Kind::Request {
                self.opened(&message, batch);
                ids.push(message.id().into());
            }
        }
        let is_taken = has_batches && elements(line).count() <= BATCH_MEMBERS;
        if !is_taken && !ids.is_empty() {
            self.unfit.push_back(ids);
        }
    }

    /// The runtime could not read something, and says so without an id: a batch that it refuses as a whole, the oldest
    /// one first, or a line that is no message, which was never open.
    pub(super) fn refused_unread(&mut self) {
        while let Some(ids) = self.unfit.pop_front() {
            // It may have been answered after all: sent behind an `initialize` whose answer had not come.
            if ids.iter().any(|id| self.open.contains_key(id)) {
                return ids.iter().for_each(|id| self.closed(id));
            }
        }
    }

    /// The request with this id has its answer, or the client wants none.
    pub(super) fn closed(&mut self, id: &[u8]) {
        if let Some(open) = self.open.get_mut(id)
            && open.doubles > 0
        {
            open.doubles -= 1;
            return;
        }
        if let Some(open) = self.open.remove(id) {
            self.kept_bytes -= open.kept.map_or(0, |line| line.len());
        }
    }

    /// The runtime is lost. `unsent`: whole lines that it has not got, which stay open.
    pub(super) fn settle(&mut self, unsent: &[u8]) -> Settled {
        let mut stays: Vec<Box<[u8]>> = Vec::new();
        for line in unsent.split(|byte| *byte == b'\n') {
            for message in messages(line) {
                if message.kind == Kind::Request {
                    stays.push(message.id().into());
                }
            }
        }
        let mut had: Vec<(Box<[u8]>, u64)> = self
            .open
            .iter()
            .filter(|(id, _)| !stays.contains(*id))
            .map(|(id, open)| (id.clone(), open.arrived))
            .collect();
        had.sort_by_key(|(_, arrived)| *arrived);
        let mut settled = Settled::default();
        let mut batches: HashMap<u64, usize> = HashMap::new();
        for (id, _) in had {
            let Some(open) = self.open.get_mut(&id) else { continue };
            if let Some(line) = open.kept.as_ref().filter(|_| open.repeats < MOST_REPEATS) {
                settled.again.extend_from_slice(line);
                settled.again.push(b'\n');
                open.repeats += 1;
                continue;
            }
            let (batch, doubles) = (open.batch, open.doubles);
            for _ in 0..=doubles {
                let place = batch.and_then(|batch| batches.get(&batch).copied());
                match place.and_then(|place| settled.lost.get_mut(place)) {
                    Some(LostRequest::Batch(ids)) => ids.push(id.clone()),
                    _ if batch.is_some() => {
                        batches.extend(batch.map(|batch| (batch, settled.lost.len())));
                        settled.lost.push(LostRequest::Batch(vec![id.clone()]));
                    }
                    _ => settled.lost.push(LostRequest::Single(id.clone())),
                }
                self.closed(&id);
            }
        }
        // Those that no runtime has got are refused by the next one.
        self.unfit.retain(|ids| ids.iter().any(|id| self.open.contains_key(id)));
        settled
    }

    /// All that is open, in its order: nothing will answer it any more.
    pub(super) fn give_up(&mut self) -> Vec<Box<[u8]>> {
        self.kept_bytes = 0;
        self.unfit.clear();
        let mut open: Vec<_> = self.open.drain().collect();
        open.sort_by_key(|(_, open)| open.arrived);
        open.into_iter().map(|(id, _)| id).collect()
    }
}

/// The messages of a line: one, or those of a batch.
pub(super) fn messages(line: &[u8]) -> Vec<Message<'_>> {
    match scan(line) {
        Ok(message) => vec![message],
        Err(_) if line.trim_ascii_start().starts_with(b"[") => {
            elements(line).filter_map(|span| scan(span.of(line)).ok()).collect()
        }
        Err(_) => Vec::new(),
    }
}

/// What a new runtime has to be told of the session that the lost one had.
#[derive(Debug, Default)]
pub(super) struct SessionMemory {
    initialize: Option<Box<[u8]>>,
    /// The answer to `initialize` has not come.
    is_agreeing: bool,
    /// The revision that was agreed on has batches.
    pub(super) has_batches: bool,
    is_initialized: bool,
    level: Option<Box<[u8]>>,
    subscriptions: Vec<KeptSubscription>,
    /// The lists that the client has asked for: they may differ now.
    listed: [bool; 3],
    replays: u64,
}

#[derive(Debug)]
struct KeptSubscription {
    uri: Box<[u8]>,
    line: Box<[u8]>,
}

/// The lists that a client is told of, by method.
const LISTS: [(&[u8], &str); 3] = [
    (b"tools/list", "notifications/tools/list_changed"),
    (b"resources/list", "notifications/resources/list_changed"),
    (b"prompts/list", "notifications/prompts/list_changed"),
];

/// More are not replayed: the client is told that its lists have changed, and may ask again.
const MOST_SUBSCRIPTIONS: usize = 4096;

/// How the ids of requests begin that the front sends by itself. No answer to one reaches the client.
const OWN_ID: &[u8] = b"\"trunkline-front:";

impl SessionMemory {
    /// Remembers what this request or notification of the client does to the session.
    pub(super) fn note(&mut self, message: &Message<'_>) {
        let line = || Some(message.bytes.into());
        match &*message.method() {
            b"initialize" => (self.initialize, self.is_agreeing) = (line(), true),
            b"notifications/initialized" => self.is_initialized = true,
            b"logging/setLevel" => self.level = line(),
            b"resources/subscribe" => {
                let uri = message.text(message.params.uri);
                self.forget(uri);
                if self.subscriptions.len() < MOST_SUBSCRIPTIONS {
                    let line = message.bytes.into();
                    self.subscriptions.push(KeptSubscription { uri: uri.into(), line });
                }
            }
            b"resources/unsubscribe" => self.forget(message.text(message.params.uri)),
            method => {
                for ((list, _), listed) in LISTS.iter().zip(&mut self.listed) {
                    *listed |= method == *list;
                }
            }
        }
    }

    /// Remembers what this answer says about the session.
    pub(super) fn note_answer(&mut self, answer: &Message<'_>) {
        if !self.is_agreeing || self.initialize_id() != Some(answer.id()) {
            return;
        }
        self.is_agreeing = false;
        let revision =
            decode(member(answer.text(answer.result), "protocolVersion").unwrap_or_default());
        let revision = revision.and_then(|revision| Revision::known(&revision));
        self.has_batches = revision.is_some_and(Revision::allows_batches);
    }

    fn forget(&mut self, uri: &[u8]) {
        self.subscriptions.retain(|held| *held.uri != *uri);
    }

    /// The lines that open the client's session at another runtime. `initialize` is left out while the
    /// client itself still waits for its answer.
    pub(super) fn replay(&mut self, is_initializing: bool, out: &mut Vec<u8>) {
        if is_initializing {
            return;
        }
        let initialized: &[u8] =
            b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
        let requests = self.initialize.iter().chain(&self.level);
        let requests = requests.chain(self.subscriptions.iter().map(|kept| &kept.line));
        for (index, line) in requests.enumerate() {
            if index == 1 && self.is_initialized {
                out.extend_from_slice(initialized);
            }
            self.replays += 1;
            with_own_id(line, self.replays, out);
        }
        if self.is_initialized && self.level.is_none() && self.subscriptions.is_empty() {
            out.extend_from_slice(initialized);
        }
    }

    /// Tells the client, in a session, that its lists may have changed.
    pub(super) fn announce(&self, out: &mut Vec<u8>) {
        if !self.is_initialized {
            return;
        }
        for ((_, method), listed) in LISTS.iter().zip(self.listed) {
            if listed {
                out.extend_from_slice(
                    format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\"}}\n").as_bytes(),
                );
            }
        }
    }

    pub(super) fn initialize_id(&self) -> Option<&[u8]> {
        let message = scan(self.initialize.as_deref()?).ok()?;
        Some(message.id())
    }
}

/// Is this the id of a request that the front has sent by itself?
pub(super) fn is_own_id(id: &[u8]) -> bool {
    id.starts_with(OWN_ID)
}

fn with_own_id(line: &[u8], number: u64, out: &mut Vec<u8>) {
    let Some(id) = scan(line).ok().and_then(|message| message.id) else { return };
    let own = encode(&format!("trunkline-front:{number}"));
    let span: Span = id;
    Edits::one(span, &own).write(line, out);
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(id: &str, method: &str) -> String {
        let uri = id.replace('"', "");
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"uri":"a:{uri}"}}}}"#)
    }

    fn open(requests: &mut OpenRequests, line: &str) {
        requests.opened(&scan(line.as_bytes()).unwrap(), None);
    }

    fn single(id: &str) -> LostRequest {
        LostRequest::Single(id.as_bytes().into())
    }

    #[test]
    fn reads_are_sent_again_and_calls_may_have_run() {
        let mut requests = OpenRequests::default();
        for (id, method) in
            [("1", "tools/list"), ("2", "tools/call"), ("3", "ping"), ("\"x\"", "a/b")]
        {
            open(&mut requests, &request(id, method));
        }
        requests.closed(b"3");
        let settled = requests.settle(b"");
        assert_eq!(settled.again, format!("{}\n", request("1", "tools/list")).as_bytes());
        assert_eq!(settled.lost, [single("2"), single("\"x\"")]);
        assert!(!requests.is_empty(), "the list still waits for its answer");
        requests.closed(b"1");
        assert!(requests.is_empty() && requests.kept_bytes == 0);
    }

    #[test]
    fn a_request_that_was_not_written_is_neither_lost_nor_repeated() {
        let mut requests = OpenRequests::default();
        let (call, list) = (request("1", "tools/call"), request("2", "tools/list"));
        open(&mut requests, &call);
        open(&mut requests, &list);
        let settled = requests.settle(format!("{call}\n{list}\n").as_bytes());
        assert_eq!(settled, Settled::default());
        assert_eq!(requests.give_up(), [Box::from(&b"1"[..]), Box::from(&b"2"[..])]);
    }

    #[test]
    fn a_request_does_not_end_runtimes_for_ever() {
        let mut requests = OpenRequests::default();
        open(&mut requests, &request("1", "resources/read"));
        assert!(!requests.settle(b"").again.is_empty());
        assert!(!requests.settle(b"").again.is_empty());
        assert_eq!(requests.settle(b"").lost, [single("1")]);
        assert!(requests.is_empty());
    }

    #[test]
    fn each_request_under_one_id_has_an_outcome() {
        let mut requests = OpenRequests::default();
        open(&mut requests, &request("1", "tools/call"));
        open(&mut requests, &request("1", "tools/call"));
        requests.closed(b"1");
        assert!(!requests.is_empty());
        open(&mut requests, &request("1", "tools/call"));
        assert_eq!(requests.settle(b"").lost, [single("1"), single("1")]);
    }

    #[test]
    fn a_batch_is_lost_as_one() {
        let mut requests = OpenRequests::default();
        let batch = format!("[{},{}]", request("1", "tools/call"), request("2", "ping"));
        requests.opened_batch(batch.as_bytes(), true);
        open(&mut requests, &request("3", "tools/call"));
        let ids = vec![Box::from(&b"1"[..]), Box::from(&b"2"[..])];
        assert_eq!(requests.settle(b"").lost, [LostRequest::Batch(ids), single("3")]);
    }

    #[test]
    fn a_batch_that_was_refused_as_a_whole_is_not_open() {
        let batch = |ids: &[&str]| {
            let members: Vec<String> = ids.iter().map(|id| request(id, "tools/call")).collect();
            format!("[{}]", members.join(","))
        };
        let mut requests = OpenRequests::default();
        requests.opened_batch(batch(&["1", "2"]).as_bytes(), false);
        requests.opened_batch(batch(&["3", "1"]).as_bytes(), false);
        requests.refused_unread();
        let ids = vec![Box::from(&b"3"[..])];
        assert_eq!(requests.settle(b"").lost[1..], [LostRequest::Batch(ids)]);
        assert!(requests.is_empty());
        // One that is taken stays open when a line behind it cannot be read.
        requests.opened_batch(batch(&["4"]).as_bytes(), true);
        requests.refused_unread();
        assert!(!requests.is_empty());
        requests.closed(b"4");
        // Too long in any revision.
        let many: Vec<String> = (0..=BATCH_MEMBERS).map(|id| id.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        requests.opened_batch(batch(&many).as_bytes(), true);
        requests.refused_unread();
        assert!(requests.is_empty());
    }

    #[test]
    fn a_session_is_opened_again_under_ids_of_the_front() {
        let mut memory = SessionMemory::default();
        let lines = [
            request("0", "initialize"),
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned(),
            request("5", "resources/subscribe"),
            request("6", "resources/subscribe"),
            request("5", "resources/unsubscribe"),
            request("7", "tools/list"),
        ];
        for line in &lines {
            memory.note(&scan(line.as_bytes()).unwrap());
        }
        let mut out = Vec::new();
        memory.replay(false, &mut out);
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert!(lines[0].contains(r#""id":"trunkline-front:1","method":"initialize""#), "{text}");
        assert!(lines[1].contains("notifications/initialized"), "{text}");
        assert!(
            lines[2].contains(r#""trunkline-front:2","method":"resources/subscribe""#),
            "{text}"
        );
        assert!(is_own_id(b"\"trunkline-front:2\""));
        let mut out = Vec::new();
        memory.announce(&mut out);
        assert_eq!(out, b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n");
    }
}

//! Tool calls as ready-made bytes, and the check of their answers against the direct child's.

use super::connection::{Connection, Large, Outgoing, excerpt};
use crate::era::{Era, META};
use crate::scan;
use serde_json::Value;
use std::ops::Range;

/// Ids have ten digits, so that they can be written over each other.
const FIRST_ID: u64 = 1_000_000_000;
const DIGITS: usize = 10;
/// Calls in flight at most; an id modulo this is the call's slot.
pub(super) const SLOTS: usize = 64;

/// The id of the `count`-th call in a slot.
pub(super) fn id(count: u64, slot: usize) -> u64 {
    FIRST_ID + count * SLOTS as u64 + slot as u64
}

/// The slot of an id.
pub(super) fn slot(id: u64) -> usize {
    (id.wrapping_sub(FIRST_ID) % SLOTS as u64) as usize
}

/// How closely an answer must match the direct child's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Likeness {
    /// The result is the same bytes.
    Bytes,
    /// The text is the same: peers spell results anew.
    Text,
    /// The text is the same, and a client of this era can read the result.
    Translated(Era),
    /// Not JSON-RPC: the result is the same bytes, with one more member behind the others.
    Rest,
}

/// One tool call to one target.
#[derive(Debug, Clone)]
pub(super) struct Call {
    /// Which of the target's groups of connections it goes to.
    pub(super) group: usize,
    request: Vec<u8>,
    /// Where the id stands; over REST there is none.
    request_id: Option<usize>,
    /// The headers that only this call has.
    headers: Vec<u8>,
    /// The direct child's answer, without the newline.
    reply: Vec<u8>,
    reply_id: usize,
    likeness: Likeness,
}

/// What is asked of a tool.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ask {
    /// Echo a short text.
    Echo,
    /// Return this many bytes.
    Size(usize),
    /// List something else from now on, and say so.
    Change,
}

impl Ask {
    fn arguments(self) -> String {
        match self {
            Self::Echo => r#"{"text":"hello, world"}"#.to_owned(),
            Self::Size(size) => format!(r#"{{"size":{size}}}"#),
            Self::Change => r#"{"change":1}"#.to_owned(),
        }
    }
}

impl Call {
    /// A call of `name` whose answer is yet unknown.
    pub(super) fn new(group: usize, name: &str, ask: Ask, era: Era) -> Self {
        let arguments = ask.arguments();
        let head = r#"{"jsonrpc":"2.0","id":"#;
        let (meta, headers) = match era {
            Era::Legacy => (String::new(), String::new()),
            Era::Modern => {
                (format!(",{META}"), format!("mcp-method: tools/call\r\nmcp-name: {name}\r\n"))
            }
        };
        let tail = format!(
            r#","method":"tools/call","params":{{"name":"{name}","arguments":{arguments}{meta}}}}}"#
        );
        Self {
            group,
            request: format!("{head}{FIRST_ID}{tail}\n").into_bytes(),
            request_id: Some(head.len()),
            headers: headers.into_bytes(),
            reply: Vec::new(),
            reply_id: 0,
            likeness: Likeness::Bytes,
        }
    }

    /// A call over REST.
    pub(super) fn rest(name: &str, ask: Ask) -> Self {
        let arguments = ask.arguments();
        Self {
            group: 0,
            request: format!(r#"{{"name":"{name}","arguments":{arguments}}}"#).into_bytes(),
            request_id: None,
            headers: Vec::new(),
            reply: Vec::new(),
            reply_id: 0,
            likeness: Likeness::Rest,
        }
    }

    /// This call with another check of its answer.
    pub(super) fn like(self, likeness: Likeness) -> Self {
        Self { likeness, ..self }
    }

    /// Bytes of the request, and of the direct child's answer.
    pub(super) fn lengths(&self) -> (usize, usize) {
        (self.request.trim_ascii_end().len(), self.reply.len())
    }

    /// This call with the answer it must get.
    pub(super) fn expecting(mut self, reply: &[u8]) -> Result<Self, String> {
        let id = scan::reply_id(reply).filter(|span| span.len() == DIGITS);
        self.reply_id =
            id.ok_or_else(|| format!("an answer without our id: {}", excerpt(reply)))?.start;
        self.reply = reply.to_vec();
        Ok(self)
    }

    /// The request under this id.
    pub(super) fn request(&mut self, id: u64) -> Outgoing<'_> {
        if let Some(at) = self.request_id {
            stamp(&mut self.request, at, id);
        }
        Outgoing { headers: &self.headers, line: &self.request }
    }

    /// Whether `line` is the answer to this call under `id`.
    pub(super) fn check(&mut self, id: u64, line: &[u8]) -> Result<(), String> {
        stamp(&mut self.reply, self.reply_id, id);
        let translated = matches!(self.likeness, Likeness::Translated(_));
        if line == self.reply && !translated {
            return Ok(());
        }
        let same = match self.likeness {
            Likeness::Bytes => same_id(&self.reply, line) && result(&self.reply) == result(line),
            Likeness::Text => same_text(&self.reply, line),
            Likeness::Translated(era) => same_text(&self.reply, line) && readable(era, line),
            Likeness::Rest => begins_with_result(&self.reply, line),
        };
        let wrong =
            || format!("wrong answer\n  got  {}\n  want {}", excerpt(line), excerpt(&self.reply));
        same.then_some(()).ok_or_else(wrong)?;
        if translated {
            // From now on the bytes are known, and the check costs every lane the same.
            *self = self.clone().expecting(line)?.like(Likeness::Bytes);
        }
        Ok(())
    }

    /// Checks a large answer whose bytes were not kept: its id, and the length of one checked in full.
    pub(super) fn check_large(id: u64, large: &Large, length: usize) -> Result<(), String> {
        let has_id = memchr::memmem::find(&large.head, id.to_string().as_bytes()).is_some();
        if has_id && large.length == length {
            return Ok(());
        }
        let (got, head) = (large.length, excerpt(&large.head));
        Err(format!("wrong large answer: {got} bytes instead of {length}: {head}"))
    }
}

/// Calls once, waits for the answer and returns its span; other messages are set aside.
pub(super) fn call_once(
    connection: &mut Connection,
    call: &mut Call,
    id: u64,
) -> Result<Range<usize>, String> {
    connection.send(call.request(id))?;
    loop {
        let span = connection.line()?;
        if !connection.aside(span.clone())? {
            return Ok(span);
        }
    }
}

fn stamp(bytes: &mut [u8], at: usize, mut id: u64) {
    for digit in bytes[at..at + DIGITS].iter_mut().rev() {
        *digit = b'0' + (id % 10) as u8;
        id /= 10;
    }
}

fn same_id(a: &[u8], b: &[u8]) -> bool {
    let id = |line| scan::reply_id(line).and_then(|span| scan::number(line, span));
    id(a).is_some() && id(a) == id(b)
}

fn result(line: &[u8]) -> Option<&[u8]> {
    scan::field(line, 0, b"result").map(|span| &line[span])
}

/// Whether `line` is the result of `reply` with more members.
fn begins_with_result(reply: &[u8], line: &[u8]) -> bool {
    let open = result(reply).and_then(|result| result.strip_suffix(b"}"));
    let rest = open.and_then(|open| line.strip_prefix(open));
    rest.is_some_and(|rest| rest.starts_with(b",\"metadata\":{") && rest.ends_with(b"}}"))
}

/// A modern client must be told which type the result has; a legacy one does not look.
fn readable(era: Era, line: &[u8]) -> bool {
    let kind = result(line).and_then(|result| scan::field(result, 0, b"resultType"));
    era == Era::Legacy || kind.is_some()
}

fn same_text(a: &[u8], b: &[u8]) -> bool {
    let (Ok(a), Ok(b)) = (serde_json::from_slice::<Value>(a), serde_json::from_slice::<Value>(b))
    else {
        return false;
    };
    let text = |value: &Value| value.pointer("/result/content/0/text").cloned();
    a["id"] == b["id"] && text(&a).is_some() && text(&a) == text(&b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_must_have_the_id_and_the_result_of_the_direct_one() {
        let direct = br#"{"jsonrpc":"2.0","id":1000000000,"result":{"content":[{"type":"text","text":"a"}]}}"#;
        let call = |likeness| {
            Call::new(0, "t", Ask::Echo, Era::Legacy)
                .like(likeness)
                .expecting(direct)
                .expect("valid")
        };
        let cases: [(&str, bool, bool); 5] = [
            (
                r#"{"jsonrpc":"2.0","id":1000000007,"result":{"content":[{"type":"text","text":"a"}]}}"#,
                true,
                true,
            ),
            (
                r#"{"id":1000000007,"result":{"content":[{"type":"text","text":"a"}]},"jsonrpc":"2.0"}"#,
                true,
                true,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1000000007,"result":{"content":[{"text":"a","type":"text"}]}}"#,
                false,
                true,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1000000008,"result":{"content":[{"type":"text","text":"a"}]}}"#,
                false,
                false,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1000000007,"result":{"content":[{"type":"text","text":"b"}]}}"#,
                false,
                false,
            ),
        ];
        for (line, bytes, text) in cases {
            assert_eq!(
                call(Likeness::Bytes).check(1_000_000_007, line.as_bytes()).is_ok(),
                bytes,
                "{line}"
            );
            assert_eq!(
                call(Likeness::Text).check(1_000_000_007, line.as_bytes()).is_ok(),
                text,
                "{line}"
            );
        }
    }

    #[test]
    fn an_answer_over_rest_is_the_result_and_what_was_added() {
        let direct = br#"{"jsonrpc":"2.0","id":1000000000,"result":{"content":[{"text":"a"}]}}"#;
        let mut call = Call::rest("s.t", Ask::Echo).expecting(direct).expect("valid");
        assert_eq!(
            call.request(id(7, 0)).line,
            br#"{"name":"s.t","arguments":{"text":"hello, world"}}"#
        );
        for (line, good) in [
            (r#"{"content":[{"text":"a"}],"metadata":{"routed_to":"s"}}"#, true),
            (r#"{"content":[{"text":"b"}],"metadata":{"routed_to":"s"}}"#, false),
            (r#"{"content":[{"text":"a"}]}"#, false),
            (r#"{"content":[{"text":"a"}],"metadata":{"routed_to":"s"}"#, false),
        ] {
            assert_eq!(call.check(id(7, 0), line.as_bytes()).is_ok(), good, "{line}");
        }
    }

    #[test]
    fn a_translated_answer_can_be_read_by_the_client() {
        let modern =
            r#"{"id":1000000000,"result":{"resultType":"complete","content":[{"text":"a"}]}}"#;
        let legacy = r#"{"id":1000000000,"result":{"content":[{"text":"a"}]}}"#;
        let other = modern.replace("\"a\"", "\"b\"");
        for (era, line, good) in [
            (Era::Modern, modern, true),
            (Era::Modern, legacy, false),
            (Era::Modern, &other, false),
            (Era::Legacy, legacy, true),
            (Era::Legacy, modern, true),
        ] {
            let direct = if era == Era::Modern { legacy } else { modern };
            let call = Call::new(0, "t", Ask::Echo, era).like(Likeness::Translated(era));
            let mut call = call.expecting(direct.as_bytes()).expect("valid");
            assert_eq!(call.check(id(0, 0), line.as_bytes()).is_ok(), good, "{era:?} {line}");
            assert_eq!(call.check(id(0, 0), line.as_bytes()).is_ok(), good, "again: {line}");
        }
    }

    #[test]
    fn a_modern_call_carries_its_meta_and_headers() {
        let mut call = Call::new(0, "s.t", Ask::Echo, Era::Modern);
        let Outgoing { headers, line } = call.request(1_000_000_007);
        let line: Value = serde_json::from_slice(line).expect("JSON");
        let meta = &line["params"]["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
        assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "bench");
        assert_eq!(meta["io.modelcontextprotocol/clientCapabilities"], serde_json::json!({}));
        assert_eq!(headers, b"mcp-method: tools/call\r\nmcp-name: s.t\r\n");
        let mut call = Call::new(0, "s.t", Ask::Echo, Era::Legacy);
        let Outgoing { headers, line } = call.request(1_000_000_007);
        assert!(headers.is_empty() && memchr::memmem::find(line, b"_meta").is_none());
    }

    #[test]
    fn ids_know_their_slot() {
        assert_eq!(slot(id(17, 63)), 63);
        assert_eq!(id(0, 0).to_string().len(), DIGITS);
    }
}

//! A minimal fast MCP server: what it answers. `stdio` and `http` carry it.

mod http;
mod stdio;

use crate::era::{CACHEABLE, COMPLETE, Era, MODERN, VERSION_KEY};
use crate::scan::{self, Request, Want};
use memchr::memmem;

/// What one child offers.
#[derive(Debug)]
pub struct Child {
    name: Vec<u8>,
    era: Era,
    /// Everything of the `tools/list` answer behind the id.
    list: Vec<u8>,
    /// What is listed after the next change.
    next: Vec<u8>,
    /// The text of the last large answer, kept so that only the transport is timed.
    large: Vec<u8>,
    out: Vec<u8>,
}

/// What a message got, at the end of `out`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// Nothing: it was a notification.
    None,
    Small,
    /// The answer to `initialize`, small as well.
    Initialize,
    /// `large` and `CALL_END` follow.
    Large,
    /// The list has changed; over stdio that is said behind the answer.
    Changed,
    /// An error: there is no such method.
    Unknown,
    /// An error: not a request of the modern era.
    Refused,
}

/// What a modern request's headers say.
#[derive(Debug, Clone, Copy)]
struct Heading<'a> {
    version: &'a [u8],
    method: &'a [u8],
    name: &'a [u8],
}

impl Child {
    /// A child called `name` with `tools` tools, `tool_0` first, that speaks one era.
    pub fn new(name: &str, tools: usize, era: Era) -> Self {
        Self {
            name: name.into(),
            era,
            list: list(tools, era, "Echoes"),
            next: list(tools, era, "Repeats"),
            large: Vec::new(),
            out: Vec::with_capacity(64 * 1024),
        }
    }

    /// Appends the answer to `out`, except for what of it is in `large`.
    fn answer(&mut self, line: &[u8], heading: Option<Heading<'_>>) -> Answer {
        let Some(request) = scan::request(line, Want::Arguments) else {
            return Answer::None;
        };
        if request.id.is_empty() {
            return Answer::None;
        }
        self.out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
        self.out.extend_from_slice(&line[request.id.clone()]);
        if self.era == Era::Modern
            && let Some(error) = fault(line, &request, heading)
        {
            self.out.extend_from_slice(error);
            return Answer::Refused;
        }
        match (self.era, &line[request.method.clone()]) {
            (_, b"tools/call") => return self.call(line, &request),
            (_, b"tools/list") => self.out.extend_from_slice(&self.list),
            (Era::Legacy, b"ping") => self.out.extend_from_slice(b",\"result\":{}}"),
            (Era::Legacy, b"initialize") => {
                self.initialize(line);
                return Answer::Initialize;
            }
            (Era::Modern, b"server/discover") => self.discover(),
            _ => {
                self.out.extend_from_slice(
                    b",\"error\":{\"code\":-32601,\"message\":\"method not found\"}}",
                );
                return Answer::Unknown;
            }
        }
        Answer::Small
    }

    /// Any tool: with `size` a text of that many bytes, otherwise a small text that proves name, server and argument.
    fn call(&mut self, line: &[u8], request: &Request) -> Answer {
        self.out.extend_from_slice(br#","result":{"#);
        if self.era == Era::Modern {
            self.out.extend_from_slice(COMPLETE);
        }
        self.out.extend_from_slice(br#""content":[{"type":"text","text":""#);
        let arguments = request.arguments.start;
        if let Some(size) =
            scan::field(line, arguments, b"size").and_then(|span| scan::number(line, span))
        {
            self.grow(size);
            return Answer::Large;
        }
        self.out.extend_from_slice(&self.name);
        self.out.push(b' ');
        self.out.extend_from_slice(&line[request.name.clone()]);
        self.out.extend_from_slice(b": ");
        let text = scan::field(line, arguments, b"text");
        if let Some(text) = text.clone() {
            self.out.extend_from_slice(&line[scan::unquoted(text)]);
        }
        self.out.extend_from_slice(CALL_END);
        if text.is_some() || scan::field(line, arguments, b"change").is_none() {
            return Answer::Small;
        }
        std::mem::swap(&mut self.list, &mut self.next);
        Answer::Changed
    }

    fn initialize(&mut self, line: &[u8]) {
        let version = scan::field(line, 0, b"params")
            .and_then(|params| scan::field(line, params.start, b"protocolVersion"))
            .map_or(&b"\"2025-06-18\""[..], |span| &line[span]);
        self.out.extend_from_slice(br#","result":{"protocolVersion":"#);
        self.out.extend_from_slice(version);
        self.out.extend_from_slice(
            br#","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":""#,
        );
        self.out.extend_from_slice(&self.name);
        self.out.extend_from_slice(b"\",\"version\":\"1.0.0\"}}}");
    }

    fn discover(&mut self) {
        self.out.extend_from_slice(br#","result":{"#);
        self.out.extend_from_slice(CACHEABLE);
        self.out.extend_from_slice(br#""supportedVersions":[""#);
        self.out.extend_from_slice(MODERN.as_bytes());
        self.out.extend_from_slice(br#""],"capabilities":{"tools":{}},"_meta":{"#);
        self.out.extend_from_slice(br#""io.modelcontextprotocol/serverInfo":{"name":""#);
        self.out.extend_from_slice(&self.name);
        self.out.extend_from_slice(b"\",\"version\":\"1.0.0\"}}}}");
    }

    /// Makes `large` a text of `size` bytes: lines with an escape each, as in a real file.
    fn grow(&mut self, size: usize) {
        const LINE: &[u8] =
            br"The quick brown fox jumps over the lazy dog and a line ends after 80 bytes....\n";
        if self.large.len() == size {
            return;
        }
        self.large = LINE.iter().copied().cycle().take(size / LINE.len() * LINE.len()).collect();
        self.large.resize(size, b'.');
    }
}

const CHANGED: &[u8] = b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n";

const CALL_END: &[u8] = b"\"}],\"isError\":false}}";

/// What a modern request lacks, as the rest of an error. Who sends this does not speak the era that is measured.
fn fault(line: &[u8], request: &Request, heading: Option<Heading<'_>>) -> Option<&'static [u8]> {
    if memmem::find(line, VERSION_KEY).is_none() {
        return Some(b",\"error\":{\"code\":-32602,\"message\":\"no protocolVersion in _meta\"}}");
    }
    let heading = heading?;
    let agrees = heading.version == MODERN.as_bytes()
        && heading.method == &line[request.method.clone()]
        && heading.name == &line[request.name.clone()];
    let error: &[u8] = b",\"error\":{\"code\":-32020,\"message\":\"header mismatch\"}}";
    (!agrees).then_some(error)
}

/// The `tools/list` answer behind the id: about 300 bytes a tool.
fn list(tools: usize, era: Era, verb: &str) -> Vec<u8> {
    let definitions: Vec<String> = (0..tools).map(|number| definition(number, verb)).collect();
    let before = if era == Era::Modern { CACHEABLE } else { b"" };
    let tools = format!("\"tools\":[{}]}}}}", definitions.join(","));
    [b",\"result\":{", before, tools.as_bytes()].concat()
}

fn definition(number: usize, verb: &str) -> String {
    format!(
        concat!(
            r#"{{"name":"tool_{number}","description":"{verb} its text with the server's and its own name, "#,
            r#"or returns a text of the wanted size.","inputSchema":{{"type":"object","properties":{{"#,
            r#""text":{{"type":"string","description":"What to echo"}},"#,
            r#""size":{{"type":"integer","minimum":0}}}},"additionalProperties":false}}}}"#
        ),
        number = number,
        verb = verb
    )
}

//! A minimal fast MCP server over stdio: reads what is there, answers all of it with one write.

use crate::lines::Lines;
use crate::scan::{self, Request, Want};
use rustix::io::{Errno, write, writev};
use rustix::stdio::{stdin, stdout};
use std::io::IoSlice;

/// What one child offers.
#[derive(Debug)]
pub struct Child {
    name: Vec<u8>,
    /// Everything of the `tools/list` answer behind the id.
    list: Vec<u8>,
    /// The text of the last large answer, kept so that only the transport is timed.
    large: Vec<u8>,
    out: Vec<u8>,
}

impl Child {
    /// A child called `name` with `tools` tools, `tool_0` first.
    pub fn new(name: &str, tools: usize) -> Self {
        Self {
            name: name.into(),
            list: list(tools),
            large: Vec::new(),
            out: Vec::with_capacity(64 * 1024),
        }
    }

    /// Serves until stdin ends.
    pub fn serve(&mut self) -> Result<(), Errno> {
        let mut lines = Lines::default();
        while lines.fill(stdin())? > 0 {
            while let Some(span) = lines.next_line() {
                self.answer(&lines.bytes()[span])?;
            }
            self.flush()?;
        }
        Ok(())
    }

    fn answer(&mut self, line: &[u8]) -> Result<(), Errno> {
        let Some(request) = scan::request(line, Want::Arguments) else {
            return Ok(());
        };
        if request.id.is_empty() {
            return Ok(());
        }
        self.out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
        self.out.extend_from_slice(&line[request.id.clone()]);
        match &line[request.method.clone()] {
            b"tools/call" => return self.call(line, &request),
            b"tools/list" => self.out.extend_from_slice(&self.list),
            b"ping" => self.out.extend_from_slice(b",\"result\":{}}\n"),
            b"initialize" => self.initialize(line),
            _ => self.out.extend_from_slice(
                b",\"error\":{\"code\":-32601,\"message\":\"method not found\"}}\n",
            ),
        }
        Ok(())
    }

    /// Any tool: with `size` a text of that many bytes, otherwise a small text that proves name, server and argument.
    fn call(&mut self, line: &[u8], request: &Request) -> Result<(), Errno> {
        self.out.extend_from_slice(br#","result":{"content":[{"type":"text","text":""#);
        let arguments = request.arguments.start;
        if let Some(size) =
            scan::field(line, arguments, b"size").and_then(|span| scan::number(line, span))
        {
            self.grow(size);
            return self.flush_large();
        }
        self.out.extend_from_slice(&self.name);
        self.out.push(b' ');
        self.out.extend_from_slice(&line[request.name.clone()]);
        self.out.extend_from_slice(b": ");
        if let Some(text) = scan::field(line, arguments, b"text") {
            self.out.extend_from_slice(&line[scan::unquoted(text)]);
        }
        self.out.extend_from_slice(CALL_END);
        Ok(())
    }

    fn initialize(&mut self, line: &[u8]) {
        let version = scan::field(line, 0, b"params")
            .and_then(|params| scan::field(line, params.start, b"protocolVersion"))
            .map_or(&b"\"2025-06-18\""[..], |span| &line[span]);
        self.out.extend_from_slice(br#","result":{"protocolVersion":"#);
        self.out.extend_from_slice(version);
        self.out.extend_from_slice(br#","capabilities":{"tools":{}},"serverInfo":{"name":""#);
        self.out.extend_from_slice(&self.name);
        self.out.extend_from_slice(b"\",\"version\":\"1.0.0\"}}}\n");
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

    /// Writes what is answered so far.
    fn flush(&mut self) -> Result<(), Errno> {
        let mut rest = &self.out[..];
        while !rest.is_empty() {
            match write(stdout(), rest) {
                Ok(written) => rest = &rest[written..],
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        self.out.clear();
        Ok(())
    }

    /// The same with `large` as the end of the last text.
    fn flush_large(&mut self) -> Result<(), Errno> {
        let mut slices = [&self.out[..], &self.large, CALL_END].map(IoSlice::new);
        let mut rest = &mut slices[..];
        while !rest.is_empty() {
            match writev(stdout(), rest) {
                Ok(written) => IoSlice::advance_slices(&mut rest, written),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        self.out.clear();
        Ok(())
    }
}

const CALL_END: &[u8] = b"\"}],\"isError\":false}}\n";

/// The `tools/list` answer behind the id: about 300 bytes a tool.
fn list(tools: usize) -> Vec<u8> {
    let definitions: Vec<String> = (0..tools).map(definition).collect();
    format!(",\"result\":{{\"tools\":[{}]}}}}\n", definitions.join(",")).into_bytes()
}

fn definition(number: usize) -> String {
    format!(
        concat!(
            r#"{{"name":"tool_{number}","description":"Echoes its text with the server's and its own name, "#,
            r#"or returns a text of the wanted size.","inputSchema":{{"type":"object","properties":{{"#,
            r#""text":{{"type":"string","description":"What to echo"}},"#,
            r#""size":{{"type":"integer","minimum":0}}}},"additionalProperties":false}}}}"#
        ),
        number = number
    )
}

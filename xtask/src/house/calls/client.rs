//! Two clients of the legacy era that call one tool: over stdio, and over HTTP in a session.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio as Pipe};

use super::Client;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"way","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;

fn call(id: usize, name: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{name}","arguments":{{"date":"2026-02-27","days":3}}}}}}"#
    )
}

/// A result, and no error.
fn judge(answer: &str) -> Result<(), String> {
    let is_result = answer.contains("\"result\":") && !answer.contains("\"isError\":true");
    if is_result { Ok(()) } else { Err(format!("the call failed: {answer}")) }
}

pub(super) struct Stdio {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: usize,
}

impl Stdio {
    pub(super) fn start(program: &mut Command, config: &Path) -> Result<Self, String> {
        program.arg("--config").arg(config).stdin(Pipe::piped()).stdout(Pipe::piped());
        let mut child = program.spawn().map_err(|error| format!("{program:?}: {error}"))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (input, output) = input.zip(output).ok_or("the program has no pipes")?;
        let mut client = Self { child, input, output: BufReader::new(output), next: 3 };
        client.ask(INITIALIZE)?;
        client.say(INITIALIZED)?;
        client.ask(LIST)?;
        Ok(client)
    }

    fn say(&mut self, message: &str) -> Result<(), String> {
        writeln!(self.input, "{message}").map_err(|error| format!("it does not listen: {error}"))
    }

    fn ask(&mut self, message: &str) -> Result<String, String> {
        self.say(message)?;
        loop {
            let mut line = String::new();
            match self.output.read_line(&mut line) {
                Ok(1..) if line.contains("\"id\":") => return Ok(line),
                Ok(1..) => {}
                other => return Err(format!("it does not answer: {other:?}")),
            }
        }
    }
}

impl Client for Stdio {
    fn call(&mut self) -> Result<(), String> {
        self.next += 1;
        let answer = self.ask(&call(self.next, "s:add_days"))?;
        judge(&answer)
    }

    fn process(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Stdio {
    fn drop(&mut self) {
        drop(self.child.kill().and_then(|()| self.child.wait()));
    }
}

pub(super) struct Http {
    child: Child,
    address: String,
    stream: BufReader<TcpStream>,
    session: String,
    next: usize,
}

impl Http {
    pub(super) fn start(program: &mut Command, config: &Path) -> Result<Self, String> {
        program.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(config);
        program.stdin(Pipe::null()).stderr(Pipe::piped());
        let mut child = program.spawn().map_err(|error| format!("{program:?}: {error}"))?;
        let said = child.stderr.take().map(BufReader::new).ok_or("the program has no pipes")?;
        let mut lines = said.lines().map_while(Result::ok);
        let address = lines.find_map(|line| {
            let (_, address) = line.split_once("listening on http://")?;
            Some(address.split(['/', ' ']).next()?.to_owned())
        });
        // What it says further is read, so that it can go on saying it.
        std::thread::spawn(move || lines.for_each(drop));
        let address = address.ok_or("it does not listen")?;
        let stream = TcpStream::connect(&address).map_err(|error| format!("{address}: {error}"))?;
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        let stream = BufReader::new(stream);
        let mut client = Self { child, address, stream, session: String::new(), next: 3 };
        client.ask(INITIALIZE)?;
        client.ask(INITIALIZED)?;
        client.ask(LIST)?;
        Ok(client)
    }

    fn ask(&mut self, message: &str) -> Result<String, String> {
        let session = match self.session.as_str() {
            "" => String::new(),
            id => format!("Mcp-Session-Id: {id}\r\nMCP-Protocol-Version: 2025-11-25\r\n"),
        };
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n{session}Content-Length: {}\r\n\r\n{message}",
            self.address,
            message.len()
        );
        self.exchange(&request).map_err(|error| format!("{}: {error}", self.address))
    }

    fn exchange(&mut self, request: &str) -> std::io::Result<String> {
        self.stream.get_mut().write_all(request.as_bytes())?;
        let mut length = 0;
        loop {
            let mut line = String::new();
            if self.stream.read_line(&mut line)? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            match line.trim_end().split_once(": ") {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.parse().unwrap_or(0);
                }
                Some((name, value)) if name.eq_ignore_ascii_case("mcp-session-id") => {
                    self.session = value.to_owned();
                }
                None if line == "\r\n" => break,
                _ => {}
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        Ok(String::from_utf8_lossy(&body).into_owned())
    }
}

impl Client for Http {
    fn call(&mut self) -> Result<(), String> {
        self.next += 1;
        let answer = self.ask(&call(self.next, "s.add_days"))?;
        judge(&answer)
    }

    fn process(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        drop(self.child.kill().and_then(|()| self.child.wait()));
    }
}

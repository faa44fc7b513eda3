//! Floor and child over HTTP say what the driver takes for granted.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(20);

/// A process that ends with its stdin, and at the latest with us.
struct Process(Child);

impl Process {
    #[expect(clippy::disallowed_methods, reason = "a test starts what it talks to")]
    fn start(command: &mut Command) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self(command.spawn().expect("starts"))
    }
}

/// The end of its stdin lets it reap its own children; only who stays is killed.
impl Drop for Process {
    #[expect(clippy::disallowed_methods, reason = "there is no runtime to block")]
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let begin = Instant::now();
        while matches!(self.0.try_wait(), Ok(None)) && begin.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The floor with the child `a` over HTTP and the child `b` over stdio.
struct Floor {
    port: u16,
    _processes: [Process; 2],
    _config: Config,
}

struct Config(std::path::PathBuf);

impl Drop for Config {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Floor {
    fn start(test: &str) -> Self {
        let program = env!("CARGO_BIN_EXE_bench-child");
        let mut child = Process::start(Command::new(program).args([
            "--name",
            "a",
            "--tools",
            "2",
            "--http",
            "127.0.0.1:0",
        ]));
        let port = line(child.0.stdout.take().expect("piped"));
        let path = format!("trunkline-bench-{}-{test}.json", std::process::id());
        let config = Config(std::env::temp_dir().join(path));
        let text = format!(
            r#"{{"mcpServers":{{"a":{{"url":"http://127.0.0.1:{port}/mcp"}},
               "b":{{"command":"{program}","args":["--name","b","--tools","1"]}}}}}}"#
        );
        std::fs::write(&config.0, text).expect("written");
        let mut floor = Process::start(
            Command::new(env!("CARGO_BIN_EXE_bench-floor"))
                .args(["serve", "--listen", "127.0.0.1:0", "--config"])
                .arg(&config.0),
        );
        let said = line(floor.0.stderr.take().expect("piped"));
        let (_, port) = said.rsplit_once(':').expect("an address");
        let port = port.parse().expect("a port");
        Self { port, _processes: [floor, child], _config: config }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("accepts");
        stream.set_read_timeout(Some(PATIENCE)).expect("set");
        stream
    }

    /// A connection and the id of a session on it.
    fn session(&self) -> (TcpStream, String) {
        let mut stream = self.connect();
        let initialize = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#;
        let (head, _) = ask(&mut stream, &post("", initialize));
        let (_, rest) = head.split_once("mcp-session-id: ").expect("a session");
        (stream, rest.lines().next().expect("a line").to_owned())
    }
}

fn line(output: impl Read) -> String {
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line).expect("says something");
    line.trim().to_owned()
}

fn post(headers: &str, body: &str) -> String {
    format!("POST /mcp HTTP/1.1\r\n{headers}content-length: {}\r\n\r\n{body}", body.len())
}

fn call(session: &str, id: &str, name: &str) -> String {
    let header = format!("Mcp-Session-Id: {session}\r\n");
    let body = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\n\"method\":\"tools/call\",\n\"params\":{{\"name\":\"{name}\",\"arguments\":{{\"text\":\"x\"}}}}}}"
    );
    post(&header, &body)
}

fn answer(id: &str, text: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{text}"}}],"isError":false}}}}"#
    )
}

fn ask(stream: &mut TcpStream, request: &str) -> (String, String) {
    stream.write_all(request.as_bytes()).expect("written");
    response(stream)
}

/// Head and body of the next response.
fn response(stream: &mut TcpStream) -> (String, String) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("a response");
        head.extend_from_slice(&byte);
    }
    let head = String::from_utf8(head).expect("text");
    let (_, rest) = head.split_once("content-length: ").expect("a length");
    let length = rest.lines().next().and_then(|length| length.parse().ok()).expect("a number");
    let mut body = vec![0; length];
    stream.read_exact(&mut body).expect("a body");
    (head, String::from_utf8(body).expect("text"))
}

#[test]
fn calls_reach_children_of_both_kinds_and_keep_their_ids() {
    let floor = Floor::start("calls");
    let (mut stream, session) = floor.session();
    for (id, name, text) in
        [("7", "a.tool_0", "a tool_0: x"), (r#""q\"""#, "b.tool_0", "b tool_0: x")]
    {
        let (head, body) = ask(&mut stream, &call(&session, id, name));
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        assert_eq!(body, answer(id, text));
    }
    let header = format!("mcp-session-id: {session}\r\n");
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let (_, body) = ask(&mut stream, &post(&header, list));
    let tools = ["\"a.tool_0\"", "\"a.tool_1\"", "\"b.tool_0\""];
    assert!(tools.iter().all(|name| body.contains(name)), "{body}");
}

#[test]
fn requests_sent_together_are_answered_in_order() {
    let floor = Floor::start("order");
    let (mut stream, session) = floor.session();
    let names: Vec<&str> = ["a.tool_1", "b.tool_0", "c.tool_0"].repeat(20);
    let requests: Vec<String> =
        names.iter().enumerate().map(|(id, name)| call(&session, &id.to_string(), name)).collect();
    stream.write_all(requests.concat().as_bytes()).expect("written");
    for (id, name) in names.iter().enumerate() {
        let (_, body) = response(&mut stream);
        let wanted = match *name {
            "a.tool_1" => answer(&id.to_string(), "a tool_1: x"),
            "b.tool_0" => answer(&id.to_string(), "b tool_0: x"),
            _ => format!(
                r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32602,"message":"unknown tool"}}}}"#
            ),
        };
        assert_eq!(body, wanted);
    }
}

#[test]
fn a_large_answer_is_whole() {
    let floor = Floor::start("large");
    let (mut stream, session) = floor.session();
    let large: Vec<String> = ["a", "b"]
        .into_iter()
        .map(|server| {
            let request = call(&session, "5", &format!("{server}.tool_0"));
            let (_, body) = request.split_once("\r\n\r\n").expect("a body");
            let body = body.replace(r#""text":"x""#, r#""size":3000000"#);
            let header = format!("mcp-session-id: {session}\r\n");
            ask(&mut stream, &post(&header, &body)).1
        })
        .collect();
    assert_eq!(large[0].len(), answer("5", "").len() + 3_000_000);
    assert!(large[0].ends_with(r#""}],"isError":false}}"#));
    assert!(large[0] == large[1], "both children answer the same");
}

#[test]
fn only_sessions_that_exist_are_served() {
    let floor = Floor::start("sessions");
    let (mut stream, session) = floor.session();
    let header = format!("mcp-session-id: {session}\r\n");
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let cases = [
        (post(&header, call), "200"),
        (post(&header, notification), "202"),
        (post("", call), "400"),
        (post("mcp-session-id: other\r\n", call), "404"),
        (post(&format!("{header}origin: http://elsewhere\r\n"), call), "403"),
        ("GET /mcp HTTP/1.1\r\n\r\n".to_owned(), "405"),
        (format!("DELETE /mcp HTTP/1.1\r\n{header}\r\n"), "200"),
        (post(&header, call), "404"),
    ];
    for (request, status) in cases {
        let (head, _) = ask(&mut stream, &request);
        assert_eq!(&head[9..12], status, "{request}");
    }
}

//! Floor and child say what the driver takes for granted, over HTTP and, in the modern era, over stdio.

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
        Self::with_children(test, &[])
    }

    /// A floor with more arguments for the children.
    fn with_children(test: &str, more: &[&str]) -> Self {
        let program = env!("CARGO_BIN_EXE_bench-child");
        let (child, port) = child(more);
        let more: String = more.iter().map(|arg| format!(",\"{arg}\"")).collect();
        let path = format!("trunkline-bench-{}-{test}.json", std::process::id());
        let config = Config(std::env::temp_dir().join(path));
        let text = format!(
            r#"{{"mcpServers":{{"a":{{"url":"http://127.0.0.1:{port}/mcp"}},
               "b":{{"command":"{program}","args":["--name","b","--tools","1"{more}]}}}}}}"#
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
        connect(self.port)
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

/// The child `a` over HTTP and its port.
fn child(more: &[&str]) -> (Process, u16) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bench-child"));
    let args = ["--name", "a", "--tools", "2", "--http", "127.0.0.1:0"];
    let mut child = Process::start(command.args(args).args(more));
    let port = line(child.0.stdout.take().expect("piped"));
    (child, port.parse().expect("a port"))
}

fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).expect("accepts");
    stream.set_read_timeout(Some(PATIENCE)).expect("set");
    stream
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

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

/// A modern request with this `Mcp-Name`.
fn modern(id: &str, method: &str, params: &str, name: &str) -> String {
    let headers =
        format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\nMcp-Name: {name}\r\n");
    let body =
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}{META}}}}}"#);
    post(&headers, &body)
}

fn modern_call(id: &str, name: &str) -> String {
    let params = format!(r#""name":"{name}","arguments":{{"text":"x"}},"#);
    modern(id, "tools/call", &params, name)
}

#[test]
fn a_modern_child_knows_no_handshake_and_compares_headers() {
    let (_child, port) = child(&["--modern"]);
    let mut stream = connect(port);
    let initialize = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#;
    let call = modern_call("1", "tool_0");
    let cases = [
        (modern("1", "server/discover", "", ""), "200", r#""supportedVersions":["2026-07-28"]"#),
        (modern("1", "tools/list", "", ""), "200", r#""ttlMs":0,"cacheScope":"private","tools":["#),
        (
            call.clone(),
            "200",
            r#"{"resultType":"complete","content":[{"type":"text","text":"a tool_0: x"}]"#,
        ),
        (call.replace("Name: tool_0", "Name: tool_1"), "400", "-32020"),
        (call.replace("Method: tools/call", "Method: tools/list"), "400", "-32020"),
        (call.replace("Version: 2026", "Version: 2027"), "400", "-32020"),
        (post("", initialize), "400", "-32602"),
        (modern("1", "initialize", "", ""), "404", "-32601"),
        (modern("1", "ping", "", ""), "404", "-32601"),
    ];
    for (request, status, part) in cases {
        let (head, body) = ask(&mut stream, &request);
        assert_eq!(&head[9..12], status, "{request}\n{body}");
        assert!(body.contains(part), "{request}\n{body}");
    }
}

#[test]
fn modern_calls_pass_the_floor_without_a_session() {
    let floor = Floor::with_children("modern", &["--modern"]);
    let mut stream = floor.connect();
    for (id, name, text) in
        [("7", "a.tool_1", "a tool_1: x"), (r#""q\"""#, "b.tool_0", "b tool_0: x")]
    {
        let (head, body) = ask(&mut stream, &modern_call(id, name));
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}{body}");
        let wanted =
            answer(id, text).replace("{\"content\"", "{\"resultType\":\"complete\",\"content\"");
        assert_eq!(body, wanted);
    }
    let (head, body) = ask(&mut stream, &modern_call("7", "a.tool_1").replacen("a.tool_1", "b", 1));
    assert!(head.starts_with("HTTP/1.1 400 ") && body.contains("-32020"), "{head}{body}");
    let (_, body) = ask(&mut stream, &modern("1", "tools/list", "", ""));
    for part in [r#""resultType":"complete","ttlMs":0"#, "\"a.tool_1\"", "\"b.tool_0\""] {
        assert!(body.contains(part), "{body}");
    }
    let (_, body) = ask(&mut stream, &modern("1", "server/discover", "", ""));
    assert!(body.contains("2026-07-28"), "{body}");
}

#[test]
fn modern_lines_pass_the_floor_over_stdio() {
    let program = env!("CARGO_BIN_EXE_bench-child");
    let path = format!("trunkline-bench-{}-lines.json", std::process::id());
    let config = Config(std::env::temp_dir().join(path));
    let args = r#"["--name","b","--tools","1","--modern"]"#;
    let text = format!(r#"{{"mcpServers":{{"b":{{"command":"{program}","args":{args}}}}}}}"#);
    std::fs::write(&config.0, text).expect("written");
    let mut floor = Process::start(
        Command::new(env!("CARGO_BIN_EXE_bench-floor")).arg("--config").arg(&config.0),
    );
    let mut output = BufReader::new(floor.0.stdout.take().expect("piped"));
    let input = floor.0.stdin.as_mut().expect("piped");
    let mut next = |request: &str| {
        let (_, body) = request.split_once("\r\n\r\n").expect("a body");
        writeln!(input, "{body}").expect("written");
        let mut line = String::new();
        output.read_line(&mut line).expect("an answer");
        line
    };
    let list = next(&modern("1", "tools/list", "", ""));
    assert!(list.contains(r#""resultType":"complete""#) && list.contains("\"b:tool_0\""), "{list}");
    assert!(next(&modern("2", "server/discover", "", "")).contains("2026-07-28"));
    let said = next(&modern_call("\"x\"", "b:tool_0"));
    assert!(said.starts_with(r#"{"jsonrpc":"2.0","id":"x","result":{"resultType""#), "{said}");
    assert!(said.contains("b tool_0: x"), "{said}");
}

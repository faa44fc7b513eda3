//! The few requests nearly every test sends, as raw bytes.

use crate::client::Client;
use crate::inbox::Inbox;
use crate::limit::Limit;
use crate::line::Line;
use crate::{LIMIT, scan};

/// One entry of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    pub name: String,
    pub raw: Vec<u8>,
}

/// A client of whatever transport; a test that uses this runs over all of them.
pub trait Speak {
    /// Sends these bytes as one message.
    fn send_line(&self, line: impl Into<Vec<u8>>);

    /// What has come back.
    fn inbox(&self) -> &Inbox;

    /// An id nobody else uses in this session.
    fn fresh_id(&self) -> String;

    /// What stands between server and tool in a name.
    fn separator(&self) -> &str;

    /// What is known, for the message of a failed test.
    fn describe(&self) -> String;

    /// The exposed name of a tool.
    fn tool(&self, server: &str, tool: &str) -> String {
        format!("{server}{}{tool}", self.separator())
    }

    #[track_caller]
    fn wait_for(
        &self,
        what: &str,
        limit: impl Into<Limit>,
        wanted: impl FnMut(&Line) -> bool,
    ) -> Line {
        let deadline = limit.into().begin();
        self.inbox()
            .take_by(deadline, wanted)
            .unwrap_or_else(|| panic!("{what} did not come within {deadline}\n{}", self.describe()))
    }

    fn try_wait_for(
        &self,
        limit: impl Into<Limit>,
        wanted: impl FnMut(&Line) -> bool,
    ) -> Option<Line> {
        self.inbox().take(limit, wanted)
    }

    /// The answer to `id` (as spelled).
    #[track_caller]
    fn answer(&self, id: &[u8], limit: impl Into<Limit>) -> Line {
        let what = format!("the answer to {}", String::from_utf8_lossy(id));
        self.wait_for(&what, limit, |line| line.is_answer_to(id))
    }

    /// Sends a request given as raw bytes and waits for the answer that carries its id.
    #[track_caller]
    fn request(&self, raw: impl Into<Vec<u8>>) -> Line {
        let raw = raw.into();
        let id = scan::get(&raw, "id").expect("a request has an id").to_vec();
        self.send_line(raw);
        self.answer(&id, LIMIT)
    }

    /// Sends a request with these raw params and waits for its answer.
    #[track_caller]
    fn ask(&self, method: &str, params: &str) -> Line {
        let id = self.start(method, params);
        self.answer(&id, LIMIT)
    }

    /// Sends a request with these raw params; the id it was given.
    fn start(&self, method: &str, params: &str) -> Vec<u8> {
        let id = self.fresh_id();
        self.send_line(format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#
        ));
        id.into_bytes()
    }

    /// Sends a notification with these raw params.
    fn notify(&self, method: &str, params: &str) {
        self.send_line(format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#));
    }

    /// Waits for a notification.
    #[track_caller]
    fn notification(&self, method: &str, limit: impl Into<Limit>) -> Line {
        self.wait_for(method, limit, |line| line.is_notification(method))
    }

    /// Waits for a request of the server.
    #[track_caller]
    fn question(&self, method: &str, limit: impl Into<Limit>) -> Line {
        let asked = |line: &Line| line.id().is_some() && line.method().as_deref() == Some(method);
        self.wait_for(method, limit, asked)
    }

    /// Answers a request of the server with this raw `"result":…` or `"error":…` member.
    fn reply(&self, question: &Line, member: &str) {
        let id = String::from_utf8_lossy(question.id().unwrap_or_default()).into_owned();
        self.send_line(format!(r#"{{"jsonrpc":"2.0","id":{id},{member}}}"#));
    }

    /// The handshake; the answer to `initialize`.
    #[track_caller]
    fn initialize(&self, version: &str) -> Line {
        self.initialize_with(version, "{}")
    }

    /// The handshake of a client with these raw capabilities.
    #[track_caller]
    fn initialize_with(&self, version: &str, capabilities: &str) -> Line {
        let answer = self.request(initialize_with(&self.fresh_id(), version, capabilities));
        self.send_line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        answer
    }

    /// Sends a call without waiting; the id it was given.
    fn begin(&self, tool: &str, arguments: &str) -> Vec<u8> {
        let id = self.fresh_id();
        self.send_line(call(&id, tool, arguments));
        id.into_bytes()
    }

    #[track_caller]
    fn call(&self, tool: &str, arguments: &str) -> Line {
        self.call_within(tool, arguments, LIMIT)
    }

    #[track_caller]
    fn call_within(&self, tool: &str, arguments: &str, limit: impl Into<Limit>) -> Line {
        let id = self.begin(tool, arguments);
        self.answer(&id, limit)
    }

    /// Tells the server that nobody waits for `id` any more.
    fn cancel(&self, id: &[u8]) {
        let id = String::from_utf8_lossy(id);
        let params = format!(r#"{{"requestId":{id},"reason":"enough"}}"#);
        self.notify("notifications/cancelled", &params);
    }

    /// Calls a tool that echoes, and asserts that the right server got the right bytes.
    #[track_caller]
    fn assert_echo(&self, server: &str, tool: &str, arguments: &str) {
        let answer = self.call(&self.tool(server, tool), arguments);
        let content = scan::get(answer.result(), "structuredContent").unwrap_or_default();
        assert_eq!(scan::get(content, "from"), Some(scan::quote(server).as_bytes()), "{answer}");
        assert_eq!(scan::get(content, "arguments"), Some(arguments.as_bytes()), "{answer}");
    }

    /// Every tool, pages followed to the end.
    #[track_caller]
    fn list(&self) -> Vec<Tool> {
        self.list_of("tools/list", "tools", "name")
    }

    /// Every entry of a list, pages followed to the end; `key` is what an entry is known by.
    #[track_caller]
    fn list_of(&self, method: &str, member: &str, key: &str) -> Vec<Tool> {
        let mut tools = Vec::new();
        let mut params = String::new();
        loop {
            let id = self.fresh_id();
            let answer = self
                .request(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"{params}}}"#));
            tools.extend(entries(&answer, member, key));
            match scan::get(answer.result(), "nextCursor") {
                None => return tools,
                Some(cursor) => {
                    let cursor = String::from_utf8_lossy(cursor);
                    params = format!(r#","params":{{"cursor":{cursor}}}"#);
                }
            }
        }
    }

    #[track_caller]
    fn list_names(&self) -> Vec<String> {
        self.list().into_iter().map(|tool| tool.name).collect()
    }

    /// Lists again and again until `wanted` accepts the names.
    #[track_caller]
    fn wait_list(&self, what: &str, limit: impl Into<Limit>, wanted: impl Fn(&[String]) -> bool) {
        crate::process::wait_until(what, limit, || wanted(&self.list_names()));
    }

    /// Asserts that nothing but JSON-RPC messages has come.
    #[track_caller]
    fn assert_only_protocol(&self) {
        let faults = self.inbox().faults();
        assert!(faults.is_empty(), "more than the protocol: {faults:#?}");
    }
}

impl Speak for Client {
    fn send_line(&self, line: impl Into<Vec<u8>>) {
        Client::send_line(self, line);
    }

    fn inbox(&self) -> &Inbox {
        Client::inbox(self)
    }

    fn fresh_id(&self) -> String {
        Client::fresh_id(self)
    }

    fn separator(&self) -> &'static str {
        ":"
    }

    fn describe(&self) -> String {
        Client::describe(self)
    }
}

/// What [`Speak`] offers, without the trait: for tests of the stdio front alone.
impl Client {
    #[track_caller]
    pub fn initialize(&self, version: &str) -> Line {
        Speak::initialize(self, version)
    }

    pub fn begin(&self, tool: &str, arguments: &str) -> Vec<u8> {
        Speak::begin(self, tool, arguments)
    }

    #[track_caller]
    pub fn call(&self, tool: &str, arguments: &str) -> Line {
        Speak::call(self, tool, arguments)
    }

    #[track_caller]
    pub fn call_within(&self, tool: &str, arguments: &str, limit: impl Into<Limit>) -> Line {
        Speak::call_within(self, tool, arguments, limit)
    }

    #[track_caller]
    pub fn assert_echo(&self, server: &str, tool: &str, arguments: &str) {
        Speak::assert_echo(self, server, tool, arguments);
    }

    #[track_caller]
    pub fn list(&self) -> Vec<Tool> {
        Speak::list(self)
    }

    #[track_caller]
    pub fn list_names(&self) -> Vec<String> {
        Speak::list_names(self)
    }

    #[track_caller]
    pub fn wait_list(
        &self,
        what: &str,
        limit: impl Into<Limit>,
        wanted: impl Fn(&[String]) -> bool,
    ) {
        Speak::wait_list(self, what, limit, wanted);
    }
}

/// The tools of one page.
#[track_caller]
pub fn listed(answer: &Line) -> Vec<Tool> {
    entries(answer, "tools", "name")
}

/// The entries of one page.
#[track_caller]
pub fn entries(answer: &Line, member: &str, key: &str) -> Vec<Tool> {
    let all = scan::get(answer.result(), member).and_then(scan::elements);
    let all = all.unwrap_or_else(|| panic!("a list of {member} was expected: {answer}"));
    let entry = |raw: &[u8]| Tool {
        name: scan::get(raw, key).and_then(scan::text).expect("an entry has a name"),
        raw: raw.to_vec(),
    };
    all.into_iter().map(entry).collect()
}

/// The bytes of an `initialize` request.
pub fn initialize(id: &str, version: &str) -> String {
    initialize_with(id, version, "{}")
}

/// The bytes of an `initialize` request with these raw capabilities.
pub fn initialize_with(id: &str, version: &str, capabilities: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{capabilities},"clientInfo":{{"name":"kit","version":"1"}}}}}}"#
    )
}

/// The bytes of a `tools/call` request; the arguments exactly as given.
pub fn call(id: &str, tool: &str, arguments: &str) -> String {
    let tool = scan::quote(tool);
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":{tool},"arguments":{arguments}}}}}"#
    )
}

//! The few requests nearly every test sends, as raw bytes.

use std::time::Duration;

use crate::client::Client;
use crate::line::Line;
use crate::{LIMIT, scan};

/// One entry of `tools/list`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    pub name: String,
    pub raw: Vec<u8>,
}

impl Client {
    /// The handshake; the answer to `initialize`.
    #[track_caller]
    pub fn initialize(&self, version: &str) -> Line {
        let answer = self.request(initialize(&self.fresh_id(), version));
        self.send_line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        answer
    }

    /// Sends a call without waiting; the id it was given.
    pub fn begin(&self, tool: &str, arguments: &str) -> Vec<u8> {
        let id = self.fresh_id();
        self.send_line(call(&id, tool, arguments));
        id.into_bytes()
    }

    #[track_caller]
    pub fn call(&self, tool: &str, arguments: &str) -> Line {
        self.call_within(tool, arguments, LIMIT)
    }

    #[track_caller]
    pub fn call_within(&self, tool: &str, arguments: &str, limit: Duration) -> Line {
        let id = self.begin(tool, arguments);
        self.answer(&id, limit)
    }

    /// Calls a tool that echoes, and asserts that the right server got the right bytes.
    #[track_caller]
    pub fn assert_echo(&self, server: &str, tool: &str, arguments: &str) {
        let answer = self.call(&format!("{server}:{tool}"), arguments);
        let content = scan::get(answer.result(), "structuredContent").unwrap_or_default();
        assert_eq!(scan::get(content, "from"), Some(scan::quote(server).as_bytes()), "{answer}");
        assert_eq!(scan::get(content, "arguments"), Some(arguments.as_bytes()), "{answer}");
    }

    /// Every tool, pages followed to the end.
    #[track_caller]
    pub fn list(&self) -> Vec<Tool> {
        let mut tools = Vec::new();
        let mut params = String::new();
        loop {
            let id = self.fresh_id();
            let answer = self
                .request(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list"{params}}}"#));
            tools.extend(listed(&answer));
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
    pub fn list_names(&self) -> Vec<String> {
        self.list().into_iter().map(|tool| tool.name).collect()
    }

    /// Lists again and again until `wanted` accepts the names.
    #[track_caller]
    pub fn wait_list(&self, what: &str, limit: Duration, wanted: impl Fn(&[String]) -> bool) {
        crate::process::wait_until(what, limit, || wanted(&self.list_names()));
    }
}

/// The tools of one page.
#[track_caller]
pub fn listed(answer: &Line) -> Vec<Tool> {
    let tools = scan::get(answer.result(), "tools").and_then(scan::elements);
    let tools = tools.unwrap_or_else(|| panic!("a list of tools was expected: {answer}"));
    let tool = |raw: &[u8]| Tool {
        name: scan::get(raw, "name").and_then(scan::text).expect("a tool has a name"),
        raw: raw.to_vec(),
    };
    tools.into_iter().map(tool).collect()
}

/// The bytes of an `initialize` request.
pub fn initialize(id: &str, version: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{{}},"clientInfo":{{"name":"kit","version":"1"}}}}}}"#
    )
}

/// The bytes of a `tools/call` request; the arguments exactly as given.
pub fn call(id: &str, tool: &str, arguments: &str) -> String {
    let tool = scan::quote(tool);
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":{tool},"arguments":{arguments}}}}}"#
    )
}

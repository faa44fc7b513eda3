//! Stands for the models: over the APIs of Anthropic (Messages) and of OpenAI (Responses) it wants one tool called
//! if it is told to, and keeps every request.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

use serde_json::{Value, json};

/// How clients mark the tools of the entry `trunkline`.
const NAMESPACE: &str = "mcp__trunkline";

pub(crate) struct Model {
    pub(crate) address: String,
    heard: Arc<Mutex<Vec<Request>>>,
    last_word: Arc<LastWord>,
}

/// May the model end its client's turn? Until then the client stays.
#[derive(Default)]
struct LastWord {
    is_allowed: Mutex<bool>,
    changed: Condvar,
}

#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) at: Instant,
    body: Value,
}

/// A tool that the model wants to have called, in Trunkline's name for this client.
#[derive(Clone)]
pub(crate) struct Wanted {
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
}

impl Model {
    pub(crate) fn start(wanted: Option<Wanted>) -> Result<Self, String> {
        let model = Self::start_holding(wanted)?;
        model.release();
        Ok(model)
    }

    /// Its clients stay until they are released: the turn does not end before.
    pub(crate) fn start_holding(wanted: Option<Wanted>) -> Result<Self, String> {
        let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let heard = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&heard);
        let last_word = Arc::new(LastWord::default());
        let held = Arc::clone(&last_word);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (wanted, kept) = (wanted.clone(), Arc::clone(&kept));
                let held = Arc::clone(&held);
                std::thread::spawn(move || drop(serve(&stream, wanted.as_ref(), &kept, &held)));
            }
        });
        Ok(Self { address: format!("http://{address}"), heard, last_word })
    }

    pub(crate) fn release(&self) {
        *self.last_word.is_allowed.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.last_word.changed.notify_all();
    }

    /// Has a client sent something?
    pub(crate) fn was_asked(&self) -> bool {
        !self.heard.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// What the tool gave, if the client has called it by now.
    pub(crate) fn result(&self) -> Option<String> {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.iter().find_map(Request::result)
    }

    /// The requests since this was last asked.
    pub(crate) fn requests(&self) -> Vec<Request> {
        std::mem::take(&mut self.heard.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Request {
    /// The tools of the entry `trunkline`. Clients write `-` and `_` in their own ways.
    pub(crate) fn tools(&self) -> BTreeSet<String> {
        let tools = self.body["tools"].as_array().into_iter().flatten();
        let names = tools.flat_map(|tool| match tool["type"].as_str() {
            Some("namespace") if tool["name"] == NAMESPACE => {
                let inner = tool["tools"].as_array().into_iter().flatten();
                inner.filter_map(|it| it["name"].as_str()).map(str::to_owned).collect()
            }
            _ => {
                let name = tool["name"].as_str().and_then(|it| it.strip_prefix(NAMESPACE));
                let name = name.and_then(|it| it.strip_prefix("__"));
                name.map(str::to_owned).into_iter().collect::<Vec<_>>()
            }
        });
        names.map(|name| name.replace('-', "_")).collect()
    }

    /// What the tool gave, if the client has called one.
    pub(crate) fn result(&self) -> Option<String> {
        let is_result = |it: &&Value| it["type"] == "function_call_output";
        let of_codex = self.body["input"].as_array().into_iter().flatten().find(is_result);
        let of_claude = self.body["messages"].as_array().into_iter().flatten();
        let mut of_claude = of_claude.flat_map(|it| it["content"].as_array().into_iter().flatten());
        let of_claude = of_claude.find(|it| it["type"] == "tool_result");
        of_codex.or(of_claude).map(Value::to_string)
    }
}

/// One request after the other, as long as the connection lasts.
fn serve(
    stream: &TcpStream,
    wanted: Option<&Wanted>,
    heard: &Mutex<Vec<Request>>,
    last_word: &LastWord,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head)? == 0 {
                return Ok(());
            }
        }
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
        });
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body)?;
        let request =
            Request { at: Instant::now(), body: serde_json::from_slice(&body).unwrap_or_default() };
        let path = head.split(' ').nth(1).unwrap_or_default();
        let is_codex = path.contains("/responses");
        let is_turn = is_codex || path.split('?').next() == Some("/v1/messages");
        let wanted = wanted.filter(|_| request.result().is_none());
        let (kind, answer) = match (is_turn, is_codex) {
            (true, true) => ("text/event-stream", of_openai(wanted)),
            (true, false) => ("text/event-stream", of_anthropic(wanted)),
            (false, _) => ("application/json", r#"{"input_tokens":1,"data":[]}"#.to_owned()),
        };
        if is_turn {
            heard.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        }
        if is_turn && wanted.is_none() {
            let allowed = last_word.is_allowed.lock().unwrap_or_else(PoisonError::into_inner);
            let waits = last_word.changed.wait_while(allowed, |is_allowed| !*is_allowed);
            drop(waits.unwrap_or_else(PoisonError::into_inner));
        }
        let length = answer.len();
        let head =
            format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n");
        (&*stream).write_all(format!("{head}{answer}").as_bytes())?;
    }
}

fn of_openai(wanted: Option<&Wanted>) -> String {
    let item = match wanted {
        Some(Wanted { tool, arguments }) => json!({"type": "function_call", "id": "fc_1",
            "call_id": "call_1", "name": tool, "namespace": NAMESPACE,
            "arguments": arguments.to_string()}),
        None => json!({"type": "message", "role": "assistant", "id": "msg_1",
            "content": [{"type": "output_text", "text": "Done."}]}),
    };
    let usage = json!({"input_tokens": 1, "output_tokens": 1, "total_tokens": 2});
    events(&[
        json!({"type": "response.created", "response": {"id": "resp_1"}}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": {"id": "resp_1", "usage": usage}}),
    ])
}

fn of_anthropic(wanted: Option<&Wanted>) -> String {
    let (block, delta, stop) = match wanted {
        Some(Wanted { tool, arguments }) => (
            json!({"type": "tool_use", "id": "toolu_1", "name": format!("{NAMESPACE}__{tool}"), "input": {}}),
            json!({"type": "input_json_delta", "partial_json": arguments.to_string()}),
            "tool_use",
        ),
        None => (
            json!({"type": "text", "text": ""}),
            json!({"type": "text_delta", "text": "Done."}),
            "end_turn",
        ),
    };
    let usage = json!({"input_tokens": 1, "output_tokens": 1});
    events(&[
        json!({"type": "message_start", "message": {"id": "msg_1", "type": "message",
            "role": "assistant", "model": "none", "content": [], "stop_reason": null,
            "stop_sequence": null, "usage": usage}}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null},
            "usage": usage}),
        json!({"type": "message_stop"}),
    ])
}

fn events(all: &[Value]) -> String {
    let line = |event: &Value| {
        format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
    };
    all.iter().map(line).collect()
}

//! MCP on standard input and output, for a demo server: one message a line, both eras.

mod answer;
mod pending;
mod request;

use std::io::BufRead as _;

use serde_json::Value;
use tokio::sync::mpsc;

use super::tool::{Demo, ToolOutcome};
use crate::{FAILED, OK, console};
use answer::DemoSession;
use pending::PendingCalls;
use request::{DemoRequest, Incoming};

/// Messages that were read and not looked at.
const QUEUE: usize = 64;

/// Serves until the input ends; the exit code.
pub(super) fn run(name: &'static str, demo: impl Demo) -> u8 {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    match runtime {
        Ok(runtime) => runtime.block_on(serve(DemoSession::new(name, demo))),
        Err(error) => console::problem(&format!("error: {error}\n"), FAILED),
    }
}

async fn serve(mut server: DemoSession<impl Demo>) -> u8 {
    let mut lines = lines();
    let mut open = PendingCalls::default();
    tokio::time::sleep(server.start()).await;
    loop {
        let line = tokio::select! {
            line = lines.recv() => line,
            () = open.ended() => continue,
        };
        let Some(line) = line else { return OK };
        let (request, outcome) = match Incoming::read(&line) {
            Some(Incoming::Request(request)) => match server.answer(&request) {
                Ok(outcome) => (request, outcome),
                Err(answer) => {
                    say(&answer);
                    continue;
                }
            },
            Some(Incoming::Response { id, answer }) => match open.answered(&id) {
                Some(request) => {
                    let outcome = server.call(&request, Some(&answer));
                    (request, outcome)
                }
                None => continue,
            },
            Some(Incoming::Cancelled(id)) => {
                open.cancel(&id);
                continue;
            }
            None => continue,
        };
        if let Some(words) = settle(&mut open, &server, request, outcome) {
            return console::problem(&format!("{words}\n"), FAILED);
        }
    }
}

/// Does what came of a call; the last words, if that is the end.
fn settle(
    open: &mut PendingCalls,
    server: &DemoSession<impl Demo>,
    request: DemoRequest,
    outcome: ToolOutcome,
) -> Option<&'static str> {
    match outcome {
        ToolOutcome::Done(result) => say(&request.result(result)),
        ToolOutcome::Changed(result) => {
            if let Some(news) = server.news(&request) {
                say(&news);
            }
            say(&request.result(result));
        }
        ToolOutcome::Ask(question) => match request.ask(&question, open.fresh_id()) {
            Ok((id, asked)) => {
                say(&asked);
                open.wait(id, request);
            }
            // In the stateless era the question is the result.
            Err(result) => say(&result),
        },
        ToolOutcome::Slow { steps, each, then } => open.slow(request, steps, each, then),
        ToolOutcome::Silence => {}
        ToolOutcome::Crash(words) => return Some(words),
    }
    None
}

/// Writes one message. A closed output is ignored: the input ends as well.
fn say(message: &Value) {
    console::out_line(message.to_string().as_bytes());
}

/// The lines of standard input, read by a thread that waits for them and ends with the input.
fn lines() -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel(QUEUE);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    lines
}

//! What servers say while the human's client waits: progress, log messages, questions.

use std::convert::Infallible;

use trunkline_gateway::{LocalClient, News};
use trunkline_wire::{decode, member};

use crate::client::{Dialogue, Question, Step, decline, line, progress_line};
use crate::speak;
use crate::terminal::{StatusLine, Typed};

/// Listens until it is dropped. `who`: the name under which questions are shown.
pub(super) async fn hear(
    client: &LocalClient,
    status: &StatusLine,
    who: &str,
    person: bool,
) -> Infallible {
    let Some(mut news) = client.news() else {
        return std::future::pending().await;
    };
    let mut typed = None;
    while let Some(one) = news.recv().await {
        match one {
            News::Notification { method, params } => match method.as_str() {
                "notifications/progress" => {
                    status.show(&progress_line(&params, speak::stderr_width()));
                }
                "notifications/message" => log(&params),
                _ => {}
            },
            News::Question { id, method, params } if method == "elicitation/create" => {
                status.clear();
                if typed.is_none() && person {
                    typed = Typed::new().ok();
                }
                let answer = match &mut typed {
                    Some(typed) => asked(&params, who, typed).await,
                    None => decline(),
                };
                client.reply(&id, Ok(&answer));
            }
            News::Question { id, method, .. } => {
                client.reply(&id, Err(&format!("`{method}` is nothing this client does")));
            }
        }
    }
    std::future::pending().await
}

/// A server's own log, with `--debug`.
fn log(params: &[u8]) {
    let text = |key| {
        member(params, key).map(|value| {
            decode(value).unwrap_or_else(|| String::from_utf8_lossy(value)).into_owned()
        })
    };
    let level = text("level").unwrap_or_default();
    let logger = text("logger").map(|name| format!(" {}", line(&name))).unwrap_or_default();
    let data = text("data").unwrap_or_default();
    tracing::debug!("log{logger} ({}): {}", line(&level), line(&data));
}

/// The person's answer to a question.
async fn asked(params: &[u8], who: &str, typed: &mut Typed) -> Vec<u8> {
    let (mut dialogue, mut step) = Dialogue::start(Question::read(params), who);
    loop {
        match step {
            Step::Answer(answer) => return answer,
            Step::Prompt(prompt) => {
                speak::problem(&prompt, 0);
                step = dialogue.say(typed.line().await.as_deref());
            }
        }
    }
}

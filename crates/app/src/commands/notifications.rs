//! Shows notifications of servers while a request runs: progress, log messages, elicitations.

use std::convert::Infallible;

use tokio::sync::mpsc::Receiver;
use trunkline_gateway::{LocalClient, News};
use trunkline_wire::{decode, member};

use crate::client::{Dialogue, DialogueStep, PersonQuestion, decline, line, progress_line};
use crate::console;
use crate::terminal::{StatusLine, Typed};

/// Shows notifications to the user while a request runs.
pub(super) struct Listener<'l> {
    client: &'l LocalClient,
    news: Option<Receiver<News>>,
    status: &'l StatusLine,
    /// The name under which questions are shown.
    who: &'l str,
    person: bool,
    typed: Option<Typed>,
}

impl<'l> Listener<'l> {
    pub(super) fn new(
        client: &'l LocalClient,
        status: &'l StatusLine,
        who: &'l str,
        person: bool,
    ) -> Self {
        Self { client, news: client.news(), status, who, person, typed: None }
    }

    /// Listens until it is dropped.
    pub(super) async fn hear(&mut self) -> Infallible {
        while let Some(news) = &mut self.news
            && let Some(one) = news.recv().await
        {
            match one {
                News::Notification { method, params } => self.told(&method, &params),
                News::Question { id, method, params } if method == "elicitation/create" => {
                    let answer = self.asked(&params).await;
                    self.client.reply(&id, Ok(&answer));
                }
                News::Question { id, method, .. } => {
                    self.client.reply(&id, Err(&format!("`{method}` is nothing this client does")));
                }
            }
        }
        std::future::pending().await
    }

    /// What was said before the result came, and not yet heard: log messages.
    pub(super) fn catch_up(&mut self) {
        while let Some(news) = &mut self.news
            && let Ok(one) = news.try_recv()
        {
            if let News::Notification { method, params } = one
                && method == LOG
            {
                log(&params);
            }
        }
    }

    fn told(&self, method: &str, params: &[u8]) {
        match method {
            "notifications/progress" => {
                self.status.show(&progress_line(params, console::stderr_width()));
            }
            LOG => log(params),
            _ => {}
        }
    }

    async fn asked(&mut self, params: &[u8]) -> Vec<u8> {
        self.status.clear();
        if self.typed.is_none() && self.person {
            self.typed = Typed::new().ok();
        }
        match &mut self.typed {
            Some(typed) => converse(params, self.who, typed).await,
            None => decline(),
        }
    }
}

const LOG: &str = "notifications/message";

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
async fn converse(params: &[u8], who: &str, typed: &mut Typed) -> Vec<u8> {
    let (mut dialogue, mut step) = Dialogue::start(PersonQuestion::read(params), who);
    loop {
        match step {
            DialogueStep::Answer(answer) => return answer,
            DialogueStep::Prompt(prompt) => {
                console::problem(&prompt, 0);
                step = dialogue.say(typed.line().await.as_deref());
            }
        }
    }
}

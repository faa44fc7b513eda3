//! Calls that have no answer yet: slow ones, and those that wait for a person.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::{AbortHandle, JoinSet};

use super::request::DemoRequest;
use super::say;

#[derive(Debug, Default)]
pub(super) struct PendingCalls {
    slow: JoinSet<()>,
    /// By their ids, as spelt.
    running: HashMap<String, AbortHandle>,
    /// By the ids of our questions.
    asked: HashMap<String, DemoRequest>,
    questions: u64,
}

impl PendingCalls {
    pub(super) fn fresh_id(&mut self) -> String {
        self.questions += 1;
        format!("question-{}", self.questions)
    }

    pub(super) fn wait(&mut self, id: String, request: DemoRequest) {
        self.asked.insert(id, request);
    }

    /// The call that this is the answer for.
    pub(super) fn answered(&mut self, id: &str) -> Option<DemoRequest> {
        self.asked.remove(id)
    }

    pub(super) fn cancel(&mut self, id: &Value) {
        self.asked.retain(|_, request| request.id != *id);
        if let Some(running) = self.running.remove(&id.to_string()) {
            running.abort();
        }
    }

    /// Answers after a while, and says how far it is to who wants to know.
    pub(super) fn slow(&mut self, request: DemoRequest, steps: u32, each: Duration, then: Value) {
        let id = request.id.to_string();
        let running = self.slow.spawn(async move {
            for step in 1..=steps {
                tokio::time::sleep(each).await;
                if let Some(token) = request.progress_token() {
                    let params =
                        json!({ "progressToken": token, "progress": step, "total": steps });
                    let method = "notifications/progress";
                    say(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
                }
            }
            say(&request.result(then));
        });
        self.running.insert(id, running);
    }

    /// Comes back when one of them has been answered; never, if there is none.
    pub(super) async fn ended(&mut self) {
        if self.slow.join_next().await.is_none() {
            std::future::pending::<()>().await;
        }
        self.running.retain(|_, running| !running.is_finished());
    }
}

//! What is asked about tasks: where callers have to say who they are, a task is its maker's, and to
//! others it is not there.

use std::sync::Arc;

use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use trunkline_catalog::config::Share;
use trunkline_wire::{Message, decode, find, members};

use crate::call::Client;
use crate::error::CallError;
use crate::limits::TASKS_LISTED;
use crate::pump::FlushSet;
use crate::registry::Snapshot;
use crate::session::{Session, SessionRequest};
use crate::upstream::{Connection, Server};

/// How much of an answer its client is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    All,
    /// Of a list of tasks, its own.
    OwnTasks,
}

/// The member that names a task.
const ID: &str = "taskId";

impl Session {
    /// What is said about a task is for the server that has it.
    pub(super) fn task_place(
        &self,
        message: &Message<'_>,
        snapshot: &Snapshot,
        client: &Client,
    ) -> Option<usize> {
        if !is_about_tasks(message) {
            return None;
        }
        let task = find(message.bytes, message.params.span?, &[ID])?;
        let task = decode(task.of(message.bytes))?;
        let key = self.context.registry.parking.tasks.server(&task, client.principal())?;
        snapshot.place_of_id(&key)
    }

    /// The tasks of all servers, on one page. Those that do not answer in time are left out.
    pub(super) fn list_tasks(self: &Arc<Self>, asked: &SessionRequest<'_>, touched: &mut FlushSet) {
        if !matches!(asked.message.text(asked.message.params.cursor), b"" | b"null") {
            let error = CallError::InvalidParams("unknown cursor".to_owned());
            return self.turn_away(asked, &error, touched);
        }
        let listers: Vec<_> = (0..asked.snapshot.servers())
            .filter(|place| asked.snapshot.is_whole(*place))
            .filter_map(|place| self.task_lister(asked.snapshot.server(place)?))
            .collect();
        if listers.is_empty() {
            return asked.answer(br#"{"tasks":[]}"#, touched);
        }
        let client = Arc::clone(asked.client);
        let ready = async move {
            let until = Instant::now() + TASKS_LISTED;
            let mut listing = JoinSet::new();
            for (place, connection) in listers.into_iter().enumerate() {
                let client = Arc::clone(&client);
                listing.spawn(async move {
                    let tasks = timeout_at(until, connection.all_tasks(&client)).await;
                    (place, tasks.unwrap_or_default())
                });
            }
            let mut lists = listing.join_all().await;
            lists.sort_by_key(|(place, _)| *place);
            lists.into_iter().flat_map(|(_, tasks)| tasks).collect::<Vec<_>>()
        };
        self.wait(asked, ready, |_, asked, tasks, touched| {
            let result = [&br#"{"tasks":["#[..], &tasks.join(&b","[..]), b"]}"].concat();
            asked.answer(&result, touched);
        });
    }

    /// The connection over which a server lists the tasks of this client, if it lists any.
    fn task_lister(&self, server: &Arc<Server>) -> Option<Arc<Connection>> {
        let live = server.live().filter(|live| live.hello.lists_tasks())?;
        match self.context.exclusive || server.definition.share == Share::Shared {
            true => Some(live.connection),
            // Without a process of its own it has no tasks there.
            false => self.privates.lock().get(server.key.id())?.connection(),
        }
    }

    /// May it be asked of the server at this place, and how much of the answer is shown?
    pub(super) fn judge_task(
        &self,
        asked: &SessionRequest<'_>,
        place: Option<usize>,
    ) -> Result<Shown, CallError> {
        let Some(who) = asked.client.principal() else { return Ok(Shown::All) };
        if !is_about_tasks(asked.message) {
            return Ok(Shown::All);
        }
        match task_in(asked.message.text(asked.message.params.span)) {
            Named::Nothing if *asked.message.method() == *b"tasks/list" => {
                if let Some(connection) = place.and_then(|at| asked.snapshot.connection(at)) {
                    connection.facts.expect_tasks();
                }
                Ok(Shown::OwnTasks)
            }
            Named::Nothing | Named::Unclear => {
                let method = asked.message.method();
                let method = String::from_utf8_lossy(&method);
                Err(CallError::InvalidParams(format!("{method} needs one `{ID}`, a string")))
            }
            Named::Task(task) => {
                let server = place.and_then(|place| asked.snapshot.server(place));
                let tasks = &self.context.registry.parking.tasks;
                match server.is_some_and(|server| tasks.is_of(server.key.id(), &task, who)) {
                    true => Ok(Shown::All),
                    false => Err(CallError::InvalidParams("Task not found".to_owned())),
                }
            }
        }
    }
}

pub(super) fn is_about_tasks(message: &Message<'_>) -> bool {
    message.method().starts_with(b"tasks/")
}

/// Is this `tasks/list` of revision 2025-11-25? The extension that came after it has no list.
pub(super) fn is_task_list(asked: &SessionRequest<'_>) -> bool {
    asked.manner.is_session() && *asked.message.method() == *b"tasks/list"
}

/// The place of the one server that can be meant by what is asked about tasks, because no other has any.
pub(super) fn only_with_tasks(message: &Message<'_>, snapshot: &Snapshot) -> Option<usize> {
    let is_list = *message.method() == *b"tasks/list";
    let is_meant = |place: &usize| {
        let server = snapshot.server(*place).filter(|_| snapshot.is_whole(*place));
        let hello = server.and_then(|server| server.live()).map(|live| live.hello);
        hello.is_some_and(|hello| if is_list { hello.lists_tasks() } else { hello.has_tasks() })
    };
    let mut meant = (0..snapshot.servers()).filter(is_meant);
    meant.next().filter(|_| meant.next().is_none())
}

/// What is said about a request that could be for several servers, or for none.
pub(super) fn unaddressed(message: &Message<'_>) -> CallError {
    match is_about_tasks(message) {
        // 2025-11-25 and the extension of 2026-07-28 have the same code for it.
        true => CallError::InvalidParams(
            "Task not found: no server is known to have it (one can be named in \
             `params._meta[\"trunkline/server\"]`)"
                .to_owned(),
        ),
        false => {
            let method = String::from_utf8_lossy(&message.method()).into_owned();
            CallError::Unaddressed { method }
        }
    }
}

/// What a request names as its task.
#[derive(Debug, PartialEq, Eq)]
enum Named {
    Nothing,
    Task(String),
    /// More than one, or something that some servers take for one: theirs may be another.
    Unclear,
}

fn task_in(params: &[u8]) -> Named {
    let mut named = members(params).filter(|(key, _)| key.eq_ignore_ascii_case(ID));
    match (named.next(), named.next()) {
        (None, _) => Named::Nothing,
        (Some((key, at)), None) if key == ID => {
            decode(at.of(params)).map_or(Named::Unclear, |task| Named::Task(task.into_owned()))
        }
        _ => Named::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_names_one_task_or_none() {
        let task = |id: &str| Named::Task(id.to_owned());
        for (params, expected) in [
            ("{}", Named::Nothing),
            ("", Named::Nothing),
            (r#"{"cursor":"x"}"#, Named::Nothing),
            (r#"{"taskId":"a"}"#, task("a")),
            (r#"{"task\u0049d":"a\u0062"}"#, task("ab")),
            (r#"{"taskId":"a","taskId":"b"}"#, Named::Unclear),
            (r#"{"taskId":"a","task\u0049d":"b"}"#, Named::Unclear),
            (r#"{"taskId":"a","taskid":"b"}"#, Named::Unclear),
            (r#"{"TaskID":"b"}"#, Named::Unclear),
            (r#"{"taskId":1}"#, Named::Unclear),
        ] {
            assert_eq!(task_in(params.as_bytes()), expected, "{params}");
        }
    }
}

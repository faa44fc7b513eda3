//! What is asked about tasks: where callers have to say who they are, a task is its maker's, and to
//! others it is not there.

use trunkline_wire::{Message, decode, find, members};

use crate::call::Client;
use crate::error::CallError;
use crate::registry::Snapshot;
use crate::session::{Asked, Session};

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

    /// May it be asked of the server at this place, and how much of the answer is shown?
    pub(super) fn judge_task(
        &self,
        asked: &Asked<'_>,
        place: Option<usize>,
    ) -> Result<Shown, CallError> {
        let Some(who) = asked.client.principal() else { return Ok(Shown::All) };
        if !is_about_tasks(asked.message) {
            return Ok(Shown::All);
        }
        match task_in(asked.message.text(asked.message.params.span)) {
            Named::Nothing if *asked.message.method() == *b"tasks/list" => {
                if let Some(connection) = place.and_then(|at| asked.snapshot.connection(at)) {
                    connection.expect_tasks();
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

fn is_about_tasks(message: &Message<'_>) -> bool {
    message.method().starts_with(b"tasks/")
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

//! Requests about tasks. Where callers are authenticated, a task belongs to the caller that made it;
//! to others it does not exist.

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
use crate::session::client_session::Session;
use crate::session::request::SessionRequest;
use crate::session::waiting::wait;
use crate::upstream::{Connection, Server};

/// How much of an answer its client is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TaskScope {
    All,
    /// Of a list of tasks, its own.
    OwnTasks,
}

/// The member that names a task.
const ID: &str = "taskId";

/// The server that has the task which a message is about.
pub(super) fn place_of_task(
    session: &Session,
    message: &Message<'_>,
    snapshot: &Snapshot,
    client: &Client,
) -> Option<usize> {
    if !is_about_tasks(message) {
        return None;
    }
    let task = find(message.bytes, message.params.span?, &[ID])?;
    let task = decode(task.of(message.bytes))?;
    let key = session.context.registry.parking.tasks.server(&task, client.principal())?;
    snapshot.place_of_id(&key)
}

/// The tasks of all servers, on one page. Those that do not answer in time are left out.
pub(super) fn list(asked: &SessionRequest<'_>, touched: &mut FlushSet) {
    if !matches!(asked.message.text(asked.message.params.cursor), b"" | b"null") {
        let error = CallError::InvalidParams("unknown cursor".to_owned());
        return asked.turn_away(&error, touched);
    }
    let listers: Vec<_> = (0..asked.snapshot.servers())
        .filter(|place| asked.snapshot.is_whole(*place))
        .filter_map(|place| task_lister(asked.session, asked.snapshot.server(place)?))
        .collect();
    if listers.is_empty() {
        return asked.answer(br#"{"tasks":[]}"#, touched);
    }
    let client = Arc::clone(asked.client);
    let ready = async move {
        // One deadline for all: a slow server costs the client its own tasks, not its patience for
        // each.
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
        // In the order of the servers: answers come in any order.
        lists.sort_by_key(|(place, _)| *place);
        lists.into_iter().flat_map(|(_, tasks)| tasks).collect::<Vec<_>>()
    };
    wait(asked, ready, |asked, tasks, touched| {
        let result = [&br#"{"tasks":["#[..], &tasks.join(&b","[..]), b"]}"].concat();
        asked.answer(&result, touched);
    });
}

/// The connection over which a server lists the tasks of this client, if it lists any.
fn task_lister(session: &Session, server: &Arc<Server>) -> Option<Arc<Connection>> {
    let live = server.live().filter(|live| live.hello.lists_tasks())?;
    match session.context.exclusive || server.definition.share == Share::Shared {
        true => Some(live.connection),
        // Without a process of its own it has no tasks there.
        false => session.private_servers.get(server.key.id())?.connection(),
    }
}

/// Checks that the client may ask this of the server at this place, and how much of the answer it is
/// shown.
pub(super) fn check(
    asked: &SessionRequest<'_>,
    place: Option<usize>,
) -> Result<TaskScope, CallError> {
    let Some(who) = asked.client.principal() else { return Ok(TaskScope::All) };
    if !is_about_tasks(asked.message) {
        return Ok(TaskScope::All);
    }
    match task_in(asked.message.text(asked.message.params.span)) {
        TaskName::Nothing if *asked.message.method() == *b"tasks/list" => {
            if let Some(connection) = place.and_then(|at| asked.snapshot.connection(at)) {
                connection.facts.expect_tasks();
            }
            Ok(TaskScope::OwnTasks)
        }
        TaskName::Nothing | TaskName::Unclear => {
            let method = asked.message.method();
            let method = String::from_utf8_lossy(&method);
            Err(CallError::InvalidParams(format!("{method} needs one `{ID}`, a string")))
        }
        TaskName::Task(task) => {
            let server = place.and_then(|place| asked.snapshot.server(place));
            let tasks = &asked.session.context.registry.parking.tasks;
            match server.is_some_and(|server| tasks.is_of(server.key.id(), &task, who)) {
                true => Ok(TaskScope::All),
                false => Err(CallError::InvalidParams("Task not found".to_owned())),
            }
        }
    }
}

pub(super) fn is_about_tasks(message: &Message<'_>) -> bool {
    message.method().starts_with(b"tasks/")
}

/// Is this `tasks/list` of revision 2025-11-25? The extension that came after it has no list.
pub(super) fn is_task_list(asked: &SessionRequest<'_>) -> bool {
    asked.era.is_session() && *asked.message.method() == *b"tasks/list"
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
enum TaskName {
    Nothing,
    Task(String),
    /// More than one, or something that some servers take for one: theirs may be another.
    Unclear,
}

fn task_in(params: &[u8]) -> TaskName {
    let mut named = members(params).filter(|(key, _)| key.eq_ignore_ascii_case(ID));
    match (named.next(), named.next()) {
        (None, _) => TaskName::Nothing,
        (Some((key, at)), None) if key == ID => decode(at.of(params))
            .map_or(TaskName::Unclear, |task| TaskName::Task(task.into_owned())),
        _ => TaskName::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_names_one_task_or_none() {
        let task = |id: &str| TaskName::Task(id.to_owned());
        for (params, expected) in [
            ("{}", TaskName::Nothing),
            ("", TaskName::Nothing),
            (r#"{"cursor":"x"}"#, TaskName::Nothing),
            (r#"{"taskId":"a"}"#, task("a")),
            (r#"{"task\u0049d":"a\u0062"}"#, task("ab")),
            (r#"{"taskId":"a","taskId":"b"}"#, TaskName::Unclear),
            (r#"{"taskId":"a","task\u0049d":"b"}"#, TaskName::Unclear),
            (r#"{"taskId":"a","taskid":"b"}"#, TaskName::Unclear),
            (r#"{"TaskID":"b"}"#, TaskName::Unclear),
            (r#"{"taskId":1}"#, TaskName::Unclear),
        ] {
            assert_eq!(task_in(params.as_bytes()), expected, "{params}");
        }
    }
}

//! The answers to `tools/list` and its like: the session's view of the catalog, in the frame of each era.

use std::sync::atomic::Ordering;

use bytes::Bytes;
use memchr::memmem;
use trunkline_catalog::{ListKind, ToolRoute};
use trunkline_wire::{decode, elements, member, members};

use crate::era::Era;
use crate::pump::FlushSet;
use crate::registry::Snapshot;
use crate::session::meta_tools::prepare_search;
use crate::session::request::SessionRequest;
use crate::session::waiting::{all_listed, wait};

/// Answers a list request at once if something is known of every server. Otherwise it waits until those are
/// up or have failed, or the start deadline has passed.
pub(super) fn answer(asked: &SessionRequest<'_>, kind: ListKind, touched: &mut FlushSet) {
    let context = &asked.session.context;
    if context.is_starting() {
        wait(asked, all_listed(context), move |asked, (), touched| send(asked, kind, touched));
    } else {
        send(asked, kind, touched);
    }
}

/// Sends the list of this moment and remembers that the client knows it.
fn send(asked: &SessionRequest<'_>, kind: ListKind, touched: &mut FlushSet) {
    let session = asked.session;
    let snapshot = session.context.view.snapshot();
    let list = snapshot.catalog.list(kind);
    // A client that sees a part of the tools will search for the others.
    prepare_search(&session.context, &snapshot);
    let mut head = [br#"{"jsonrpc":"2.0","id":"#, asked.message.id(), br#","result":"#].concat();
    let body = match asked.era.is_session() {
        true => {
            // Recorded before it is sent: a change that comes meanwhile is compared with this list,
            // and announced.
            session.session_lists.lock().set(kind, list);
            write_session_head(asked, kind, list, &mut head)
        }
        false => {
            session.stateless_lists.lock().set(kind, list);
            write_stateless_head(asked, kind, &snapshot, &mut head);
            without_opening(&without(list, |tool| needs_old_task(tool, &snapshot)))
        }
    };
    if !asked.sink.answer_shared(&head, &body, b"}", touched) {
        tracing::debug!("a list found its client gone");
    }
}

/// Returns the part of the list that follows the head.
fn write_session_head(
    asked: &SessionRequest<'_>,
    kind: ListKind,
    list: &Bytes,
    head: &mut Vec<u8>,
) -> Bytes {
    let session = asked.session;
    let tells = kind == ListKind::Tools
        && session.agreed.is_trunkline.load(Ordering::Relaxed)
        && !list.is_empty();
    if !tells {
        return list.clone();
    }
    head.extend_from_slice(br#"{"_meta":{"trunkline/instances":"#);
    head.extend_from_slice(&session.context.registry.instances());
    head.extend_from_slice(b"},");
    without_opening(list)
}

/// Caching hints and `_meta` come first (2026-07-28, Caching).
fn write_stateless_head(
    asked: &SessionRequest<'_>,
    kind: ListKind,
    snapshot: &Snapshot,
    head: &mut Vec<u8>,
) {
    let context = &asked.session.context;
    let hint = snapshot.catalog.cache(kind);
    // Servers that are still starting will change the list.
    let ttl_ms = if context.registry.is_settled() { hint.ttl_ms } else { 0 };
    let private = hint.private || context.private;
    let scope = if private { "private" } else { "public" };
    head.extend_from_slice(br#"{"resultType":"complete","#);
    head.extend_from_slice(
        format!(r#""ttlMs":{ttl_ms},"cacheScope":"{scope}","_meta":"#).as_bytes(),
    );
    head.extend_from_slice(&asked.own_meta(kind == ListKind::Tools));
    head.push(b',');
}

/// The list without its opening brace, which stands in the head.
fn without_opening(list: &Bytes) -> Bytes {
    list.slice(1.min(list.len())..)
}

/// Where the definition of a tool says that it can only be called as a task.
const TASKS: [&str; 2] = ["execution", "taskSupport"];

/// The list without the entries that `hidden` names. Few lists have any, so most are only scanned.
fn without(list: &Bytes, hidden: impl Fn(&[u8]) -> bool) -> Bytes {
    let [_, key] = TASKS;
    // A search over the bytes first: reading the entries of a long list costs far more.
    if memmem::find(list, key.as_bytes()).is_none() {
        return list.clone();
    }
    let Some((_, at)) = members(list).next() else { return list.clone() };
    let entries = at.of(list);
    let kept: Vec<&[u8]> =
        elements(entries).map(|at| at.of(entries)).filter(|entry| !hidden(entry)).collect();
    let before = list.get(..at.start()).unwrap_or_default();
    let after = list.get(at.end()..).unwrap_or_default();
    [before, b"[", &kept.join(&b","[..]), b"]", after].concat().into()
}

/// Can this tool only be called as a task of revision 2025-11-25? In 2026-07-28 tasks are an extension,
/// with other messages.
fn needs_old_task(tool: &[u8], snapshot: &Snapshot) -> bool {
    let [execution, support] = TASKS;
    let support = member(tool, execution).and_then(|execution| member(execution, support));
    if support.and_then(decode).as_deref() != Some("required") {
        return false;
    }
    let name = member(tool, "name").and_then(decode).unwrap_or_default();
    let Some(ToolRoute::Server(owner)) = snapshot.catalog.route(&name) else { return false };
    let hello = snapshot.server(owner.server).and_then(|server| server.hello());
    hello.is_some_and(|hello| hello.era == Era::Legacy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_called_is_not_shown() {
        for (list, expected) in [
            (r#"{"tools":[]}"#, r#"{"tools":[]}"#),
            (r#"{"tools":[{"n":"x"}, {"n":1.0}]}"#, r#"{"tools":[{"n":"x"}, {"n":1.0}]}"#),
            (
                r#"{"tools":[{"taskSupport":1},{"n":"x"},{ "n":1.0 }]}"#,
                r#"{"tools":[{"taskSupport":1},{ "n":1.0 }]}"#,
            ),
            (r#"{"tools":[{"n":"x","taskSupport":1}]}"#, r#"{"tools":[]}"#),
        ] {
            let list = Bytes::from_static(list.as_bytes());
            let got = without(&list, |entry| member(entry, "n") == Some(b"\"x\""));
            assert_eq!(String::from_utf8(got.to_vec()).unwrap(), expected);
        }
    }
}

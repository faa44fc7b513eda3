//! Lines of a server that are no messages: whose answer one is, and what it ends with.

use std::sync::Arc;

use trunkline_wire::{FaultKind, MessageFault, Outline, salvage_id, upstream_id};

use crate::error::CallError;
use crate::limits::BROKEN_WINDOW;
use crate::upstream::calls::link::Link;
use crate::upstream::calls::pending::Unowned;
use crate::upstream::connection::Connection;
use crate::upstream::connection::broken::BrokenLines;
use crate::upstream::transport::UpstreamId;

impl BrokenLines {
    /// A line that is no message at all: a banner, a log line.
    pub(crate) fn noise(&self, link: &Link, line: &[u8]) {
        self.warn(&link.key, line, "is not a JSON-RPC message");
    }

    /// A line passed the limit; `head` is how it starts. The rest is being skipped.
    pub(crate) fn oversize_line(&self, link: &Link, head: &[u8]) {
        self.warn(&link.key, head, "is longer than allowed");
        let error = link.too_large();
        let named = salvage_id(head).is_some_and(|id| link.fail(id, &error));
        if !named && !link.fail_only(&error) {
            self.seen.lock().owner_unknown = true;
        }
    }

    /// The oversize line has ended; `tail` is how. Some servers write the id last.
    pub(crate) fn oversize_end(&self, link: &Link, tail: &[u8]) {
        if !std::mem::take(&mut self.seen.lock().owner_unknown) {
            return;
        }
        let error = link.too_large();
        if !salvage_id(tail).is_some_and(|id| link.fail(id, &error)) {
            self.fail_only_or_count(link, &error);
        }
    }

    fn fail_only_or_count(&self, link: &Link, error: &CallError) {
        if !link.fail_only(error) {
            self.count_or_give_up();
        }
    }

    fn count_or_give_up(&self) {
        if self.count_unowned(BROKEN_WINDOW) {
            self.too_many.notify_one();
        }
    }
}

impl Connection {
    /// A line that did not scan. If it is an answer, its owner learns at once that it is broken.
    pub(crate) fn broken_line(
        self: &Arc<Self>,
        line: &[u8],
        fault: MessageFault,
        origin: Option<UpstreamId>,
    ) {
        let outline = Outline::of(line);
        if !may_be_answer(line, &outline) {
            return self.broken.noise(&self.link, line);
        }
        let named = fault.id.and_then(|span| upstream_id(span.of(line)));
        let named = named.or_else(|| outline.id.and_then(upstream_id));
        // Where the structure can be trusted, an id further inside is not the line's own.
        let named = named.or_else(|| salvage_id(line).filter(|_| fault.kind.is_parse_error()));
        let what = format!("is a broken message ({fault})");
        // A log line may name our id beside a word for its outcome: what does not say that it is of
        // JSON-RPC 2.0 leaves the real answer its time.
        let is_sure = outline.is_version_two || fault.kind.is_parse_error();
        if named.is_some_and(|id| self.end_with_fault(id, fault.kind, is_sure)) {
            return self.broken.warn(&self.link.key, line, &what);
        }
        if outline.id.is_some() || !is_unowned_answer(&outline, fault.kind) {
            return self.broken.noise(&self.link, line);
        }
        let is_owned = self.suspect_owner(Unowned::Broken(fault.kind), origin);
        // An answer to a notification is whole but for its id: it is worth neither a line nor a count.
        if is_owned || fault.kind != FaultKind::NoKind {
            self.broken.warn(&self.link.key, line, &what);
        }
        if !is_owned && fault.kind != FaultKind::NoKind {
            self.broken.count_or_give_up();
        }
    }

    /// Ends this call with an error, at once or unless its real answer comes soon. False: it is not open.
    fn end_with_fault(self: &Arc<Self>, id: UpstreamId, fault: FaultKind, at_once: bool) -> bool {
        if at_once {
            return self.link.fail(id, &self.link.broken_answer(fault));
        }
        self.link.is_open(id) && self.suspect_owner(Unowned::Broken(fault), Some(id))
    }
}

/// Can it be an answer, if a broken one? A log line may look like an object, and may hold a request of
/// ours; an answer names at its top what it answers or which protocol it speaks, and no method.
fn may_be_answer(line: &[u8], outline: &Outline<'_>) -> bool {
    let is_object = line.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    let is_message = outline.has_jsonrpc || (outline.id.is_some() && outline.has_outcome());
    is_object && is_message && (outline.has_outcome() || !outline.has_method)
}

/// Can it be an answer to a request that it does not name? Cut or broken text may lack anything but
/// its beginning.
fn is_unowned_answer(outline: &Outline<'_>, fault: FaultKind) -> bool {
    outline.is_version_two
        && !outline.has_method
        && (outline.has_outcome() || fault.is_parse_error())
}

#[cfg(test)]
mod tests {
    use trunkline_wire::scan;

    use super::*;

    #[test]
    fn what_is_no_answer_is_noise_and_what_names_nobody_is_told_apart() {
        let (noise, named, unowned) = ((false, false), (true, false), (true, true));
        for (line, expected) in [
            ("hello", noise),
            ("[]", noise),
            ("{ foo: 'bar' }", noise),
            (r#"{"level":"info"}"#, noise),
            (r#"{"level":"info","request":{"jsonrpc":"2.0","id":1,"method":"m"}}"#, noise),
            (r#"{"level":"info","request":{"jsonrpc":"2.0","method":"m","id":1},}"#, noise),
            (r#"{"msg":"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"}"#, noise),
            (r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#, noise),
            (r#"{"jsonrpc":"1.0","id":1,"method":"m"}"#, noise),
            (r#"{"method":"m","id":1,"params":{}}"#, noise),
            (r#"{"id":1,"tool":"echo"}"#, noise),
            (r#"{"id":null,"error":"no"}"#, noise),
            (r#"{"id":1,"result":{}}"#, named),
            (r#"{"id":1,"error":"no"}"#, named),
            (r#"{"jsonrpc":"1.0","id":1,"result":{}}"#, named),
            (r#"{"jsonrpc":"1.0","id":null,"result":{}}"#, named),
            (r#"{"jsonrpc":"1.0","level":"info"}"#, named),
            (r#"{"jsonrpc":"2.0","id":1}"#, named),
            (r#"{"jsonrpc":"2.0","id":1,"method":"m","result":{}}"#, named),
            (r#"{"jsonrpc":"2.0","id":null,"result":{}}"#, unowned),
            (r#"{"jsonrpc":"2.0","error":{"code":1,"message":""}}"#, unowned),
            (r#"{"jsonrpc":"2.0","id":1,"result":"#, unowned),
            (r#"{"jsonrpc":"2.0","id":1"#, unowned),
        ] {
            let fault = scan(line.as_bytes()).unwrap_err().kind;
            let outline = Outline::of(line.as_bytes());
            let is_answer = may_be_answer(line.as_bytes(), &outline);
            let is_unowned = is_answer && is_unowned_answer(&outline, fault);
            assert_eq!((is_answer, is_unowned), expected, "{line}");
        }
    }
}

//! The `_meta` that is said again: a client of the stateless era writes the same one into every
//! request. What was found in it once holds for the same bytes wherever they stand.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::message::ParamsMeta;
use crate::splice::Span;

/// Longer ones are read each time.
const LONGEST: usize = 1024;

thread_local! {
    // Per thread: nearly all messages are scanned on the pump's thread, so that no lock is needed.
    static LAST: RefCell<KnownMeta> = const { RefCell::new(KnownMeta::NONE) };
}

/// A `_meta` and what is in it, counted from its own beginning.
#[derive(Debug)]
struct KnownMeta {
    bytes: Vec<u8>,
    number: u64,
    found: [Option<Span>; 4],
}

/// The last number that was given to a `_meta`.
static LAST_NUMBER: AtomicU64 = AtomicU64::new(0);

impl KnownMeta {
    const NONE: Self = Self { bytes: Vec::new(), number: 0, found: [None; 4] };
}

/// Where the `_meta` at `at` ends, if it is the one that was seen last.
#[inline]
pub(crate) fn recall(meta: &mut ParamsMeta, bytes: &[u8], at: usize) -> Option<usize> {
    LAST.with_borrow(|known| {
        // The known bytes are one whole object, so that the value at `at` ends where they end.
        let same = !known.bytes.is_empty() && bytes.get(at..)?.starts_with(&known.bytes);
        same.then(|| {
            let [version, capabilities, level, subscription] =
                known.found.map(|span| span.map(|span| span.within(Span::at(at))));
            meta.number = known.number;
            meta.version = version;
            meta.capabilities = capabilities;
            meta.level = level;
            meta.subscription = subscription;
            at + known.bytes.len()
        })
    })
}

/// Keeps the `_meta` at `span`, proven to be an object, if it is likely to be said again.
pub(crate) fn remember(meta: &mut ParamsMeta, bytes: &[u8], span: Span) {
    // A progress token and a key differ in every request, and without a version it is no request of
    // the stateless era. Only ASCII is kept: recalled bytes are not walked over, so that the check for
    // UTF-8 does not see them.
    let is_told_apart = meta.progress_token.is_some() || meta.idempotency_key.is_some();
    let changes = is_told_apart || meta.version.is_none();
    let text = span.of(bytes);
    if changes || text.len() > LONGEST || !text.is_ascii() {
        return;
    }
    LAST.with_borrow_mut(|known| {
        known.bytes.clear();
        known.bytes.extend_from_slice(text);
        // Relaxed: numbers have to differ, not to be ordered. Starting at 1 leaves 0 for "none".
        known.number = 1 + LAST_NUMBER.fetch_add(1, Ordering::Relaxed);
        meta.number = known.number;
        let found = [meta.version, meta.capabilities, meta.level, meta.subscription];
        known.found = found.map(|found| found.and_then(|found| found.from(span.start())));
    });
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::{Message, scan};

    fn seen(message: &Message<'_>) -> Vec<String> {
        let params = &message.params;
        let spans = [
            params.meta.span,
            params.meta.version,
            params.meta.capabilities,
            params.meta.level,
            params.meta.subscription,
            params.meta.progress_token,
            params.meta.idempotency_key,
            params.name,
        ];
        spans.map(|span| String::from_utf8(message.text(span).to_vec()).unwrap()).to_vec()
    }

    fn request(before: &str, meta: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{{before}"_meta":{meta}}}}}"#)
    }

    /// Read on a thread that has seen nothing.
    fn afresh(text: &str) -> Option<Vec<String>> {
        let text = text.to_owned();
        let fresh = move || scan(text.as_bytes()).ok().map(|message| seen(&message));
        std::thread::spawn(fresh).join().unwrap()
    }

    const VERSION: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
    const CAPABILITIES: &str = r#""io.modelcontextprotocol/clientCapabilities": {"a":[1]}"#;
    const LEVEL: &str = r#""io.modelcontextprotocol/logLevel":"info""#;

    #[test]
    fn the_same_is_found_at_another_place() {
        let meta = format!("{{{VERSION}, {CAPABILITIES},{LEVEL}}}");
        for before in ["", r#""name":"x","#, r#" "name" : "longer" , "#] {
            let text = request(before, &meta);
            assert_eq!(scan(text.as_bytes()).ok().map(|found| seen(&found)), afresh(&text));
        }
    }

    #[test]
    fn what_has_the_same_number_is_the_same() {
        let number = |meta: &str| {
            let text = request("", meta);
            scan(text.as_bytes()).unwrap().params.meta.number
        };
        let (one, other) = (format!("{{{VERSION}}}"), format!("{{{VERSION},{LEVEL}}}"));
        let (first, again, second) = (number(&one), number(&one), number(&other));
        assert!(first > 0 && first == again && second > 0 && second != first);
        assert_ne!(number(&one), second);
        assert_eq!(number("{}"), 0);
    }

    #[test]
    fn what_begins_alike_is_read_to_its_end() {
        let known = format!("{{{VERSION}}}");
        scan(request("", &known).as_bytes()).unwrap();
        for text in [
            request("", &format!("{{{VERSION},{LEVEL}}}")),
            request("", &format!("{{{VERSION}}}, \"_meta\":{{}}")),
            request("", &format!("{{{VERSION}}}}}")),
            request("", &format!("{{{VERSION}}},\"x\":1")),
            request("", &known).trim_end_matches('}').to_owned(),
        ] {
            assert_eq!(
                scan(text.as_bytes()).ok().map(|found| seen(&found)),
                afresh(&text),
                "{text}"
            );
        }
    }

    proptest! {
        /// Whatever was read before, a message means what it means.
        #[test]
        fn nothing_depends_on_what_came_before(order in proptest::collection::vec(0_usize..9, 1..12)) {
            let parts = [
                format!("{{{VERSION},{CAPABILITIES}}}"),
                format!("{{{VERSION}}}"),
                format!(r#"{{{VERSION},"progressToken":7}}"#),
                format!(r#"{{"progressToken":7,{VERSION}}}"#),
                format!(r#"{{{VERSION},"x":"é"}}"#),
                format!(r#"{{{VERSION},"trunkline/idempotencyKey":"k"}}"#),
                format!(r#"{{{VERSION},{VERSION}}}"#),
                "{}".to_owned(),
                "7".to_owned(),
            ];
            for index in order {
                let text = request(["", r#""name":"n","#][index % 2], &parts[index]);
                let got = scan(text.as_bytes()).ok().map(|found| seen(&found));
                prop_assert_eq!(got, afresh(&text));
            }
        }
    }
}

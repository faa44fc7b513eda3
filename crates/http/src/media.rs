//! Media types: what a client accepts, and what a body is.
//!
//! By hand: the check of `Accept` is on the way of every call and allocates nothing.

use crate::head::trim;

/// Do the values of the Accept header allow this media type? The most specific range that fits
/// decides, and `q=0` means no. Without an Accept header everything is allowed.
pub fn accepts<'a>(values: impl IntoIterator<Item = &'a [u8]>, media_type: &str) -> bool {
    let mut best = None;
    let mut asked = false;
    for value in values {
        for range in split(value, b',').map(trim).filter(|range| !range.is_empty()) {
            asked = true;
            let Some(fit) = fit(range, media_type) else { continue };
            let allowed = !is_refused(range);
            // Of two that fit alike, the one that allows.
            best = best.max(Some((fit, allowed)));
        }
    }
    best.map_or(!asked, |(_, allowed)| allowed)
}

/// Do the values of the Accept-Encoding header ask for this coding (RFC 9110, 12.5.3)? Without the header, nothing is
/// asked for.
pub fn accepts_coding<'a>(values: impl IntoIterator<Item = &'a [u8]>, coding: &str) -> bool {
    let mut best = None;
    for range in values.into_iter().flat_map(|value| split(value, b',')).map(trim) {
        let name = essence(range);
        let fit = match name {
            b"*" => 0,
            _ if name.eq_ignore_ascii_case(coding.as_bytes()) => 1,
            _ => continue,
        };
        best = best.max(Some((fit, !is_refused(range))));
    }
    best.is_some_and(|(_, allowed)| allowed)
}

/// Is this Content-Type the media type, whatever its parameters?
pub fn is_type(content_type: &[u8], media_type: &str) -> bool {
    essence(content_type).eq_ignore_ascii_case(media_type.as_bytes())
}

/// How specific the range is that includes the type.
fn fit(range: &[u8], media_type: &str) -> Option<u8> {
    let range = essence(range);
    if range.eq_ignore_ascii_case(media_type.as_bytes()) {
        return Some(2);
    }
    // `*` alone is not in the grammar, but old HTTP libraries send it.
    if matches!(range, b"*/*" | b"*") {
        return Some(0);
    }
    let kind = range.strip_suffix(b"/*")?;
    let (asked, _) = media_type.split_once('/')?;
    kind.eq_ignore_ascii_case(asked.as_bytes()).then_some(1)
}

/// Is the range's weight zero?
fn is_refused(range: &[u8]) -> bool {
    let weight = split(range, b';').skip(1).map(trim).find_map(|parameter| match parameter {
        [b'q' | b'Q', rest @ ..] => trim(rest).strip_prefix(b"=").map(trim),
        _ => None,
    });
    // RFC 9110, 12.4.2: a weight of 0 means "not acceptable"; it may be written `0`, `0.` or
    // `0.000`.
    weight.is_some_and(|weight| {
        weight.starts_with(b"0") && weight.iter().all(|byte| matches!(byte, b'0' | b'.'))
    })
}

fn essence(value: &[u8]) -> &[u8] {
    trim(value.split(|byte| *byte == b';').next().unwrap_or_default())
}

/// Splits at a separator, but not within quotes.
fn split(value: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let (mut quoted, mut escaped) = (false, false);
    value.split(move |byte| {
        let literal = escaped;
        escaped = quoted && !literal && *byte == b'\\';
        quoted ^= *byte == b'"' && !literal;
        !quoted && *byte == separator
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codings_are_asked_for_by_name() {
        for (values, expected) in [
            (&[][..], false),
            (&["gzip"][..], true),
            (&["GZIP, br"][..], true),
            (&["br, gzip;q=0.5"][..], true),
            (&["gzip;q=0"][..], false),
            (&["gzip; q=0.000, *"][..], false),
            (&["*"][..], true),
            (&["*;q=0"][..], false),
            (&["br", "gzip"][..], true),
            (&["identity"][..], false),
            (&[""][..], false),
        ] {
            let given = values.iter().map(|value| value.as_bytes());
            assert_eq!(accepts_coding(given, "gzip"), expected, "{values:?}");
        }
    }

    #[test]
    fn what_is_accepted() {
        const EVENTS: &str = "text/event-stream";
        for (values, expected) in [
            (&[][..], true),
            (&[""], true),
            (&["text/event-stream"], true),
            (&["application/json, text/event-stream"], true),
            (&["application/json", "Text/Event-Stream;charset=utf-8"], true),
            (&["application/json"], false),
            (&["text/html"], false),
            (&["text/event-streams"], false),
            (&["*/*"], true),
            (&["*"], true),
            (&["text/*"], true),
            (&["TEXT/* ; q=0.1"], true),
            (&["application/*"], false),
            // the most specific range decides
            (&["*/*, text/event-stream;q=0"], false),
            (&["text/event-stream;q=0", "text/*"], false),
            (&["text/*;q=0, */*"], false),
            (&["text/*;q=0, text/event-stream"], true),
            // weights
            (&["text/event-stream; q = 0.000"], false),
            (&["text/event-stream; Q=0"], false),
            (&["text/event-stream;q=0.001"], true),
            (&["text/event-stream;q=1"], true),
            (&["text/event-stream;q="], true),
            (&["text/event-stream;q=.0"], true),
            (&["text/event-stream;quiet=0"], true),
            // separators in quotes
            (&["a/b;c=\"x, text/event-stream, y\""], false),
            (&["a/b;c=\"x\\\", text/event-stream\""], false),
            (&["a/b;c=\"x\", text/event-stream"], true),
            (&["a/b;c=\\\"x, text/event-stream"], false),
            (&["text/event-stream;c=\";q=0;\""], true),
        ] {
            let bytes = values.iter().map(|value| value.as_bytes());
            assert_eq!(accepts(bytes, EVENTS), expected, "{values:?}");
        }
    }

    #[test]
    fn what_a_body_is() {
        for (value, expected) in [
            ("application/json", true),
            (" Application/JSON ; charset=utf-8", true),
            ("application/json-rpc", false),
            ("application/jsonl, x", false),
            ("text/json", false),
            ("", false),
        ] {
            assert_eq!(is_type(value.as_bytes(), "application/json"), expected, "{value}");
        }
    }
}

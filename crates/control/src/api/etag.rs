//! Entity tags: what a client has read already, and what it wants to change.
//!
//! A tag is `"REVISION-DIGEST"`. The revision counts what was asked for (name, addresses, …), the
//! digest is over the whole body. Reading again compares both, so a change of health is seen;
//! writing compares the revision only, so a health check in between does not make a change stale.

use sha2::{Digest, Sha256};

use crate::services::Precondition;

/// For a body whose subject is counted.
pub fn tag(revision: i64, body: &[u8]) -> String {
    format!("\"{revision}-{}\"", digest(body))
}

/// For a list.
pub fn list_tag(body: &[u8]) -> String {
    format!("\"{}\"", digest(body))
}

/// For a body that is not made to find its tag: `sum` is over everything that it is made of.
pub fn tag_of(sum: &[u8]) -> String {
    format!("\"{}\"", digits(sum))
}

/// May the answer be 304? `header` holds the values of `If-None-Match`.
pub fn is_known<'a>(header: impl IntoIterator<Item = &'a [u8]>, tag: &str) -> bool {
    let strong = |given: &[u8]| {
        let given = given.strip_prefix(b"W/").unwrap_or(given);
        match given.strip_suffix(PACKED) {
            Some(start) => tag.as_bytes().strip_suffix(b"\"") == Some(start),
            None => given == tag.as_bytes(),
        }
    };
    header.into_iter().flat_map(tags).any(|given| given == b"*" || strong(given))
}

/// What the values of `If-Match` ask for.
pub(crate) fn precondition<'a>(header: impl IntoIterator<Item = &'a [u8]>) -> Precondition {
    let mut header = header.into_iter().peekable();
    if header.peek().is_none() {
        return Precondition::None;
    }
    let given: Vec<&[u8]> = header.flat_map(tags).filter(|given| is_tag(given)).collect();
    match given.as_slice() {
        [] => Precondition::Unreadable,
        given if given.contains(&b"*".as_slice()) => Precondition::Any,
        given => Precondition::Revisions(given.iter().filter_map(|tag| revision_of(tag)).collect()),
    }
}

/// A weak tag fits no change (RFC 9110, 13.1.1).
fn revision_of(tag: &[u8]) -> Option<i64> {
    let inner = std::str::from_utf8(tag).ok()?.strip_prefix('"')?.strip_suffix('"')?;
    let inner = inner.strip_suffix("+gzip").unwrap_or(inner);
    let (revision, digest) = inner.rsplit_once('-')?;
    let whole = digest.len() == DIGITS && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    whole.then(|| revision.parse().ok())?
}

const DIGITS: usize = 16;

/// How a tag ends whose body was packed on its way: the front writes it so.
const PACKED: &[u8] = b"+gzip\"";

fn digest(body: &[u8]) -> String {
    digits(&Sha256::digest(body))
}

fn digits(sum: &[u8]) -> String {
    sum.iter().take(DIGITS / 2).map(|byte| format!("{byte:02x}")).collect()
}

/// Cut at the commas that are in no tag.
fn tags(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut is_inside = false;
    let ends = move |byte: &u8| {
        is_inside ^= *byte == b'"';
        *byte == b',' && !is_inside
    };
    value.split(ends).map(<[u8]>::trim_ascii).filter(|tag| !tag.is_empty())
}

/// `*`, or a tag as RFC 9110 (8.8.3) writes it.
fn is_tag(given: &[u8]) -> bool {
    let strong = given.strip_prefix(b"W/").unwrap_or(given);
    let inner = strong.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
    let belongs = |byte: &u8| matches!(byte, 0x21 | 0x23..=0x7e | 0x80..);
    given == b"*" || inner.is_some_and(|inner| inner.iter().all(belongs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::problem::Kind;

    fn known(header: &[&str], tag: &str) -> bool {
        is_known(header.iter().map(|value| value.as_bytes()), tag)
    }

    #[test]
    fn what_a_client_has_is_not_sent_again() {
        let now = tag(7, b"body");
        for (header, expected) in [
            (vec![], false),
            (vec![now.clone()], true),
            (vec![format!("W/{now}")], true),
            (vec![format!("\"x\", {now} ,\"y\"")], true),
            (vec!["\"x\"".to_owned(), now.clone()], true),
            (vec!["*".to_owned()], true),
            (vec![tag(7, b"other")], false),
            (vec![tag(8, b"body")], false),
            (vec![now.trim_matches('"').to_owned()], false),
            (vec![String::new()], false),
        ] {
            let header: Vec<_> = header.iter().map(String::as_str).collect();
            assert_eq!(known(&header, &now), expected, "{header:?}");
        }
        assert!(known(&[&list_tag(b"[]")], &list_tag(b"[]")));
    }

    #[test]
    fn a_change_goes_on_only_from_what_was_read() {
        let read = tag(7, b"healthy");
        for (header, expected) in [
            (vec![], true),
            (vec![read.clone()], true),
            // its health has changed, its revision has not
            (vec![tag(7, b"failing")], true),
            (vec!["*".to_owned()], true),
            (vec![format!("\"a\", {read}")], true),
            (vec![tag(6, b"healthy")], false),
            (vec![tag(-7, b"healthy")], false),
            (vec![format!("W/{read}")], false),
            (vec!["\"7\"".to_owned()], false),
            (vec!["\"7-\"".to_owned()], false),
            (vec!["7".to_owned()], false),
            (vec![list_tag(b"[]")], false),
        ] {
            let values = header.iter().map(String::as_bytes);
            assert_eq!(precondition(values).check(7).is_ok(), expected, "{header:?}");
        }
        for nothing in
            ["", " ", ",", " , ", "bogus", "7", "\"x", "x\"", "\"1\" \"2\"", "w/\"x\"", "a, b"]
        {
            let problem = precondition([nothing.as_bytes()]).check(7).unwrap_err();
            assert_eq!((problem.kind, problem.status()), (Kind::BadHeader, 400), "{nothing:?}");
        }
        for other in ["\"x\"", "\"\"", "\"a\",\"b\"", "W/\"1\"", "\"a,b\"", "bogus, \"x\""] {
            let stale = precondition([other.as_bytes()]).check(7).unwrap_err();
            assert_eq!((stale.kind, stale.status()), (Kind::Stale, 412), "{other}");
        }
    }
}

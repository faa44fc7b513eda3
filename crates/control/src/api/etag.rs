//! Entity tags: what a client has read already, and what it wants to change.
//!
//! A tag is `"REVISION-DIGEST"`. The revision counts what was asked for (name, addresses, …), the
//! digest is over the whole body. Reading again compares both, so a change of health is seen;
//! writing compares the revision only, so a health check in between does not make a change stale.

use sha2::{Digest, Sha256};

use super::problem::{Kind, Problem};

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
    let strong = |given: &[u8]| given.strip_prefix(b"W/").unwrap_or(given) == tag.as_bytes();
    header.into_iter().flat_map(tags).any(|given| given == b"*" || strong(given))
}

/// May a change go on? `header` holds the values of `If-Match`; without it every change may. One
/// that names nothing is a mistake: whoever sent it did not want every change to go on.
pub fn may_change<'a>(
    header: impl IntoIterator<Item = &'a [u8]>,
    revision: i64,
) -> Result<(), Problem> {
    let mut header = header.into_iter().peekable();
    if header.peek().is_none() {
        return Ok(());
    }
    let mut given = header.flat_map(tags).peekable();
    let fits = |tag: &[u8]| tag == b"*" || revision_of(tag) == Some(revision);
    if given.peek().is_none() {
        return Err(Problem::new(Kind::BadHeader, "`If-Match` names no tag"));
    }
    if given.any(fits) {
        return Ok(());
    }
    let detail = format!("the revision is {revision} now, and `If-Match` names another");
    Err(Problem::new(Kind::Stale, detail))
}

/// A weak tag fits no change (RFC 9110, 13.1.1).
fn revision_of(tag: &[u8]) -> Option<i64> {
    let inner = std::str::from_utf8(tag).ok()?.strip_prefix('"')?.strip_suffix('"')?;
    let (revision, digest) = inner.rsplit_once('-')?;
    let whole = digest.len() == DIGITS && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    whole.then(|| revision.parse().ok())?
}

const DIGITS: usize = 16;

fn digest(body: &[u8]) -> String {
    digits(&Sha256::digest(body))
}

fn digits(sum: &[u8]) -> String {
    sum.iter().take(DIGITS / 2).map(|byte| format!("{byte:02x}")).collect()
}

/// Our tags hold no comma, so foreign ones may be cut wherever they have one.
fn tags(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).filter(|tag| !tag.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(may_change(values, 7).is_ok(), expected, "{header:?}");
        }
        for nothing in ["", " ", ",", " , "] {
            let problem = may_change([nothing.as_bytes()], 7).unwrap_err();
            assert_eq!((problem.kind, problem.status()), (Kind::BadHeader, 400), "{nothing:?}");
        }
        let stale = may_change([b"\"x\"".as_slice()], 7).unwrap_err();
        assert_eq!(stale.status(), 412);
    }
}

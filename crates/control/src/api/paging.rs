//! Pages of a list: how many at a time, and where to go on.

use sha2::{Digest, Sha256};

use super::fault::RequestFault;
use super::problem::Problem;
use super::query::{self, Query};
use super::route::{Parameter, Route};
use super::schema::{Schema, TextFormat, text};
pub use crate::services::Page;

pub const USUAL: usize = 100;
// As many as the store gives at once.
const MOST: i64 = 1000;

pub const LIMIT: Parameter = Parameter::query(
    "limit",
    Schema::Integer { least: 1, most: MOST },
    "How many at most; 100 unless said otherwise.",
);

pub const CURSOR: Parameter = Parameter::query(
    "cursor",
    text(1, 2000, TextFormat::Cursor),
    "Where to go on: `next_cursor` of the page before.",
);

/// The name of the list that a cursor belongs to: that of another list is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct List(pub &'static str);

// Letters, as clients may still have cursors of these lists.
impl List {
    pub const SERVERS: Self = Self("s");
    pub const TOOLS: Self = Self("t");
    pub const AUDIT: Self = Self("a");
    pub const KEYS: Self = Self("k");
    pub const SECRETS: Self = Self("x");
    pub const HEALTH: Self = Self("h");
    pub const POLICIES: Self = Self("p");
    pub const SUGGESTIONS: Self = Self("g");
}

/// The whole query of a route that has pages, or everything that is wrong with it.
pub fn query(route: &Route, raw: &str, list: List) -> Result<(Query, Page), Problem> {
    let mut faults = Vec::new();
    let query = query::read(route.parameters, raw, &mut faults);
    let page = page(&query, list, &mut faults);
    if faults.is_empty() { Ok((query, page)) } else { Err(Problem::invalid(faults)) }
}

fn page(query: &Query, list: List, faults: &mut Vec<RequestFault>) -> Page {
    let limit = query.whole(LIMIT.name).and_then(|limit| usize::try_from(limit).ok());
    let after = query.text(CURSOR.name).and_then(|cursor| {
        let after = read(list, cursor);
        if after.is_none() {
            let fault = RequestFault::parameter(CURSOR.name, "is not a cursor of this list");
            faults.push(fault.hint("use `next_cursor` as it came, or leave it out to start anew"));
        }
        after
    });
    Page { limit: limit.unwrap_or(USUAL), after }
}

/// The cursor behind an entry.
pub fn cursor(list: List, last: &str) -> String {
    let mut out = hex(last.as_bytes());
    out.push_str(&check(list, last));
    out
}

fn read(list: List, cursor: &str) -> Option<String> {
    let (payload, sum) = cursor.split_at_checked(cursor.len().checked_sub(CHECK)?)?;
    let last = String::from_utf8(unhex(payload)?).ok()?;
    (check(list, &last) == sum).then_some(last)
}

// 32 bits, in hexadecimal digits: against accidents, not against intent.
const CHECK: usize = 8;

/// Not a secret: it tells a cut or foreign cursor from a whole one.
fn check(list: List, last: &str) -> String {
    let sum = Sha256::new().chain_update(list.0).chain_update(last).finalize();
    hex(sum.get(..CHECK / 2).unwrap_or_default())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| match pair {
            [high, low] => Some(digit(high)? << 4 | digit(low)?),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::routes;
    use proptest::prelude::*;

    fn asked(raw: &str) -> Result<Page, Problem> {
        let route = routes::all().find(|route| route.id == "listServers");
        query(route.unwrap(), raw, List::SERVERS).map(|(_, page)| page)
    }

    #[test]
    fn pages_are_asked_for() {
        let cursor = cursor(List::SERVERS, "größe.b");
        for (raw, limit, after) in [
            (String::new(), 100, None),
            ("limit=1".to_owned(), 1, None),
            ("limit=1000".to_owned(), 1000, None),
            (format!("cursor={cursor}&limit=7"), 7, Some("größe.b".to_owned())),
        ] {
            assert_eq!(asked(&raw), Ok(Page { limit, after }), "{raw}");
        }
    }

    #[test]
    fn bad_pages_are_refused() {
        let good = cursor(List::SERVERS, "name");
        let cut = good.get(..good.len() - 2).unwrap();
        for raw in [
            "limit=0",
            "limit=1001",
            "limit=-1",
            "limit=x",
            "limit=",
            "limit=1&limit=2",
            "cursor=",
            "cursor=zz",
            "cursor=00",
            "cursor=name",
            &format!("cursor={cut}"),
            &format!("cursor=00{good}"),
            &format!("cursor={}", good.to_uppercase()),
            &format!("cursor={}", cursor(List::AUDIT, "name")),
        ] {
            let problem = asked(raw).expect_err(raw);
            assert_eq!((problem.status(), problem.errors().len()), (422, 1), "{raw}");
        }
    }

    proptest! {
        #[test]
        fn a_cursor_leads_back_to_its_entry(last in ".{0,80}") {
            let cursor = cursor(List::TOOLS, &last);
            prop_assert_eq!(read(List::TOOLS, &cursor), Some(last));
        }

        #[test]
        fn an_invented_cursor_is_not_taken(text in "[0-9a-f]{0,30}|.{0,30}") {
            if let Some(last) = read(List::KEYS, &text) {
                prop_assert_eq!(cursor(List::KEYS, &last), text);
            }
        }
    }
}

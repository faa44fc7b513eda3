//! Lists of servers: entries are whole definitions, and a list that is written is read again.

use trunkline_catalog::{ListKind, Listing, param_headers};
use trunkline_wire::is_json;

use crate::input::settings;

const MOST: usize = 50;

pub(crate) fn run(bytes: &[u8]) {
    let Some(([kind], result)) = settings::<1>(bytes) else { return };
    // A listing is given results of scanned messages only.
    if !is_json(result) {
        return;
    }
    let result = result.trim_ascii();
    let strict = kind & 4 != 0;
    let kind = match kind % 4 {
        0 => ListKind::Tools,
        1 => ListKind::Resources,
        2 => ListKind::Templates,
        _ => ListKind::Prompts,
    };
    let new = || if strict { Listing::default().strict_headers() } else { Listing::default() };
    let mut listing = new();
    let Ok(cursor) = listing.add_page(kind, result, MOST) else { return };
    assert!(cursor.is_none_or(is_json));
    assert!(listing.entries(kind).len() <= MOST);
    for entry in listing.entries(kind) {
        assert!(is_json(&entry.definition), "a definition that is no JSON");
        let _ = param_headers(&entry.definition);
    }
    let page = listing.page(kind).expect("it was read");
    assert!(is_json(&page));
    let mut again = new();
    assert_eq!(again.add_page(kind, &page, MOST), Ok(None));
    let definitions = |listing: &Listing| -> Vec<Vec<u8>> {
        listing.entries(kind).iter().map(|entry| entry.definition.to_vec()).collect()
    };
    assert_eq!(definitions(&again), definitions(&listing), "a list came back changed");
}

//! Finds entries in the result of a list, as they were sent.

use trunkline_wire::{decode, elements, member};

/// The entry of the list `array` whose member `key` is `name`.
pub(crate) fn find<'r>(result: &'r [u8], array: &str, key: &str, name: &str) -> Option<&'r [u8]> {
    entries(result, array).find(|entry| text(entry, key).as_deref() == Some(name))
}

/// What the entries are called.
pub(crate) fn names(result: &[u8], array: &str, key: &str) -> Vec<String> {
    entries(result, array).filter_map(|entry| text(entry, key)).collect()
}

fn entries<'r>(result: &'r [u8], array: &str) -> impl Iterator<Item = &'r [u8]> {
    let list = member(result, array).unwrap_or_default();
    elements(list).map(|span| span.of(list))
}

fn text(entry: &[u8], key: &str) -> Option<String> {
    member(entry, key).and_then(decode).map(std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_as_written() {
        let result = br#"{"tools":[{"name":"a"},{ "x":1.0, "name":"\u0062" }],"nextCursor":"n"}"#;
        assert_eq!(
            find(result, "tools", "name", "b"),
            Some(&br#"{ "x":1.0, "name":"\u0062" }"#[..])
        );
        assert_eq!(find(result, "tools", "name", "c"), None);
        assert_eq!(names(result, "tools", "name"), ["a", "b"]);
        assert!(names(b"{}", "tools", "name").is_empty());
    }
}

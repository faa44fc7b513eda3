//! Stored policies: which ids they may have, how their sources are called, and what a change does to them.

use std::collections::BTreeMap;
use std::sync::Arc;

use trunkline_policy::{Policies, PolicyInfo, PolicySource};

/// Letters, digits, `-`, `_` and `.`, no `.` first: it stands in a path, and no file is called so in a list.
pub fn is_policy_id(id: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !id.is_empty() && id.len() <= 100 && !id.starts_with('.') && id.chars().all(is_plain)
}

/// The source of a stored policy, as faults and policies without an `@id` name it.
pub fn stored_name(id: &str) -> String {
    format!("store:{id}")
}

/// Policies that a record names; the rest is counted.
const MOST_NAMED: usize = 20;

/// What becomes of the policies of a source whose text changes, for a record of the audit log.
pub fn policy_changes(before: Option<&PolicySource>, after: Option<&PolicySource>) -> String {
    let (old, new) = (by_id(before), by_id(after));
    let (Some(old), Some(new)) = (old, new) else {
        // Only what was stored by another version: nothing new is stored that cannot be read.
        return "replaced what could not be read".to_owned();
    };
    let shown = |info: &PolicyInfo| format!("{} ({})", info.id, info.effect.name());
    let added = new.values().filter(|it| !old.contains_key(&it.id)).map(shown).collect();
    let is_other = |it: &&PolicyInfo| old.get(&it.id).is_some_and(|old| old.text != it.text);
    let changed = new.values().filter(is_other).map(shown).collect();
    let removed = old.values().filter(|it| !new.contains_key(&it.id)).map(shown).collect();
    let parts = [("added", added), ("changed", changed), ("removed", removed)];
    let parts: Vec<String> = parts.into_iter().filter_map(|(verb, ids)| part(verb, ids)).collect();
    match parts.is_empty() {
        true => "no policy changed".to_owned(),
        false => parts.join("; "),
    }
}

fn by_id(source: Option<&PolicySource>) -> Option<BTreeMap<Arc<str>, PolicyInfo>> {
    let read = Policies::read(source.map(std::slice::from_ref).unwrap_or_default()).ok()?;
    Some(read.infos().map(|info| (Arc::clone(&info.id), info.clone())).collect())
}

fn part(verb: &str, ids: Vec<String>) -> Option<String> {
    let more = ids.len().saturating_sub(MOST_NAMED);
    let named: Vec<String> = ids.into_iter().take(MOST_NAMED).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!named.is_empty()).then(|| format!("{verb} {}{more}", named.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_plain() {
        for (id, expected) in [
            ("base", true),
            ("a.b-c_9", true),
            ("", false),
            (".a", false),
            ("a/b", false),
            ("file:x", false),
            ("\u{e4}", false),
        ] {
            assert_eq!(is_policy_id(id), expected, "{id}");
        }
        assert!(!is_policy_id(&"a".repeat(101)));
    }

    #[test]
    fn a_change_is_told_by_the_policies_it_concerns() {
        let source =
            |text: &str| PolicySource { name: "store:x".to_owned(), text: text.to_owned() };
        let [permit, forbid] = ["permit", "forbid"]
            .map(|effect| format!("@id(\"{effect}\") {effect}(principal, action, resource);"));
        let (one, two) = (source(&permit), source(&format!("{permit} {forbid}")));
        let other = source("@id(\"permit\") permit(principal, action, resource) when { true };");
        let comment = source(&format!("// why\n{permit}"));
        for (before, after, expected) in [
            (None, Some(&one), "added permit (permit)"),
            (Some(&one), Some(&two), "added forbid (forbid)"),
            (Some(&two), Some(&other), "changed permit (permit); removed forbid (forbid)"),
            (Some(&one), Some(&comment), "no policy changed"),
            (Some(&two), None, "removed forbid (forbid), permit (permit)"),
            (Some(&source("permit(")), Some(&one), "replaced what could not be read"),
        ] {
            assert_eq!(policy_changes(before, after), expected);
        }
    }
}

//! The vocabulary: names that say nothing by themselves, names that are declared often, and doc
//! comments that cannot be read alone.

use std::collections::BTreeMap;

use super::{Excess, Law};
use crate::code::Type;
use crate::source::Source;

/// No type is called this and nothing else: the first ones could be anything, the others are words
/// of our own where the field has one.
const FORBIDDEN: &[&str] = &[
    // could be anything
    "Answer",
    "Asked",
    "Entry",
    "Fault",
    "Found",
    "Held",
    "Inner",
    "Kept",
    "Key",
    "Kind",
    "Known",
    "Line",
    "Open",
    "Outcome",
    "Place",
    "Said",
    "Seen",
    "Shared",
    "Source",
    "State",
    "Step",
    "Told",
    "Trouble",
    "Verdict",
    "Wanted",
    "Way",
    // private words
    "Again",
    "Alone",
    "Book",
    "Carrier",
    "Door",
    "Doorman",
    "Exit",
    "Face",
    "Farewell",
    "Good",
    "Guests",
    "Hello",
    "Hop",
    "House",
    "Made",
    "Manner",
    "Newsroom",
    "Note",
    "Nowhere",
    "Once",
    "Outfit",
    "Parented",
    "Parts",
    "Provisions",
    "Repeated",
    "ReturnPath",
    "Room",
    "Roster",
    "Seek",
    "Shelf",
    "Sought",
    "Strangers",
    "Ticket",
    "Touched",
    "Trail",
    "Visitor",
    "Wards",
    "Who",
    "Whose",
];

/// So often is a name declared that is counted by [`Law::Thrice`].
const THRICE: usize = 3;

const THE_SAME: &str = "The same";

pub(super) fn measure(sources: &[Source], types: &[Type]) -> Vec<Excess> {
    let mut found = names(types);
    let mut same: BTreeMap<String, usize> = BTreeMap::new();
    for file in sources {
        *same.entry(part(file)).or_default() += the_same(&file.text);
    }
    found.extend(same.into_iter().map(|(name, number)| Excess { law: Law::TheSame, name, number }));
    found
}

fn names(types: &[Type]) -> Vec<Excess> {
    let mut declared: BTreeMap<&str, usize> = BTreeMap::new();
    for it in types.iter().filter(|it| it.is_own) {
        *declared.entry(&it.name).or_default() += 1;
    }
    let mut found = Vec::new();
    let mut thrice = 0;
    for (name, number) in declared {
        thrice += usize::from(number >= THRICE);
        let name = name.to_owned();
        if FORBIDDEN.contains(&name.as_str()) {
            found.push(Excess { law: Law::Word, name: name.clone(), number });
        }
        found.push(Excess { law: Law::Repeated, name, number });
    }
    found.push(Excess { law: Law::Thrice, name: "names".to_owned(), number: thrice });
    found
}

/// `crates/gateway`, `tests`.
fn part(file: &Source) -> String {
    let mut parts = file.path.iter().map(|part| part.to_string_lossy());
    match (parts.next(), parts.next()) {
        (Some(first), Some(name)) if first == "crates" => format!("{first}/{name}"),
        (first, _) => first.unwrap_or_default().into_owned(),
    }
}

/// Doc comments that begin with these words.
fn the_same(text: &str) -> usize {
    let doc = |line: &str| {
        let line = line.trim_start();
        let rest = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        rest.map(|rest| rest.trim_start().to_owned())
    };
    let mut before = None;
    let mut number = 0;
    for line in text.lines() {
        let here = doc(line);
        // The first line of a comment, or of a paragraph in it.
        let begins = before.as_ref().is_none_or(|line: &String| line.is_empty());
        number += usize::from(begins && here.as_ref().is_some_and(|it| it.starts_with(THE_SAME)));
        before = here;
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(names: &[&str]) -> Vec<Type> {
        let one = |name: &&str| Type { name: (*name).to_owned(), is_own: true, ..Type::default() };
        names.iter().map(one).collect()
    }

    #[test]
    fn forbidden_and_repeated_names_are_counted() {
        let mut types = declared(&["State", "State", "SlotState", "Row", "Row", "Row"]);
        types.push(Type { name: "State".to_owned(), ..Type::default() });
        let found = names(&types);
        let of = |law| {
            let found = found.iter().filter(|it| it.law == law && it.number > 1);
            found.map(|it| (it.name.as_str(), it.number)).collect::<Vec<_>>()
        };
        assert_eq!(of(Law::Word), [("State", 2)], "another name for a type declares none");
        assert_eq!(of(Law::Repeated), [("Row", 3), ("State", 2)]);
        assert!(found.iter().any(|it| it.law == Law::Thrice && it.number == 1));
    }

    #[test]
    fn comments_that_begin_with_the_same_are_found() {
        for (text, expected) in [
            ("/// The same, later.\nfn a() {}", 1),
            ("//! The same again.\n", 1),
            ("/// What it is.\n///\n/// The same for b.\nfn a() {}", 1),
            ("/// It does\n/// The same.\nfn a() {}", 0),
            ("// The same, in a reason.\n", 0),
            ("/// What is the same.\nfn a() {}", 0),
        ] {
            assert_eq!(the_same(text), expected, "{text}");
        }
    }
}

//! How rooms, files and types of the product hang together: cycles, sizes, false questions.

use std::collections::BTreeSet;

use super::{Excess, Law};
use crate::code::{self, Product};

/// All numbers, over their limits or not. `listed` are the rooms that have a row.
pub(super) fn measure(product: &Product, listed: &[&str]) -> Vec<Excess> {
    let mut found = Vec::new();
    let mut add = |law, name: String, number| found.push(Excess { law, name, number });
    let edges = code::edges(product);
    let rooms = rooms(product);
    let crates: BTreeSet<&str> = rooms.iter().map(|(krate, _)| *krate).collect();
    for krate in crates {
        let between = code::between_rooms(product, &edges, krate);
        add(Law::RoomCycle, krate.to_owned(), code::largest(&between));
    }
    let mut folders = BTreeSet::new();
    for circle in code::sibling_cycles(product, &edges) {
        // They come largest first.
        if folders.insert(circle.folder.clone()) {
            add(Law::SiblingCycle, circle.folder, circle.members.len());
        }
    }
    for it in code::types(product) {
        let name = format!("{} {}", krate(&it.file), it.name);
        add(Law::Methods, name.clone(), it.methods.len());
        add(Law::Fields, name.clone(), it.fields);
        for method in it.methods.iter().filter(|method| method.is_false_question()) {
            add(Law::Question, format!("{name}::{}", method.name), 1);
        }
    }
    for (krate, room) in rooms {
        let name = format!("{krate}/{room}");
        if !listed.contains(&name.as_str()) {
            add(Law::UnlistedRoom, name, 1);
        }
    }
    found
}

/// Every room with its crate.
pub(super) fn rooms(product: &Product) -> BTreeSet<(&str, &str)> {
    let files = product.files.iter();
    files.filter_map(|file| Some((file.krate.as_str(), file.room()?))).collect()
}

fn krate(path: &str) -> &str {
    path.split('/').nth(1).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::super::code::product_of;
    use super::*;

    /// What the files of crate `a` have of a law.
    fn numbers(law: Law, files: &[(&str, &str)]) -> Vec<(String, usize)> {
        let product = product_of(files);
        let found = measure(&product, &["a/one", "a/two"]);
        let found = found.into_iter().filter(|it| it.law == law && it.number > 0);
        found.map(|it| (it.name, it.number)).collect()
    }

    #[test]
    fn rooms_that_need_each_other_are_a_cycle() {
        let one = ("crates/a/src/one.rs", "pub struct One; use crate::two::Two;");
        let root = ("crates/a/src/lib.rs", "mod one; mod two;");
        let cycle = [root, one, ("crates/a/src/two.rs", "pub struct Two; use crate::one::One;")];
        assert_eq!(numbers(Law::RoomCycle, &cycle), [("a".to_owned(), 2)]);
        let chain = [root, one, ("crates/a/src/two.rs", "pub struct Two;")];
        assert_eq!(numbers(Law::RoomCycle, &chain), []);
    }

    #[test]
    fn files_of_a_room_that_need_each_other_are_a_cycle() {
        let files = [
            ("crates/a/src/lib.rs", "mod one;"),
            ("crates/a/src/one/mod.rs", "mod x; mod y; mod z;"),
            ("crates/a/src/one/x.rs", "pub struct X; impl super::y::Y { fn x() {} }"),
            ("crates/a/src/one/y.rs", "pub struct Y(super::z::Z);"),
            ("crates/a/src/one/z.rs", "pub struct Z; fn z(_: crate::one::x::X) {}"),
        ];
        assert_eq!(numbers(Law::SiblingCycle, &files), [("crates/a/src/one/".to_owned(), 3)]);
    }

    #[test]
    fn methods_fields_and_false_questions_are_counted() {
        let files = [
            ("crates/a/src/lib.rs", "mod one; mod two;"),
            ("crates/a/src/one.rs", "pub struct One { a: u8, b: u8 } impl One { fn a(&self) {} }"),
            (
                "crates/a/src/two.rs",
                "use crate::one::One;\n\
                 impl One { fn is_b(&mut self) {} fn is_c(&self) {} fn mend(&mut self) {} }",
            ),
        ];
        assert_eq!(numbers(Law::Methods, &files), [("a One".to_owned(), 4)]);
        assert_eq!(numbers(Law::Fields, &files), [("a One".to_owned(), 2)]);
        assert_eq!(numbers(Law::Question, &files), [("a One::is_b".to_owned(), 1)]);
    }

    #[test]
    fn a_room_without_a_row_is_found() {
        let files = [
            ("crates/a/src/lib.rs", "mod one; mod three;"),
            ("crates/a/src/one.rs", ""),
            ("crates/a/src/three.rs", ""),
        ];
        assert_eq!(numbers(Law::UnlistedRoom, &files), [("a/three".to_owned(), 1)]);
    }
}

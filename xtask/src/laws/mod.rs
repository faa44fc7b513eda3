//! Laws about the shape of the product that need its syntax: cycles, sizes of types, words.
//!
//! What breaks one today is an exception with its number. An exception may only shrink: one that is
//! exceeded or no longer needed is an error, and `cargo xtask tidy --bless` writes the list anew if
//! it has become shorter.

mod exceptions;
mod shape;
mod words;

use std::path::Path;

use crate::code::{self, Product};
use crate::source::Source;
use exceptions::{Exceptions, FILE};

/// Something that is over its limit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Excess {
    pub law: Law,
    /// A crate, a folder, a type or a word.
    pub name: String,
    pub number: usize,
}

/// What is counted. The order is that of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Law {
    RoomCycle,
    SiblingCycle,
    Methods,
    Fields,
    Word,
    Repeated,
    Thrice,
    TheSame,
    Question,
    UnlistedRoom,
}

impl Law {
    const ALL: [Self; 10] = [
        Self::RoomCycle,
        Self::SiblingCycle,
        Self::Methods,
        Self::Fields,
        Self::Word,
        Self::Repeated,
        Self::Thrice,
        Self::TheSame,
        Self::Question,
        Self::UnlistedRoom,
    ];

    /// What it is called in the list.
    const fn word(self) -> &'static str {
        match self {
            Self::RoomCycle => "room-cycle",
            Self::SiblingCycle => "sibling-cycle",
            Self::Methods => "methods",
            Self::Fields => "fields",
            Self::Word => "word",
            Self::Repeated => "repeated",
            Self::Thrice => "thrice",
            Self::TheSame => "the-same",
            Self::Question => "question",
            Self::UnlistedRoom => "unlisted-room",
        }
    }

    /// The most there may be without an exception.
    const fn limit(self) -> usize {
        match self {
            Self::SiblingCycle | Self::Repeated => 4,
            Self::Methods => 45,
            Self::Fields => 15,
            Self::Thrice => 20,
            Self::RoomCycle | Self::Word | Self::TheSame | Self::Question | Self::UnlistedRoom => 0,
        }
    }

    /// What a reader is told who has broken it.
    const fn advice(self) -> &'static str {
        match self {
            Self::RoomCycle => {
                "rooms of a crate need each other in a cycle (cargo xtask house --list)"
            }
            Self::SiblingCycle => {
                "files of a folder need each other in a cycle (cargo xtask house --list)"
            }
            Self::Methods => "methods on one type: it is several types",
            Self::Fields => "fields of one type: some of them belong together",
            Self::Word => {
                "a type name that says nothing by itself: qualify it, or use the field's word"
            }
            Self::Repeated => "declarations of one type name: one word for one thing",
            Self::Thrice => "type names that are declared three times and more",
            Self::TheSame => "doc comments that begin with \"The same\": each stands alone",
            Self::Question => "a method that asks by its name takes `&mut self`: say what it does",
            Self::UnlistedRoom => "a room without a row in MAY_IMPORT (cargo xtask tidy --rows)",
        }
    }
}

/// Judges the product, and says what is over its limit and no exception.
pub fn check(
    product: &Product,
    sources: &[Source],
    listed: &[&str],
    faults: &mut Vec<String>,
) -> Result<(), String> {
    let found = found(product, sources, listed);
    faults.extend(Exceptions::read()?.judge(&found));
    Ok(())
}

/// Writes the list of exceptions anew, if none of them is new or has grown. Where there is no list,
/// this begins one.
pub fn bless(sources: &[Source], listed: &[&str]) -> Result<(), String> {
    let found = found(&Product::read(Path::new("."))?, sources, listed);
    match Exceptions::exist() {
        true => Exceptions::read()?.shrink_to(&found)?.write(),
        false => Exceptions::of(found).write(),
    }
}

/// Rows for rooms that have none, as they import today.
pub fn print_rows(listed: &[&str]) -> Result<(), String> {
    let product = Product::read(Path::new("."))?;
    let edges = code::edges(&product);
    for (krate, room) in shape::rooms(&product) {
        if listed.contains(&format!("{krate}/{room}").as_str()) {
            continue;
        }
        let between = code::between_rooms(&product, &edges, krate);
        let needed = between.iter().filter(|(from, _)| *from == room).map(|(_, to)| *to);
        println!("    (\"{krate}/{room}\", &{:?}),", needed.collect::<Vec<_>>());
    }
    Ok(())
}

fn found(product: &Product, sources: &[Source], listed: &[&str]) -> Vec<Excess> {
    let mut found = shape::measure(product, listed);
    found.extend(words::measure(sources, &code::types(product)));
    found.retain(|it| it.number > it.law.limit());
    found.sort();
    found
}

impl std::fmt::Display for Excess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { law, name, number } = self;
        write!(f, "{name}: {number}, at most {}: {}", law.limit(), law.advice())
    }
}

/// For the message of an exception that has to go.
fn stale(excess: &Excess) -> String {
    let Excess { law, name, number } = excess;
    format!("{FILE}: `{} {name} {number}` is no longer so: cargo xtask tidy --bless", law.word())
}

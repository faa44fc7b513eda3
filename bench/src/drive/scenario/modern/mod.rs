//! Calls of the modern era beside the same calls of the legacy one, in the same rounds.

pub(super) mod par64;
pub(super) mod seq;

use super::turns::Entrant;
use crate::drive::contender::{Contender, Eras, Kind};
use crate::era::Era;

/// "No slower": what remains is noise, and the length of the messages.
const NO_SLOWER: f64 = 1.1;

/// Direct, floor and subject of the modern era, then of the legacy one.
fn both_eras() -> Vec<Contender> {
    let three = |era: Era| [Kind::Direct, Kind::Floor, Kind::Subject].map(|kind| kind.of(era));
    [three(Era::Modern), three(Era::Legacy)].concat()
}

/// The subject between a client and children of different eras.
fn crossed() -> [Contender; 2] {
    [(Era::Modern, Era::Legacy), (Era::Legacy, Era::Modern)].map(|(client, children)| Contender {
        kind: Kind::Subject,
        eras: Eras { client, children },
    })
}

/// Where the same kind stands between a client and children of `era`.
fn place(entrants: &[Entrant], kind: &Kind, era: Era) -> Option<usize> {
    let eras = Eras { client: era, children: era };
    let same =
        |kind: &Kind, other: &Kind| std::mem::discriminant(kind) == std::mem::discriminant(other);
    entrants.iter().position(|entrant| entrant.eras == eras && same(&entrant.kind, kind))
}

/// How long the messages of the two eras are.
fn lengths(entrants: &[Entrant]) -> String {
    let of = |era| place(entrants, &Kind::Subject, era).map(|at| entrants[at].lengths);
    let (Some(modern), Some(legacy)) = (of(Era::Modern), of(Era::Legacy)) else {
        return String::new();
    };
    format!(
        "A modern request has {} bytes, a legacy one {}; an answer {} and {}",
        modern.0, legacy.0, modern.1, legacy.1
    )
}

//! Whose a question is that a server asks over a pipe: nothing in it says for which call it is.

use std::ptr;
use std::sync::{Arc, Weak};

use crate::call::{Client, Manner};
use crate::upstream::pending::UpstreamId;

/// Who is behind a call, as far as that can be told.
#[derive(Clone, Debug)]
pub(crate) enum Who {
    /// A session: whoever opened it, and nobody else.
    Session(Weak<Client>),
    /// Whoever holds this: the same in every request that shows it.
    Holder(Arc<[u8]>),
    /// A request that shows nothing: perhaps another's than the one before, perhaps not.
    Anyone(Weak<Client>),
}

impl Who {
    pub(crate) fn of(client: &Arc<Client>, manner: &Manner) -> Self {
        match manner {
            Manner::Session => Self::session(client),
            Manner::Stateless(how) if how.is_of_the_only_client() => Self::session(client),
            Manner::Stateless(how) if how.is_anyones() => Self::Anyone(Arc::downgrade(client)),
            Manner::Stateless(how) => Self::Holder(Arc::clone(&how.principal)),
        }
    }

    pub(crate) fn session(client: &Arc<Client>) -> Self {
        Self::Session(Arc::downgrade(client))
    }

    /// Might the other one be the same, for all that is known?
    fn may_be(&self, other: &Self) -> bool {
        self == other || matches!((self, other), (Self::Anyone(_), Self::Anyone(_)))
    }
}

impl PartialEq for Who {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Session(one), Self::Session(other))
            | (Self::Anyone(one), Self::Anyone(other)) => ptr::eq(one.as_ptr(), other.as_ptr()),
            (Self::Holder(one), Self::Holder(other)) => one == other,
            _ => false,
        }
    }
}

/// A call that is open with the server.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) id: UpstreamId,
    pub(super) who: Who,
    /// Its client has declared that it can do what is asked for.
    pub(super) able: bool,
    pub(super) place: Place,
}

/// Where a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Its client waits for the answer.
    Running,
    /// It waits for its client to answer something; `asking`: its client has not been told yet, and
    /// what is asked at once is told at once.
    Parked { asking: bool },
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Whose {
    Call(UpstreamId),
    /// No call is open.
    Nobodys,
    /// It may be several callers', and nothing says whose it is.
    Unclear,
    /// The same, and none of them could answer.
    Unable,
}

/// For which of these calls a question is. `gone`: whose calls were given up, as long as the server
/// may not know.
///
/// A call whose client cannot answer is no candidate. Nor is one that waits for an answer: its
/// server is busy with that; it counts if there is no other. One of several callers is nobody's
/// guess; of one caller's calls it is the newest: servers mostly ask soon after a call began, and
/// the same person is asked in any case.
pub(super) fn whose(open: &[Open], gone: &[Who]) -> Whose {
    if open.is_empty() {
        return Whose::Nobodys;
    }
    let able: Vec<&Open> = open.iter().filter(|call| call.able).collect();
    if able.is_empty() {
        let all: Vec<&Open> = open.iter().collect();
        // If it is clear whose it is, that one's call learns what was missing.
        return match pick(&all, gone) {
            Some(id) => Whose::Call(id),
            None => Whose::Unable,
        };
    }
    pick(&able, gone).map_or(Whose::Unclear, Whose::Call)
}

/// The one among candidates, if there can only be one.
fn pick(candidates: &[&Open], gone: &[Who]) -> Option<UpstreamId> {
    let running = candidates.iter().copied().filter(|call| call.place == Place::Running);
    let running: Vec<&Open> = running.collect();
    let chosen: Vec<&Open> = if running.is_empty() {
        let asking = Place::Parked { asking: true };
        let asked = candidates.iter().copied().filter(|call| call.place == asking);
        let asked: Vec<&Open> = asked.collect();
        let all = || candidates.to_vec();
        // All of them are candidates; the one that has just begun to ask is the likeliest.
        if asked.is_empty() || !of_one(candidates) { all() } else { asked }
    } else {
        running
    };
    let newest = chosen.iter().max_by_key(|call| call.id)?;
    // Who is known is not asked on behalf of somebody else who waits, and not the other way round.
    let clear = candidates.iter().all(|other| newest.who.may_be(&other.who))
        && gone.iter().all(|gone| *gone == newest.who);
    (of_one(&chosen) && clear).then_some(newest.id)
}

fn of_one(calls: &[&Open]) -> bool {
    let mut whos = calls.iter().map(|call| &call.who);
    whos.next().is_none_or(|first| whos.all(|who| who == first))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client() -> Weak<Client> {
        // Its address is its own for as long as somebody remembers it.
        Arc::downgrade(&Arc::default())
    }

    /// A word for each call: who (`a`, `b`: holders; `s`, `t`: sessions; `?`: anyone), `-` if it
    /// cannot answer, `p` if it is parked, `P` if its client has not been told yet.
    fn calls(words: &str, sessions: &[Weak<Client>; 2]) -> Vec<Open> {
        let [s, t] = sessions;
        let one = |(index, word): (usize, &str)| {
            let who = match word.chars().next().unwrap() {
                's' => Who::Session(s.clone()),
                't' => Who::Session(t.clone()),
                '?' => Who::Anyone(client()),
                other => Who::Holder(other.to_string().into_bytes().into()),
            };
            let place = match (word.contains('p'), word.contains('P')) {
                (false, false) => Place::Running,
                (_, asking) => Place::Parked { asking },
            };
            let id = UpstreamId::try_from(index).unwrap() + 1;
            Open { id, who, able: !word.contains('-'), place }
        };
        words.split_whitespace().enumerate().map(one).collect()
    }

    #[test]
    fn a_question_is_for_the_call_it_can_only_be_or_mostly_is_for() {
        let sessions = [client(), client()];
        for (open, gone, expected) in [
            ("", "", Whose::Nobodys),
            ("a", "", Whose::Call(1)),
            ("?", "", Whose::Call(1)),
            ("s", "", Whose::Call(1)),
            // Of one caller's, the newest.
            ("a a a", "", Whose::Call(3)),
            ("s s", "", Whose::Call(2)),
            // Of several callers', nobody's guess.
            ("a b", "", Whose::Unclear),
            ("s t", "", Whose::Unclear),
            ("s a", "", Whose::Unclear),
            ("? ?", "", Whose::Unclear),
            ("? a", "", Whose::Unclear),
            // Who cannot answer is no candidate.
            ("a b-", "", Whose::Call(1)),
            ("a a-", "", Whose::Call(1)),
            ("? ?- ?-", "", Whose::Call(1)),
            ("a-", "", Whose::Call(1)),
            ("a- a-", "", Whose::Call(2)),
            ("a- b-", "", Whose::Unable),
            // Who waits for an answer is one only if there is no other.
            ("a ap", "", Whose::Call(1)),
            ("ap a ap", "", Whose::Call(2)),
            ("a aP", "", Whose::Call(1)),
            ("ap ap", "", Whose::Call(2)),
            ("aP ap", "", Whose::Call(1)),
            ("aP aP ap", "", Whose::Call(2)),
            ("ap a-", "", Whose::Call(1)),
            // Nobody can be told from nobody: the one that does not wait is asked.
            ("?p ?", "", Whose::Call(2)),
            ("?p ?p ?", "", Whose::Call(3)),
            ("?p ?p", "", Whose::Unclear),
            ("?p ?P", "", Whose::Unclear),
            // Somebody can.
            ("ap b", "", Whose::Unclear),
            ("ap ?", "", Whose::Unclear),
            ("?p s", "", Whose::Unclear),
            ("ap b-", "", Whose::Call(1)),
            // What was given up may still be asked for.
            ("a", "a", Whose::Call(1)),
            ("a", "b", Whose::Unclear),
            ("s", "s", Whose::Call(1)),
            ("?", "?", Whose::Unclear),
            ("", "a", Whose::Nobodys),
        ] {
            let gone: Vec<Who> = calls(gone, &sessions).into_iter().map(|call| call.who).collect();
            assert_eq!(whose(&calls(open, &sessions), &gone), expected, "{open} / {gone:?}");
        }
    }
}

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
    /// A request that shows nothing: for all that is known, each is another's.
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
    /// It waits for its client, who has not been told yet: what is asked at once is told at once.
    Asking,
    /// It waits for its client to answer something.
    Waiting,
    /// It has for long: see `giving_way`.
    Late,
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
/// Every caller with a call here may be the one that is meant, also one that cannot be asked, or
/// waits for its client already: servers ask without looking at what a client can do, and ask a
/// second thing before the first is answered. So only where there is one caller is anybody asked. Of
/// its calls it is the newest that can answer and does not wait itself: servers mostly ask soon after
/// a call began, and the same person is asked in any case.
pub(super) fn whose(open: &[Open], gone: &[Who]) -> Whose {
    let Some(first) = open.first() else { return Whose::Nobodys };
    let mut others = open.iter().map(|call| &call.who).chain(gone);
    if others.all(|who| *who == first.who) {
        return likeliest(open).map_or(Whose::Nobodys, Whose::Call);
    }
    match open.iter().any(|call| call.able) {
        true => Whose::Unclear,
        false => Whose::Unable,
    }
}

/// Of one caller's calls. If none can answer, it learns what was missing.
fn likeliest(open: &[Open]) -> Option<UpstreamId> {
    let rank = |call: &&Open| {
        let nearness = match call.place {
            Place::Running => 2,
            Place::Asking => 1,
            Place::Waiting | Place::Late => 0,
        };
        (call.able, nearness, call.id)
    };
    open.iter().max_by_key(rank).map(|call| call.id)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn client() -> Weak<Client> {
        // Its address is its own for as long as somebody remembers it.
        Arc::downgrade(&Arc::default())
    }

    /// A word for each call: who (`a`, `b`: holders; `s`, `t`: sessions; `?`: anyone), `-` if it
    /// cannot answer, `p` if it is parked, `P` if its client has not been told yet, `l` if it was long
    /// ago.
    pub(in crate::upstream) fn calls(words: &str, sessions: &[Weak<Client>; 2]) -> Vec<Open> {
        let [s, t] = sessions;
        let one = |(index, word): (usize, &str)| {
            let who = match word.chars().next().unwrap() {
                's' => Who::Session(s.clone()),
                't' => Who::Session(t.clone()),
                '?' => Who::Anyone(client()),
                other => Who::Holder(other.to_string().into_bytes().into()),
            };
            let place = match word.chars().find(|letter| "pPl".contains(*letter)) {
                Some('p') => Place::Waiting,
                Some('P') => Place::Asking,
                Some(_) => Place::Late,
                None => Place::Running,
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
            // Who cannot be asked may be the one that is meant; of its own calls, one that can.
            ("a b-", "", Whose::Unclear),
            ("a- b", "", Whose::Unclear),
            ("s t-", "", Whose::Unclear),
            ("a s-", "", Whose::Unclear),
            ("? ?- ?-", "", Whose::Unclear),
            ("a a-", "", Whose::Call(1)),
            ("a- a a-", "", Whose::Call(2)),
            ("a-", "", Whose::Call(1)),
            ("a- a-", "", Whose::Call(2)),
            ("a- b-", "", Whose::Unable),
            // Of one caller's, who waits for an answer is asked only if there is no other.
            ("a ap", "", Whose::Call(1)),
            ("ap a ap", "", Whose::Call(2)),
            ("a aP", "", Whose::Call(1)),
            ("ap ap", "", Whose::Call(2)),
            ("aP ap", "", Whose::Call(1)),
            ("aP aP ap", "", Whose::Call(2)),
            ("ap a-", "", Whose::Call(1)),
            ("?p", "", Whose::Call(1)),
            ("al al", "", Whose::Call(2)),
            // Who waits may be asked something more: nobody else is asked for that.
            ("ap b", "", Whose::Unclear),
            ("ap b-", "", Whose::Unclear),
            ("al b", "", Whose::Unclear),
            ("ap ?", "", Whose::Unclear),
            ("?p s", "", Whose::Unclear),
            // Each request that shows nothing is somebody's, and not the other's.
            ("?p ?", "", Whose::Unclear),
            ("?p ?p ?", "", Whose::Unclear),
            ("?p ?p", "", Whose::Unclear),
            ("?p ?P", "", Whose::Unclear),
            ("?p ?-", "", Whose::Unclear),
            // What was given up may still be asked for.
            ("a", "a", Whose::Call(1)),
            ("a", "b", Whose::Unclear),
            ("s", "s", Whose::Call(1)),
            ("?", "?", Whose::Unclear),
            ("a-", "b", Whose::Unable),
            ("", "a", Whose::Nobodys),
        ] {
            let gone: Vec<Who> = calls(gone, &sessions).into_iter().map(|call| call.who).collect();
            assert_eq!(whose(&calls(open, &sessions), &gone), expected, "{open} / {gone:?}");
        }
    }
}

//! Whose a question is that a server asks over a pipe: nothing in it says for which call it is.

use std::ptr;
use std::sync::{Arc, Weak};

use crate::call::{Client, RequestEra};
use crate::upstream::transport::UpstreamId;

/// Who is behind a call, as far as that can be told.
#[derive(Clone, Debug)]
pub(crate) enum Caller {
    /// A session: whoever opened it, and nobody else.
    Session(Weak<Client>),
    /// Whoever holds this: the same in every request that shows it.
    Holder(Arc<[u8]>),
    /// A request that shows nothing: for all that is known, each is another's.
    Anyone(Weak<Client>),
}

impl Caller {
    pub(crate) fn of(client: &Arc<Client>, request_era: &RequestEra) -> Self {
        match request_era {
            RequestEra::Session => Self::session(client),
            RequestEra::Stateless(how) if how.is_of_the_only_client() => Self::session(client),
            RequestEra::Stateless(how) if how.is_anyones() => Self::Anyone(Arc::downgrade(client)),
            RequestEra::Stateless(how) => Self::Holder(Arc::clone(&how.principal)),
        }
    }

    pub(crate) fn session(client: &Arc<Client>) -> Self {
        Self::Session(Arc::downgrade(client))
    }
}

impl PartialEq for Caller {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            // The `Weak` keeps the allocation, so that no other client can have the address
            // meanwhile.
            (Self::Session(one), Self::Session(other))
            | (Self::Anyone(one), Self::Anyone(other)) => ptr::eq(one.as_ptr(), other.as_ptr()),
            (Self::Holder(one), Self::Holder(other)) => one == other,
            _ => false,
        }
    }
}

/// A call that is open with the server.
#[derive(Debug)]
pub(in crate::upstream) struct AttributedCall {
    pub(in crate::upstream) id: UpstreamId,
    pub(in crate::upstream) who: Caller,
    /// Its client has declared that it can do what is asked for.
    pub(in crate::upstream) able: bool,
    pub(in crate::upstream) place: CallPhase,
}

/// Where a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::upstream) enum CallPhase {
    /// Its client waits for the answer.
    Running,
    /// It waits for its client, who has not been told yet: what is asked at once is told at once.
    Asking,
    /// It waits for its client to answer something.
    Waiting,
    /// It has for long: see `eviction`.
    Late,
}

#[derive(Debug, PartialEq, Eq)]
pub(in crate::upstream) enum Attribution {
    Call(UpstreamId),
    /// No call is open.
    Nobodys,
    /// It may be several callers', and nothing says whose it is.
    Unclear,
    /// It may be several callers', and none of them could answer.
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
pub(in crate::upstream) fn whose(open: &[AttributedCall], gone: &[Caller]) -> Attribution {
    let Some(first) = open.first() else { return Attribution::Nobodys };
    let mut others = open.iter().map(|call| &call.who).chain(gone);
    if others.all(|who| *who == first.who) {
        return likeliest(open).map_or(Attribution::Nobodys, Attribution::Call);
    }
    match open.iter().any(|call| call.able) {
        true => Attribution::Unclear,
        false => Attribution::Unable,
    }
}

/// Of one caller's calls. If none can answer, it learns what was missing.
fn likeliest(open: &[AttributedCall]) -> Option<UpstreamId> {
    let rank = |call: &&AttributedCall| {
        let nearness = match call.place {
            CallPhase::Running => 2,
            CallPhase::Asking => 1,
            CallPhase::Waiting | CallPhase::Late => 0,
        };
        (call.able, nearness, call.id)
    };
    open.iter().max_by_key(rank).map(|call| call.id)
}

/// The calls because of which a question is nobody's, if it would be somebody's without them: they
/// have waited for their clients for long, and all others are of one caller who can be asked.
pub(in crate::upstream) fn in_the_way(open: &[AttributedCall]) -> Vec<UpstreamId> {
    let others = || open.iter().filter(|call| call.place != CallPhase::Late);
    let Some(first) = others().next() else { return Vec::new() };
    let is_clear = others().all(|call| call.who == first.who) && others().any(|call| call.able);
    let late = open.iter().filter(|call| call.place == CallPhase::Late && call.who != first.who);
    late.filter(|_| is_clear).map(|call| call.id).collect()
}

#[cfg(test)]
pub(in crate::upstream) mod tests {
    use super::*;

    fn client() -> Weak<Client> {
        // Its address is its own for as long as somebody remembers it.
        Arc::downgrade(&Arc::default())
    }

    /// A word for each call: who (`a`, `b`: holders; `s`, `t`: sessions; `?`: anyone), `-` if it
    /// cannot answer, `p` if it is parked, `P` if its client has not been told yet, `l` if it was long
    /// ago.
    pub(in crate::upstream) fn calls(
        words: &str,
        sessions: &[Weak<Client>; 2],
    ) -> Vec<AttributedCall> {
        let [s, t] = sessions;
        let one = |(index, word): (usize, &str)| {
            let who = match word.chars().next().unwrap() {
                's' => Caller::Session(s.clone()),
                't' => Caller::Session(t.clone()),
                '?' => Caller::Anyone(client()),
                other => Caller::Holder(other.to_string().into_bytes().into()),
            };
            let place = match word.chars().find(|letter| "pPl".contains(*letter)) {
                Some('p') => CallPhase::Waiting,
                Some('P') => CallPhase::Asking,
                Some(_) => CallPhase::Late,
                None => CallPhase::Running,
            };
            let id = UpstreamId::try_from(index).unwrap() + 1;
            AttributedCall { id, who, able: !word.contains('-'), place }
        };
        words.split_whitespace().enumerate().map(one).collect()
    }

    #[test]
    fn a_question_is_for_the_call_it_can_only_be_or_mostly_is_for() {
        let sessions = [client(), client()];
        for (open, gone, expected) in [
            ("", "", Attribution::Nobodys),
            ("a", "", Attribution::Call(1)),
            ("?", "", Attribution::Call(1)),
            ("s", "", Attribution::Call(1)),
            // Of one caller's, the newest.
            ("a a a", "", Attribution::Call(3)),
            ("s s", "", Attribution::Call(2)),
            // Of several callers', nobody's guess.
            ("a b", "", Attribution::Unclear),
            ("s t", "", Attribution::Unclear),
            ("s a", "", Attribution::Unclear),
            ("? ?", "", Attribution::Unclear),
            ("? a", "", Attribution::Unclear),
            // Who cannot be asked may be the one that is meant; of its own calls, one that can.
            ("a b-", "", Attribution::Unclear),
            ("a- b", "", Attribution::Unclear),
            ("s t-", "", Attribution::Unclear),
            ("a s-", "", Attribution::Unclear),
            ("? ?- ?-", "", Attribution::Unclear),
            ("a a-", "", Attribution::Call(1)),
            ("a- a a-", "", Attribution::Call(2)),
            ("a-", "", Attribution::Call(1)),
            ("a- a-", "", Attribution::Call(2)),
            ("a- b-", "", Attribution::Unable),
            // Of one caller's, who waits for an answer is asked only if there is no other.
            ("a ap", "", Attribution::Call(1)),
            ("ap a ap", "", Attribution::Call(2)),
            ("a aP", "", Attribution::Call(1)),
            ("ap ap", "", Attribution::Call(2)),
            ("aP ap", "", Attribution::Call(1)),
            ("aP aP ap", "", Attribution::Call(2)),
            ("ap a-", "", Attribution::Call(1)),
            ("?p", "", Attribution::Call(1)),
            ("al al", "", Attribution::Call(2)),
            // Who waits may be asked something more: nobody else is asked for that.
            ("ap b", "", Attribution::Unclear),
            ("ap b-", "", Attribution::Unclear),
            ("al b", "", Attribution::Unclear),
            ("ap ?", "", Attribution::Unclear),
            ("?p s", "", Attribution::Unclear),
            // Each request that shows nothing is somebody's, and not the other's.
            ("?p ?", "", Attribution::Unclear),
            ("?p ?p ?", "", Attribution::Unclear),
            ("?p ?p", "", Attribution::Unclear),
            ("?p ?P", "", Attribution::Unclear),
            ("?p ?-", "", Attribution::Unclear),
            // What was given up may still be asked for.
            ("a", "a", Attribution::Call(1)),
            ("a", "b", Attribution::Unclear),
            ("s", "s", Attribution::Call(1)),
            ("?", "?", Attribution::Unclear),
            ("a-", "b", Attribution::Unable),
            ("", "a", Attribution::Nobodys),
        ] {
            let gone: Vec<Caller> =
                calls(gone, &sessions).into_iter().map(|call| call.who).collect();
            assert_eq!(whose(&calls(open, &sessions), &gone), expected, "{open} / {gone:?}");
        }
    }
}

//! `CallKeyHome`: where a gateway keeps idempotency keys. Its own memory, unless it shares a store with others.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, OnceLock};

use tokio::time::Instant;

use super::bounds::{BYTES_IN_MEMORY, KEPT_ANSWER, KEYS_IN_MEMORY, KEYS_KEPT};
use super::rounds::Rounds;
use super::{
    CallKeys, ClaimFuture, ClaimedCall, KeptAnswer, KeyOutcome, KeyState, KeyedCall, TakenKey,
};
use crate::lock::{Mutex, rank};

/// Keeps keys.
#[derive(Debug, Default)]
pub(crate) struct CallKeyHome {
    own: Arc<MemoryKeys>,
    /// That of a platform; told before the first client comes.
    shared: OnceLock<Arc<dyn CallKeys>>,
}

impl CallKeyHome {
    /// Keys are kept there from now on.
    pub(crate) fn share(&self, keys: &Arc<dyn CallKeys>) {
        drop(self.shared.set(Arc::clone(keys)));
    }

    pub(crate) fn keys(&self) -> Arc<dyn CallKeys> {
        match self.shared.get() {
            Some(shared) => Arc::clone(shared),
            None => Arc::clone(&self.own) as Arc<dyn CallKeys>,
        }
    }
}

/// Forgotten with the process.
#[derive(Debug, Default)]
struct MemoryKeys {
    // Held for one look or note.
    table: Mutex<KeyTable, rank::CallKeys>,
}

impl CallKeys for MemoryKeys {
    fn claim(&self, call: KeyedCall) -> ClaimFuture {
        let state = self.table.lock().claim(&call, Instant::now());
        Box::pin(std::future::ready(Ok(state)))
    }

    fn settle(&self, claimed: ClaimedCall, outcome: KeyOutcome) {
        self.table.lock().settle(&claimed, outcome);
    }
}

#[derive(Debug)]
struct KnownCall {
    request: String,
    rounds: Rounds,
    progress: Progress,
}

#[derive(Debug)]
enum Progress {
    /// The question that it goes on from, if there was one.
    Running(Option<KeptAnswer>),
    Asked(KeptAnswer),
    Answered(KeptAnswer),
    NotKept,
    Unknown,
}

impl Progress {
    fn bytes(&self) -> usize {
        match self {
            Self::Asked(answer) | Self::Answered(answer) | Self::Running(Some(answer)) => {
                answer.body.len()
            }
            Self::Running(None) | Self::NotKept | Self::Unknown => 0,
        }
    }
}

/// Keys in the order in which they came; the oldest go first.
#[derive(Debug, Default)]
struct KeyTable {
    calls: HashMap<String, KnownCall>,
    order: VecDeque<(String, Instant)>,
    /// Of all answers.
    bytes: usize,
}

impl KeyTable {
    fn claim(&mut self, call: &KeyedCall, now: Instant) -> KeyState {
        self.forget_old(now);
        let Some(known) = self.calls.get_mut(&call.id) else {
            self.order.push_back((call.id.clone(), now));
            let progress = Progress::Running(None);
            let (request, mut rounds) = (call.request.clone(), Rounds::default());
            rounds.push(&call.round);
            self.calls.insert(call.id.clone(), KnownCall { request, rounds, progress });
            return KeyState::Taken(TakenKey::default());
        };
        if known.request != call.request {
            return KeyState::OtherCall;
        }
        match &known.progress {
            Progress::Running(_) => KeyState::Running,
            // What it was told before, it is not told again: it is asked what is open.
            Progress::Asked(question) if !known.rounds.contain(&call.round) => {
                let progress = Progress::Running(Some(question.clone()));
                let before = known.rounds.last();
                known.rounds.push(&call.round);
                known.progress = progress;
                KeyState::Taken(TakenKey { before: Some(before), number: 0 })
            }
            Progress::Asked(answer) | Progress::Answered(answer) => {
                KeyState::Answered(answer.clone())
            }
            Progress::NotKept => KeyState::NotKept,
            Progress::Unknown => KeyState::Unknown,
        }
    }

    fn settle(&mut self, claimed: &ClaimedCall, outcome: KeyOutcome) {
        let ClaimedCall { call, taken } = claimed;
        let Some(known) = self.calls.get_mut(&call.id) else { return };
        let Progress::Running(question) = &mut known.progress else { return };
        let question = question.take();
        self.bytes -= question.as_ref().map_or(0, |question| question.body.len()).min(self.bytes);
        known.progress = match (outcome, &taken.before, question) {
            (KeyOutcome::NotRun, Some(_), Some(question)) => {
                known.rounds.take_back();
                Progress::Asked(question)
            }
            (KeyOutcome::NotRun, ..) => {
                self.calls.remove(&call.id);
                // From the end: most calls that do not run have come a moment ago.
                let place = self.order.iter().rposition(|(id, _)| *id == call.id);
                place.map(|place| self.order.remove(place));
                return;
            }
            (KeyOutcome::Asked(answer) | KeyOutcome::Answered(answer), ..)
                if answer.body.len() > KEPT_ANSWER =>
            {
                Progress::NotKept
            }
            (KeyOutcome::Asked(answer), ..) => Progress::Asked(answer),
            (KeyOutcome::Answered(answer), ..) => Progress::Answered(answer),
            (KeyOutcome::NotKept, ..) => Progress::NotKept,
            (KeyOutcome::Unknown, ..) => Progress::Unknown,
        };
        self.bytes += known.progress.bytes();
        self.make_room();
    }

    fn forget_old(&mut self, now: Instant) {
        while self.order.front().is_some_and(|(_, made)| now - *made > KEYS_KEPT) {
            self.forget_first();
        }
        while self.order.len() >= KEYS_IN_MEMORY {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        let Some((id, _)) = self.order.pop_front() else { return };
        let gone = self.calls.remove(&id);
        self.bytes -= gone.map_or(0, |gone| gone.progress.bytes()).min(self.bytes);
    }

    /// The oldest answers go; that their calls have run stays known.
    fn make_room(&mut self) {
        for (id, _) in &self.order {
            if self.bytes <= BYTES_IN_MEMORY {
                return;
            }
            if let Some(known) = self.calls.get_mut(id)
                && matches!(known.progress, Progress::Answered(_) | Progress::Asked(_))
            {
                self.bytes -= known.progress.bytes().min(self.bytes);
                known.progress = Progress::NotKept;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call_keys::bounds::ROUNDS_KEPT;

    fn call(id: &str, request: &str, round: &str) -> KeyedCall {
        KeyedCall { id: id.to_owned(), request: request.to_owned(), round: round.to_owned() }
    }

    fn answer(body: &str) -> KeptAnswer {
        KeptAnswer { code: 0, body: body.as_bytes().to_vec() }
    }

    fn settle(table: &mut KeyTable, call: &KeyedCall, before: Option<&str>, outcome: KeyOutcome) {
        let before = before.map(str::to_owned);
        let taken = TakenKey { before, number: 0 };
        table.settle(&ClaimedCall { call: call.clone(), taken }, outcome);
    }

    #[test]
    fn a_key_is_taken_once_and_then_has_an_answer() {
        let (mut table, now) = (KeyTable::default(), Instant::now());
        let one = call("1", "a", "");
        assert_eq!(table.claim(&one, now), KeyState::Taken(TakenKey::default()));
        assert_eq!(table.claim(&one, now), KeyState::Running);
        assert_eq!(table.claim(&call("1", "b", ""), now), KeyState::OtherCall);
        settle(&mut table, &one, None, KeyOutcome::Answered(answer("x")));
        assert_eq!(table.claim(&one, now), KeyState::Answered(answer("x")));
        // What is said later of a call that has its outcome changes nothing.
        settle(&mut table, &one, None, KeyOutcome::Unknown);
        assert_eq!(table.claim(&one, now), KeyState::Answered(answer("x")));
        assert_eq!(table.claim(&call("1", "b", ""), now), KeyState::OtherCall);
    }

    #[test]
    fn a_call_that_did_not_run_gives_its_key_back_and_one_that_may_have_run_does_not() {
        let (mut table, now) = (KeyTable::default(), Instant::now());
        let one = call("1", "a", "");
        table.claim(&one, now);
        settle(&mut table, &one, None, KeyOutcome::NotRun);
        assert_eq!(table.claim(&one, now), KeyState::Taken(TakenKey::default()));
        settle(&mut table, &one, None, KeyOutcome::Unknown);
        assert_eq!(table.claim(&one, now), KeyState::Unknown);
    }

    #[test]
    fn a_question_is_said_again_until_it_is_answered() {
        let (mut table, now) = (KeyTable::default(), Instant::now());
        let (first, next) = (call("1", "a", ""), call("1", "a", "r"));
        table.claim(&first, now);
        settle(&mut table, &first, None, KeyOutcome::Asked(answer("?")));
        assert_eq!(table.claim(&first, now), KeyState::Answered(answer("?")));
        let taken = KeyState::Taken(TakenKey { before: Some(String::new()), number: 0 });
        assert_eq!(table.claim(&next, now), taken);
        assert_eq!(table.claim(&next, now), KeyState::Running);
        settle(&mut table, &next, Some(""), KeyOutcome::NotRun);
        assert_eq!(table.claim(&first, now), KeyState::Answered(answer("?")));
        assert_eq!(table.claim(&next, now), taken);
        // The server asks once more: the first call again is asked that, and does not begin anew.
        settle(&mut table, &next, Some(""), KeyOutcome::Asked(answer("??")));
        assert_eq!(table.claim(&first, now), KeyState::Answered(answer("??")));
        let last = call("1", "a", "s");
        let taken = KeyState::Taken(TakenKey { before: Some("r".to_owned()), number: 0 });
        assert_eq!(table.claim(&last, now), taken);
        settle(&mut table, &last, Some("r"), KeyOutcome::Answered(answer("!")));
        for again in [&first, &next] {
            assert_eq!(table.claim(again, now), KeyState::Answered(answer("!")));
        }
    }

    #[test]
    fn what_was_told_in_an_earlier_round_is_not_told_again() {
        let (mut table, now) = (KeyTable::default(), Instant::now());
        let first = call("1", "a", "");
        table.claim(&first, now);
        settle(&mut table, &first, None, KeyOutcome::Asked(answer("?")));
        let round = |number: usize| call("1", "a", &number.to_string());
        for number in 0..=ROUNDS_KEPT {
            let taken = table.claim(&round(number), now);
            assert!(matches!(&taken, KeyState::Taken(taken) if taken.before.is_some()), "{number}");
            settle(&mut table, &round(number), Some(""), KeyOutcome::NotRun);
            assert_eq!(table.claim(&round(number), now), taken, "{number} was not told");
            let asked = format!("after {number}");
            settle(&mut table, &round(number), Some(""), KeyOutcome::Asked(answer(&asked)));
            // The last so many.
            for again in (number + 1).saturating_sub(ROUNDS_KEPT)..=number {
                let state = table.claim(&round(again), now);
                assert_eq!(state, KeyState::Answered(answer(&asked)), "{again} after {number}");
            }
        }
        assert_eq!(table.claim(&first, now), table.claim(&round(ROUNDS_KEPT), now));
    }

    #[test]
    fn memory_is_bounded_in_calls_bytes_and_time() {
        let (mut table, now) = (KeyTable::default(), Instant::now());
        let large = "x".repeat(KEPT_ANSWER);
        let most = BYTES_IN_MEMORY / KEPT_ANSWER;
        for n in 0..=most {
            let call = call(&n.to_string(), "a", "");
            table.claim(&call, now);
            settle(&mut table, &call, None, KeyOutcome::Answered(answer(&large)));
        }
        assert_eq!(table.claim(&call("0", "a", ""), now), KeyState::NotKept);
        assert_eq!(table.claim(&call("1", "a", ""), now), KeyState::Answered(answer(&large)));
        let over = call("over", "a", "");
        table.claim(&over, now);
        settle(&mut table, &over, None, KeyOutcome::Answered(answer(&format!("{large}x"))));
        assert_eq!(table.claim(&over, now), KeyState::NotKept);
        for n in 0..KEYS_IN_MEMORY {
            table.claim(&call(&format!("n{n}"), "a", ""), now);
        }
        assert_eq!((table.order.len(), table.bytes), (KEYS_IN_MEMORY, 0));
        assert_eq!(table.claim(&over, now + KEYS_KEPT * 2), KeyState::Taken(TakenKey::default()));
        assert_eq!(table.order.len(), 1);
    }
}

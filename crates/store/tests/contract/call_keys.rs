//! Idempotency keys: each is taken once, by one of several replicas, and stands for its call until it is forgotten.

use trunkline_store::{CallKey, CallKeyOutcome, CallKeyState, EndedCall, KeyClaimant, Store};

use crate::on_both;
use crate::place::Place;

on_both! { call_keys:
    a_key_is_taken_once_and_then_has_an_answer_for_all_replicas,
    what_did_not_run_gives_its_key_back,
    a_question_is_said_again_until_it_is_answered,
    a_first_call_that_comes_again_in_a_later_round_is_asked_that,
    what_was_told_in_an_earlier_round_is_not_told_again,
    of_a_replica_that_has_gone_nobody_knows_what_ran,
    keys_are_forgotten_and_answers_before_them,
    of_many_who_ask_at_once_one_runs_the_call,
}

const LONG: i64 = 3_600_000;

fn call(id: &str, request: &str, round: &str) -> CallKey {
    CallKey { id: id.to_owned(), request: request.to_owned(), round: round.to_owned() }
}

/// Each replica takes keys under its own number.
fn by(replica: &str, kept: i64) -> KeyClaimant {
    let number = replica.parse().unwrap();
    KeyClaimant { replica: replica.to_owned(), number, kept, alive: LONG, rounds: 3 }
}

async fn claim(store: &Store, replica: &str, call: &CallKey) -> CallKeyState {
    let by = by(replica, LONG);
    store.claim_call_key(call.clone(), by).await.unwrap()
}

async fn settle(store: &Store, replica: &str, outcome: CallKeyOutcome) {
    let ended = EndedCall { id: "k".to_owned(), number: replica.parse().unwrap(), outcome };
    store.settle_call_keys(vec![ended]).await.unwrap();
}

fn answered(bytes: &[u8]) -> CallKeyOutcome {
    CallKeyOutcome::Answered { code: -7, sealed: bytes.to_vec() }
}

const TAKEN: CallKeyState = CallKeyState::Taken { before: None };

fn known(bytes: &[u8]) -> CallKeyState {
    CallKeyState::Answered { code: -7, sealed: bytes.to_vec() }
}

async fn a_key_is_taken_once_and_then_has_an_answer_for_all_replicas(place: &Place) {
    let (one, other) = (place.open().await, place.open().await);
    one.replica_beat("1", "http://a", LONG).await.unwrap();
    let wanted = call("k", "a", "");
    assert_eq!(claim(&one, "1", &wanted).await, TAKEN);
    for (store, replica) in [(&one, "1"), (&other, "2")] {
        assert_eq!(claim(store, replica, &wanted).await, CallKeyState::Running);
        let mistaken = claim(store, replica, &call("k", "b", "")).await;
        assert_eq!(mistaken, CallKeyState::OtherCall);
    }
    // Nobody ends the call of another.
    settle(&other, "2", answered(b"wrong")).await;
    settle(&one, "1", answered(&[0, 255])).await;
    settle(&one, "1", CallKeyOutcome::Unknown).await;
    for (store, replica) in [(&one, "1"), (&other, "2")] {
        assert_eq!(claim(store, replica, &wanted).await, known(&[0, 255]));
    }
    assert_eq!(claim(&other, "2", &call("l", "a", "")).await, TAKEN);
}

async fn what_did_not_run_gives_its_key_back(place: &Place) {
    let store = place.open().await;
    let wanted = call("k", "a", "");
    assert_eq!(claim(&store, "1", &wanted).await, TAKEN);
    settle(&store, "1", CallKeyOutcome::NotRun { before: None }).await;
    assert_eq!(claim(&store, "2", &call("k", "b", "")).await, TAKEN);
    settle(&store, "2", CallKeyOutcome::NotKept).await;
    assert_eq!(claim(&store, "1", &call("k", "b", "")).await, CallKeyState::NotKept);
}

async fn a_question_is_said_again_until_it_is_answered(place: &Place) {
    let store = place.open().await;
    let (first, next) = (call("k", "a", ""), call("k", "a", "r"));
    claim(&store, "1", &first).await;
    settle(&store, "1", CallKeyOutcome::Asked { code: -7, sealed: b"?".to_vec() }).await;
    assert_eq!(claim(&store, "2", &first).await, known(b"?"));
    let before = Some(String::new());
    let goes_on = CallKeyState::Taken { before: before.clone() };
    assert_eq!(claim(&store, "2", &next).await, goes_on);
    settle(&store, "2", CallKeyOutcome::NotRun { before }).await;
    assert_eq!(claim(&store, "1", &first).await, known(b"?"));
    assert_eq!(claim(&store, "1", &next).await, goes_on);
    settle(&store, "1", answered(b"!")).await;
    for again in [first, next] {
        assert_eq!(claim(&store, "2", &again).await, known(b"!"));
    }
}

/// The first call again is asked what is open: it does not begin anew.
async fn a_first_call_that_comes_again_in_a_later_round_is_asked_that(place: &Place) {
    let store = place.open().await;
    let asked = |text: &[u8]| CallKeyOutcome::Asked { code: -7, sealed: text.to_vec() };
    let [first, next, last] = ["", "r", "s"].map(|round| call("k", "a", round));
    claim(&store, "1", &first).await;
    settle(&store, "1", asked(b"?")).await;
    claim(&store, "1", &next).await;
    settle(&store, "1", asked(b"??")).await;
    for again in [&first, &next] {
        assert_eq!(claim(&store, "2", again).await, known(b"??"));
    }
    let goes_on = CallKeyState::Taken { before: Some("r".to_owned()) };
    assert_eq!(claim(&store, "1", &last).await, goes_on);
}

async fn what_was_told_in_an_earlier_round_is_not_told_again(place: &Place) {
    let store = place.open().await;
    claim(&store, "1", &call("k", "a", "")).await;
    settle(&store, "1", CallKeyOutcome::Asked { code: -7, sealed: b"?".to_vec() }).await;
    let rounds = ["", "r", "s", "t"];
    for (at, before) in ["", "r", "r s"].into_iter().enumerate() {
        let question = tell(&store, rounds[at + 1], before).await;
        for again in &rounds[..=at + 1] {
            assert_eq!(claim(&store, "1", &call("k", "a", again)).await, question, "{again}");
        }
    }
    // Of so many: the first of them is forgotten.
    let question = tell(&store, "u", "r s t").await;
    assert_eq!(claim(&store, "1", &call("k", "a", "s")).await, question);
    tell(&store, "r", "s t u").await;
}

/// Goes on with a round, which did not run the first time; what the server asks then.
async fn tell(store: &Store, round: &str, before: &str) -> CallKeyState {
    let (next, before) = (call("k", "a", round), Some(before.to_owned()));
    let goes_on = CallKeyState::Taken { before: before.clone() };
    assert_eq!(claim(store, "2", &next).await, goes_on, "{round}");
    settle(store, "2", CallKeyOutcome::NotRun { before }).await;
    assert_eq!(claim(store, "2", &next).await, goes_on, "{round}");
    let question = format!("after {round}").into_bytes();
    settle(store, "2", CallKeyOutcome::Asked { code: -7, sealed: question.clone() }).await;
    known(&question)
}

async fn of_a_replica_that_has_gone_nobody_knows_what_ran(place: &Place) {
    let store = place.open().await;
    store.replica_beat("1", "http://a", LONG).await.unwrap();
    let wanted = call("k", "a", "");
    claim(&store, "1", &wanted).await;
    assert_eq!(claim(&store, "2", &wanted).await, CallKeyState::Running);
    store.replica_leave("1").await.unwrap();
    assert_eq!(claim(&store, "2", &wanted).await, CallKeyState::Unknown);
    // It was only away.
    settle(&store, "1", answered(b"x")).await;
    assert_eq!(claim(&store, "2", &wanted).await, known(b"x"));
}

async fn keys_are_forgotten_and_answers_before_them(place: &Place) {
    let store = place.open().await;
    let wanted = call("k", "a", "");
    claim(&store, "1", &wanted).await;
    settle(&store, "1", answered(&[7; 100])).await;
    store.prune_call_keys(LONG, 100).await.unwrap();
    assert_eq!(claim(&store, "1", &wanted).await, known(&[7; 100]));
    store.prune_call_keys(LONG, 99).await.unwrap();
    assert_eq!(claim(&store, "1", &wanted).await, CallKeyState::NotKept);
    // One that is too old is free before it is removed.
    let again = store.claim_call_key(call("k", "b", ""), by("2", -LONG)).await.unwrap();
    assert_eq!(again, TAKEN);
    store.prune_call_keys(-LONG, 100).await.unwrap();
    assert_eq!(claim(&store, "1", &wanted).await, TAKEN);
}

async fn of_many_who_ask_at_once_one_runs_the_call(place: &Place) {
    let stores = [place.open().await, place.open().await, place.open().await];
    let mut asking = tokio::task::JoinSet::new();
    for at in 0..12 {
        let (store, replica) = (stores[at % 3].clone(), (at % 3).to_string());
        asking.spawn(async move { claim(&store, &replica, &call("k", "a", "")).await });
    }
    let states = asking.join_all().await;
    assert_eq!(states.iter().filter(|state| **state == TAKEN).count(), 1, "{states:?}");
}

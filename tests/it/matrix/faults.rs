//! The fault table of the stdio aggregator over every front and upstream.

use kit::config::Upstream;
use kit::say;
use kit::scene::{Front, each, each_of};

use crate::faults::table::{
    framing, legal, noise, odd_shapes, silence, strangers, too_large, undecodable,
};
use crate::faults::{After, Caller, Row, check_over};

/// The rows that mean the same over every transport.
fn about_messages(rows: Vec<Row>) -> Vec<Row> {
    rows.into_iter().filter(Row::is_about_messages).collect()
}

/// Every row with each transport on one side, the other side being stdio.
const SIDES: [(Front, Upstream); 4] = [
    (Front::Stdio, Upstream::Http),
    (Front::Stdio, Upstream::Sse),
    (Front::Http, Upstream::Stdio),
    (Front::Sse, Upstream::Stdio),
];

#[test]
fn k1_k7_noise_and_strangers_confuse_nobody_over_any_transport() {
    each_of(SIDES, |(front, upstream)| {
        let rows = noise().into_iter().chain(strangers()).collect();
        check_over(front, upstream, about_messages(rows));
    });
}

#[test]
fn k4_an_undecodable_answer_fails_its_call_over_any_transport() {
    each_of(SIDES, |(front, upstream)| {
        check_over(front, upstream, about_messages(undecodable()));
    });
}

#[test]
fn k4_k5_odd_shapes_are_settled_and_legal_payloads_pass_over_any_transport() {
    each_of(SIDES, |(front, upstream)| {
        let rows = odd_shapes().into_iter().chain(legal()).collect();
        check_over(front, upstream, about_messages(rows));
    });
}

#[test]
fn k3_an_answer_over_the_limit_fails_its_call_over_any_transport() {
    let _turn = crate::ONE_AT_A_TIME.lock();
    each_of(SIDES, |(front, upstream)| {
        let rows = too_large().into_iter().filter(|row| !row.flags.is_empty()).collect();
        check_over(front, upstream, rows);
    });
}

#[test]
fn k1_to_k8_one_row_each_over_every_pair() {
    each(|front, upstream| {
        let first = |rows: Vec<Row>| about_messages(rows).into_iter().next();
        let rows = [
            first(noise()),
            first(framing()),
            first(too_large()),
            first(undecodable()),
            first(legal()),
            first(silence()),
            first(strangers()),
        ];
        check_over(front, upstream, rows.into_iter().flatten().collect());
    });
}

#[test]
fn k8_a_death_in_the_middle_of_a_call_is_told_at_once_over_every_front() {
    each_of(Front::NETWORK, |front| {
        let death = |name, step| Row {
            name,
            flags: &[],
            bad: say::steps([say::stderr("these were my last words\n"), step]),
            caller: Caller::OwnError(&["may have run", "these were my last words"]),
            // `serve` starts what has failed again.
            after: After::Replaced,
        };
        let rows = vec![
            death("exit 7", say::exit(7)),
            death("SIGSEGV", say::signal("SEGV")),
            death("SIGKILL", say::signal("KILL")),
        ];
        check_over(front, Upstream::Stdio, rows);
    });
}

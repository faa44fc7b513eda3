//! The fault table of the stdio aggregator over every front and upstream.

use kit::config::Upstream;
use kit::say;
use kit::scene::{Front, each, each_of};

use crate::faults::table::{
    framing, legal, noise, odd_shapes, readable_errors, silence, strangers, too_large, undecodable,
    unreadable,
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

/// The stateless era on one side or on both.
const ERAS: [(Front, Upstream); 8] = [
    (Front::ModernStdio, Upstream::Stdio),
    (Front::ModernHttp, Upstream::Stdio),
    (Front::ModernHttp, Upstream::Http),
    (Front::Stdio, Upstream::ModernStdio),
    (Front::Stdio, Upstream::ModernHttp),
    (Front::Http, Upstream::ModernHttp),
    (Front::ModernStdio, Upstream::ModernStdio),
    (Front::ModernHttp, Upstream::ModernHttp),
];

#[test]
fn k1_k7_noise_and_strangers_confuse_nobody_in_any_era() {
    each_of(ERAS, |(front, upstream)| {
        let rows = noise().into_iter().chain(strangers()).collect();
        check_over(front, upstream, about_messages(rows));
    });
}

#[test]
fn k4_k5_undecodable_answers_fail_and_odd_shapes_are_settled_in_any_era() {
    each_of(ERAS, |(front, upstream)| {
        let rows = undecodable().into_iter().chain(odd_shapes()).chain(legal()).collect();
        check_over(front, upstream, about_messages(rows));
    });
}

#[test]
fn k4_answers_that_strict_clients_cannot_read_fail_in_any_era_and_over_any_transport() {
    // Some of each: what is wrong with an answer is seen before it matters where it goes.
    each_of(ERAS.into_iter().chain(SIDES), |(front, upstream)| {
        let some = unreadable().into_iter().step_by(4);
        check_over(front, upstream, some.chain(readable_errors().into_iter().take(3)).collect());
    });
}

#[test]
fn k2_k3_k6_framing_limits_and_silence_in_any_era() {
    let _turn = crate::ONE_AT_A_TIME.lock();
    each_of(ERAS, |(front, upstream)| {
        let large = too_large().into_iter().filter(|row| !row.flags.is_empty());
        let rows = framing().into_iter().chain(large).chain(silence()).collect();
        check_over(front, upstream, about_messages(rows));
    });
}

#[test]
fn k8_a_death_in_the_middle_of_a_call_is_told_at_once_in_any_era() {
    each_of(ERAS, |(front, upstream)| {
        if !upstream.is_stdio() {
            return;
        }
        // What has failed is started again.
        let after = After::Replaced;
        let death = |name, step| Row {
            name,
            flags: &[],
            bad: say::steps([say::stderr("these were my last words\n"), step]),
            caller: Caller::OwnError(&["may have run", "these were my last words"]),
            after,
        };
        let rows = vec![
            death("exit 7", say::exit(7)),
            death("SIGSEGV", say::signal("SEGV")),
            death("SIGKILL", say::signal("KILL")),
        ];
        check_over(front, upstream, rows);
    });
}

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

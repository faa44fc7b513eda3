//! The life of one command: what it starts, how it is interrupted, what it leaves.

use kit::client::Client;
use kit::config::Upstream;
use kit::say::{self, net};
use kit::scene::each_of;
use kit::service::Wire;
use kit::{LIMIT, ledger, process, scan};
use rustix::process::Signal;
use serde_json::json;

use super::{Place, TARGETS, Target, everywhere};

/// Waits for the one call the server has got; its id.
#[track_caller]
fn called(place: &Place) -> Vec<u8> {
    let there = || ledger::calls(&place.room.ledger("s")).len() == 1;
    process::wait_until("the server is called", LIMIT, there);
    scan::get(&ledger::calls(&place.room.ledger("s"))[0], "id").expect("an id").to_vec()
}

#[test]
fn ctrl_c_cancels_the_call_and_the_server_hears_of_it() {
    let work = say::steps([say::until_cancelled(), say::text("late")]);
    everywhere(
        |fake| fake.tool("work", work.clone()),
        |place| {
            let client = Client::spawn(place.command(&["call", &place.tool("work")]));
            let id = called(place);
            client.signal(Signal::INT);
            let end = client.finish(LIMIT);
            assert_eq!((end.code, end.stdout.as_str()), (Some(1), ""), "{end:?}");
            assert!(end.stderr.contains("error: cancelled\n"), "{end:?}");
            let cancelled =
                || ledger::with_method(&place.room.ledger("s"), "notifications/cancelled");
            process::wait_until("the server is told", LIMIT, || cancelled().len() == 1);
            let meant = scan::path(&cancelled()[0], &["params", "requestId"]).map(<[u8]>::to_vec);
            assert_eq!(meant, Some(id), "the id the server knows");
        },
    );
}

#[test]
fn sigterm_cancels_the_call_too() {
    let work = say::steps([say::until_cancelled(), say::text("late")]);
    each_of([Target::Config(Upstream::Stdio), Target::Url(Wire::Http)], |target| {
        let place = Place::at(target, |fake| fake.tool("work", work.clone()));
        let client = Client::spawn(place.command(&["call", &place.tool("work")]));
        called(&place);
        client.signal(Signal::TERM);
        assert_eq!(client.finish(LIMIT).code, Some(1));
        let cancelled = ledger::with_method(&place.room.ledger("s"), "notifications/cancelled");
        assert_eq!(cancelled.len(), 1);
    });
}

#[test]
fn ctrl_c_ends_the_wait_for_a_server_that_does_not_start() {
    each_of(TARGETS.into_iter().filter(|target| !matches!(target, Target::Serve(_))), |target| {
        let place = Place::at(target, |fake| fake.on("initialize", say::never()));
        let client = Client::spawn(place.command(&["tools"]));
        let asked = || !ledger::with_method(&place.room.ledger("s"), "initialize").is_empty();
        process::wait_until("the server is asked", LIMIT, asked);
        client.signal(Signal::INT);
        let end = client.finish(LIMIT);
        assert_eq!(end.code, Some(1), "{end:?}");
    });
}

#[test]
fn ctrl_c_ends_the_wait_for_standard_input() {
    let place = Place::new(|fake| fake.tool("take", say::mirror()));
    for arguments in [["call", "s:take", "text=@-"], ["call", "s:take", "--args=-"]] {
        let client = Client::spawn(place.command(&arguments));
        let pid = client.pid().as_raw_nonzero().get();
        // It does nothing but wait once it has been asleep for so many looks in a row.
        let mut asleep = 0;
        process::wait_until("it waits for its input", LIMIT, || {
            asleep = if process::is_asleep(pid) { asleep + 1 } else { 0 };
            asleep == 50
        });
        client.signal(Signal::INT);
        assert!(!client.wait_exit(LIMIT).success());
    }
    assert!(ledger::started(&place.room.ledger("s")).is_empty(), "nothing was started for it");
}

#[test]
fn nothing_is_left_behind() {
    let place = Place::new(|fake| fake.tool("never", say::never()));
    place.run(&["tools"]).good();
    process::wait_gone(place.room.marker(), LIMIT).expect("nothing is left of a good end");
    for signal in [Signal::INT, Signal::TERM, Signal::KILL] {
        std::fs::remove_file(place.room.ledger("s")).expect("there was a ledger");
        let client = Client::spawn(place.command(&["call", "s:never"]));
        called(&place);
        client.signal(signal);
        client.wait_exit(LIMIT);
        process::wait_gone(place.room.marker(), LIMIT).expect("nothing is left of a bad one");
    }
}

#[test]
fn sessions_at_servers_are_ended() {
    let place = Place::at(Target::Url(Wire::Http), |fake| fake.tool("t", say::mirror()));
    place.run(&["call", "t"]).good();
    let heads = ledger::heads(&place.room.ledger("s"));
    assert!(heads.iter().any(|head| head.method() == "DELETE"), "{heads:?}");
}

#[test]
fn only_the_server_that_can_be_meant_is_started() {
    let place = Place::new(|fake| fake.tool("take", say::mirror()));
    let fake = |name: &str| place.room.fake(name).tool("take", say::mirror()).entry();
    place.room.config([("s", fake("s")), ("other", fake("other"))]);
    place.run(&["call", "s:take"]).good();
    place.run(&["tools", "s:take"]).good();
    assert_eq!(ledger::started(&place.room.ledger("s")).len(), 2);
    assert!(ledger::started(&place.room.ledger("other")).is_empty());
    place.run(&["tools"]).good();
    assert_eq!(ledger::started(&place.room.ledger("other")).len(), 1);
}

#[test]
fn a_disabled_server_is_not_started() {
    let place = Place::new(|fake| fake.tool("take", say::mirror()));
    let mut entry = place.room.fake("s").tool("take", say::mirror()).entry();
    entry["disabled"] = json!(true);
    place.room.config([("s", entry)]);
    assert_eq!(place.run(&["tools"]).text(), "no tools\n");
    place.run(&["call", "s:take"]).bad(1, &["there is no tool `s:take`"]);
    assert!(ledger::started(&place.room.ledger("s")).is_empty());
}

#[test]
fn on_a_pipe_no_progress_is_asked_for_or_shown() {
    let work = say::steps([say::progress(3), say::text("done")]);
    everywhere(
        |fake| fake.tool("work", work.clone()),
        |place| {
            assert_eq!(place.call("work", &[]).text(), "done\n");
            let call =
                String::from_utf8_lossy(&ledger::calls(&place.room.ledger("s"))[0]).into_owned();
            assert!(!call.contains("progressToken"), "{call}");
        },
    );
}

#[test]
fn a_call_past_its_time_is_a_failure_and_is_cancelled() {
    everywhere(
        |fake| fake.tool("never", say::never()),
        |place| {
            let out = place.call("never", &["--call-timeout", "1"]);
            out.bad(1, &["did not answer within 1 s"]);
            let told = || {
                !ledger::with_method(&place.room.ledger("s"), "notifications/cancelled").is_empty()
            };
            process::wait_until("the server is told", LIMIT, told);
        },
    );
}

#[test]
fn a_result_over_the_limit_is_a_failure() {
    let huge = say::steps([say::huge(2 << 20, say::Place::First)]);
    everywhere(
        |fake| fake.tool("huge", huge.clone()),
        |place| place.call("huge", &["--max-message", "1M"]).bad(1, &["over the limit"]),
    );
}

#[test]
fn a_server_that_dies_in_a_call_is_a_failure_that_says_so() {
    let die = say::steps([say::exit(3)]);
    let targets = [Target::Config(Upstream::Stdio), Target::Serve(Wire::Http)];
    each_of(targets, |target| {
        let place = Place::at(target, |fake| fake.tool("die", die.clone()));
        place.call("die", &[]).bad(1, &["may have run"]);
    });
    each_of([Wire::Http, Wire::Sse], |wire| {
        let hang_up = say::steps([net::hang_up()]);
        let place = Place::at(Target::Url(wire), |fake| fake.tool("die", hang_up.clone()));
        place.call("die", &[]).bad(1, &["may have run"]);
    });
}

#[test]
fn a_slow_starter_does_not_keep_the_others_from_being_listed() {
    let place = Place::new(|fake| fake.tool("take", say::mirror()));
    let quick = place.room.fake("s").tool("take", say::mirror()).entry();
    let slow = place.room.fake("slow").on("initialize", say::never()).entry();
    place.room.config([("s", quick), ("slow", slow)]);
    let out = place.run(&["tools", "--start-timeout", "1"]);
    assert_eq!((out.code, &out.stdout[..]), (Some(0), &b"s:take\n"[..]), "{out}");
}

#[test]
fn what_a_server_logs_is_shown_with_debug_only() {
    let talk = say::steps([say::log("info", r#""cache is cold""#), say::text("done")]);
    everywhere(
        |fake| fake.logging().tool("talk", talk.clone()),
        |place| {
            assert_eq!(place.call("talk", &[]).text(), "done\n");
            let out = place.call("talk", &["--debug"]);
            assert_eq!((out.code, &out.stdout[..]), (Some(0), &b"done\n"[..]), "{out}");
            assert!(out.stderr.contains("cache is cold"), "{out}");
            let levels = ledger::with_method(&place.room.ledger("s"), "logging/setLevel");
            assert_eq!(levels.len(), 1, "only with --debug");
        },
    );
}

#[test]
fn on_a_pipe_nobody_is_asked_anything() {
    let schema = r#"{"message":"Name?","requestedSchema":{"type":"object","properties":{}}}"#;
    let ask = say::steps([say::ask("elicitation/create", schema), say::result("@ANSWER@")]);
    let targets = [Target::Config(Upstream::Stdio), Target::Url(Wire::Http)];
    each_of(targets, |target| {
        let place = Place::at(target, |fake| fake.tool("ask", ask.clone()));
        let out = place.call("ask", &["--json"]);
        assert!(out.text().contains("\"error\""), "the server gets an error: {out}");
        let hello = &ledger::with_method(&place.room.ledger("s"), "initialize")[0];
        let capabilities = scan::path(hello, &["params", "capabilities"]).map(<[u8]>::to_vec);
        assert_eq!(capabilities.as_deref(), Some(&b"{}"[..]), "nothing is promised");
    });
}

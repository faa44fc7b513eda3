//! A fleet in this process, against real servers that die and come back: each is this very program.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::exit,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test"
)]

mod server;
mod stage;

use std::sync::Arc;
use std::time::Duration;

use stage::{LIMIT, Stage, call, text};
use trunkline_gateway::{Event, FailureKind, HealthVerdict, Outcome, State};

fn main() {
    if trunkline_keeper::run_if_asked().is_some() {
        return;
    }
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|word| word == "server") {
        return server::run(&args[1..]);
    }
    let scenes: [(&str, fn()); 13] = [
        ("a_call_comes_back_byte_for_byte", a_call_comes_back_byte_for_byte),
        ("what_cannot_be_called_is_said_in_so_many_words", what_cannot_be_called_is_said),
        ("nobody_can_be_asked_on_behalf_of_a_call", nobody_can_be_asked),
        ("a_call_nobody_waits_for_is_cancelled", a_call_nobody_waits_for_is_cancelled),
        ("calls_wait_for_a_server_that_comes_back", calls_wait_for_a_server_that_comes_back),
        ("only_what_may_run_twice_is_made_again", only_what_may_run_twice_is_made_again),
        ("twenty_deaths_under_load_lose_and_double_nothing", twenty_deaths_under_load),
        ("a_server_that_leaves_ends_its_calls", a_server_that_leaves_ends_its_calls),
        ("patience_ends", patience_ends),
        ("the_circuit_opens_and_a_word_closes_it", the_circuit_opens_and_a_word_closes_it),
        ("a_verdict_from_outside_brings_another_process", a_verdict_from_outside),
        ("so_many_calls_at_a_time_and_no_more", so_many_calls_at_a_time_and_no_more),
        ("a_server_has_a_limit_of_its_own_for_calls", a_server_has_a_limit_of_its_own),
    ];
    if args.iter().any(|arg| arg == "--list") {
        return scenes.iter().for_each(|(name, _)| println!("{name}: test"));
    }
    let wanted: Vec<&String> = args.iter().filter(|arg| !arg.starts_with('-')).collect();
    let mut failed = 0;
    for (name, scene) in scenes {
        if wanted.is_empty() || wanted.iter().any(|wanted| name.contains(wanted.as_str())) {
            let passed = std::panic::catch_unwind(scene).is_ok();
            failed += i32::from(!passed);
            println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
        }
    }
    println!("\ntest result: {failed} failed");
    if failed > 0 {
        std::process::exit(1);
    }
}

fn a_call_comes_back_byte_for_byte() {
    Stage::run(&["a"], async |stage| {
        let mut look = call("a", "look", "{\n \"n\": 1.0,\"é\":\"\\u00e9\"\r\n}");
        look.meta = Some(br#"{"traceparent":"00-aa-bb-01"}"#.to_vec());
        look.who = Some(Arc::from("key:7"));
        let answer = stage.fleet.call(look).await.unwrap();
        assert_eq!(
            text(answer.result()),
            r#"{"content":[],"structuredContent":{"arguments":{ "n": 1.0,"é":"\u00e9"},"meta":{"traceparent":"00-aa-bb-01"}}}"#
        );
        assert!(!answer.is_error());
        let ended = stage.ended(1).await;
        let [ended] = &ended[..] else { panic!("{ended:?}") };
        assert_eq!((&*ended.server, ended.tool.as_str()), ("a", "look"));
        assert_eq!((ended.outcome, ended.who.as_deref()), (Outcome::Ok, Some("key:7")));
        assert_ne!(ended.argument_hash, [0; 32]);
        let [info] = &stage.fleet.servers()[..] else { panic!("one server") };
        assert_eq!((info.state.clone(), info.tools, info.restarts), (State::Running, 5, 0));
        assert!(info.last_message.is_some() && info.started_in.is_some());
        let tools = stage.fleet.tools("a").unwrap();
        let look = tools.tools().find(|tool| tool.name == "look").unwrap();
        assert!(look.hints().read_only && look.hints().may_repeat());
        assert!(text(look.definition).contains("readOnlyHint"));
        assert!(tools.mark().is_of(&stage.fleet.tools("a").unwrap()));
        assert!(stage.fleet.tools("b").is_none());
    });
}

fn what_cannot_be_called_is_said() {
    Stage::run(&["a"], async |stage| {
        for (asked, expected) in [
            (call("b", "look", "{}"), FailureKind::NoSuchServer),
            (call("a", "nothing", "{}"), FailureKind::NoSuchTool),
            (call("a", "look", "[]"), FailureKind::Unreadable),
        ] {
            assert_eq!(stage.fleet.call(asked).await.unwrap_err().kind, expected);
        }
        let refused = stage.fleet.call(call("a", "refuse", "{}")).await.unwrap_err();
        let FailureKind::Refused(error) = &refused.kind else { panic!("{refused:?}") };
        assert_eq!(text(error), r#"{"code":-7,"message":"no"}"#);
        let ended = stage.ended(1).await;
        assert_eq!(ended[0].outcome, Outcome::RpcError(-7), "what never left is no call");
    });
}

fn nobody_can_be_asked() {
    Stage::run(&["a"], async |stage| {
        let answer = stage.fleet.call(call("a", "ask", "{}")).await.unwrap();
        let told = text(answer.result());
        assert!(told.contains("the client does not support elicitation"), "{told}");
    });
}

fn a_call_nobody_waits_for_is_cancelled() {
    Stage::run(&["a"], async |stage| {
        let mut waits = call("a", "wait", "{}");
        // By then it is with the server, also on a busy machine.
        waits.deadline = Some(tokio::time::Instant::now() + Duration::from_secs(2));
        let late = stage.fleet.call(waits).await.unwrap_err();
        assert_eq!((late.kind, late.may_retry), (FailureKind::Timeout, false));
        stage.wait("the server hears of it", || stage.ledger("a").contains("cancelled")).await;
        let ended = stage.ended(1).await;
        assert_eq!(ended[0].outcome, Outcome::Cancelled);
        assert_eq!(stage.fleet.servers()[0].open_calls, 0);
    });
}

fn calls_wait_for_a_server_that_comes_back() {
    Stage::run(&["a"], async |stage| {
        stage.fleet.call(call("a", "act", r#"{"n":0}"#)).await.unwrap();
        stage.kill("a");
        stage.wait("it is down", || stage.state("a") == "failed").await;
        assert_eq!(stage.fleet.tools("a").unwrap().tools().count(), 5, "its tools are still there");
        let calls =
            (1..=50).map(|n| stage.fleet.call(call("a", "act", &format!(r#"{{"n":{n}}}"#))));
        let calls: Vec<_> = calls.map(Box::pin).collect();
        for answer in stage::all(calls).await {
            answer.unwrap();
        }
        stage.each_ran_once("a", 51);
        assert_eq!(stage.fleet.servers()[0].restarts, 1);
    });
}

fn only_what_may_run_twice_is_made_again() {
    Stage::run(&["a"], async |stage| {
        // Both tools end the process when they are first called, after they have run.
        let act = stage.fleet.call(call("a", "act", r#"{"die":1}"#)).await.unwrap_err();
        assert_eq!(act.kind, FailureKind::Gone { may_have_run: true });
        assert!(act.message.contains("may have run") && !act.may_retry, "{}", act.message);
        stage.wait("it is back", || stage.state("a") == "running").await;
        let look = stage.fleet.call(call("a", "look", r#"{"die":2}"#)).await.unwrap();
        assert!(text(look.result()).contains(r#"{"die":2}"#));
        assert_eq!(stage.ledger("a").matches(r#"{"die":1}"#).count(), 1);
        assert_eq!(stage.ledger("a").matches(r#"{"die":2}"#).count(), 2);
        // And only once more.
        let look = stage.fleet.call(call("a", "look", r#"{"die":"always"}"#)).await.unwrap_err();
        assert_eq!(look.kind, FailureKind::Gone { may_have_run: true });
        assert_eq!(stage.ledger("a").matches(r#"{"die":"always"}"#).count(), 2);
    });
}

fn twenty_deaths_under_load() {
    Stage::run(&["a", "b"], async |stage| {
        let (mut answered, mut in_doubt) = (0, 0);
        for round in 0..20 {
            // A life that answered nobody counts as a failure in a row with the one before, and
            // five of those open the circuit: whether it gets to answer under load is chance.
            let look = call("a", "look", &format!(r#"{{"life":{round}}}"#));
            stage.fleet.call(look).await.unwrap();
            let calls = (0..40).map(|n| {
                let (key, number) = (if n % 4 == 0 { "b" } else { "a" }, round * 40 + n);
                let arguments = format!(r#"{{"n":{number}}}"#);
                Box::pin(stage.fleet.call(call(key, "act", &arguments)))
            });
            let killing = async { stage.kill("a") };
            let (outcomes, ()) = tokio::join!(stage::all(calls.collect()), killing);
            for outcome in outcomes {
                match outcome.map_err(|failure| failure.kind) {
                    Ok(_) => answered += 1,
                    Err(FailureKind::Gone { may_have_run: true }) => in_doubt += 1,
                    Err(other) => panic!("{other:?}"),
                }
            }
            // One that has answered everything may be dead and not yet missed.
            let is_another = || stage.fleet.server("a").unwrap().restarts == round + 1;
            stage.wait("it is back", || is_another() && stage.state("a") == "running").await;
        }
        assert_eq!(answered + in_doubt, 800);
        assert!(stage.none_ran_twice("a") && stage.none_ran_twice("b"));
        stage.each_ran_once("b", 200);
        assert_eq!(stage.fleet.server("a").unwrap().restarts, 20);
        assert_eq!(stage.ended(820).await.len(), 820, "one event for each");
    });
}

fn a_server_that_leaves_ends_its_calls() {
    Stage::run(&["a"], async |stage| {
        let waits = Box::pin(stage.fleet.call(call("a", "wait", "{}")));
        let leaving = async {
            stage.wait("the call is there", || stage.ledger("a").contains("wait")).await;
            let retired = stage.fleet.retire("a", LIMIT).unwrap();
            assert_eq!(retired.pending, 1);
            assert!(stage.fleet.servers().is_empty(), "nobody sees it any more");
            let late = stage.fleet.call(call("a", "look", "{}")).await.unwrap_err();
            assert_eq!(late.kind, FailureKind::NoSuchServer);
            stage.open_gate("a");
            retired.finished().await;
        };
        let (answer, ()) = tokio::join!(waits, leaving);
        assert!(text(answer.unwrap().result()).contains("waited"));
    });
}

fn patience_ends() {
    Stage::run(&["a"], async |stage| {
        let waits = Box::pin(stage.fleet.call(call("a", "wait", "{}")));
        let leaving = async {
            stage.wait("the call is there", || stage.ledger("a").contains("wait")).await;
            stage.fleet.retire("a", Duration::from_millis(100)).unwrap().finished().await;
        };
        let (answer, ()) = tokio::join!(waits, leaving);
        let gone = answer.unwrap_err();
        assert_eq!(gone.kind, FailureKind::Gone { may_have_run: true });
        assert!(gone.message.contains("may have run"), "{}", gone.message);
    });
}

fn the_circuit_opens_and_a_word_closes_it() {
    Stage::run(&["a"], async |stage| {
        stage.break_server("a");
        stage.kill("a");
        let is_open = || stage.fleet.server("a").unwrap().retry.is_some_and(|retry| retry.is_open);
        stage.wait("the circuit is open", is_open).await;
        assert_eq!(
            stage.fleet.tools("a").unwrap().tools().count(),
            0,
            "nobody is asked to wait for it"
        );
        let down = stage.fleet.call(call("a", "look", "{}")).await.unwrap_err();
        assert_eq!(down.kind, FailureKind::Unavailable { state: "failed" });
        assert!(
            down.message.contains("5 times in a row and is tried again in"),
            "{}",
            down.message
        );
        assert!(down.may_retry);
        stage.mend_server("a");
        assert!(stage.fleet.reconnect("a"));
        stage.wait("it is back", || stage.state("a") == "running").await;
        stage.fleet.call(call("a", "look", "{}")).await.unwrap();
        assert_eq!(stage.fleet.server("a").unwrap().retry, None);
        assert!(stage.fleet.server("a").unwrap().last_failure.is_some(), "it is remembered");
    });
}

fn a_verdict_from_outside() {
    Stage::run(&["a"], async |stage| {
        let before = stage.fleet.server("a").unwrap().pid;
        let life = stage.fleet.life("a").unwrap();
        let verdict = HealthVerdict::Useless { life, why: "answers no questions".to_owned() };
        assert!(stage.fleet.mark("a", verdict.clone()));
        let is_another = || {
            let info = stage.fleet.server("a").unwrap();
            info.state == State::Running && info.pid != before
        };
        stage.wait("another process runs", is_another).await;
        let states = stage.news();
        assert!(
            states.iter().any(|event| matches!(
                event,
                Event::ServerChanged { state: "failed", why: Some(why), .. }
                    if why.contains("answers no questions")
            )),
            "{states:?}"
        );
        // Said again when the next one is up, it is of the one before.
        let second = (stage.fleet.server("a").unwrap().pid, stage.fleet.life("a"));
        assert_ne!(second.1, Some(life));
        assert!(stage.fleet.mark("a", HealthVerdict::Failing { life }));
        assert!(stage.fleet.mark("a", verdict));
        stage.fleet.call(call("a", "look", "{}")).await.unwrap();
        let now = (stage.fleet.server("a").unwrap().pid, stage.fleet.life("a"));
        assert_eq!(now, second, "the next one goes on");
        assert!(!stage.fleet.mark("b", HealthVerdict::Well));
    });
}

fn so_many_calls_at_a_time_and_no_more() {
    Stage::run(&["limited"], async |stage| {
        let calls = (0..5).map(|_| Box::pin(stage.fleet.call(call("limited", "wait", "{}"))));
        let watching = async {
            let both = || stage.ledger("limited").matches("call wait").count() == 2;
            stage.wait("two are with it", both).await;
            let info = &stage.fleet.servers()[0];
            assert_eq!((info.open_calls, info.waiting_calls), (2, 3));
            stage.open_gate("limited");
        };
        let (answers, ()) = tokio::join!(stage::all(calls.collect()), watching);
        assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    });
}

fn a_server_has_a_limit_of_its_own() {
    Stage::run(&["hasty"], async |stage| {
        let late = stage.fleet.call(call("hasty", "wait", "{}")).await.unwrap_err();
        assert_eq!(late.kind, FailureKind::Timeout, "{late}");
        assert!(late.message.contains("within 2 s"), "{late}");
    });
}

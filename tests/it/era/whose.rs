//! Over a pipe nothing says for which call a server asks: whom it reaches while several are open.

use std::time::Duration;

use kit::line::Line;
use kit::mcp::Speak;
use kit::modern::Modern;
use kit::room::Room;
use kit::scene::{Front, each_of};
use kit::{LIMIT, ledger, process, say, scan};

use super::{ABLE, QUESTIONS};

const METHOD: &str = QUESTIONS[1].0;
const PARAMS: &str = QUESTIONS[1].1;
const RESULT: &str = QUESTIONS[1].2;

/// `ask` asks at once, `late` when it may, `wait` answers when it may.
fn house() -> Room {
    let room = Room::new();
    let ask = || say::steps([say::ask(METHOD, PARAMS), say::result(r#"{"heard":@ANSWER@}"#)]);
    let late = say::steps([
        say::gate(&room, "late"),
        say::ask(METHOD, PARAMS),
        say::result(r#"{"heard":@ANSWER@}"#),
    ]);
    let wait = say::steps([say::gate(&room, "go"), say::text("waited")]);
    let a = room.fake("a").tool("ask", ask()).tool("late", late).tool("wait", wait);
    room.config([("a", a.entry())]);
    room
}

/// A client of the stateless era, and what it shows with each request.
struct Caller<'a> {
    client: &'a Modern,
    shows: Option<&'a str>,
    tool: fn(&str) -> String,
}

impl Caller<'_> {
    /// Calls a tool; `more`: other members of `params`.
    #[track_caller]
    fn begin(&self, room: &Room, tool: &str, n: u8) -> (Vec<u8>, String) {
        let before = ledger::calls(&room.ledger("a")).len();
        let call = format!(r#"{{"name":"{}","arguments":{{"n":{n}}}}}"#, (self.tool)(tool));
        let id = self.send(&call);
        let there = || ledger::calls(&room.ledger("a")).len() > before;
        process::wait_until("the call is open", LIMIT, there);
        (id, call)
    }

    #[track_caller]
    fn send(&self, params: &str) -> Vec<u8> {
        let Some(shown) = self.shows else { return self.client.start("tools/call", params) };
        let id = self.client.fresh_id();
        let message =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#);
        self.client.start_with(&message, &[("Authorization", shown)])
    }

    #[track_caller]
    fn answer(&self, id: &[u8]) -> Line {
        self.client.answer(id, LIMIT)
    }

    /// Answers what is asked, and what comes of that.
    #[track_caller]
    fn come_again(&self, asked: &Line, call: &str) -> Line {
        let again = asked.round().answered(call, |_| RESULT.into());
        self.answer(&self.send(&again))
    }
}

#[track_caller]
fn assert_heard(answer: &Line) {
    let heard = scan::path(answer.result(), &["heard", "result"]).map(String::from_utf8_lossy);
    assert_eq!(heard.as_deref(), Some(RESULT), "{answer}");
}

/// One person: over a pipe, and over HTTP with one key.
#[track_caller]
fn each_person(scenario: impl Fn(&Room, &Caller<'_>)) {
    each_of([None, Some("Bearer one")], |shows| {
        let room = house();
        if shows.is_some() {
            let serve = room.serve(&["--token", "one"]);
            let client = serve.modern(ABLE);
            let tool = |tool: &str| format!("a.{tool}");
            let caller = Caller { client: &client, shows, tool };
            let list = r#"{"jsonrpc":"2.0","id":"list","method":"tools/list","params":{}}"#;
            let id = client.start_with(list, &[("Authorization", "Bearer one")]);
            client.answer(&id, LIMIT).result();
            scenario(&room, &caller);
            return;
        }
        let scene = room.open_with(Front::ModernStdio, &[], ABLE);
        scene.list();
        let tool = |tool: &str| format!("a:{tool}");
        scenario(&room, &Caller { client: scene.modern(), shows, tool });
    });
}

#[test]
fn of_one_callers_calls_the_newest_is_asked() {
    each_person(|room, caller| {
        let (wait, _) = caller.begin(room, "wait", 1);
        let (ask, call) = caller.begin(room, "ask", 1);
        assert_heard(&caller.come_again(&caller.answer(&ask), &call));
        room.open_gate("go");
        let waited = caller.answer(&wait);
        assert_eq!(waited.result_type().as_deref(), Some("complete"), "{waited}");
    });
}

#[test]
fn a_question_moves_on_when_its_call_is_answered_first() {
    each_person(|room, caller| {
        let (late, late_call) = caller.begin(room, "late", 1);
        let (wait, wait_call) = caller.begin(room, "wait", 1);
        room.open_gate("late");
        let guess = caller.answer(&wait);
        guess.round();
        room.open_gate("go");
        let asked = caller.answer(&late);
        assert_heard(&caller.come_again(&asked, &late_call));
        let held = caller.come_again(&guess, &wait_call);
        assert!(held.to_string().contains("waited"), "{held}");
        let errors = ledger::received(&room.ledger("a"));
        let errors = errors.iter().filter(|line| scan::get(line, "error").is_some()).count();
        assert_eq!(errors, 0, "the server was refused nothing");
    });
}

#[test]
fn calls_of_one_caller_that_all_ask_are_all_answered() {
    each_person(|room, caller| {
        let calls: Vec<_> = (0..3).map(|n| caller.begin(room, "ask", n)).collect();
        let asked: Vec<_> = calls.iter().map(|(id, _)| caller.answer(id)).collect();
        for (asked, (_, call)) in asked.iter().zip(&calls) {
            let again = asked.round().answered(call, |_| RESULT.into());
            let mut answer = caller.answer(&caller.send(&again));
            // Which of the questions is whose is not known: the next may come to this one.
            while answer.result_type().as_deref() == Some("input_required") {
                answer = caller.come_again(&answer, call);
            }
            assert_heard(&answer);
        }
    });
}

/// Two who show different things, or one who shows nothing twice.
#[test]
fn of_several_callers_nobody_is_asked() {
    let rows = [(Some("Bearer one"), Some("Bearer two")), (Some("Bearer one"), None), (None, None)];
    each_of(rows, |(one, other)| {
        let room = house();
        let serve = room.serve(&[]);
        let client = serve.modern(ABLE);
        client.list();
        let tool = |tool: &str| format!("a.{tool}");
        let one = Caller { client: &client, shows: one, tool };
        let other = Caller { client: &client, shows: other, tool };
        let (wait, _) = one.begin(&room, "wait", 1);
        let (ask, _) = other.begin(&room, "ask", 1);
        let answer = other.answer(&ask);
        assert!(refusal(&answer).contains("nothing says whose this is"), "{answer}");
        room.open_gate("go");
        one.answer(&wait).result();
    });
}

/// What the server heard instead of an answer to its question.
#[track_caller]
fn refusal(answer: &Line) -> String {
    let told = scan::path(answer.result(), &["heard", "error", "message"]).and_then(scan::text);
    told.unwrap_or_else(|| panic!("no error: {answer}"))
}

#[test]
fn a_call_that_waits_for_its_client_blocks_everybody_but_that_one() {
    for (one, other, asked) in [
        (Some("Bearer one"), Some("Bearer one"), true),
        (Some("Bearer one"), Some("Bearer two"), false),
        (Some("Bearer one"), None, false),
        (None, None, false),
    ] {
        let room = house();
        let serve = room.serve(&[]);
        let client = serve.modern(ABLE);
        client.list();
        let tool = |tool: &str| format!("a.{tool}");
        let one = Caller { client: &client, shows: one, tool };
        let other = Caller { client: &client, shows: other, tool };
        let (id, first_call) = one.begin(&room, "ask", 1);
        let first = one.answer(&id);
        first.round();
        let (id, call) = other.begin(&room, "ask", 2);
        let second = other.answer(&id);
        if asked {
            assert_heard(&other.come_again(&second, &call));
        } else {
            assert!(refusal(&second).contains("per-session"), "{second}");
        }
        assert_heard(&one.come_again(&first, &first_call));
    }
}

/// Who cannot be asked calls what asks: nobody else is asked for it.
#[test]
fn a_question_for_one_who_cannot_be_asked_is_nobody_elses() {
    let fronts = [Front::Http, Front::Sse, Front::ModernHttp];
    each_of(fronts.into_iter().flat_map(|one| fronts.map(|other| (one, other))), |(one, other)| {
        let room = house();
        let serve = room.serve(&[]);
        let (unable, able) = (serve.talk(one, "{}"), serve.talk(other, ABLE));
        able.list();
        let wait = able.begin("a.wait", "{}");
        let there = || ledger::calls(&room.ledger("a")).len() == 1;
        process::wait_until("a call is open", LIMIT, there);
        let refused = unable.answer(&unable.begin("a.ask", "{}"), LIMIT);
        assert!(refusal(&refused).contains("per-session"), "{refused}");
        room.open_gate("go");
        let waited = able.answer(&wait, LIMIT);
        assert!(waited.to_string().contains("waited"), "{waited}");
        let asked = able.try_wait_for(Duration::ZERO, |line| line.method().is_some());
        assert_eq!(asked, None, "it was asked nothing");
    });
}

/// The server asks something more for a call that waits for its client already, or asks again.
#[test]
fn what_is_asked_for_a_call_that_waits_already_is_nobody_elses() {
    let question = |id: &str| {
        let message =
            format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"{METHOD}","params":{PARAMS}}}"#);
        say::line(message)
    };
    let taken_back =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"first"}}"#;
    each_of([false, true], |takes_back| {
        let room = Room::new();
        let more = say::gate(&room, "more");
        let ask = match takes_back {
            false => say::steps([question("first"), more, question("second"), say::never()]),
            true => say::steps([
                question("first"),
                more,
                say::line(taken_back),
                question("second"),
                say::never(),
            ]),
        };
        let wait = say::steps([say::gate(&room, "go"), say::text("waited")]);
        room.config([("a", room.fake("a").tool("ask", ask).tool("wait", wait).entry())]);
        let serve = room.serve(&[]);
        let client = serve.modern(ABLE);
        client.list();
        client.ask("tools/call", r#"{"name":"a.ask","arguments":{}}"#).round();
        let wait = client.begin("a.wait", "{}");
        let there = || ledger::calls(&room.ledger("a")).len() == 2;
        process::wait_until("the other's call is open", LIMIT, there);
        room.open_gate("more");
        wait_refused(&room, "second");
        room.open_gate("go");
        let waited = client.answer(&wait, LIMIT);
        assert!(waited.to_string().contains("waited"), "{waited}");
    });
}

/// The server has got an error for its question of this id.
#[track_caller]
fn wait_refused(room: &Room, id: &str) {
    let refused = || {
        let all = ledger::received(&room.ledger("a"));
        let to =
            |line: &&Vec<u8>| scan::get(line, "id").and_then(scan::text).as_deref() == Some(id);
        all.iter().filter(to).any(|line| scan::get(line, "error").is_some())
    };
    process::wait_until("the server is refused", LIMIT, refused);
}

/// A question of a call that was answered first may not reach whoever has come since.
#[test]
fn a_question_moves_on_to_nobody_else() {
    let room = Room::new();
    let question = format!(r#"{{"jsonrpc":"2.0","id":"q","method":"{METHOD}","params":{PARAMS}}}"#);
    let hasty = say::steps([say::line(question), say::gate(&room, "done"), say::text("done")]);
    let wait = say::steps([say::gate(&room, "go"), say::text("waited")]);
    room.config([("a", room.fake("a").tool("hasty", hasty).tool("wait", wait).entry())]);
    let serve = room.serve(&[]);
    let client = serve.modern(ABLE);
    client.list();
    let call = |tool: &str| format!(r#"{{"name":"a.{tool}","arguments":{{}}}}"#);
    client.ask("tools/call", &call("hasty")).round();
    let wait = client.start("tools/call", &call("wait"));
    let there = || ledger::calls(&room.ledger("a")).len() == 2;
    process::wait_until("the other's call is open", LIMIT, there);
    room.open_gate("done");
    wait_refused(&room, "q");
    room.open_gate("go");
    let waited = client.answer(&wait, LIMIT);
    assert!(waited.to_string().contains("waited"), "{waited}");
}

//! The rows: K1 … K8 and K12, one test per K.

use kit::say::{self, Kin, Place};
use serde_json::{Value, json};

use super::{After, Caller, LATE, Row, TOO_LARGE, check};

const FINE: &str = r#"{"content":[{"type":"text","text":"fine"}]}"#;

fn fine() -> Value {
    say::text("fine")
}

/// A row in which the answer arrives all the same.
fn harmless(name: &'static str, bad: Value) -> Row {
    Row { name, flags: &[], bad, caller: Caller::Result(FINE.to_owned()), after: After::Lives }
}

/// A row in which only the caller suffers.
fn fails_the_call(name: &'static str, bad: Value) -> Row {
    Row { name, flags: &[], bad, caller: Caller::OwnError(&[]), after: After::Lives }
}

/// A row with one exact result.
fn passes(name: &'static str, result: String) -> Row {
    let bad = say::steps([say::result(&result)]);
    Row { name, flags: &[], bad, caller: Caller::Result(result), after: After::Lives }
}

/// A row that is settled one way or the other.
fn settled(name: &'static str, line: &str) -> Row {
    let bad = say::steps([say::line(line)]);
    Row { name, flags: &[], bad, caller: Caller::Definite, after: After::Lives }
}

#[test]
fn k1_what_is_no_message_is_skipped() {
    check(noise());
}

pub(crate) fn noise() -> Vec<Row> {
    vec![
        harmless("a log line", say::steps([say::line("Starting server…"), fine()])),
        harmless("colours", say::steps([say::line("\u{1b}[32m✓\u{1b}[0m ready"), fine()])),
        harmless("an empty array", say::steps([say::line("[]"), fine()])),
        harmless("a number", say::steps([say::line("123"), fine()])),
        harmless("null", say::steps([say::line("null"), fine()])),
        harmless("a string", say::steps([say::line("\"text\""), fine()])),
        harmless("empty lines", say::steps([say::raw("\n\n \n\t\n\r\n"), fine()])),
        harmless("an empty object", say::steps([say::line("{}"), fine()])),
        harmless(
            "a structured log line",
            say::steps([say::line(r#"{"level":"info","msg":"id 1","time":1.5}"#), fine()]),
        ),
        harmless(
            "an unknown notification",
            say::steps([say::line(r#"{"jsonrpc":"2.0","method":"notifications/x"}"#), fine()]),
        ),
        harmless(
            "1,000 lines of noise",
            say::steps([say::flood(1000, "noise {} [] \u{7}"), fine()]),
        ),
        harmless(
            "a bracket that never closes",
            say::steps([say::line("[INFO] {starting"), fine()]),
        ),
    ]
}

#[test]
fn k2_framing_is_reassembled() {
    check(framing());
}

pub(crate) fn framing() -> Vec<Row> {
    let whole =
        r#"{"jsonrpc":"2.0","id":@ID@,"result":{"content":[{"type":"text","text":"fine"}]}}"#;
    vec![
        harmless("one byte at a time", say::steps([say::pieces(1, whole)])),
        harmless("seven bytes at a time", say::steps([say::pieces(7, whole)])),
        harmless("CRLF", say::steps([say::raw(format!("{whole}\r\n"))])),
        harmless("BOM", say::steps([say::raw(format!("\u{feff}{whole}\n"))])),
        harmless("space around", say::steps([say::raw(format!(" \t{whole} \t\r\n"))])),
        Row {
            name: "a whole answer without a newline, then the end",
            flags: &["--no-restart"],
            bad: say::steps([say::raw(whole), say::exit(0)]),
            caller: Caller::OwnError(&["may have run"]),
            after: After::Gone,
        },
        Row {
            name: "half an answer, then the end",
            flags: &["--no-restart"],
            bad: say::steps([say::raw(r#"{"jsonrpc":"2.0","id":@ID@,"res"#), say::exit(0)]),
            caller: Caller::OwnError(&["may have run"]),
            after: After::Gone,
        },
    ]
}

#[test]
fn k3_a_line_over_the_limit_fails_its_call() {
    check(too_large());
}

pub(crate) fn too_large() -> Vec<Row> {
    let over = |name, bytes, place| Row {
        name,
        flags: &["--max-message", "1048576"],
        bad: say::steps([say::huge(bytes, place)]),
        caller: Caller::OwnError(TOO_LARGE),
        after: After::Lives,
    };
    vec![
        over("one byte over, id first", (1 << 20) + 1, Place::First),
        over("2 MiB, id first", 2 << 20, Place::First),
        over("2 MiB, id last", 2 << 20, Place::Last),
        over("17 MiB, id first", 17 << 20, Place::First),
        over("17 MiB, id last", 17 << 20, Place::Last),
        Row {
            name: "100 MiB with the default limit",
            flags: &[],
            bad: say::steps([say::huge(100 << 20, Place::First)]),
            caller: Caller::OwnError(TOO_LARGE),
            after: After::Lives,
        },
    ]
}

#[test]
fn k4_an_undecodable_answer_fails_its_call_at_once() {
    check(undecodable());
}

pub(crate) fn undecodable() -> Vec<Row> {
    let head = r#"{"jsonrpc":"2.0","id":@ID@,"result":{"x":""#;
    let with = |bytes: &[u8]| say::steps([say::line(json!([head, say::bytes(bytes), "\"}}"]))]);
    let line = |line: &str| say::steps([say::line(line)]);
    vec![
        fails_the_call("invalid UTF-8", with(&[0xff, 0xfe])),
        fails_the_call("cut-off UTF-8", with(&[0xe2, 0x82])),
        fails_the_call("overlong UTF-8", with(&[0xc0, 0xaf])),
        fails_the_call("a surrogate in UTF-8", with(&[0xed, 0xa0, 0x80])),
        fails_the_call("a raw NUL", with(&[0])),
        fails_the_call("a raw control character", with(&[0x1b])),
        fails_the_call("cut off", line(r#"{"jsonrpc":"2.0","id":@ID@,"result":{"content":["#)),
        fails_the_call(
            "cut off in a string",
            line(r#"{"jsonrpc":"2.0","id":@ID@,"result":{"a":"b"#),
        ),
        fails_the_call(
            "a trailing comma",
            line(r#"{"jsonrpc":"2.0","id":@ID@,"result":{"a":1,}}"#),
        ),
        fails_the_call("a bad word", line(r#"{"jsonrpc":"2.0","id":@ID@,"result":{"a":nope}}"#)),
        fails_the_call("NaN", line(r#"{"jsonrpc":"2.0","id":@ID@,"result":{"a":NaN}}"#)),
        fails_the_call("a bad number", line(r#"{"jsonrpc":"2.0","id":@ID@,"result":{"a":01}}"#)),
        fails_the_call("a bad escape", line(r#"{"jsonrpc":"2.0","id":@ID@,"result":{"a":"\x"}}"#)),
        fails_the_call(
            "crossed brackets",
            line(r#"{"jsonrpc":"2.0","id":@ID@,"result":{"a":[}]}"#),
        ),
        fails_the_call("a bracket too many", line(r#"{"jsonrpc":"2.0","id":@ID@,"result":{}}}"#)),
        fails_the_call("single quotes", line(r#"{"jsonrpc":"2.0","id":@ID@,"result":{'a':1}}"#)),
        fails_the_call(
            "both result and error",
            line(r#"{"jsonrpc":"2.0","id":@ID@,"result":{},"error":{"code":1,"message":"x"}}"#),
        ),
        fails_the_call("id twice", line(r#"{"jsonrpc":"2.0","id":@ID@,"id":@ID@,"result":{}}"#)),
        fails_the_call(
            "id twice, differing",
            line(r#"{"jsonrpc":"2.0","id":@ID@,"id":0,"result":{}}"#),
        ),
        fails_the_call(
            "result twice",
            line(r#"{"jsonrpc":"2.0","id":@ID@,"result":{},"result":{}}"#),
        ),
        Row {
            caller: Caller::AnyError,
            ..fails_the_call(
                "an error that names nobody",
                line(
                    r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#,
                ),
            )
        },
    ]
}

#[test]
fn k4_an_answer_of_an_odd_shape_is_settled_at_once() {
    check(odd_shapes());
}

pub(crate) fn odd_shapes() -> Vec<Row> {
    vec![
        settled("neither result nor error", r#"{"jsonrpc":"2.0","id":@ID@}"#),
        settled("the id as a string", r#"{"jsonrpc":"2.0","id":"@ID@","result":{}}"#),
        settled("the id as a float", r#"{"jsonrpc":"2.0","id":@ID@.0,"result":{}}"#),
        settled("no jsonrpc", r#"{"id":@ID@,"result":{}}"#),
        settled("jsonrpc 1.0", r#"{"jsonrpc":"1.0","id":@ID@,"result":{}}"#),
        settled("an error without an id", r#"{"jsonrpc":"2.0","error":{"code":1,"message":"x"}}"#),
        settled("an answer in a batch", r#"[{"jsonrpc":"2.0","id":@ID@,"result":{}}]"#),
        settled("result and method", r#"{"jsonrpc":"2.0","id":@ID@,"method":"x","result":{}}"#),
    ]
}

#[test]
fn k4_an_answer_that_strict_clients_cannot_read_fails_its_call_at_once() {
    check(unreadable());
}

/// Both official client SDKs drop these and wait for their own timeout.
pub(crate) fn unreadable() -> Vec<Row> {
    let row = |name, member: &str, parts| Row {
        name,
        flags: &[],
        bad: say::steps([say::line(format!(r#"{{"jsonrpc":"2.0","id":@ID@,{member}}}"#))]),
        caller: Caller::OwnError(parts),
        after: After::Lives,
    };
    let result: &[&str] = &["-31005", "evil", "`result`", "may have run"];
    let error: &[&str] = &["-31005", "evil", "`error`"];
    let code: &[&str] = &["-31005", "evil", "`error`", "`code`"];
    let message: &[&str] = &["-31005", "evil", "`error`", "`message`"];
    vec![
        row("a result that is null", r#""result":null"#, result),
        row("a result that is a number", r#""result":7"#, result),
        row("a result that is text", r#""result":"x""#, result),
        row("a result that is an array", r#""result":[{"content":[]}]"#, result),
        row("a result that is true", r#""result":true"#, result),
        row("an error that is text", r#""error":"x""#, error),
        row("an error that is null", r#""error":null"#, error),
        row("an error that is an array", r#""error":[1,"x"]"#, error),
        row("an empty error", r#""error":{}"#, code),
        row("an error without a code", r#""error":{"message":"m"}"#, code),
        row("a code that is text", r#""error":{"code":"E_FAIL","message":"m"}"#, code),
        row("a code that is a number as text", r#""error":{"code":"-32000","message":"m"}"#, code),
        row("a code that is null", r#""error":{"code":null,"message":"m"}"#, code),
        row("a code that is true", r#""error":{"code":true,"message":"m"}"#, code),
        row("a fractional code", r#""error":{"code":1.5,"message":"m"}"#, code),
        row("a code beyond all integers", r#""error":{"code":1e400,"message":"m"}"#, code),
        row("an error without a message", r#""error":{"code":-32000}"#, message),
        row("a message that is null", r#""error":{"code":-32000,"message":null}"#, message),
        row("a message that is an object", r#""error":{"message":{},"code":1}"#, message),
    ]
}

/// What both official client SDKs read: an integer is one however JSON spells it.
pub(crate) fn readable_errors() -> Vec<Row> {
    let row = |name, error: &str| Row {
        name,
        flags: &[],
        bad: say::steps([say::error(error)]),
        caller: Caller::Error(error.to_owned()),
        after: After::Lives,
    };
    vec![
        row("the usual error", r#"{"code":-32000,"message":"no","data":{"code":"x"}}"#),
        row("a code with a fraction of zero", r#"{"code":1.0,"message":"m"}"#),
        row("a code with an exponent", r#"{ "message":"\u0041","code":1e2,"data":null }"#),
        row("an empty message", r#"{"code":0,"message":""}"#),
        row("members of its own", r#"{"code":7,"message":"m","hint":["x"]}"#),
    ]
}

#[test]
fn k5_errors_that_can_be_read_pass() {
    check(readable_errors());
}

#[test]
fn k4_k5_what_is_legal_in_a_payload_passes() {
    check(legal());
}

pub(crate) fn legal() -> Vec<Row> {
    let deep =
        |levels: usize| format!(r#"{{"deep":{}{}}}"#, "[".repeat(levels), "]".repeat(levels));
    vec![
        passes("depth 129", deep(129)),
        passes("depth 100,000", deep(100_000)),
        passes("1e400", r#"{"n":[1e400,-1E+400,1e-400]}"#.to_owned()),
        passes("large integers", r#"{"n":[12345678901234567890123,9007199254740993]}"#.to_owned()),
        passes("lone surrogates", r#"{"s":"\ud800 \udc00"}"#.to_owned()),
        passes("doubled keys", r#"{"a":1,"a":{"id":5,"id":6},"result":1,"error":2}"#.to_owned()),
        passes("an envelope inside", r#"{"jsonrpc":"2.0","id":0,"result":{},"id":1}"#.to_owned()),
    ]
}

#[test]
fn k6_silence_ends_with_a_timeout() {
    check(silence());
}

pub(crate) fn silence() -> Vec<Row> {
    vec![Row {
        name: "never answers",
        flags: &["--call-timeout", "1"],
        bad: say::never(),
        caller: Caller::OwnError(LATE),
        after: After::Lives,
    }]
}

#[test]
fn k7_the_first_answer_wins_and_strangers_are_dropped() {
    check(strangers());
}

pub(crate) fn strangers() -> Vec<Row> {
    let stray =
        |id: &str| say::line(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"stray":1}}}}"#));
    vec![
        harmless("answers twice", say::steps([fine(), say::text("again")])),
        harmless(
            "result, then error",
            say::steps([fine(), say::error(r#"{"code":1,"message":""}"#)]),
        ),
        harmless(
            "stray ids first",
            say::steps([
                stray("999999"),
                stray("-1"),
                stray("\"x\""),
                stray("18446744073709551616"),
                stray("1e400"),
                stray("0.5"),
                fine(),
            ]),
        ),
    ]
}

/// The ways to die in the middle of a call, and what the caller is told.
fn deaths(flags: &'static [&'static str], after: After) -> Vec<Row> {
    let row = |name, bad, parts| Row { name, flags, bad, caller: Caller::OwnError(parts), after };
    let words = say::stderr("first line\nthese were my last words\n");
    vec![
        row("exit 0", say::steps([say::exit(0)]), &["may have run", "exit|status", "0"]),
        row(
            "exit 7 with last words",
            say::steps([words.clone(), say::exit(7)]),
            &["may have run", "7", "these were my last words"],
        ),
        row(
            "SIGSEGV",
            say::steps([words, say::signal("SEGV")]),
            &["may have run", "SEGV|11", "these were my last words"],
        ),
        row("SIGKILL", say::steps([say::signal("KILL")]), &["may have run", "KILL|9"]),
        row(
            "half a line, then exit",
            say::steps([say::raw(r#"{"jsonrpc":"2.0","id":@ID@,"result":{"#), say::exit(1)]),
            &["may have run", "1"],
        ),
        row(
            "exit while a grandchild holds stdout",
            say::steps([
                say::descend(Kin { setsid: true, keep_stdout: true, ..Kin::default() }),
                say::exit(5),
            ]),
            &["may have run", "5"],
        ),
        row("stdout closed, process alive", say::steps([say::close_stdout()]), &["may have run"]),
    ]
}

#[test]
fn k8_a_death_in_the_middle_of_a_call_is_told_at_once() {
    check(deaths(&["--no-restart"], After::Gone));
}

#[test]
fn k8_with_restart_a_new_process_takes_over_and_nothing_is_sent_again() {
    check(deaths(&["--restart"], After::Replaced));
    check(deaths(&[], After::Replaced));
}

#[test]
fn k12_stderr_is_always_drained() {
    check(vec![
        harmless("5 MB of stderr", say::steps([say::stderr_flood(5_000_000), fine()])),
        harmless("one endless line of stderr", {
            let long = "x".repeat(1 << 20);
            say::steps([say::stderr(&long), say::stderr(&long), fine()])
        }),
    ]);
}

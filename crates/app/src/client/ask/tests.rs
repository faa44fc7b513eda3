//! Questions, what a person says to them, and what the server is told.

use super::*;

const FORM: &str = r##"{"message":"Who are you?","requestedSchema":{"type":"object","properties":{
    "name":{"type":"string","title":"Your name","minLength":2},
    "age":{"type":"integer","minimum":18},
    "color":{"type":"string","oneOf":[{"const":"#f00","title":"Red"},{"const":"#0f0","title":"Green"}],"default":"#f00"},
    "days":{"type":"array","items":{"type":"string","enum":["mon","tue","wed"]},"maxItems":2},
    "sure":{"type":"boolean","default":false}
    },"required":["name"]}}"##;

/// The answer to a question after these lines, and all that was shown.
fn talk(params: &str, lines: &[&str]) -> (String, String) {
    let (mut dialogue, mut step) =
        Dialogue::start(PersonQuestion::read(params.as_bytes()), "s:tool");
    let mut shown = String::new();
    let mut lines = lines.iter();
    loop {
        match step {
            DialogueStep::Answer(answer) => return (String::from_utf8(answer).unwrap(), shown),
            DialogueStep::Prompt(prompt) => {
                shown.push_str(&prompt);
                step = dialogue.say(lines.next().copied());
            }
        }
    }
}

#[track_caller]
fn check(params: &str, lines: &[&str], expected: &str) {
    assert_eq!(talk(params, lines).0, expected, "{lines:?}");
}

#[test]
fn a_form_is_filled_in() {
    check(
        FORM,
        &["Ada", "36", "green", "1, wed", "yes", ""],
        r##"{"action":"accept","content":{"name":"Ada","age":36,"color":"#0f0","days":["mon","wed"],"sure":true}}"##,
    );
    check(
        FORM,
        &["Ada", "", "", "", "", "y"],
        r##"{"action":"accept","content":{"name":"Ada","color":"#f00","sure":false}}"##,
    );
    check(r#"{"message":"OK?"}"#, &["yes"], r#"{"action":"accept","content":{}}"#);
}

#[test]
fn what_does_not_fit_is_asked_again() {
    let lines = ["", "A", "Ada", "ten", "17", "18", "7", "2", "mon,tue,wed", "mon", "", ""];
    let (answer, shown) = talk(FORM, &lines);
    let expected = r##"{"action":"accept","content":{"name":"Ada","age":18,"color":"#0f0","days":["mon"],"sure":false}}"##;
    assert_eq!(answer, expected);
    for words in [
        "`s:tool` asks: Who are you?",
        "`name` is required",
        "`name` must be at least 2 characters",
        "`age` must be integer, not `ten`",
        "`age` must be at least 18",
        "`color` must be one of the choices (1 to 2), not `7`",
        "`days` takes at most 2",
        "  1. Red\n  2. Green\n",
        "  name: \"Ada\"\n",
    ] {
        assert!(shown.contains(words), "{words}\n{shown}");
    }
}

#[test]
fn formats_are_looked_at() {
    for (format, bad, good) in [
        ("email", "me", "me@x"),
        ("uri", "example", "https://example"),
        ("date", "1.2.2026", "2026-02-01"),
        ("date-time", "2026-02-01", "2026-02-01T10:00:00+01:00"),
        ("strange", "-", "x"),
    ] {
        let params = format!(
            r#"{{"message":"m","requestedSchema":{{"properties":{{"f":{{"type":"string","format":"{format}"}}}}}}}}"#
        );
        let expected = format!(r#"{{"action":"accept","content":{{"f":"{good}"}}}}"#);
        let lines: &[&str] = if format == "strange" { &[good, ""] } else { &[bad, good, ""] };
        check(&params, lines, &expected);
    }
}

#[test]
fn answers_are_reviewed_and_may_be_refused() {
    check(FORM, &["Ada", "", "", "", "", "n"], r#"{"action":"decline"}"#);
    check(FORM, &["Ada", "", "", "", "", "what?", "no"], r#"{"action":"decline"}"#);
    check(FORM, &["Ada"], r#"{"action":"cancel"}"#);
    check(FORM, &[], r#"{"action":"cancel"}"#);
    let edited = ["Ada", "", "", "", "", "e", "Eve", "", "", "", "", "y"];
    assert!(talk(FORM, &edited).0.contains("Eve"));
}

#[test]
fn a_page_is_shown_with_its_host_and_opened_by_nobody_else() {
    let params = r#"{"mode":"url","message":"Sign in","url":"https://a@evil.example/x?y","elicitationId":"1"}"#;
    check(params, &["y"], r#"{"action":"accept"}"#);
    check(params, &[""], r#"{"action":"decline"}"#);
    check(params, &[], r#"{"action":"cancel"}"#);
    let shown = talk(params, &[]).1;
    assert!(shown.contains("a page on evil.example: Sign in"), "{shown}");
    assert!(shown.contains("\n  https://a@evil.example/x?y\n"), "{shown}");
    let foreign = r#"{"mode":"url","message":"","url":"https://xn--pple-43d.com"}"#;
    assert!(talk(foreign, &[]).1.contains("look twice"));
}

#[test]
fn an_unknown_kind_of_question_is_declined() {
    check(r#"{"mode":"dance","message":""}"#, &[], r#"{"action":"decline"}"#);
}

#[test]
fn older_names_of_choices_are_shown() {
    let params = r#"{"message":"m","requestedSchema":{"type":"object","properties":{
        "c":{"type":"string","enum":["r","g"],"enumNames":["Red","Green"]}}}}"#;
    check(params, &["Green", ""], r#"{"action":"accept","content":{"c":"g"}}"#);
}

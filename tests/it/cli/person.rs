//! At a terminal: progress that is written over, questions that are asked, and nothing that
//! plays with the screen.

use kit::config::{Fake, Upstream};
use kit::room::Room;
use kit::scene::each_of;
use kit::service::Wire;
use kit::terminal::Terminal;
use kit::{LIMIT, ledger, process, say, scan};

use super::{Place, TARGETS, Target, everywhere};

/// Those where the client's own capabilities reach the server, and one of each transport.
const TALKING: [Target; 5] = [
    Target::Config(Upstream::Stdio),
    Target::Config(Upstream::Http),
    Target::Serve(Wire::Http),
    Target::Url(Wire::Http),
    Target::Url(Wire::Sse),
];

const FORM: &str = r#"{"message":"Who are you?","requestedSchema":{"type":"object","properties":{"name":{"type":"string","title":"Your name"},"age":{"type":"integer","minimum":18}},"required":["name"]}}"#;
const PAGE: &str = r#"{"mode":"url","message":"Please sign in","url":"https://login.example/x?y=1","elicitationId":"e1"}"#;

fn asking(params: &'static str) -> impl Fn(Fake<'_>) -> Fake<'_> {
    let ask = say::steps([say::ask("elicitation/create", params), say::result("@ANSWER@")]);
    move |fake| fake.tool("ask", ask.clone())
}

/// What the server was answered.
#[track_caller]
fn answered(place: &Place) -> String {
    let lines = ledger::received(&place.room.ledger("s"));
    let answer = lines.iter().find_map(|line| scan::get(line, "result"));
    String::from_utf8_lossy(answer.expect("the server was answered")).into_owned()
}

#[test]
fn progress_is_shown_and_wiped_away() {
    each_of(TARGETS, |target| {
        let gate = Room::new();
        let work = say::steps([say::progress(2), say::gate(&gate, "go"), say::text("finished")]);
        let place = Place::at(target, |fake| fake.tool("work", work.clone()));
        let mut terminal = Terminal::spawn(&place.command(&["call", &place.tool("work")]));
        terminal.wait("2.0 of 2 (100%) step");
        gate.open_gate("go");
        assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
        let shown = terminal.shown();
        assert!(shown.ends_with("\r\u{1b}[Kfinished\r\n"), "{shown:?}");
    });
}

#[test]
fn a_form_is_filled_in_by_the_person() {
    each_of(TALKING, |target| {
        let place = Place::at(target, asking(FORM));
        let mut terminal = Terminal::spawn(&place.command(&["call", &place.tool("ask"), "--json"]));
        terminal.wait("asks: Who are you?");
        terminal.wait("Your name (string)");
        terminal.write("Ada\n");
        terminal.wait("age");
        terminal.write("seventeen\n");
        terminal.wait("`age` must be integer, not `seventeen`");
        terminal.write("36\n");
        terminal.wait("Send this?");
        terminal.write("y\n");
        assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
        assert_eq!(answered(&place), r#"{"action":"accept","content":{"name":"Ada","age":36}}"#);
    });
}

#[test]
fn a_person_may_decline_and_leave() {
    for (typed, expected) in [("Ada\n\nn\n", "decline"), ("\u{4}", "cancel")] {
        let place = Place::new(asking(FORM));
        let mut terminal = Terminal::spawn(&place.command(&["call", "s:ask", "--json"]));
        terminal.wait("Your name");
        terminal.write(typed);
        assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
        assert_eq!(answered(&place), format!(r#"{{"action":"{expected}"}}"#));
    }
}

#[test]
fn a_page_is_shown_and_not_opened() {
    let place = Place::new(asking(PAGE));
    let mut terminal = Terminal::spawn(&place.command(&["call", "s:ask", "--json"]));
    terminal.wait("a page on login.example: Please sign in");
    terminal.wait("https://login.example/x?y=1");
    terminal.wait("Go on?");
    terminal.write("y\n");
    assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
    assert_eq!(answered(&place), r#"{"action":"accept"}"#);
}

#[test]
fn ctrl_c_at_the_keyboard_cancels_the_call() {
    let work = say::steps([say::until_cancelled(), say::text("late")]);
    everywhere(
        |fake| fake.tool("work", work.clone()),
        |place| {
            let mut terminal = Terminal::spawn(&place.command(&["call", &place.tool("work")]));
            let there = || ledger::calls(&place.room.ledger("s")).len() == 1;
            process::wait_until("the server is called", LIMIT, there);
            terminal.write("\u{3}");
            assert_eq!(terminal.finish(), Some(1), "{}", terminal.shown());
            assert!(terminal.shown().contains("error: cancelled"), "{}", terminal.shown());
            let told = || {
                !ledger::with_method(&place.room.ledger("s"), "notifications/cancelled").is_empty()
            };
            process::wait_until("the server is told", LIMIT, told);
        },
    );
}

#[test]
fn nothing_a_server_says_controls_the_terminal() {
    let evil = r"a\u001b[2Jb\u0007c\u202ed\u009be";
    let tool = say::definition("loud")
        .replace("{\"name\"", &format!("{{\"description\":\"{evil}\",\"name\""));
    let loud = say::steps([say::text(evil)]);
    let refuse = say::steps([say::error(&format!(r#"{{"code":-1,"message":"{evil}"}}"#))]);
    let place = Place::new(|fake| {
        let fake = fake.tool("loud", loud.clone()).tool("refuse", refuse.clone());
        fake.definitions(&[&tool, &say::definition("refuse")])
    });
    for arguments in
        [&["tools"][..], &["tools", "s:loud"], &["call", "s:loud"], &["call", "s:refuse"]]
    {
        let mut terminal = Terminal::spawn(&place.command(arguments));
        terminal.finish();
        let shown = terminal.remains();
        assert!(
            shown.contains("a\u{fffd}[2Jb\u{fffd}c\u{fffd}d\u{fffd}e"),
            "{arguments:?}: {shown:?}"
        );
        assert!(
            !shown.contains('\u{1b}') && !shown.contains('\u{202e}'),
            "{arguments:?}: {shown:?}"
        );
    }
    // A pipe gets what there is.
    let piped = place.run(&["call", "s:loud"]);
    assert_eq!(piped.text(), "a\u{1b}[2Jb\u{7}c\u{202e}d\u{9b}e\n");
}

#[test]
fn lines_are_cut_to_the_screen_and_data_is_not_dumped() {
    let words = "very long words ".repeat(20);
    let tool = say::definition("t")
        .replace("{\"name\"", &format!("{{\"description\":\"{words}\",\"name\""));
    let blob = r#"{"contents":[{"uri":"x://b","mimeType":"image/png","blob":"iVBORwD/"}]}"#;
    let place = Place::new(|fake| {
        let fake = fake.tool("t", say::mirror()).definitions(&[&tool]);
        fake.resource("x://b", "B").read("x://b", say::steps([say::result(blob)]))
    });
    let mut terminal = Terminal::spawn(&place.command(&["tools"]));
    assert_eq!(terminal.finish(), Some(0));
    let shown = terminal.remains();
    assert_eq!(shown.trim_end().chars().count(), 80, "{shown:?}");
    let mut terminal = Terminal::spawn(&place.command(&["resources", "x://b"]));
    assert_eq!(terminal.finish(), Some(0));
    assert_eq!(terminal.remains(), "[x://b image/png, 6 bytes]\r\n");
}

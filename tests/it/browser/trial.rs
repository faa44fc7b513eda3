//! Tools: found by what they do, tried with a form that is made of their schema, and called elsewhere by
//! what the page says.

use std::process::Command;

use kit::browser::{Browser, By};
use kit::ledger;
use kit::platform::{ADMIN, percent};
use kit::room::Room;
use kit::service::Wire;
use kit::{bin, run, say, scan};
use serde_json::{Value, json};

use super::{admin, tool, tracker};

/// The arguments of the last call that the server has seen.
fn arrived(room: &Room, server: &str) -> Value {
    let calls = ledger::calls(&room.ledger(server));
    let line = calls.last().expect("a call");
    let arguments = scan::path(line, &["params", "arguments"]).expect("arguments");
    serde_json::from_slice(arguments).expect("JSON")
}

#[test]
fn a_tool_is_found_by_what_it_does_and_called_with_its_form() {
    let room = Room::new();
    let service = tracker(&room, "tracker").listen(Wire::Http);
    let platform = room.platform(&[]);
    platform.connected("tracker", &service);
    let browser = admin(&room, &platform);
    browser.open("/tools");
    browser.fill(&By::Label("Search tools"), "open a ticket for a bug");
    browser.click(&By::Words("Search"));
    browser.wait_text_in(&By::Css("#tools caption"), "best match first");
    let first = browser.text_of(&By::Css("#tools tbody tr"));
    assert!(first.contains("tracker.create_issue") && first.contains("0."), "{first}");
    browser.click(&By::Words("tracker.create_issue"));
    browser.wait(&By::Label("title"));
    browser.fill(&By::Label("title"), "It \"leaks\"");
    browser.fill(&By::Label("body"), "First line\nSecond <b>line</b>");
    browser.choose(&By::Label("priority"), "high");
    browser.fill(&By::Label("estimate"), "3");
    browser.fill(&By::Label("labels"), "bug\n plumbing \n");
    browser.choose(&By::Label("notify"), "false");
    browser.fill(&By::Label("repo"), "owner/repo");
    browser.click(&By::Words("Call"));
    browser.wait_text_in(&By::Css("#outcome"), "Done");
    let wanted = json!({
        "title": "It \"leaks\"",
        "body": "First line\nSecond <b>line</b>",
        "priority": "high",
        "estimate": 3,
        "labels": ["bug", "plumbing"],
        "notify": false,
        "where": { "repo": "owner/repo" },
    });
    assert_eq!(arrived(&room, "tracker"), wanted);
    // The result has an address: loading it again shows it, and calls nothing.
    let (calls, address) = (ledger::calls(&room.ledger("tracker")).len(), browser.path());
    browser.reload();
    browser.wait_text_in(&By::Css("#outcome"), "Done");
    browser.open("/tools");
    browser.open(&address);
    browser.wait_text_in(&By::Css("#outcome"), "Done");
    assert_eq!(ledger::calls(&room.ledger("tracker")).len(), calls);
    let shown = browser.text_of(&By::Css("#outcome"));
    assert!(shown.contains("Structured") && shown.contains("Second <b>line</b>"), "{shown}");
    assert_eq!(browser.value_of(&By::Label("estimate")), "3", "what was entered stays");
    browser.assert_quiet();
    browser.assert_at_home();
}

#[test]
fn form_and_json_are_two_ways_to_say_the_same() {
    let room = Room::new();
    let service = tracker(&room, "tracker").listen(Wire::Http);
    let platform = room.platform(&[]);
    let id = platform.connected("tracker", &service);
    let browser = admin(&room, &platform);
    browser.open(&format!("/tools/{}", percent(&format!("{id}/create_issue"))));
    browser.fill(&By::Label("title"), "A");
    browser.click(&By::Words("Write JSON instead"));
    let area = By::Label("Arguments, as JSON");
    browser.wait(&area);
    let drafted: Value = serde_json::from_str(&browser.value_of(&area)).expect("JSON");
    assert_eq!(drafted, json!({ "title": "A", "priority": "low", "where": {} }));
    browser.fill(&area, r#"{"title":"B","where":{"repo":"r"},"estimate":12345678901234567890123}"#);
    browser.click(&By::Words("Back to the form"));
    browser.wait(&By::Label("title"));
    assert_eq!(browser.value_of(&By::Label("title")), "B");
    assert_eq!(browser.value_of(&By::Label("repo")), "r");
    browser.click(&By::Words("Write JSON instead"));
    browser.wait(&area);
    assert!(browser.value_of(&area).contains("12345678901234567890123"), "no digit is lost");
    for (text, part) in [("{", "not JSON"), ("[1]", "an object"), (r#"{"new":1}"#, "Result")] {
        browser.fill(&area, text);
        browser.click(&By::Words("Call"));
        browser.wait_text(part);
    }
    assert_eq!(arrived(&room, "tracker"), json!({ "new": 1 }), "the server is the judge");
    browser.fill(&area, r#"{"new":1}"#);
    browser.click(&By::Words("Back to the form"));
    browser.wait_text("It stays JSON: `/new` is something the form cannot show.");
}

/// Every kind of answer, and what is seen of it.
#[test]
fn results_are_shown_as_they_are() {
    // One pixel.
    const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
    let room = Room::new();
    let picture =
        format!(r#"{{"content":[{{"type":"image","mimeType":"image/png","data":"{PNG}"}}]}}"#);
    let fake = room
        .fake("odd")
        .tool(
            "fails",
            say::steps([say::result(
                r#"{"content":[{"type":"text","text":"disk <full>"}],"isError":true}"#,
            )]),
        )
        .tool("refuses", say::steps([say::error(r#"{"code":-32000,"message":"no \"quota\""}"#)]))
        .tool("draws", say::steps([say::result(&picture)]))
        .tool(
            "counts",
            say::steps([say::result(
                r#"{"content":[],"structuredContent":{"n":1.0,"big":12345678901234567890123}}"#,
            )]),
        );
    let service = fake.listen(Wire::Http);
    let platform = room.platform(&[]);
    let id = platform.connected("odd", &service);
    let browser = admin(&room, &platform);
    for (name, parts) in [
        ("fails", &["The tool says it failed", "disk <full>"][..]),
        ("refuses", &["Not done (502)", "The server's error", "no \\\"quota\\\""]),
        ("draws", &["Done"]),
        ("counts", &["Done", "\"n\": 1.0", "12345678901234567890123"]),
    ] {
        browser.open(&format!("/tools/{}", percent(&format!("{id}/{name}"))));
        browser.click(&By::Words("Call"));
        for part in parts {
            browser.wait_text_in(&By::Css("#outcome"), part);
        }
        if name == "draws" {
            browser.wait_for("document.querySelector('#outcome img').naturalWidth === 1");
        }
    }
    browser.assert_quiet();
    browser.assert_at_home();
}

/// A server can name, describe and answer whatever it likes: none of it becomes part of the page.
#[test]
fn hostile_tools_and_results_are_shown_and_do_nothing() {
    const EVIL: &str = r#""><script>window.hit=1</script><img src=x onerror="window.hit=1"><svg/onload=window.hit=1>"#;
    let room = Room::new();
    let schema = json!({
        "properties": {
            EVIL: { "type": "string", "title": EVIL, "description": EVIL, "default": EVIL },
            "ring": { "$ref": "#/properties/ring" },
            "self": { "$ref": "#" },
            "choice": { "enum": [EVIL, "</select>"] },
        },
    });
    let definition = tool("evil", EVIL, schema);
    let answer = json!({
        "content": [
            { "type": "text", "text": EVIL },
            { "type": "image", "mimeType": "image/svg+xml", "data": "PHN2Zy9vbmxvYWQ9YWxlcnQoMSk+" },
            { "type": "resource_link", "uri": "javascript:window.hit=1", "name": EVIL },
            { "type": EVIL },
        ],
        "structuredContent": { EVIL: EVIL },
    });
    let fake = room.fake("evil").definitions(&[&definition]);
    let fake = fake.tool("evil", say::steps([say::result(&answer.to_string())]));
    let service = fake.listen(Wire::Http);
    let platform = room.platform(&[]);
    let id = platform.connected("evil", &service);
    let browser = admin(&room, &platform);
    let unhurt = |browser: &Browser| {
        let hit = browser.script(
            "return window.hit === undefined && !document.querySelector('main img[src=x]')",
            &[],
        );
        assert_eq!(hit, true, "{}", browser.path());
    };
    browser.open("/tools");
    browser.wait_text("evil.evil");
    unhurt(&browser);
    browser.open(&format!("/tools/{}", percent(&format!("{id}/evil"))));
    unhurt(&browser);
    browser.click(&By::Words("Call"));
    browser.wait_text_in(&By::Css("#outcome"), "window.hit=1");
    unhurt(&browser);
    assert!(!browser.shows(&By::Css("#outcome a[href]")), "nothing of it is a link");
    browser.assert_quiet();
    browser.assert_at_home();
}

/// What can be copied is run by a shell, as somebody would.
#[test]
fn the_call_can_be_made_elsewhere_by_what_the_page_says() {
    let room = Room::new();
    let service = tracker(&room, "tracker").listen(Wire::Http);
    let platform = room.platform(&[]);
    let id = platform.connected("tracker", &service);
    let browser = admin(&room, &platform);
    browser.open(&format!("/tools/{}", percent(&format!("{id}/create_issue"))));
    browser.fill(&By::Label("title"), "first");
    browser.wait_text_in(&By::Css("#as-cli"), r#""title":"first""#);
    browser.wait_text_in(&By::Css("#as-curl"), r#""title":"first""#);
    browser.fill(&By::Label("title"), "It's $HOME `here`");
    browser.fill(&By::Label("repo"), "r");
    browser.click(&By::Words("Call"));
    browser.wait_text_in(&By::Css("#outcome"), "Done");
    let called = arrived(&room, "tracker");
    for (place, program) in [("#as-cli", "trunkline"), ("#as-curl", "curl")] {
        let before = ledger::calls(&room.ledger("tracker")).len();
        let command = browser.text_of(&By::Css(place));
        let mut shell = Command::new("sh");
        shell.args(["-c", &command]).env("TRUNKLINE_TOKEN", ADMIN);
        let programs = bin::trunkline();
        let programs = programs.parent().expect("a directory").display().to_string();
        shell.env("PATH", format!("{programs}:{}", std::env::var("PATH").unwrap_or_default()));
        let done = run::run(shell, b"");
        assert_eq!(done.code, Some(0), "{program}: {done}\n{command}");
        assert_eq!(ledger::calls(&room.ledger("tracker")).len(), before + 1, "{program}");
        assert_eq!(arrived(&room, "tracker"), called, "{program}");
    }
}

#[test]
fn tools_are_filtered_by_server_and_skill_and_come_in_pages() {
    let room = Room::new();
    let service = tracker(&room, "tracker").listen(Wire::Http);
    let many = room.fake("many").generated(250, 100).listen(Wire::Http);
    let platform = room.platform(&[]);
    platform.connected("tracker", &service);
    platform.connected("many", &many);
    let browser = admin(&room, &platform);
    browser.open("/tools");
    browser.wait_text_in(&By::Css("#tools caption"), "100 of 252 tools");
    browser.click(&By::Words("More tools"));
    browser.wait_path(|path| path.contains("cursor="));
    browser.wait_text_in(&By::Css("#tools caption"), "100 of 252 tools");
    browser.choose(&By::Label("Server"), "tracker");
    browser.click(&By::Words("Search"));
    browser.wait_text_in(&By::Css("#tools caption"), "2 of 2 tools");
    browser.open("/skills");
    browser.wait_text("Weather");
    browser.wait_for("[...document.querySelectorAll('#skills tbody a')].some(a => a.textContent.includes('Weather'))");
    browser.click(&By::Words("Weather"));
    browser.wait_path(|path| path.starts_with("/tools?skill="));
    let rows = browser.text_of(&By::Css("#tools"));
    assert!(rows.contains("tracker.forecast") && !rows.contains("many.t0"), "{rows}");
    browser.open("/tools?q=no+such+thing&server=tracker&skill=finance");
    browser.wait_text("No results");
}

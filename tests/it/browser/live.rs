//! What happens is seen as it happens, on a page that nobody loads again.

use std::process::Command;

use kit::browser::{Browser, By};
use kit::platform::{ADMIN, Platform, id_of};
use kit::room::{MARK, Room};
use kit::service::Wire;
use kit::{LIMIT, bin, port, process};
use serde_json::json;

use super::{admin, tracker};

/// From here on the page has to stay the same.
fn mark(browser: &Browser) {
    browser.script("window.stays = true", &[]);
    browser.wait_for("document.querySelector('#pulse').dataset.state === 'live'");
}

#[track_caller]
fn assert_stayed(browser: &Browser) {
    assert_eq!(browser.script("return window.stays === true", &[]), true, "it was loaded again");
}

#[test]
fn a_crash_and_the_recovery_are_seen_without_loading_the_page_again() {
    let room = Room::new();
    let mut service = tracker(&room, "tracker").listen(Wire::Http);
    let platform = room.platform(&["--health-interval", "1s"]);
    let id = platform.connected("tracker", &service);
    let browser = admin(&room, &platform);
    browser.open("/servers");
    mark(&browser);
    let row = By::Css("#servers tbody tr");
    browser.wait_text_in(&row, "Connected");
    service.kill();
    process::wait_until("it is not connected any more", LIMIT, || {
        let shown = browser.text_of(&row);
        !shown.contains("Connected") && shown.contains("tracker")
    });
    service.restart();
    browser.wait_text_in(&row, "Connected");
    assert_stayed(&browser);
    browser.open(&format!("/servers/{id}"));
    mark(&browser);
    platform.act(&id, "disconnect").is(200);
    browser.wait_text("Disconnected");
    assert_stayed(&browser);
    browser.assert_quiet();
    browser.assert_at_home();
}

#[test]
fn clients_that_come_and_go_are_counted_while_one_looks() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let browser = admin(&room, &platform);
    browser.open("/");
    mark(&browser);
    let figures = By::Css("#figures");
    browser.wait_text_in(&figures, "Clients\n0");
    let client = platform.mcp(ADMIN);
    browser.wait_text_in(&figures, "Clients\n1");
    assert_eq!(client.delete(), 204);
    process::wait_until("it is gone", LIMIT, || {
        platform.admin().get("/api/v1/clients").is(200)["total"] == 0
    });
    browser.wait_text_in(&figures, "Clients\n0");
    assert_stayed(&browser);
    browser.assert_quiet();
}

/// A platform at this address, with its data in this folder.
#[track_caller]
fn at(room: &Room, listen: &str, data: &str) -> Platform {
    let mut command = Command::new(bin::trunkline());
    command
        .args(["serve", "--listen", listen, "--allow-net", "127.0.0.0/8", "--data-dir"])
        .arg(room.path(data));
    command.env("TRUNKLINE_ADMIN_TOKEN", ADMIN).env(MARK, room.marker());
    for name in ["MCP_PROXY_CONFIG_PATH", "PORT", "TRUNKLINE_TOKEN", "TRUNKLINE_KEY"] {
        command.env_remove(name);
    }
    Platform::start(command)
}

/// Who was signed in before a restart is afterwards, too: the page goes on.
#[test]
fn a_page_that_was_open_over_a_restart_goes_on() {
    let room = Room::new();
    let address = format!("127.0.0.1:{}", port::free());
    let platform = at(&room, &address, "data");
    let browser = admin(&room, &platform);
    browser.open("/tools");
    mark(&browser);
    drop(platform);
    browser.wait_text_in(&By::Css("#pulse"), "Reconnecting");
    let platform = at(&room, &address, "data");
    browser.wait_text_in(&By::Css("#pulse"), "Live");
    assert_eq!(browser.path(), "/tools");
    let service = tracker(&room, "tracker").listen(Wire::Http);
    platform.connected("tracker", &service);
    browser.wait_text_in(&By::Css("#tools"), "tracker.create_issue");
    assert_stayed(&browser);
}

/// A page that only said "Reconnecting" would show what was, for ever.
#[test]
fn a_page_whose_session_was_lost_with_its_store_asks_to_sign_in_again() {
    let room = Room::new();
    let address = format!("127.0.0.1:{}", port::free());
    let platform = at(&room, &address, "data");
    let browser = admin(&room, &platform);
    browser.open("/tools");
    drop(platform);
    browser.wait_text_in(&By::Css("#pulse"), "Reconnecting");
    let _platform = at(&room, &address, "other");
    browser.wait_path(|path| path.starts_with("/sign-in?next=%2Ftools"));
    super::sign_in(&browser, ADMIN);
    assert_eq!(browser.path(), "/tools");
}

#[test]
fn a_server_that_is_added_elsewhere_appears_with_its_tools() {
    let room = Room::new();
    let service = tracker(&room, "tracker").listen(Wire::Http);
    let platform = room.platform(&[]);
    let browser = admin(&room, &platform);
    browser.open("/servers");
    mark(&browser);
    browser.wait_text("No servers yet");
    platform.connected("tracker", &service);
    browser.wait_text_in(&By::Css("#servers"), "tracker");
    assert_stayed(&browser);
    browser.open("/tools");
    mark(&browser);
    browser.wait_text_in(&By::Css("#tools"), "tracker.create_issue");
    let other = tracker(&room, "other").listen(Wire::Http);
    platform.connected("other", &other);
    browser.wait_text_in(&By::Css("#tools"), "other.forecast");
    assert_stayed(&browser);
}

#[test]
fn calls_appear_in_the_activity_as_they_are_made_and_each_has_its_story() {
    let room = Room::new();
    let service = tracker(&room, "tracker").listen(Wire::Http);
    let platform = room.platform(&[]);
    let id = platform.connected("tracker", &service);
    let browser = admin(&room, &platform);
    browser.open("/activity");
    mark(&browser);
    browser.wait_text_in(&By::Css("#records"), "register server tracker");
    platform.call("tracker.forecast", &json!({})).is(200);
    browser.wait_text_in(&By::Css("#records"), "tracker.forecast");
    assert_stayed(&browser);
    let record = platform.wait_audit("the call", |it| it["tool"] == "forecast");
    browser.click(&By::Words("tracker.forecast"));
    browser.wait_path(|path| path == format!("/activity/{}", record["seq"]));
    for part in ["Succeeded.", "call-tool", "admin", "127.0.0.1"] {
        browser.wait_text(part);
    }
    browser.wait_text(record["hash"].as_str().expect("a hash"));
    browser.click(&By::Words("View tool"));
    browser.wait_path(|path| path.starts_with(&format!("/tools/{id}")));
    browser.assert_quiet();
}

/// What stands in the list can be pasted into the filters, whole or in part.
#[test]
fn the_activity_is_found_by_what_it_shows() {
    let room = Room::new();
    let service = tracker(&room, "tracker").listen(Wire::Http);
    let platform = room.platform(&[]);
    platform.connected("tracker", &service);
    platform.call("tracker.forecast", &json!({})).is(200);
    platform.wait_audit("the call", |it| it["tool"] == "forecast");
    let browser = admin(&room, &platform);
    let records = By::Css("#records");
    for (label, typed, found, hidden) in [
        ("Tool", "tracker.forecast", "tracker.forecast", "register server"),
        ("Tool", "fore", "tracker.forecast", "register server"),
        ("Tool", "Tracker.Fore", "tracker.forecast", "register server"),
        ("Action", "call tool", "tracker.forecast", "register server"),
        ("Action", "Register", "register server tracker", "tracker.forecast"),
        ("Who", "ADM", "tracker.forecast", "No results"),
    ] {
        browser.open("/activity");
        browser.fill(&By::Label(label), typed);
        browser.click(&By::Words("Filter"));
        browser.wait_path(|path| path.contains('?'));
        browser.wait_text_in(&records, found);
        let shown = browser.text_of(&records);
        assert!(!shown.contains(hidden), "{label} {typed}: {shown}");
    }
    let offered = browser.script(
        "return ['tool', 'action'].map(name => [...document.getElementById(name).list.options].map(o => o.value))",
        &[],
    );
    assert!(offered[0].to_string().contains("tracker.forecast"), "{offered}");
    assert!(offered[1].to_string().contains("\"call tool\""), "{offered}");
}

/// What a server's changes of state are shown as can be chosen and pasted.
#[test]
fn changes_of_state_are_found_by_what_the_activity_shows() {
    let room = Room::new();
    let service = tracker(&room, "tracker").listen(Wire::Http);
    let platform = room.platform(&["--health-interval", "1s"]);
    let id = platform.connected("flap", &service);
    service.kill();
    platform.wait_status(&id, "ERROR");
    platform.wait_audit("the change", |it| it["action"] == "change-status");
    let browser = admin(&room, &platform);
    let records = By::Css("#records");
    browser.open("/activity");
    browser.choose(&By::Label("Outcome"), "Error");
    browser.click(&By::Words("Filter"));
    browser.wait_path(|path| path.contains("outcome=error"));
    browser.wait_text_in(&records, "change status flap");
    assert!(!browser.text_of(&records).contains("register server"));
    for typed in ["change status flap", "Change Status fl", "change status", "change-status flap"] {
        browser.open("/activity");
        browser.fill(&By::Label("Action"), typed);
        browser.click(&By::Words("Filter"));
        browser.wait_path(|path| path.contains("action="));
        browser.wait_text_in(&records, "change status flap");
        let shown = browser.text_of(&records);
        assert!(!shown.contains("register server"), "{typed}: {shown}");
        assert_eq!(browser.value_of(&By::Label("Action")), typed, "what was typed stays");
    }
    for outcome in ["Connected", "Degraded"] {
        browser.choose(&By::Label("Outcome"), outcome);
    }
}

#[test]
fn the_activity_is_filtered_by_server_outcome_who_and_time() {
    let room = Room::new();
    let [one, other] = ["one", "other"].map(|name| tracker(&room, name).listen(Wire::Http));
    let platform = room.platform(&[]);
    platform.connected("one", &one);
    platform.connected("other", &other);
    let made = platform.make_key(&json!({ "name": "robot", "role": "caller" }));
    assert!(!id_of(&made).is_empty());
    let robot = platform.rest(made["key"].as_str());
    robot.send(&kit::platform::Platform::call_ask("one.forecast", "{}")).is(200);
    platform.call("other.forecast", &json!({})).is(200);
    platform.wait_audit("the calls", |it| it["server_name"] == "other" && it["tool"] == "forecast");
    let browser = admin(&room, &platform);
    let records = By::Css("#records");
    browser.open("/activity");
    browser.choose(&By::Label("Server"), "one");
    browser.fill(&By::Label("Who"), "robot");
    browser.choose(&By::Label("Outcome"), "Done");
    browser.choose(&By::Label("When"), "the last hour");
    browser.click(&By::Words("Filter"));
    browser.wait_path(|path| path.contains("principal=robot"));
    let shown = browser.text_of(&records);
    assert!(shown.contains("one.forecast") && !shown.contains("other"), "{shown}");
    browser.choose(&By::Label("Outcome"), "Disconnected");
    browser.click(&By::Words("Filter"));
    browser.wait_text_in(&records, "No results");
    browser.click(&By::Words("Clear filters"));
    browser.wait_text_in(&records, "other.forecast");
}

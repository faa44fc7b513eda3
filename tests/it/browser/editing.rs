//! A person adds a server by the form, changes it, and sees that the change is in force.

use kit::browser::{Browser, By};
use kit::ledger;
use kit::platform::{ADMIN, Platform, stdio};
use kit::room::Room;
use kit::service::Wire;
use kit::{LIMIT, process};
use serde_json::{Value, json};

use super::{admin, sign_in, tracker, visit};

/// The id of the server whose page is open.
#[track_caller]
fn id_of(browser: &Browser) -> String {
    browser.wait_path(|path| path.starts_with("/servers/") && !path.ends_with("/new"));
    browser.path().trim_start_matches("/servers/").to_owned()
}

/// Calls a tool; the key that the server was shown with it. `None`: it is not there yet.
fn key_shown(room: &Room, platform: &Platform, tool: &str) -> Option<String> {
    if platform.call(tool, &json!({})).status() != 200 {
        return None;
    }
    let heads = ledger::heads_of(&room.ledger("tracker"), "tools/call");
    heads.last().and_then(|head| head.header("x-key")).map(str::to_owned)
}

#[test]
fn a_server_in_the_network_is_added_edited_and_its_header_rotated() {
    let room = Room::new();
    let service = tracker(&room, "tracker").listen(Wire::Http);
    let platform = room.platform(&[]);
    let browser = admin(&room, &platform);
    browser.open("/servers/new");
    browser.fill(&By::Label("Name"), "tracker");
    browser.fill(&By::Label("URL"), service.url());
    browser.fill(&By::Label("Headers"), "X-Key: first");
    browser.click(&By::Words("Add"));
    let id = id_of(&browser);
    browser.wait_text_in(&By::Css("#state"), "Connected");
    assert_eq!(key_shown(&room, &platform, "tracker.forecast").as_deref(), Some("first"));

    browser.click(&By::Words("Edit"));
    browser.wait(&By::Label("URL"));
    assert_eq!(browser.value_of(&By::Label("URL")), service.url());
    assert_eq!(browser.value_of(&By::Label("Headers")), "X-Key: ***", "what is sealed stays so");
    browser.fill(&By::Label("Name"), "issues");
    browser.fill(&By::Label("Description"), "Tickets and the weather");
    browser.fill(&By::Label("Headers"), "X-Key: second");
    browser.click(&By::Words("Save"));
    browser.wait_path(|path| path == format!("/servers/{id}"));
    browser.wait_text("issues");
    process::wait_until("the new header is in force", LIMIT, || {
        key_shown(&room, &platform, "issues.forecast").as_deref() == Some("second")
    });
    assert_eq!(platform.server(&id)["description"], "Tickets and the weather");
    browser.assert_quiet();
}

#[test]
fn a_command_is_added_and_edited_with_the_token() {
    let room = Room::new();
    let platform = room.platform(&["--allow-stdio-registration"]);
    let entry = tracker(&room, "tracker").entry();
    let lines = |value: &Value| -> String {
        let lines = value.as_array().into_iter().flatten().filter_map(Value::as_str);
        lines.collect::<Vec<_>>().join("\n")
    };
    let env = entry["env"].as_object().into_iter().flatten();
    let env: Vec<String> =
        env.map(|(name, value)| format!("{name}={}", value.as_str().unwrap())).collect();
    let browser = admin(&room, &platform);
    browser.open("/servers/new");
    browser.click(&By::Css("input[value=STDIO]"));
    browser.fill(&By::Label("Name"), "local");
    browser.fill(&By::Label("Command"), entry["command"].as_str().expect("a command"));
    browser.fill(&By::Label("Arguments"), &lines(&entry["args"]));
    browser.fill(&By::Label("Variables"), &env.join("\n"));
    browser.fill(&By::Label("Confirm your token"), ADMIN);
    browser.click(&By::Words("Add"));
    let id = id_of(&browser);
    browser.wait_text_in(&By::Css("#state"), "Connected");

    browser.click(&By::Words("Edit"));
    browser.wait(&By::Label("Command"));
    assert!(!browser.shows(&By::Label("URL")), "a command has none");
    browser.fill(&By::Label("Description"), "Runs here");
    browser.click(&By::Words("Save"));
    browser.wait(&By::Css("#token[aria-invalid=true]"));
    // That it was refused is said in the console, too.
    browser.console();
    browser.fill(&By::Label("Confirm your token"), ADMIN);
    browser.click(&By::Words("Save"));
    browser.wait_path(|path| path == format!("/servers/{id}"));
    platform.wait_status(&id, "CONNECTED");
    assert_eq!(platform.server(&id)["description"], "Runs here");
    platform.call("local.forecast", &json!({})).is(200);
    browser.assert_quiet();
}

#[test]
fn an_operator_describes_a_command_without_a_token() {
    let room = Room::new();
    let platform = room.platform(&["--allow-stdio-registration"]);
    let entry = tracker(&room, "tracker").entry();
    let id = kit::platform::id_of(&platform.register(&stdio("local", &entry)));
    platform.wait_status(&id, "CONNECTED");
    let browser = visit(&room, &platform);
    browser.open(&format!("/servers/{id}"));
    sign_in(&browser, &platform.key("operator"));
    browser.click(&By::Words("Edit"));
    browser.wait(&By::Label("Description"));
    browser.fill(&By::Label("Description"), "Runs here");
    browser.click(&By::Words("Save"));
    browser.wait_path(|path| path == format!("/servers/{id}"));
    assert_eq!(platform.server(&id)["description"], "Runs here");
    browser.assert_quiet();
}

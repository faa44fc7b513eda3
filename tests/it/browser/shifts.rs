//! Lists whose rows come and go while somebody points at one: nothing moves under the pointer, and a click
//! does what it was meant for.

use kit::browser::{Browser, By};
use kit::platform::{ADMIN, Platform, id_of};
use kit::room::Room;
use kit::service::Wire;
use serde_json::json;

use super::{admin, tracker};

/// Points at a thing, has rows come or go, and clicks when the page knows of them without moving the
/// pointer. `part` is the list that changes, `news` a word that only its fresh copy shows.
#[track_caller]
fn click_late(browser: &Browser, aim: &str, part: &str, news: &str, change: impl FnOnce()) {
    browser.wait_text_in(&By::Css("#pulse"), "Live");
    browser.point_at(&By::Css(aim));
    change();
    browser.wait_for(&format!(
        "document.getElementById('pulse').textContent === 'On hold' || \
         document.querySelector('{part}').textContent.includes('{news}')"
    ));
    browser.mouse_down();
    browser.mouse_up();
}

/// A server that nobody can reach.
fn unreachable(platform: &Platform, name: &str) -> String {
    let config = json!({ "url": "http://127.0.0.1:9/mcp" });
    let body = json!({ "name": name, "transport_type": "HTTP", "connection_config": config });
    let id = id_of(&platform.register(&body));
    platform.wait_status(&id, "ERROR");
    id
}

#[test]
fn the_server_that_is_pointed_at_is_disconnected_and_no_other() {
    let room = Room::new();
    let service = tracker(&room, "tracker").listen(Wire::Http);
    let platform = room.platform(&[]);
    let [ok, time] = ["ok", "time"].map(|name| platform.connected(name, &service));
    let browser = admin(&room, &platform);
    browser.open("/servers");
    let aim = "#servers td:last-child [aria-label='Disconnect time']";
    click_late(&browser, aim, "#servers", "aaa", || {
        platform.connected("aaa", &service);
    });
    browser.wait_path(|path| path == format!("/servers/{time}"));
    platform.wait_status(&time, "DISCONNECTED");
    assert_eq!(platform.server(&ok)["status"], "CONNECTED");
    browser.assert_quiet();
}

#[test]
fn rows_that_leave_are_greyed_and_rows_that_come_wait_for_the_pointer_to_go() {
    let room = Room::new();
    let service = tracker(&room, "tracker").listen(Wire::Http);
    let platform = room.platform(&[]);
    let [ok, _] = ["ok", "time"].map(|name| platform.connected(name, &service));
    let browser = admin(&room, &platform);
    browser.open("/servers");
    browser.wait_text_in(&By::Css("#pulse"), "Live");
    let names = || {
        let names =
            "return [...document.querySelectorAll('#servers tbody a')].map(a => a.textContent)";
        browser.script(names, &[])
    };
    browser.point_at(&By::Css("#servers tbody tr:nth-child(2) a"));
    platform.admin().delete(&format!("{}/{ok}", kit::platform::SERVERS)).is(204);
    browser.wait(&By::Css("#servers tr.gone[inert]"));
    platform.connected("aaa", &service);
    browser.wait_text_in(&By::Css("#pulse"), "On hold");
    assert_eq!(names(), json!(["ok", "time"]), "nothing has moved");
    browser.point_away();
    browser.wait_text_in(&By::Css("#servers"), "aaa");
    assert_eq!(names(), json!(["aaa", "time"]));
    browser.wait_text_in(&By::Css("#pulse"), "Live");
    // The focus holds them, too.
    browser.tab_to("time");
    platform.connected("bbb", &service);
    browser.wait_text_in(&By::Css("#pulse"), "On hold");
    assert_eq!(names(), json!(["aaa", "time"]));
    browser.script("document.activeElement.blur()", &[]);
    browser.wait_text_in(&By::Css("#servers"), "bbb");
    // And so does a selection.
    browser.script("getSelection().selectAllChildren(document.querySelector('#servers a'))", &[]);
    platform.connected("ccc", &service);
    browser.wait_text_in(&By::Css("#pulse"), "On hold");
    browser.script("getSelection().removeAllRanges()", &[]);
    browser.wait_text_in(&By::Css("#servers"), "ccc");
    browser.assert_quiet();
}

#[test]
fn the_server_that_needs_attention_and_is_pointed_at_is_opened() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let [_, late] = ["ok", "time"].map(|name| unreachable(&platform, name));
    let browser = admin(&room, &platform);
    browser.open("/");
    let aim = format!("#trouble a[href='/servers/{late}']");
    click_late(&browser, &aim, "#trouble", "aaa", || {
        unreachable(&platform, "aaa");
    });
    browser.wait_path(|path| path == format!("/servers/{late}"));
}

/// Clients come above the keys, and keys above each other.
#[test]
fn the_key_that_is_pointed_at_is_revoked() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let made = ["a", "b"]
        .map(|name| id_of(&platform.make_key(&json!({ "name": name, "role": "caller" }))));
    let browser = admin(&room, &platform);
    for (key, part) in made.iter().zip(["#clients", "#keys"]) {
        browser.point_away();
        browser.open("/clients");
        let aim = format!("#keys a[href='/clients/keys/{key}/revoke']");
        let mut client = None;
        click_late(
            &browser,
            &aim,
            part,
            if part == "#keys" { "newest" } else { "/mcp session" },
            || match part {
                "#keys" => drop(platform.make_key(&json!({ "name": "newest", "role": "caller" }))),
                _ => client = Some(platform.mcp(ADMIN)),
            },
        );
        browser.wait_path(|path| path == format!("/clients/keys/{key}/revoke"));
    }
}

#[test]
fn the_tool_that_is_pointed_at_is_opened() {
    let room = Room::new();
    let service = tracker(&room, "tracker").listen(Wire::Http);
    let platform = room.platform(&[]);
    let id = platform.connected("time", &service);
    let browser = admin(&room, &platform);
    browser.open("/tools");
    let aim = "#tools tbody tr:nth-child(2) a";
    let meant = format!("/tools/{id}%2Fforecast");
    click_late(&browser, aim, "#tools", "aaa.", || {
        platform.connected("aaa", &service);
    });
    browser.wait_path(|path| path != "/tools");
    assert_eq!(browser.path(), meant);
}

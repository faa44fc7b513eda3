//! Without a mouse, and without scripts.

use kit::browser::{By, Key};
use kit::platform::{ADMIN, percent};
use kit::room::Room;
use kit::service::Wire;
use kit::{LIMIT, process};

use super::{TOKEN, admin, sign_in, tracker, visit};

#[test]
fn the_keyboard_alone_signs_in_goes_to_a_tool_and_calls_it() {
    let room = Room::new();
    let service = tracker(&room, "tracker").listen(Wire::Http);
    let platform = room.platform(&[]);
    let id = platform.connected("tracker", &service);
    let browser = visit(&room, &platform);
    browser.open("/");
    browser.wait(&TOKEN);
    assert!(browser.focused().contains("Token"), "the first thing to do has the focus");
    browser.type_text(ADMIN);
    browser.press(Key::Enter);
    browser.wait(&By::Words("Sign out"));
    browser.open("/servers");
    browser.press(Key::Tab);
    // A key that was pressed is not yet one that was heard.
    process::wait_until("the first stop is the way to the content", LIMIT, || {
        browser.focused() == "a Skip to the content"
    });
    assert!(browser.focus_is_seen());
    browser.tab_to("Tools");
    browser.press(Key::Enter);
    browser.wait_path(|path| path == "/tools");
    browser.tab_to("tracker.forecast");
    assert!(browser.focus_is_seen());
    browser.press(Key::Enter);
    browser.wait_path(|path| {
        path == format!("/tools/{}", percent(&format!("{id}/forecast")))
            || path.contains("forecast")
    });
    browser.tab_to("Call");
    browser.press(Key::Space);
    browser.wait_text_in(&By::Css("#outcome"), "Rain, and more rain");
    browser.wait_for("document.activeElement.id === 'outcome'");
}

#[test]
fn everything_is_done_without_scripts_but_what_lives() {
    let room = Room::new();
    let service = tracker(&room, "tracker").listen(Wire::Http);
    let platform = room.platform(&[]);
    let id = platform.connected("tracker", &service);
    let browser = visit(&room, &platform);
    browser.without_scripts();
    browser.open("/servers");
    sign_in(&browser, ADMIN);
    browser.wait_text("tracker");
    assert_eq!(browser.path(), "/servers", "where one wanted to go");
    assert_eq!(browser.text_of(&By::Css("#pulse")), "Not live");
    browser.click(&By::InRow("tracker", "Disconnect"));
    browser.wait_text("Disconnected");
    browser.click(&By::Words("Connect"));
    process::wait_until("it is connected", LIMIT, || platform.server(&id)["status"] == "CONNECTED");
    browser.open("/tools?q=weather");
    browser.click(&By::Words("tracker.forecast"));
    browser.click(&By::Words("Call"));
    browser.wait_text_in(&By::Css("#outcome"), "Rain, and more rain");
    browser.open("/activity?tool=forecast");
    browser.wait_text("tracker.forecast");
    browser.click(&By::Words("Sign out"));
    browser.wait(&TOKEN);
    browser.open("/servers");
    browser.wait(&TOKEN);
}

#[test]
fn a_viewer_sees_no_buttons_that_do_nothing() {
    let room = Room::new();
    let service = tracker(&room, "tracker").listen(Wire::Http);
    let platform = room.platform(&[]);
    let id = platform.connected("tracker", &service);
    let browser = visit(&room, &platform);
    browser.open("/");
    sign_in(&browser, &platform.key("viewer"));
    browser.open(&format!("/tools/{}", percent(&format!("{id}/forecast"))));
    browser.wait_text("requires the caller role");
    assert!(!browser.shows(&By::Words("Call")));
    assert!(!browser.shows(&By::Words("Set skills manually")));
    browser.open("/skills");
    assert!(!browser.shows(&By::Css("#queue")) && !browser.shows(&By::Words("Add a skill")));
    assert!(!browser.shows(&By::Words("Activity")), "the log is for operators");
    browser.open("/activity");
    browser.wait_text("Not allowed for your role");
}

/// Whoever has signed out is out, wherever else the session was used.
#[test]
fn signing_out_ends_it_for_every_window() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let browser = admin(&room, &platform);
    let cookie =
        browser.cookies().into_iter().find(|cookie| cookie.is_http_only).expect("a session");
    assert!(cookie.same_site == "Strict", "{cookie:?}");
    assert_eq!(
        browser.script(
            "return document.cookie.includes(arguments[0])",
            &[cookie.value.as_str().into()]
        ),
        false
    );
    browser.click(&By::Words("Sign out"));
    browser.wait(&TOKEN);
    let ask = kit::http::Ask::get("/servers")
        .header("Cookie", &format!("{}={}", cookie.name, cookie.value));
    assert_eq!(platform.rest(None).send(&ask).status(), 303);
}

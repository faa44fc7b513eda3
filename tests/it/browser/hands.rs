//! Hands and eyes on pages that change: what is pointed at, pressed, selected or focused stays what it is
//! while traffic flows.

use std::sync::atomic::{AtomicBool, Ordering};

use kit::browser::{Browser, By, Key};
use kit::platform::Platform;
use kit::room::Room;
use kit::service::Wire;
use serde_json::{Value, json};

use super::{admin, tracker};

/// How often somebody opens a record, or a server, while calls are made.
const ROUNDS: usize = 30;

/// Runs `act` while calls are made, one after the other.
fn in_traffic(platform: &Platform, act: impl FnOnce()) {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                platform.call("tracker.forecast", &json!({})).is(200);
                // A few calls a second: more than a person can follow.
                std::thread::sleep(std::time::Duration::from_millis(100));
            }
        });
        // Also when it panics: the scope waits for the other thread.
        let _ends = Ends(&over);
        act();
    });
}

struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Waits until the page has been fetched again so many times.
#[track_caller]
fn wait_refreshes(browser: &Browser, more: u64) {
    const COUNT: &str = "performance.getEntriesByType('resource').filter(e => \
        e.initiatorType === 'fetch').length";
    let before = browser.script(&format!("return {COUNT}"), &[]).as_u64().unwrap_or_default();
    browser.wait_for(&format!("{COUNT} >= {}", before + more));
}

/// Where the link leads that has the focus, or that the pointer is at.
#[track_caller]
fn leads(browser: &Browser, link: &str) -> String {
    let told = browser.script(&format!("return ({link}).getAttribute('href')"), &[]);
    told.as_str().unwrap_or_else(|| panic!("no link: {told}")).to_owned()
}

const POINTED_AT: &str = "document.querySelector('a:hover')";
const FOCUSED: &str = "document.activeElement";
const SHOW_NEW: By<'_> = By::Words("Show ");

/// With calls made before, so that the list has rows to aim at.
fn busy(room: &Room, platform: &Platform) -> String {
    let service = tracker(room, "tracker").listen(Wire::Http);
    let id = platform.connected("tracker", &service);
    room.keep(service);
    for _ in 0..10 {
        platform.call("tracker.forecast", &json!({})).is(200);
    }
    id
}

#[test]
fn a_press_opens_the_record_it_was_meant_for() {
    let room = Room::new();
    let platform = room.platform(&[]);
    busy(&room, &platform);
    let browser = admin(&room, &platform);
    in_traffic(&platform, || {
        for round in 0..ROUNDS {
            browser.open("/activity");
            browser.point_at(&By::Css("#records tbody tr:nth-child(4) a"));
            let meant = leads(&browser, POINTED_AT);
            // Half of them aim first and press when more has come, half keep pressing meanwhile.
            if round % 2 == 0 {
                browser.wait(&SHOW_NEW);
                browser.mouse_down();
            } else {
                browser.mouse_down();
                wait_refreshes(&browser, 1);
            }
            browser.mouse_up();
            browser.wait_path(|path| path != "/activity");
            assert_eq!(browser.path(), meant, "round {round}");
        }
    });
    browser.assert_quiet();
}

#[test]
fn no_press_is_lost_on_the_page_of_servers() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let id = busy(&room, &platform);
    let browser = admin(&room, &platform);
    in_traffic(&platform, || {
        for _ in 0..ROUNDS {
            browser.open("/servers");
            browser.point_at(&By::Css("#servers tbody a"));
            browser.mouse_down();
            wait_refreshes(&browser, 1);
            browser.mouse_up();
            browser.wait_path(|path| path == format!("/servers/{id}"));
        }
    });
    browser.assert_quiet();
}

#[test]
fn a_selection_and_the_focus_survive_what_comes_in() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let id = busy(&room, &platform);
    let browser = admin(&room, &platform);
    let select = |css: &str| {
        let body = "getSelection().selectAllChildren(document.querySelector(arguments[0]))";
        browser.script(body, &[css.into()]);
    };
    let selected = || browser.script("return getSelection().toString()", &[]);
    in_traffic(&platform, || {
        for (page, link) in [("/servers", "#servers tbody a"), ("/activity", "#records tbody a")] {
            browser.open(page);
            select(link);
            let before = selected();
            assert_ne!(before, Value::from(""));
            wait_refreshes(&browser, 3);
            assert_eq!(selected(), before, "{page}");
        }
        browser.script("getSelection().removeAllRanges()", &[]);
        browser.open("/servers");
        browser.tab_to("tracker");
        wait_refreshes(&browser, 3);
        assert_eq!(leads(&browser, FOCUSED), format!("/servers/{id}"));
        browser.open("/activity");
        browser.tab_to("tracker.forecast");
        let meant = leads(&browser, FOCUSED);
        wait_refreshes(&browser, 3);
        assert_eq!(leads(&browser, FOCUSED), meant);
        browser.press(Key::Enter);
        browser.wait_path(|path| path != "/activity");
        assert_eq!(browser.path(), meant);
    });
}

#[test]
fn new_rows_wait_while_somebody_looks_and_come_when_they_are_asked_for() {
    let room = Room::new();
    let platform = room.platform(&[]);
    busy(&room, &platform);
    let browser = admin(&room, &platform);
    browser.open("/activity");
    let first = || leads(&browser, "document.querySelector('#records tbody a')");
    let call = || platform.call("tracker.forecast", &json!({})).is(200);
    let newest = || {
        let made = platform.audit();
        format!("/activity/{}", made.iter().filter_map(|it| it["seq"].as_i64()).max().unwrap_or(0))
    };
    browser.wait_text_in(&By::Css("#pulse"), "Live");
    // Pointed at: one more, then another, and they are counted.
    browser.point_at(&By::Css("#records tbody tr:nth-child(2)"));
    let before = first();
    call();
    browser.wait(&By::Words("Show 1 new"));
    call();
    browser.wait(&By::Words("Show 2 new"));
    assert_eq!(first(), before, "nothing has moved");
    browser.click(&By::Words("Show 2 new"));
    browser.wait_gone(&SHOW_NEW);
    assert_eq!(first(), newest());
    // Paused: also with the pointer elsewhere.
    browser.click(&By::Words("Pause"));
    browser.point_away();
    browser.wait_text_in(&By::Css("#pulse"), "Paused");
    let before = first();
    call();
    browser.wait(&By::Words("Show 1 new"));
    assert_eq!(first(), before);
    browser.click(&By::Words("Resume"));
    browser.wait_gone(&SHOW_NEW);
    assert_eq!(first(), newest());
    // Nobody looks: they come by themselves.
    browser.point_away();
    call();
    let newest = newest();
    browser.wait_for(&format!(
        "document.querySelector('#records tbody a').getAttribute('href') === '{newest}'"
    ));
    // The pointer leaves: those that have waited come.
    browser.point_at(&By::Css("#records tbody tr:nth-child(2)"));
    call();
    browser.wait(&By::Words("Show 1 new"));
    browser.point_away();
    browser.wait_gone(&SHOW_NEW);
    browser.assert_quiet();
}

#[test]
fn a_refresh_that_fails_is_not_called_live() {
    let room = Room::new();
    let platform = room.platform(&[]);
    busy(&room, &platform);
    let browser = admin(&room, &platform);
    browser.open("/servers");
    let pulse = By::Css("#pulse");
    browser.wait_text_in(&pulse, "Live");
    browser.script(
        "window.whole = window.fetch; window.fetch = async () => ({ ok: false, status: 500 })",
        &[],
    );
    platform.call("tracker.forecast", &json!({})).is(200);
    browser.wait_text_in(&pulse, "Not up to date");
    browser.script("window.fetch = window.whole", &[]);
    browser.wait_text_in(&pulse, "Live");
}

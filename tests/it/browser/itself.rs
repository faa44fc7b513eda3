//! The judge is judged first: the browser of the kit against pages that are known.

use kit::browser::{Browser, By, Theme, Width};
use kit::http::Ask;
use kit::page::{Page, Says};
use kit::platform::Platform;
use kit::process;
use kit::room::Room;

use super::visit;

/// Any page with this body.
#[track_caller]
fn on(browser: &Browser, body: &str) {
    browser.open("/sign-in");
    browser.script("document.body.innerHTML = arguments[0]", &[body.into()]);
}

#[track_caller]
fn platform(room: &Room) -> Platform {
    room.platform(&[])
}

#[test]
fn nothing_of_a_browser_stays_behind() {
    let room = Room::new();
    let platform = platform(&room);
    let browser = visit(&room, &platform);
    browser.open("/sign-in");
    let profile = room.path("browser");
    let profile = profile.to_str().expect("a path");
    assert!(!process::with_argument(profile).is_empty(), "it runs");
    drop(browser);
    let left = process::with_argument(profile);
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn faint_text_is_found_and_plain_text_is_not() {
    let room = Room::new();
    let platform = platform(&room);
    let browser = visit(&room, &platform);
    // Set by script: the policy of the page lets no style attribute through.
    on(&browser, "<p id=a>plain</p><p id=b>faint</p><p id=c>see-through</p><h1 id=d>large</h1>");
    browser.script(
        "document.documentElement.style.background = document.body.style.background = '#fff'; \
         for (const [id, colour] of [['a', '#000'], ['b', '#999'], ['c', '#000'], ['d', '#888']]) \
         document.getElementById(id).style.color = colour; \
         document.getElementById('c').style.opacity = '0.4'; \
         document.getElementById('d').style.fontSize = '40px'",
        &[],
    );
    let faint: Vec<String> = browser.faint().into_iter().map(|it| it.text).collect();
    assert_eq!(faint, ["faint", "see-through"]);
}

#[test]
fn what_leaves_the_host_is_seen_and_what_the_console_says_is_heard() {
    let room = Room::new();
    let platform = platform(&room);
    let elsewhere = Page::new(Says::Status(200));
    let browser = visit(&room, &platform);
    browser.open("/sign-in");
    browser.assert_at_home();
    browser.assert_quiet();
    let url = elsewhere.url();
    browser
        .script("fetch(arguments[0]).catch(() => {}); console.error('oh')", &[url.as_str().into()]);
    assert!(elsewhere.heads().is_empty(), "the policy of our pages lets nothing out");
    assert!(browser.console().iter().any(|entry| entry.message.contains("oh")));
}

#[test]
fn width_and_theme_are_what_the_page_sees() {
    let room = Room::new();
    let platform = platform(&room);
    let browser = visit(&room, &platform);
    browser.open("/sign-in");
    for (theme, dark) in [(Theme::Dark, true), (Theme::Light, false)] {
        browser.theme(theme);
        let told = browser.script("return matchMedia('(prefers-color-scheme: dark)').matches", &[]);
        assert_eq!(told, dark, "{theme:?}");
    }
    for width in [Width::Phone, Width::Desk] {
        browser.width(width);
        assert_eq!(browser.script("return innerWidth", &[]), width.pixels(), "{width:?}");
    }
    let picture = browser.picture();
    assert!(picture.starts_with(b"\x89PNG") && picture.len() > 1_000, "{}", picture.len());
}

#[test]
fn the_first_page_is_the_one_to_sign_in_on() {
    let room = Room::new();
    let platform = platform(&room);
    let told = platform.rest(None).send(&Ask::get("/"));
    assert_eq!(told.status(), 303, "{told}");
    let browser = visit(&room, &platform);
    browser.open("/tools?q=a");
    assert!(browser.path().starts_with("/sign-in?next="), "{}", browser.path());
    assert!(browser.shows(&By::Label("Token")));
}

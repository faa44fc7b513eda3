//! Every screen in light and dark, at a desk and on a phone: it can be read, fits, weighs little, and
//! says what its parts are.

use kit::browser::{Browser, By, Theme, Width};
use kit::platform::{ADMIN, Platform, percent};
use kit::room::Room;
use kit::service::Wire;
use serde_json::json;

use super::{admin, tracker, visit};

/// What a page may weigh with everything that it is made of.
const HEAVIEST: u64 = 150_000;

/// Every screen, with something on it.
fn screens(platform: &Platform, server: &str) -> Vec<String> {
    let record = platform.wait_audit("the call", |it| it["action"] == "call-tool");
    let tool = percent(&format!("{server}/create_issue"));
    let fixed = [
        "/",
        "/servers",
        "/servers/new",
        "/tools",
        "/tools?q=issue",
        "/tools?q=zzzz&server=nobody",
        "/skills",
        "/review",
        "/policies",
        "/policies/new",
        "/policies/test",
        "/policies/base/text",
        "/policies/base/remove",
        "/skills/database/edit",
        "/skills/database/remove",
        "/?span=1h",
        "/activity",
        "/activity?outcome=gone",
        "/clients",
        "/settings",
        "/tools/nothing",
    ];
    let fixed = fixed.into_iter().map(str::to_owned);
    let more = [
        format!("/servers/{server}"),
        format!("/servers/{server}/edit"),
        format!("/servers/{server}/remove"),
        format!("/tools/{tool}"),
        format!("/tools/{tool}?as=json"),
        format!("/activity/{}", record["seq"]),
    ];
    fixed.chain(more).collect()
}

fn furnished(room: &Room) -> (Platform, String) {
    let service = tracker(room, "tracker").listen(Wire::Http);
    let platform = room.platform(&[]);
    let id = platform.connected("tracker", &service);
    room.keep(service);
    platform.key("caller");
    let policy = json!({ "text": "@id(\"all\") permit(principal, action, resource);" }).to_string();
    let put = platform.admin().with_body("PUT", "/api/v1/policies/base", policy.as_bytes());
    put.is(201);
    // It goes, and its session stays for a while.
    drop(platform.mcp(ADMIN));
    platform.call("tracker.forecast", &json!({})).is(200);
    (platform, id)
}

#[test]
fn every_screen_can_be_read_in_both_themes_and_fits_a_phone() {
    let room = Room::new();
    let (platform, id) = furnished(&room);
    let browser = visit(&room, &platform);
    for theme in [Theme::Light, Theme::Dark] {
        browser.theme(theme);
        browser.open("/sign-in");
        browser.assert_readable();
        fits(&browser, Width::Phone);
    }
    let browser = {
        drop(browser);
        admin(&room, &platform)
    };
    for path in screens(&platform, &id) {
        for (theme, width) in
            [(Theme::Light, Width::Desk), (Theme::Dark, Width::Desk), (Theme::Dark, Width::Phone)]
        {
            browser.theme(theme);
            browser.width(width);
            browser.open(&path);
            browser.assert_readable();
            fits(&browser, width);
        }
    }
}

/// Nothing is wider than the window; what is wide scrolls by itself.
#[track_caller]
fn fits(browser: &Browser, width: Width) {
    browser.width(width);
    // A phone zooms out until all of it is there: what the page takes for its width grows with it.
    let over = browser.script(
        "const most = arguments[0]; const wide = document.documentElement.scrollWidth; \
         if (wide <= most) return []; \
         return [...document.querySelectorAll('body *')].filter(e => \
           e.getBoundingClientRect().right > most + 1 && !e.closest('.wrap, pre, .menu')) \
           .map(e => e.tagName + '.' + e.className).slice(0, 10).concat(String(wide))",
        &[width.pixels().into()],
    );
    assert_eq!(over, json!([]), "{} is too wide for {width:?}", browser.path());
    // What scrolls by itself has something that is not seen: on no screen with usual names.
    let cut = browser.script(
        "return [...document.querySelectorAll('.wrap')].filter(e => e.scrollWidth > e.clientWidth + 1) \
           .map(e => e.querySelector('thead').textContent + ': ' + e.scrollWidth)",
        &[],
    );
    assert_eq!(cut, json!([]), "{} is cut off for {width:?}", browser.path());
}

#[test]
fn every_screen_weighs_little_asks_nobody_else_and_complains_of_nothing() {
    let room = Room::new();
    let (platform, id) = furnished(&room);
    let browser = admin(&room, &platform);
    browser.assert_quiet();
    for path in screens(&platform, &id) {
        let weight = browser.weight(&path);
        assert!((1_000..HEAVIEST).contains(&weight), "{path} weighs {weight} bytes");
        // The page that is not there says so with its status, and the browser tells.
        if path == "/tools/nothing" {
            browser.console();
        }
        browser.assert_quiet();
    }
    browser.assert_at_home();
    let painted =
        browser.script("return performance.getEntriesByName('first-contentful-paint').length", &[]);
    assert_eq!(painted, 1, "it is painted without waiting for what lives");
}

#[test]
fn every_screen_says_what_its_parts_are() {
    const FAULTS: &str = r"
const faults = [];
const tell = (what, all) => { for (const e of all) faults.push(what + ': ' + e.outerHTML.slice(0, 120)); };
const every = css => [...document.querySelectorAll(css)];
if (every('h1').length !== 1) faults.push('h1: ' + every('h1').length);
if (!document.documentElement.lang) faults.push('no language');
if (!document.title) faults.push('no title');
if (every('main').length !== 1) faults.push('main: ' + every('main').length);
tell('no label', every('input:not([type=hidden], [aria-hidden=true]), select, textarea')
  .filter(e => !(e.labels && e.labels.length) && !e.getAttribute('aria-label')));
tell('nothing on it', every('button, a[href]').filter(e => !e.hidden && !(e.getAttribute('aria-label') || e.textContent).trim()));
tell('no alt', every('img:not([alt])'));
tell('positive tabindex', every('[tabindex]').filter(e => e.tabIndex > 0));
tell('no caption', every('table').filter(t => !t.caption));
tell('no scope', every('th:not([scope])'));
tell('same id', every('[id]').filter(e => document.querySelectorAll('#' + CSS.escape(e.id)).length > 1));
tell('inline style', every('[style]'));
tell('unsafe form', every('form[method=post]').filter(f => !f.elements.csrf && !location.pathname.startsWith('/sign-in')));
return faults;
";
    let room = Room::new();
    let (platform, id) = furnished(&room);
    let browser = visit(&room, &platform);
    browser.open("/sign-in");
    assert_eq!(browser.script(FAULTS, &[]), json!([]), "/sign-in");
    super::sign_in(&browser, kit::platform::ADMIN);
    for path in screens(&platform, &id) {
        browser.open(&path);
        assert_eq!(browser.script(FAULTS, &[]), json!([]), "{path}");
    }
}

/// What is said about what was done stands apart from what comes below it.
#[test]
fn a_notice_stands_apart_and_links_in_lines_are_underlined() {
    let room = Room::new();
    let (platform, id) = furnished(&room);
    let browser = admin(&room, &platform);
    browser.open(&format!("/servers/{id}"));
    browser.click(&By::Words("Disconnect"));
    browser.wait(&By::Css(".notice"));
    let gap = browser.script(
        "const [one, next] = [document.querySelector('.notice'), document.querySelector('#state')]; \
         return next.getBoundingClientRect().top - one.getBoundingClientRect().bottom",
        &[],
    );
    assert!(gap.as_f64().is_some_and(|gap| gap >= 12.0), "{gap}");
    let body = json!({ "name": "gone", "transport_type": "HTTP",
        "connection_config": { "url": "http://127.0.0.1:9/mcp" } });
    let gone = kit::platform::id_of(&platform.register(&body));
    platform.wait_status(&gone, "ERROR");
    browser.open("/");
    browser.wait_text_in(&By::Css("#trouble"), "gone");
    let line =
        "return getComputedStyle(document.querySelector('#trouble li a')).textDecorationLine";
    assert_eq!(
        browser.script(line, &[]),
        "underline",
        "colour alone tells it from the words beside it"
    );
}

#[test]
fn the_theme_can_be_chosen_against_the_system_and_stays() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let browser = admin(&room, &platform);
    browser.theme(Theme::Light);
    let ground = || {
        let told = browser
            .script("return getComputedStyle(document.documentElement).backgroundColor", &[]);
        told.as_str().unwrap_or_default().to_owned()
    };
    browser.open("/settings");
    let light = ground();
    browser.click(&By::Words("Colours: Auto"));
    browser.wait(&By::Words("Colours: Light"));
    assert_eq!(ground(), light);
    browser.click(&By::Words("Colours: Light"));
    browser.wait(&By::Words("Colours: Dark"));
    assert_ne!(ground(), light, "the system says light, the person dark");
    browser.open("/tools");
    assert_ne!(ground(), light);
    browser.click(&By::Words("Colours: Dark"));
    browser.wait(&By::Words("Colours: Auto"));
    assert_eq!(ground(), light);
}

/// Names that strangers choose: long, without a blank, and many.
#[test]
fn long_names_fit_every_screen_they_are_on() {
    let room = Room::new();
    let long = "W".repeat(2_000);
    let schema = json!({ "properties": { "x": { "type": "string", "title": long } } });
    let definitions = [
        super::tool(&"n".repeat(100), &long, schema),
        super::tool("short", "says little", json!({ "type": "object" })),
    ];
    let definitions = definitions.each_ref().map(String::as_str);
    let fake = room.fake("long").definitions(&definitions);
    let service = fake.listen(Wire::Http);
    let platform = room.platform(&[]);
    let name = "m".repeat(60);
    let id = platform.connected(&name, &service);
    let body = json!({ "name": "x".repeat(60), "transport_type": "HTTP",
        "connection_config": { "url": format!("http://127.0.0.1:1/{}", "y".repeat(300)) } });
    let gone = kit::platform::id_of(&platform.register(&body));
    platform.wait_status(&gone, "ERROR");
    let browser = admin(&room, &platform);
    let tool = percent(&format!("{id}/{}", "n".repeat(100)));
    for path in [
        "/".to_owned(),
        "/servers".to_owned(),
        format!("/servers/{id}"),
        format!("/servers/{gone}"),
        "/tools".to_owned(),
        "/tools?q=says+little".to_owned(),
        format!("/tools/{tool}"),
        "/activity".to_owned(),
    ] {
        for width in [Width::Desk, Width::Phone] {
            browser.width(width);
            browser.open(&path);
            fits(&browser, width);
        }
    }
}

#[test]
fn on_a_phone_servers_are_connected_and_disconnected_and_names_are_seen_whole() {
    let room = Room::new();
    let (platform, id) = furnished(&room);
    let browser = admin(&room, &platform);
    let buttons = "return [...document.querySelectorAll('#servers button')].filter(e => \
        e.checkVisibility()).length";
    for width in [Width::Desk, Width::Phone] {
        browser.width(width);
        browser.open("/servers");
        assert_eq!(browser.script(buttons, &[]), 1, "one for one server: {width:?}");
    }
    browser.click(&By::InRow("tracker", "Disconnect"));
    browser.wait_text("Disconnected");
    browser.open("/servers");
    browser.click(&By::InRow("tracker", "Connect"));
    platform.wait_status(&id, "CONNECTED");
    browser.open(&format!("/servers/{id}"));
    browser.wait_text_in(&By::Css("#tools"), "tracker__create_issue");
    let text = "const e = [...document.querySelectorAll('#tools code')].find(e => \
        e.textContent === 'tracker__create_issue' && e.checkVisibility()); \
        const box = e.getBoundingClientRect(); return box.left >= 0 && box.right <= 390";
    assert_eq!(browser.script(text, &[]), true, "it is cut off");
}

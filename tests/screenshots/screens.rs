//! Which screens there are, and how each is brought to show something.

use kit::browser::{Browser, By};
use kit::platform::percent;

use crate::house::House;

pub struct Screen {
    pub name: &'static str,
    /// Brings the browser there.
    pub show: Box<dyn Fn(&Browser)>,
}

pub fn screens(house: &House<'_>) -> Vec<Screen> {
    let tool = format!("/tools/{}", percent(&format!("{}/forecast", house.main)));
    let chart = format!("/tools/{}", percent(&format!("{}/chart", house.main)));
    let failed =
        house.platform.wait_audit("a call that failed", |it| it["outcome"] == "tool-error");
    let at = |name, path: String| Screen {
        name,
        show: Box::new(move |browser| {
            browser.open(&path);
            browser.wait(&By::Css("h1"));
            browser
                .wait_for("(document.querySelector('#pulse')?.dataset.state ?? 'live') === 'live'");
        }),
    };
    vec![
        at("overview", "/".to_owned()),
        at("servers", "/servers".to_owned()),
        at("server", format!("/servers/{}", house.main)),
        at("server-error", format!("/servers/{}", house.gone)),
        at("server-new", "/servers/new".to_owned()),
        at("tools", "/tools".to_owned()),
        at("search", "/tools?q=do+I+need+an+umbrella+in+Rome".to_owned()),
        Screen { name: "tool", show: Box::new(move |browser| try_tool(browser, &tool)) },
        Screen { name: "result", show: Box::new(move |browser| call_tool(browser, &chart)) },
        at("skills", "/skills".to_owned()),
        at("activity", "/activity".to_owned()),
        at("story", format!("/activity/{}", failed["seq"])),
        at("clients", "/clients".to_owned()),
        at("settings", "/settings".to_owned()),
    ]
}

/// With its form filled in, and the result of a call.
fn try_tool(browser: &Browser, path: &str) {
    browser.open(path);
    browser.fill(&By::Label("city"), "Kyoto");
    browser.fill(&By::Label("days"), "2");
    browser.click(&By::Words("Call"));
    browser.wait_text_in(&By::Css("#outcome"), "Structured");
}

/// One that answers with a picture.
fn call_tool(browser: &Browser, path: &str) {
    browser.open(path);
    browser.fill(&By::Label("city"), "Nairobi");
    browser.click(&By::Words("Call"));
    browser.wait_for("document.querySelector('#outcome img')?.naturalWidth > 1");
}

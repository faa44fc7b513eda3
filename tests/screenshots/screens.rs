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
    let tool = format!("/tools/{}", percent(&format!("{}/create_issue", house.main)));
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
        at("search", "/tools?q=create+an+issue+about+a+bug".to_owned()),
        Screen { name: "tool", show: Box::new(move |browser| try_tool(browser, &tool)) },
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
    browser.fill(&By::Label("title"), "The pump leaks at the lower joint");
    browser.fill(&By::Label("body"), "Water on the floor since Monday.");
    browser.fill(&By::Label("labels"), "bug\nplumbing");
    browser.fill(&By::Label("owner"), "acme");
    browser.fill(&By::Label("name"), "pump");
    browser.click(&By::Words("Call"));
    browser.wait_text_in(&By::Css("#outcome"), "Created issue 482");
}

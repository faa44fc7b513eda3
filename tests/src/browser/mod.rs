//! A real browser without a window: pages are opened, read, clicked and typed into as a person would.
//!
//! Debian's Chromium, driven over the WebDriver protocol by plain HTTP. Every browser has a profile of
//! its own in the room, and is gone with all its processes when it is dropped.

mod colours;
mod driver;
mod find;
mod keys;
mod picture;
mod pointer;
mod traffic;

use serde_json::{Value, json};

use crate::LIMIT;
use crate::process::comes_true;
use crate::room::Room;

pub use colours::{Faint, contrast};
use driver::{Driver, Refused};
pub use find::By;
pub use keys::Key;
pub use traffic::{Cookie, Entry};

/// Dropping it ends the browser and everything it has started.
#[derive(Debug)]
pub struct Browser {
    driver: Driver,
    /// `http://127.0.0.1:PORT`, before every path.
    site: String,
}

/// How wide the window is, and what kind of device it is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    Desk,
    Phone,
}

impl Width {
    pub fn pixels(self) -> u32 {
        match self {
            Self::Desk => 1280,
            Self::Phone => 390,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    Light,
    Dark,
}

impl Browser {
    /// A browser with a fresh profile, for the pages below `site`.
    #[track_caller]
    pub fn start(room: &Room, site: &str) -> Self {
        let browser = Self { driver: Driver::start(room), site: site.to_owned() };
        browser.width(Width::Desk);
        // So that a page is as wide as the window, whatever is on it.
        browser.command("Emulation.setScrollbarsHidden", &json!({ "hidden": true }));
        browser
    }

    /// Opens a path of the site and waits until it is loaded.
    #[track_caller]
    pub fn open(&self, path: &str) {
        // Where the page before is still loading, the driver may take its end for that of the new one.
        drop(self.try_script("window.wasLeft = true", &[]));
        self.post("url", &json!({ "url": format!("{}{path}", self.site) }));
        let is_there = "return !window.wasLeft && document.readyState === 'complete'";
        let arrived =
            comes_true(LIMIT, || self.try_script(is_there, &[]).is_ok_and(|told| told == true));
        assert!(arrived || path.contains('#'), "{path} does not load within {LIMIT:?}");
    }

    /// The address of the page, without the site.
    #[track_caller]
    pub fn path(&self) -> String {
        let url = self.get("url");
        let url = url.as_str().unwrap_or_default();
        url.strip_prefix(&self.site).unwrap_or(url).to_owned()
    }

    #[track_caller]
    pub fn title(&self) -> String {
        self.get("title").as_str().unwrap_or_default().to_owned()
    }

    /// Everything that can be read on the page.
    #[track_caller]
    pub fn text(&self) -> String {
        self.text_of(&By::Css("body"))
    }

    /// Loads the page again.
    #[track_caller]
    pub fn reload(&self) {
        self.post("refresh", &json!({}));
    }

    /// Runs a piece of JavaScript in the page: the body of a function, which may `return`.
    #[track_caller]
    pub fn script(&self, body: &str, arguments: &[Value]) -> Value {
        let told = self.try_script(body, arguments);
        told.unwrap_or_else(|refused| panic!("{refused}\n{body}"))
    }

    fn try_script(&self, body: &str, arguments: &[Value]) -> Result<Value, Refused> {
        self.driver.post("execute/sync", &json!({ "script": body, "args": arguments }))
    }

    /// Waits until the page's text holds this.
    #[track_caller]
    pub fn wait_text(&self, part: &str) {
        self.wait_text_in(&By::Css("body"), part);
    }

    /// Waits until the text of this element holds this.
    #[track_caller]
    pub fn wait_text_in(&self, by: &By<'_>, part: &str) {
        let mut last = String::new();
        let found = comes_true(LIMIT, || {
            last = self.try_text(by).unwrap_or_default();
            last.contains(part)
        });
        assert!(found, "no {part:?} in {by:?} within {LIMIT:?} at {}: {last}", self.path());
    }

    /// Waits until the address of the page is one that is wanted.
    #[track_caller]
    pub fn wait_path(&self, wanted: impl Fn(&str) -> bool) {
        let mut last = String::new();
        let found = comes_true(LIMIT, || {
            last = self.path();
            wanted(&last)
        });
        assert!(found, "the page is still at {last}: {}", self.text());
    }

    /// Waits until this holds in the page: an expression.
    #[track_caller]
    pub fn wait_for(&self, expression: &str) {
        let body = format!("return Boolean({expression})");
        let holds = || self.try_script(&body, &[]).is_ok_and(|told| told == true);
        assert!(comes_true(LIMIT, holds), "not within {LIMIT:?}: {expression}\n{}", self.text());
    }

    /// As a window of a desk's size, or as a phone.
    #[track_caller]
    pub fn width(&self, width: Width) {
        let (wide, mobile) = (width.pixels(), width == Width::Phone);
        let high = if mobile { 844 } else { 800 };
        self.command(
            "Emulation.setDeviceMetricsOverride",
            &json!({ "width": wide, "height": high, "deviceScaleFactor": 1, "mobile": mobile }),
        );
    }

    /// What the system is said to prefer.
    #[track_caller]
    pub fn theme(&self, theme: Theme) {
        let value = if theme == Theme::Dark { "dark" } else { "light" };
        let scheme = json!({ "name": "prefers-color-scheme", "value": value });
        let still = json!({ "name": "prefers-reduced-motion", "value": "reduce" });
        self.command("Emulation.setEmulatedMedia", &json!({ "features": [scheme, still] }));
    }

    /// From the next page on, none runs scripts of its own.
    #[track_caller]
    pub fn without_scripts(&self) {
        self.command("Emulation.setScriptExecutionDisabled", &json!({ "value": true }));
    }

    /// A command of Chromium's own protocol.
    #[track_caller]
    fn command(&self, name: &str, parameters: &Value) -> Value {
        self.post("goog/cdp/execute", &json!({ "cmd": name, "params": parameters }))
    }

    #[track_caller]
    fn get(&self, path: &str) -> Value {
        self.driver.get(path).unwrap_or_else(|refused| panic!("{refused}"))
    }

    #[track_caller]
    fn post(&self, path: &str, body: &Value) -> Value {
        self.driver.post(path, body).unwrap_or_else(|refused| panic!("{refused}"))
    }
}

/// A failed test says what the page has said.
impl Drop for Browser {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let shown = self.driver.get("url").unwrap_or_default();
            let console = self.console();
            println!("-- browser at {shown}\n-- console: {console:#?}");
            if let Ok(text) = self.try_text(&By::Css("body")) {
                println!("-- page:\n{text}");
            }
        }
    }
}

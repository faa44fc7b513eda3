//! What a page has said to the console, and which requests it has made.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::Browser;

/// A line of the console.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// `SEVERE`, `WARNING`, …
    pub level: String,
    pub message: String,
}

/// What the browser keeps for the site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cookie {
    pub name: String,
    pub value: String,
    pub is_http_only: bool,
    /// `Strict`, `Lax` or `None`.
    pub same_site: String,
}

/// Pages of the browser itself.
const OWN: [&str; 2] = ["chrome:", "chrome-untrusted:"];

impl Browser {
    #[track_caller]
    pub fn cookies(&self) -> Vec<Cookie> {
        let told = self.get("cookie");
        let text = |it: &Value, name: &str| it[name].as_str().unwrap_or_default().to_owned();
        let cookie = |it: &Value| Cookie {
            name: text(it, "name"),
            value: text(it, "value"),
            is_http_only: it["httpOnly"] == true,
            same_site: text(it, "sameSite"),
        };
        told.as_array().into_iter().flatten().map(cookie).collect()
    }

    /// Everything the console has said since it was last asked.
    pub fn console(&self) -> Vec<Entry> {
        let text = |entry: &Value, name: &str| entry[name].as_str().unwrap_or_default().to_owned();
        let entry = |it: &Value| Entry { level: text(it, "level"), message: text(it, "message") };
        self.log("browser").iter().map(entry).collect()
    }

    /// The console has complained of nothing.
    #[track_caller]
    pub fn assert_quiet(&self) {
        let mut entries = self.console();
        entries.retain(|entry| entry.level == "SEVERE" || entry.level == "WARNING");
        assert!(entries.is_empty(), "at {}: {entries:#?}", self.path());
    }

    /// Every address that was asked for since this was last asked, of whatever kind. The browser's
    /// own pages do not count: where it starts slowly, it still loads the one for a new tab.
    pub fn requested(&self) -> BTreeSet<String> {
        let entries = self.log("performance");
        let url = |entry: &Value| {
            let message: Value = serde_json::from_str(entry["message"].as_str()?).ok()?;
            let message = &message["message"];
            let sent = message["method"] == "Network.requestWillBeSent";
            let socket = message["method"] == "Network.webSocketCreated";
            let url = match (sent, socket) {
                (true, _) => &message["params"]["request"]["url"],
                (_, true) => &message["params"]["url"],
                _ => return None,
            };
            url.as_str().map(str::to_owned)
        };
        let is_own = |url: &String| OWN.iter().any(|scheme| url.starts_with(scheme));
        entries.iter().filter_map(url).filter(|url| !is_own(url)).collect()
    }

    /// No request has left for anywhere but this site.
    #[track_caller]
    pub fn assert_at_home(&self) {
        let own = |url: &str| {
            url.strip_prefix(&self.site).is_some_and(|rest| rest.starts_with('/'))
                || ["data:", "about:", "blob:"].iter().any(|scheme| url.starts_with(scheme))
        };
        let foreign: Vec<String> = self.requested().into_iter().filter(|url| !own(url)).collect();
        assert!(foreign.is_empty(), "requests that leave the host: {foreign:#?}");
    }

    /// Bytes that came over the wire for the page and all it is made of, as for a first visit.
    #[track_caller]
    pub fn weight(&self, path: &str) -> u64 {
        self.command("Network.setCacheDisabled", &json!({ "cacheDisabled": true }));
        self.open(path);
        let told = self.script(
            "const all = ['navigation', 'resource'].flatMap(k => performance.getEntriesByType(k)); \
             return all.reduce((sum, e) => sum + e.transferSize, 0)",
            &[],
        );
        self.command("Network.setCacheDisabled", &json!({ "cacheDisabled": false }));
        told.as_u64().unwrap_or_else(|| panic!("no number: {told}"))
    }

    fn log(&self, kind: &str) -> Vec<Value> {
        let told = self.driver.post("se/log", &json!({ "type": kind })).unwrap_or_default();
        told.as_array().cloned().unwrap_or_default()
    }
}

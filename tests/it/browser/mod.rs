//! The dashboard in a real browser, as people use it: with a mouse, with the keyboard alone, on a phone,
//! in the dark, and without scripts.

mod editing;
mod hands;
mod itself;
mod life;
mod live;
mod looks;
mod plain;
mod policies;
mod shifts;
mod single_sign_on;
mod skills;
mod trial;

use kit::browser::{Browser, By};
use kit::config::Fake;
use kit::platform::{ADMIN, Platform};
use kit::room::Room;
use kit::say;
use serde_json::{Value, json};

/// A browser that has not signed in.
#[track_caller]
fn visit(room: &Room, platform: &Platform) -> Browser {
    Browser::start(room, &format!("http://{}", platform.serve().address()))
}

/// A browser in which the admin has signed in.
#[track_caller]
fn admin(room: &Room, platform: &Platform) -> Browser {
    let browser = visit(room, platform);
    browser.open("/");
    sign_in(&browser, ADMIN);
    browser
}

#[track_caller]
fn sign_in(browser: &Browser, token: &str) {
    browser.fill(&TOKEN, token);
    browser.click(&By::Words("Sign in"));
    browser.wait(&By::Words("Sign out"));
}

const TOKEN: By<'_> = By::Label("Token");

/// A tool as its server lists it.
fn tool(name: &str, description: &str, schema: Value) -> String {
    json!({ "name": name, "description": description, "inputSchema": schema }).to_string()
}

/// A server with a few tools that are told apart by what they do.
fn tracker<'a>(room: &'a Room, name: &str) -> Fake<'a> {
    let issue = json!({
        "type": "object",
        "properties": {
            "title": { "type": "string", "description": "One line" },
            "body": { "type": "string" },
            "priority": { "enum": ["low", "high"], "default": "low" },
            "estimate": { "type": "integer", "minimum": 0 },
            "labels": { "type": "array", "items": { "type": "string" } },
            "notify": { "type": "boolean" },
            "where": {
                "type": "object",
                "properties": { "repo": { "type": "string" } },
                "required": ["repo"],
            },
        },
        "required": ["title", "where"],
    });
    let tools = [
        tool("create_issue", "Create an issue in the tracker", issue),
        tool("forecast", "Weather forecast: rain and wind for a city", json!({ "type": "object" })),
    ];
    let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
    room.fake(name)
        .definitions(&tools)
        .tool("create_issue", say::echo())
        .tool("forecast", say::steps([say::text("Rain, and more rain")]))
}

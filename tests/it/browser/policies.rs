//! An admin writes policies: adds one, sees a mistake with its line, tries a draft, saves it, asks who may do what.

use kit::LIMIT;
use kit::browser::{Browser, By};
use kit::mcp::Speak as _;
use kit::platform::{ADMIN, Platform, id_of};
use kit::room::Room;
use kit::service::Wire;
use rustix::process::Signal;
use serde_json::json;

use super::{admin, sign_in, tracker, visit};

const ALL: &str = "@id(\"all\") permit(principal, action, resource);";
const NO_WEATHER: &str = "@id(\"all\") permit(principal, action, resource);\n\
    @id(\"no-weather\") @reason(\"look outside\")\n\
    forbid(principal, action == Trunkline::Action::\"call\", resource == Trunkline::Tool::\"tracker.forecast\");";

fn platform(room: &Room, flags: &[&str]) -> Platform {
    let service = tracker(room, "tracker").listen(Wire::Http);
    let platform = room.platform(flags);
    platform.connected("tracker", &service);
    room.keep(service);
    platform
}

fn put(platform: &Platform, id: &str, text: &str) {
    let body = json!({ "text": text }).to_string();
    let path = format!("/api/v1/policies/{id}");
    let answer = platform.admin().with_body("PUT", &path, body.as_bytes());
    assert!([200, 201].contains(&answer.status()), "{answer}");
}

/// Asks whether this key may call the forecast; the page shows what it was told.
fn ask_forecast(browser: &Browser, key: &str) -> String {
    browser.choose(&By::Label("Who"), "API key");
    browser.fill(&By::Label("Key id or user"), key);
    browser.choose(&By::Label("Action"), "Call");
    browser.choose(&By::Label("Kind"), "Tool");
    browser.fill(&By::Label("Server"), "tracker");
    browser.fill(&By::Label("Name"), "forecast");
    browser.click(&By::Words("Ask"));
    browser.wait(&DECISION);
    browser.text_of(&DECISION)
}

const DECISION: By<'_> = By::Css("#decision");
const TEXT: By<'_> = By::Label("Text");

/// From no policy to one that holds, is changed, tried, asked about and removed.
fn write_policies(browser: &Browser, platform: &Platform) {
    let key = platform.make_key(&json!({ "name": "ci", "role": "caller" }));
    let (id, token) = (id_of(&key), key["key"].as_str().expect("a key"));
    browser.open("/policies");
    browser.wait_text("No policies");
    browser.click(&By::Words("Add a policy"));
    browser.fill(&By::Label("Id"), "base");
    // A mistake is told with its line, and what was written stays.
    browser.fill(&TEXT, "\npermit(principal, action, resorce);");
    browser.click(&By::Css("button.primary"));
    browser.wait_text_in(&By::Css(".mistake"), "line 2");
    assert!(browser.value_of(&TEXT).contains("resorce"));
    assert_eq!(browser.value_of(&By::Label("Id")), "base");
    browser.fill(&TEXT, ALL);
    browser.click(&By::Css("button.primary"));
    browser.wait_text("Policy base added.");
    browser.wait_text_in(&By::Css("#policies"), "all");
    platform.mcp(token).call("tracker.forecast", "{}").result();

    // A draft is tried before it holds.
    browser.click(&By::Words("base"));
    browser.fill(&TEXT, NO_WEATHER);
    browser.click(&By::Words("Try before saving"));
    browser.wait_text("in the place of base");
    let told = ask_forecast(browser, &id);
    assert!(told.contains("Refused") && told.contains("look outside"), "{told}");
    assert!(told.contains("\"no-weather\" forbids the caller to call"), "{told}");
    platform.mcp(token).call("tracker.forecast", "{}").result();
    browser.open("/policies/test");
    let told = ask_forecast(browser, &id);
    assert!(told.contains("Allowed") && told.contains("\"all\" permits"), "{told}");
    browser.fill(&By::Label("Key id or user"), "nobody");
    browser.click(&By::Words("Ask"));
    browser.wait_text_in(&By::Css(".mistake"), "Names no API key");

    browser.open("/policies/base/text");
    browser.fill(&TEXT, NO_WEATHER);
    browser.click(&By::Words("Save"));
    browser.wait_text("Policy base saved.");
    assert_eq!(platform.mcp(token).call("tracker.forecast", "{}").code(), -31013);
    browser.open("/policies/test");
    let told = ask_forecast(browser, &id);
    assert!(told.contains("Refused"), "{told}");

    browser.open("/policies/base/text");
    browser.click(&By::Words("Remove"));
    browser.wait_text("stop holding at once");
    browser.click(&By::Words("Remove base"));
    browser.wait_text("Policy base removed.");
    platform.mcp(token).call("tracker.forecast", "{}").result();
}

#[test]
fn a_policy_is_added_tried_changed_asked_about_and_removed() {
    let room = Room::new();
    let platform = platform(&room, &[]);
    let browser = admin(&room, &platform);
    write_policies(&browser, &platform);
    browser.assert_at_home();
}

#[test]
fn policies_are_written_without_scripts() {
    let room = Room::new();
    let platform = platform(&room, &[]);
    let browser = visit(&room, &platform);
    browser.without_scripts();
    browser.open("/");
    sign_in(&browser, ADMIN);
    write_policies(&browser, &platform);
}

#[test]
fn a_policy_that_somebody_else_has_changed_is_not_overwritten() {
    let room = Room::new();
    let platform = platform(&room, &[]);
    put(&platform, "base", ALL);
    let browser = admin(&room, &platform);
    browser.open("/policies/base/text");
    browser.wait(&TEXT);
    put(&platform, "base", NO_WEATHER);
    browser.fill(&TEXT, "// mine");
    browser.click(&By::Words("Save"));
    browser.wait_text("Somebody else was faster");
    assert_eq!(browser.value_of(&TEXT), "// mine", "nothing has to be typed twice");
    // Nor is one that is there when another is added under its id.
    browser.open("/policies/new");
    browser.fill(&By::Label("Id"), "base");
    browser.click(&By::Css("button.primary"));
    browser.wait_text("There is a policy with this id.");
    let stored = platform.admin().get("/api/v1/policies/base").is(200);
    assert_eq!(stored["text"], NO_WEATHER);
}

/// A file that has the id of a stored policy keeps all stored ones from being used.
#[test]
fn a_policy_that_cannot_be_used_says_so_and_is_mended() {
    let room = Room::new();
    {
        let platform = room.platform(&[]);
        put(&platform, "base", ALL);
        platform.serve().process().signal(Signal::TERM);
        platform.serve().process().wait_exit(LIMIT);
    }
    let file = room.write("p.cedar", ALL);
    let platform = room.platform(&["--policies", file.to_str().expect("UTF-8")]);
    let browser = admin(&room, &platform);
    browser.open("/policies");
    browser.wait_text_in(&By::Css("#policies"), "Not in force");
    browser.wait_text_in(&By::Css("#policies"), "the id `all` is taken");
    browser.click(&By::Words("base"));
    browser.wait_text_in(&By::Css(".notice.bad"), "the id `all` is taken");
    browser.fill(&TEXT, "@id(\"stored\") permit(principal, action, resource);");
    browser.click(&By::Words("Save"));
    browser.wait_text("Policy base saved.");
    browser.wait_text("Rules in force");
    browser.open("/policies");
    browser.wait_text_in(&By::Css("#policies"), "stored");
    assert!(!browser.text_of(&By::Css("#policies")).contains("Not in force"));
}

/// Operators look and ask; files are changed where they are.
#[test]
fn policies_of_files_and_for_operators_are_shown_and_cannot_be_changed() {
    let room = Room::new();
    let file = room.write("p.cedar", ALL);
    let platform = platform(&room, &["--policies", file.to_str().expect("UTF-8")]);
    let other = "@id(\"mine\") permit(principal, action, resource);";
    put(&platform, "more", other);
    let browser = admin(&room, &platform);
    browser.open("/policies");
    browser.click(&By::Words(file.to_str().expect("UTF-8")));
    browser.wait_text("This text is a file.");
    browser.wait_text("permit(principal, action, resource);");
    assert!(!browser.shows(&By::Words("Save")) && !browser.shows(&By::Words("Remove")));
    browser.click(&By::Words("Sign out"));
    browser.open("/policies");
    sign_in(&browser, &platform.key("operator"));
    browser.wait_text_in(&By::Css("#policies"), "more");
    assert!(!browser.shows(&By::Words("Add a policy")));
    browser.click(&By::Words("more"));
    browser.wait_text("@id(\"mine\")");
    assert!(!browser.shows(&By::Words("Save")) && !browser.shows(&By::Words("Remove")));
    browser.open("/policies/test");
    browser.choose(&By::Label("Who"), "Admin token");
    browser.choose(&By::Label("Action"), "List");
    browser.choose(&By::Label("Kind"), "Server");
    browser.fill(&By::Label("Server"), "tracker");
    browser.click(&By::Words("Ask"));
    browser.wait_text_in(&DECISION, "Allowed");
}

//! One person's afternoon: signing in, adding a server, finding a tool, calling it, signing out.

use kit::browser::By;
use kit::platform::ADMIN;
use kit::room::Room;
use kit::service::Wire;

use super::{TOKEN, sign_in, tracker, visit};

#[test]
fn a_person_adds_a_server_finds_a_tool_calls_it_and_signs_out() {
    let room = Room::new();
    let service = tracker(&room, "tracker").listen(Wire::Http);
    let platform = room.platform(&[]);
    let browser = visit(&room, &platform);

    browser.open("/servers");
    browser.fill(&TOKEN, "not-the-token");
    browser.click(&By::Words("Sign in"));
    browser.wait_text("Unknown token.");
    // That a page was refused is said in the console, too.
    browser.console();
    sign_in(&browser, ADMIN);
    browser.wait_text("No servers yet");

    browser.click(&By::Words("Add a server"));
    browser.fill(&By::Label("Name"), "bad name!");
    browser.fill(&By::Label("URL"), "ftp://nowhere");
    browser.click(&By::Words("Add"));
    browser.wait(&By::Css("#name[aria-invalid=true]"));
    browser.wait(&By::Css("#url[aria-invalid=true]"));
    browser.console();
    browser.fill(&By::Label("Name"), "tracker");
    browser.fill(&By::Label("URL"), service.url());
    browser.click(&By::Words("Add"));
    browser.wait_path(|path| path.starts_with("/servers") && !path.ends_with("/new"));
    // It connects while one looks.
    browser.wait_text("Connected");
    browser.wait_text("create_issue");
    // And says who it is, without being loaded again.
    browser.wait_text_in(&By::Css("#identity"), "tools");

    browser.click(&By::Words("Tools"));
    browser.fill(&By::Label("Search tools"), "will it rain?");
    browser.click(&By::Words("Search"));
    browser.wait_text_in(&By::Css("#tools caption"), "found");
    browser.click(&By::Words("tracker.forecast"));
    browser.click(&By::Words("Call"));
    browser.wait_text_in(&By::Css("#outcome"), "Rain, and more rain");
    browser.click(&By::Words("Activity"));
    browser.wait_text("tracker.forecast");
    browser.wait_text("register server tracker");

    browser.click(&By::Words("Sign out"));
    browser.wait(&TOKEN);
    browser.open("/tools");
    browser.wait(&TOKEN);
    browser.assert_quiet();
    browser.assert_at_home();
}

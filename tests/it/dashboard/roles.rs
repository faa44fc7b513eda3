//! Who sees what, and who may do what: every screen times every role.

use kit::dashboard::Person;
use kit::platform::{ADMIN, id_of, remote};
use kit::room::Room;
use kit::service::Wire;
use serde_json::json;

use super::{SCREENS, echoing};

const RANKS: [&str; 4] = ["viewer", "caller", "operator", "admin"];

fn rank(role: &str) -> Option<usize> {
    RANKS.iter().position(|known| *known == role)
}

#[test]
fn every_screen_is_for_its_role_and_those_above() {
    let room = Room::new();
    let platform = room.platform(&[]);
    for role in RANKS {
        let person = Person::signed_in(&platform, &platform.key(role));
        let menu = person.page("/");
        for (path, least) in SCREENS {
            let may = rank(role) >= rank(least);
            let answer = person.get(path);
            assert_eq!(answer.status(), if may { 200 } else { 403 }, "{path} as {role}");
            let is_linked = menu.contains(&format!("<li><a href=\"{path}\""));
            assert!(may || !is_linked, "{path} is in the menu of {role}");
        }
    }
}

/// Each with a body that would do, if it were allowed.
#[test]
fn every_change_is_for_its_role_and_those_above() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&[]);
    let id = platform.connected("a", &service);
    for role in RANKS {
        let person = Person::signed_in(&platform, &platform.key(role));
        let page = person.page("/clients");
        let token = kit::dashboard::csrf(&page).to_owned();
        for (path, least) in [
            ("/servers/new".to_owned(), "operator"),
            (format!("/servers/{id}/edit"), "operator"),
            (format!("/servers/{id}/connect"), "operator"),
            ("/servers/nobody/disconnect".to_owned(), "operator"),
            ("/servers/nobody/remove".to_owned(), "operator"),
            (format!("/tools/{id}%2Fecho"), "caller"),
            (format!("/tools/{id}%2Fecho/skills"), "operator"),
            ("/skills".to_owned(), "operator"),
            ("/skills/suggestions/nobody/approve".to_owned(), "operator"),
            ("/skills/suggestions/nobody/reject".to_owned(), "operator"),
            ("/review/nobody/approve".to_owned(), "operator"),
            ("/review/nobody/reject".to_owned(), "operator"),
            ("/servers/nobody/login".to_owned(), "operator"),
            ("/servers/nobody/logout".to_owned(), "operator"),
            ("/policies/test".to_owned(), "operator"),
            ("/policies/new".to_owned(), "admin"),
            ("/policies/nobody/text".to_owned(), "admin"),
            ("/policies/nobody/remove".to_owned(), "admin"),
            ("/clients/keys".to_owned(), "admin"),
            ("/clients/keys/nobody/revoke".to_owned(), "admin"),
        ] {
            let sent = person.send(&person.form(&path, &[("csrf", &token)]));
            let may = rank(role) >= rank(least);
            assert_eq!(sent.status() != 403, may, "{path} as {role}: {}", sent.head.raw);
            assert!(sent.status() < 500, "{path} as {role}: {}", sent.text());
        }
    }
    platform.wait_status(&id, "CONNECTED");
    // Forms with mistakes, of those who may send them, are recorded as such.
    let has_mistakes = |record: &serde_json::Value| {
        record["detail"].as_str().is_some_and(|detail| detail.starts_with("422 "))
    };
    let tried =
        |record: &serde_json::Value| record["outcome"] == "refused" && !has_mistakes(record);
    assert!(!platform.audit().iter().any(tried), "the API was not even asked");
}

#[test]
fn who_may_use_some_tools_sees_those_and_no_other_server() {
    let room = Room::new();
    let (one, other) = (echoing(&room, "one").listen(Wire::Http), echoing(&room, "other"));
    let other = other.listen(Wire::Http);
    let platform = room.platform(&[]);
    let id = platform.connected("visible", &one);
    let hidden = id_of(&platform.register(&remote("secluded", &other)));
    platform.wait_status(&hidden, "CONNECTED");
    let key =
        platform.make_key(&json!({ "name": "some", "role": "caller", "tools": ["visible.echo"] }));
    let person = Person::signed_in(&platform, key["key"].as_str().unwrap());
    let page = person.page("/servers");
    assert!(page.contains("visible") && !page.contains("secluded"), "{page}");
    assert!(!person.page("/").contains("secluded"));
    assert!(person.page(&format!("/servers/{id}")).contains("visible.echo"));
    assert_eq!(person.get(&format!("/servers/{hidden}")).status(), 404);
    assert!(!String::from_utf8_lossy(&person.get("/settings/export").body).contains("secluded"));
    let tools = person.page("/tools");
    assert!(tools.contains("visible.echo") && !tools.contains("secluded"), "{tools}");
    assert!(!person.page("/tools?q=echo").contains("secluded"));
    assert!(person.page(&format!("/tools/{id}%2Fecho")).contains("visible.echo"));
    for path in [format!("/tools/{hidden}%2Fecho"), format!("/tools/{id}%2Fnothing")] {
        assert_eq!(person.get(&path).status(), 404, "{path}");
        let sent =
            person.submit(&format!("/tools/{id}%2Fecho"), &format!("/tools/{id}%2Fecho"), &[]);
        let place = sent.head.header("location").unwrap_or_default();
        assert!(person.page(place).contains("id=\"outcome\""), "the own one is called: {place}");
        let token = kit::dashboard::csrf(&tools).to_owned();
        let sent = person.send(&person.form(&path, &[("csrf", &token), ("do", "call")]));
        assert_eq!(sent.status(), 404, "{path}");
    }
    let admin = Person::signed_in(&platform, ADMIN);
    assert!(admin.page("/servers").contains("secluded"));
    assert!(admin.page("/tools").contains("secluded.echo"));
}

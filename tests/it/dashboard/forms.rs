//! Keys, colours and the export, by forms.

use kit::dashboard::{Person, between};
use kit::platform::{ADMIN, KEYS};
use kit::room::Room;

#[test]
fn a_key_is_made_shown_once_used_and_revoked() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let person = Person::signed_in(&platform, ADMIN);
    assert!(person.page("/clients").contains("No keys yet"));
    let fields =
        [("name", "a laptop"), ("role", "caller"), ("tools", "a.*\nb.echo"), ("days", "30")];
    let made = person.submit("/clients", "/clients/keys", &fields);
    assert_eq!(made.status(), 303, "{}", made.text());
    let page = person.page("/clients");
    let key = between(&page, "id=\"new-key\">", "<").expect("the key").to_owned();
    assert!(key.starts_with("tl_"), "{key}");
    assert!(!person.page("/clients").contains(&key), "shown once");
    let me = platform.rest(Some(&key)).get("/api/v1/me").is(200);
    assert_eq!((me["role"].as_str(), me["tools"][1].as_str()), (Some("caller"), Some("b.echo")));
    let listed = platform.admin().get(KEYS).is(200);
    assert!(listed["keys"][0]["expires_at"].is_string());
    let id = kit::platform::id_of(&listed["keys"][0]);
    let revoke = format!("/clients/keys/{id}/revoke");
    assert!(person.page(&revoke).contains("Revoke a laptop?"));
    assert_eq!(person.submit(&revoke, &revoke, &[]).status(), 303);
    platform.rest(Some(&key)).get("/api/v1/me").problem(401, "unauthenticated");
    assert!(person.page("/clients").contains("revoked"));
}

#[test]
fn mistakes_in_a_key_are_said_and_none_is_made() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let person = Person::signed_in(&platform, ADMIN);
    for (field, value) in
        [("name", ""), ("tools", "no pattern at all"), ("days", "soon"), ("role", "king")]
    {
        let good = [("name", "x"), ("role", "viewer"), ("tools", ""), ("days", "")];
        let fields = good.map(|(name, kept)| (name, if name == field { value } else { kept }));
        let answer = person.submit("/clients", "/clients/keys", &fields);
        assert_eq!(answer.status(), 422, "{field}: {}", answer.text());
        assert!(answer.text().contains("class=\"mistake\""), "{field}: {}", answer.text());
    }
    assert_eq!(platform.admin().get(KEYS).is(200)["total"], 0);
}

#[test]
fn colours_are_kept_in_a_cookie_and_lead_back() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let person = Person::signed_in(&platform, ADMIN);
    assert!(!person.page("/servers").contains("data-theme"));
    let answer = person.submit("/servers", "/ui/theme", &[("theme", "dark"), ("back", "/servers")]);
    assert_eq!(answer.head.header("location"), Some("/servers"));
    let set = answer.head.header("set-cookie").unwrap();
    assert!(set.starts_with("trunkline_theme=dark;"), "{set}");
    let both = format!("{}; trunkline_theme=dark", person.cookie().unwrap());
    let ask = kit::http::Ask::get("/servers").header("Cookie", &both);
    let page = Person::stranger(platform.serve().address()).send(&ask).text();
    assert!(page.contains("data-theme=\"dark\""), "{page}");
    let evil = person.submit("/servers", "/ui/theme", &[("theme", "\r\nx"), ("back", "//evil")]);
    assert_eq!(evil.head.header("location"), Some("/"));
}

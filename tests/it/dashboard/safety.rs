//! What a hostile page or a hostile server can do to whoever looks at the dashboard: nothing.

use kit::dashboard::{Person, csrf, fetched};
use kit::http::Ask;
use kit::platform::{ADMIN, KEYS, SERVERS, id_of, remote, stdio};
use kit::room::Room;
use kit::service::Wire;
use kit::{LIMIT, foreign, say};
use serde_json::{Value, json};

use super::{SCREENS, echoing};

const POLICY: [&str; 6] = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
];

#[test]
fn every_page_is_kept_nowhere_and_runs_nothing_that_is_not_ours() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&[]);
    let id = platform.connected("a", &service);
    let person = Person::signed_in(&platform, ADMIN);
    let stranger = Person::stranger(platform.serve().address());
    let server = format!("/servers/{id}");
    let mut pages: Vec<_> = SCREENS.iter().map(|(path, _)| person.get(path)).collect();
    pages.extend([person.get(&server), person.get(&format!("{server}/edit"))]);
    pages.extend([person.get("/servers/nobody"), person.get("/servers/x/y/z")]);
    pages.extend([stranger.get("/sign-in"), stranger.get("/"), stranger.get("/ui/assets/x")]);
    for page in &pages {
        let (head, text) = (&page.head, page.text());
        assert_eq!(head.header("cache-control"), Some("no-store"), "{}", head.raw);
        assert_eq!(head.header("x-content-type-options"), Some("nosniff"), "{}", head.raw);
        assert_eq!(head.header("referrer-policy"), Some("same-origin"), "{}", head.raw);
        let policy = head.header("content-security-policy").unwrap_or_default();
        assert!(POLICY.iter().all(|part| policy.contains(part)), "{}", head.raw);
        assert!(!policy.contains("unsafe"), "{policy}");
        for inline in [" style=", " onclick=", " onload=", "javascript:", "<style"] {
            assert!(!text.contains(inline), "{inline}: {text}");
        }
        assert!(!text.replace("<script type=\"module\" src=", "").contains("<script"), "{text}");
        for address in fetched(&text) {
            assert!(address.starts_with("/ui/assets/"), "{address}");
        }
    }
}

#[test]
fn what_pages_fetch_is_kept_for_ever_and_small() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let person = Person::signed_in(&platform, ADMIN);
    for (path, _) in SCREENS {
        let page = person.get(path);
        let mut weight = page.body.len();
        for address in fetched(&page.text()) {
            // Nobody has to have signed in for these.
            let asset = Person::stranger(platform.serve().address()).get(&address);
            assert_eq!(asset.status(), 200, "{address}");
            let caching = asset.head.header("cache-control").unwrap_or_default();
            assert!(caching.contains("immutable"), "{address}: {caching}");
            weight += asset.body.len();
        }
        assert!(weight < 150_000, "{path}: {weight} bytes");
    }
}

#[test]
fn forms_of_other_pages_are_refused_and_nothing_is_done() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let person = Person::signed_in(&platform, ADMIN);
    let page = person.page("/clients");
    let token = csrf(&page).to_owned();
    let port = platform.serve().address().port();
    let fields = [("name", "evil"), ("role", "admin")];
    let with = |token: &str| {
        let all = [&[("csrf", token)], &fields[..]].concat();
        person.form("/clients/keys", &all)
    };
    let mut refused: Vec<(String, Ask)> = vec![
        ("without a token".to_owned(), person.form("/clients/keys", &fields)),
        ("with an empty one".to_owned(), with("")),
        ("with another one".to_owned(), with(&"0".repeat(64))),
        ("with half of it".to_owned(), with(&token[..32])),
    ];
    for site in ["cross-site", "same-site", "nonsense"] {
        refused.push((site.to_owned(), with(&token).header("Sec-Fetch-Site", site)));
    }
    for origin in foreign::origins(port) {
        refused.push((origin.clone(), with(&token).header("Origin", &origin)));
    }
    let other = Person::signed_in(&platform, ADMIN);
    let theirs = other.page("/clients");
    refused.push(("with somebody else's".to_owned(), with(csrf(&theirs))));
    for (what, ask) in refused {
        let answer = person.send(&ask);
        assert!([400, 403, 421].contains(&answer.status()), "{what}: {}", answer.head.raw);
    }
    let answer = person.send(&with(""));
    assert!(answer.text().contains("Nothing was done"), "{}", answer.text());
    assert_eq!(platform.admin().get(KEYS).is(200)["total"], 0);
    let answer = person.send(&with(&token));
    assert_eq!(answer.status(), 303, "the same with what it needs: {}", answer.text());
    assert_eq!(platform.admin().get(KEYS).is(200)["total"], 1);
}

/// Nothing happens because somebody looks at an address.
#[test]
fn nothing_that_changes_something_is_a_get() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&[]);
    let id = platform.connected("a", &service);
    let person = Person::signed_in(&platform, ADMIN);
    for path in ["connect", "disconnect"] {
        assert_eq!(person.get(&format!("/servers/{id}/{path}")).status(), 405, "{path}");
    }
    for path in ["/sign-out", "/clients/keys", "/ui/theme"] {
        assert_eq!(person.get(path).status(), 405, "{path}");
    }
    assert!(person.page(&format!("/servers/{id}/remove")).contains("Remove a"));
    platform.wait_status(&id, "CONNECTED");
}

#[test]
fn what_servers_and_people_write_is_text() {
    let room = Room::new();
    let attack = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&";
    let definition = json!({
        "name": "tool",
        "title": attack,
        "description": attack,
        "inputSchema": { "type": "object", "description": attack },
        "annotations": { "title": attack, "readOnlyHint": true },
    });
    let service = room
        .fake("a")
        .definitions(&[&definition.to_string()])
        .instructions(attack)
        .info(&json!({ "name": attack, "version": attack }).to_string())
        .listen(Wire::Http);
    let platform = room.platform(&["--allow-stdio-registration"]);
    let mut body = remote("a", &service);
    body["description"] = attack.into();
    let id = id_of(&platform.register(&body));
    platform.wait_status(&id, "CONNECTED");
    // One that fails with its own words.
    let broken = room.fake("b").at_start(say::steps([say::stderr(attack), say::exit(3)]));
    let broken = id_of(&platform.register(&stdio("b", &broken.entry())));
    platform.wait_server(&broken, "failed", LIMIT, |server| server["last_error"].is_object());
    platform.make_key(&json!({ "name": attack, "role": "viewer" }));
    let person = Person::signed_in(&platform, ADMIN);
    let mut seen = 0;
    for path in [
        "/".to_owned(),
        "/servers".to_owned(),
        "/clients".to_owned(),
        "/tools".to_owned(),
        "/activity".to_owned(),
        format!("/servers/{id}"),
        format!("/servers/{id}/edit"),
        format!("/servers/{broken}"),
    ] {
        let text = person.page(&path);
        assert!(!text.contains("<script>") && !text.contains("<img src=x"), "{path}: {text}");
        seen += text.matches("&lt;script&gt;").count();
    }
    assert!(seen > 5, "it is shown, as text: {seen}");
    let sent = person.submit("/servers/new", "/servers/new", &[("name", attack), ("url", attack)]);
    assert_eq!(sent.status(), 422);
    assert!(!sent.text().contains("<script>") && sent.text().contains("&lt;script&gt;"));
}

#[test]
fn no_page_shows_a_secret() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&["--allow-stdio-registration"]);
    let secrets = ["canary-1-header", "canary-2-query", "canary-3-health", "canary-4-env", ADMIN];
    let mut body = remote("a", &service);
    body["connection_config"]["headers"] = json!({ "X-Key": secrets[0] });
    body["connection_config"]["url"] = format!("{}?k={}", service.url(), secrets[1]).into();
    body["health_check_url"] = format!("{}?k={}", service.url(), secrets[2]).into();
    let remote = id_of(&platform.register(&body));
    let fake = echoing(&room, "c").env("SECRET", secrets[3]);
    let command = id_of(&platform.register(&stdio("c", &fake.entry())));
    for id in [&remote, &command] {
        platform.wait_status(id, "CONNECTED");
    }
    let key = platform.key("admin");
    let person = Person::signed_in(&platform, ADMIN);
    let mut paths: Vec<String> = SCREENS.iter().map(|(path, _)| (*path).to_owned()).collect();
    for id in [&remote, &command] {
        paths.extend([format!("/servers/{id}"), format!("/servers/{id}/edit")]);
    }
    for path in &paths {
        let text = person.get(path).text();
        for secret in secrets.iter().chain([&&*key]) {
            assert!(!text.contains(secret), "{path}: {secret}");
        }
    }
    assert!(person.page(&format!("/servers/{command}")).contains("SECRET"), "the name is shown");
    let exported: Value = serde_json::from_slice(&person.get("/settings/export").body).unwrap();
    assert_eq!(exported["mcpServers"]["c"]["env"]["SECRET"], "${SECRET}");
    assert_eq!(platform.admin().get(SERVERS).is(200)["total"], 2);
}

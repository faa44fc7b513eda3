//! Who may do what: every route of the API times every kind of token.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use kit::LIMIT;
use kit::http::Ask;
use kit::platform::{ADMIN, KEYS, Platform, id_of};
use kit::rest::Rest;
use kit::room::Room;
use kit::{foreign, mcp, scan};
use serde_json::json;

/// The least role for each route; `None` is open to all. A route that is missing here, or there,
/// fails the test.
const ROUTES: [(&str, &str, Option<&str>); 53] = [
    ("GET", "/healthz", None),
    ("GET", "/readyz", None),
    ("GET", "/metrics", Some("viewer")),
    ("GET", "/api/v1/me", Some("viewer")),
    ("GET", "/api/v1/openapi.json", Some("viewer")),
    ("GET", "/api/v1/docs", Some("viewer")),
    ("GET", "/api/v1/docs.css", Some("viewer")),
    ("GET", "/api/v1/events", Some("viewer")),
    ("GET", "/api/v1/aggregator/servers", Some("viewer")),
    ("GET", "/api/v1/aggregator/servers/{id}", Some("viewer")),
    ("GET", "/api/v1/aggregator/servers/{id}/health", Some("viewer")),
    ("GET", "/api/v1/aggregator/servers/{id}/tools", Some("viewer")),
    ("GET", "/api/v1/aggregator/servers/{id}/details", Some("viewer")),
    ("GET", "/api/v1/findings", Some("viewer")),
    ("GET", "/api/v1/overview", Some("viewer")),
    ("GET", "/api/v1/tools", Some("viewer")),
    ("GET", "/api/v1/tools/{id}", Some("viewer")),
    ("GET", "/api/v1/tools/{id}/skills", Some("viewer")),
    ("GET", "/api/v1/skills", Some("viewer")),
    ("POST", "/api/v1/search", Some("viewer")),
    ("POST", "/api/v1/tools/call", Some("caller")),
    ("PUT", "/api/v1/tools/{id}/skills", Some("operator")),
    ("DELETE", "/api/v1/tools/{id}/skills", Some("operator")),
    ("POST", "/api/v1/tools/{id}/classify", Some("operator")),
    ("PUT", "/api/v1/skills/{id}", Some("operator")),
    ("DELETE", "/api/v1/skills/{id}", Some("operator")),
    ("GET", "/api/v1/skills/suggestions", Some("operator")),
    ("POST", "/api/v1/skills/suggestions/{id}/approve", Some("operator")),
    ("POST", "/api/v1/skills/suggestions/{id}/reject", Some("operator")),
    ("GET", "/api/v1/reviews", Some("operator")),
    ("GET", "/api/v1/aggregator/servers/{id}/definitions", Some("operator")),
    ("POST", "/api/v1/aggregator/servers/{id}/definitions/approve", Some("operator")),
    ("POST", "/api/v1/aggregator/servers/{id}/definitions/reject", Some("operator")),
    ("POST", "/api/v1/aggregator/servers", Some("operator")),
    ("PATCH", "/api/v1/aggregator/servers/{id}", Some("operator")),
    ("DELETE", "/api/v1/aggregator/servers/{id}", Some("operator")),
    ("POST", "/api/v1/aggregator/servers/{id}/connect", Some("operator")),
    ("POST", "/api/v1/aggregator/servers/{id}/disconnect", Some("operator")),
    ("POST", "/api/v1/aggregator/servers/{id}/login", Some("operator")),
    ("DELETE", "/api/v1/aggregator/servers/{id}/login", Some("operator")),
    ("GET", "/api/v1/audit", Some("operator")),
    ("GET", "/api/v1/clients", Some("operator")),
    ("GET", "/api/v1/aggregator/servers/{id}/stderr", Some("operator")),
    ("GET", "/api/v1/settings", Some("operator")),
    ("GET", "/api/v1/secrets", Some("operator")),
    ("PUT", "/api/v1/secrets/{name}", Some("admin")),
    ("DELETE", "/api/v1/secrets/{name}", Some("admin")),
    ("GET", "/api/v1/policies", Some("operator")),
    ("GET", "/api/v1/policies/{id}", Some("operator")),
    ("POST", "/api/v1/policy-test", Some("operator")),
    ("PUT", "/api/v1/policies/{id}", Some("admin")),
    ("DELETE", "/api/v1/policies/{id}", Some("admin")),
    ("*", "/api/v1/keys", Some("admin")),
];

const RANKS: [&str; 4] = ["viewer", "caller", "operator", "admin"];

/// Every method and path the API itself names, with the role it says.
fn described(platform: &Platform) -> Vec<(String, String, Option<String>)> {
    let document = platform.admin().get("/api/v1/openapi.json").is(200);
    assert_eq!(document["openapi"].as_str().map(|version| &version[..3]), Some("3.1"));
    let paths = document["paths"].as_object().expect("paths");
    let mut all = Vec::new();
    for (path, item) in paths {
        for (method, operation) in item.as_object().expect("methods") {
            if operation["operationId"].is_string() {
                let role = operation["x-role"].as_str().map(str::to_owned);
                all.push((method.to_uppercase(), path.clone(), role));
            }
        }
    }
    assert!(all.len() > 20, "{all:?}");
    all
}

fn least(method: &str, path: &str) -> Option<Option<&'static str>> {
    let fits = |known: &str| known == path || (known == KEYS && path.starts_with(KEYS));
    let row = ROUTES.iter().find(|(of, known, _)| (*of == method || *of == "*") && fits(known));
    row.map(|(.., role)| *role)
}

/// The status and the head of the answer; what has no end is not waited for.
fn status(rest: &Rest, method: &str, path: &str) -> (u16, String) {
    let path = path.replace("{id}", "nobody").replace("{name}", "nobody");
    let mut ask = Ask::new(method, &path);
    if ["POST", "PATCH", "PUT"].contains(&method) {
        ask = ask.header("Content-Type", "application/json").body("{}");
    }
    let head = rest.begin(&ask).head(LIMIT);
    (head.status, head.raw)
}

/// A key that has been revoked.
fn revoked(platform: &Platform) -> String {
    let made = platform.make_key(&json!({ "name": "gone", "role": "admin" }));
    let answer = platform.admin().delete(&format!("{KEYS}/{}", id_of(&made)));
    assert_eq!(answer.status(), 204, "{answer}");
    made["key"].as_str().expect("a key").to_owned()
}

#[test]
fn the_description_and_the_table_name_the_same_routes_and_roles() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let all = described(&platform);
    for (method, path, role) in &all {
        let expected = least(method, path);
        assert_eq!(
            expected.map(|role| role.map(str::to_owned)),
            Some(role.clone()),
            "{method} {path}"
        );
    }
    let paths: BTreeSet<&str> = all.iter().map(|(_, path, _)| path.as_str()).collect();
    for (method, path, _) in ROUTES {
        assert!(paths.contains(path), "{method} {path} is not described");
    }
}

#[test]
fn every_route_refuses_every_token_below_its_role() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let keys = RANKS.map(|role| platform.key(role));
    let gone = revoked(&platform);
    let strangers =
        [None, Some("not-a-token"), Some("tl_AAAAAAAA_AAAA"), Some(&gone[..]), Some("")];
    for (number, (method, path, _)) in (1..).zip(described(&platform)) {
        // From an address of its own for each route: an address with many wrong tokens is slowed.
        let from = Ipv4Addr::new(127, 0, 1, number);
        let Some(role) = least(&method, &path).expect("checked by another test") else {
            for token in [None, Some("not-a-token"), Some(ADMIN)] {
                let (status, head) = status(&platform.rest(token), &method, &path);
                assert!([200, 503].contains(&status), "{method} {path}: {head}");
            }
            continue;
        };
        for token in strangers {
            let rest = platform.rest(token).coming_from(from);
            let (status, head) = status(&rest, &method, &path);
            assert_eq!(status, 401, "{method} {path} with {token:?}");
            let head = head.to_ascii_lowercase();
            assert!(head.contains("www-authenticate: bearer"), "{method} {path}: {head}");
        }
        for (rank, key) in RANKS.iter().zip(&keys) {
            let place = |role: &str| RANKS.iter().position(|known| *known == role);
            let (status, head) = status(&platform.rest(Some(key)), &method, &path);
            match place(rank) >= place(role) {
                true => {
                    assert!(![401, 403].contains(&status), "{method} {path} as {rank}: {head}");
                    assert!(status < 500, "{method} {path} as {rank}: {head}");
                }
                false => assert_eq!(status, 403, "{method} {path} as {rank}"),
            }
        }
        let (status, head) = status(&platform.rest(Some(ADMIN)), &method, &path);
        assert!(![401, 403].contains(&status) && status < 500, "{method} {path}: {head}");
    }
}

#[test]
fn a_refusal_says_what_is_missing_and_what_to_do() {
    let room = Room::new();
    let platform = room.platform(&[]);
    platform.rest(None).get("/api/v1/me").problem(401, "unauthenticated");
    let viewer = platform.key("viewer");
    platform.rest(Some(&viewer)).get("/api/v1/audit").problem(403, "forbidden");
    let me = platform.rest(Some(&viewer)).get("/api/v1/me").is(200);
    assert_eq!((me["role"].as_str(), me["credential"].as_str()), (Some("viewer"), Some("key")));
    assert_eq!(platform.admin().get("/api/v1/me").is(200)["role"], "admin");
}

#[test]
fn nothing_beside_the_described_routes_answers_without_a_token() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let nobody = platform.rest(None);
    for (_, path, _) in described(&platform) {
        for method in ["PUT", "OPTIONS", "DELETE", "PATCH", "POST", "HEAD", "TRACE"] {
            if least(method, &path) == Some(None) || path == "/healthz" || path == "/readyz" {
                continue;
            }
            let (status, head) = status(&nobody, method, &path);
            // What a path has is in the documentation; there is nothing else in that answer.
            let options = method == "OPTIONS" && status == 204 && says_only_allow(&head);
            assert!(options || (400..500).contains(&status), "{method} {path}: {head}");
        }
    }
    for path in [
        "/api/v1",
        "/api/v1/",
        "/api/v1/nothing",
        "/api/v1/tools/",
        "/api/v1//tools",
        "/api/v1/../v1/tools",
        "/api/v1/%74ools",
        "/API/v1/tools",
        "/api/v1/tools;x",
        "/api/v1/aggregator/servers/x/y/z",
    ] {
        let (status, head) = status(&nobody, "GET", path);
        assert!([400, 401, 404].contains(&status), "{path}: {head}");
    }
}

/// A browser that asks beforehand (CORS) learns nothing but the methods, and is not allowed anything.
fn says_only_allow(head: &str) -> bool {
    let head = head.to_ascii_lowercase();
    let known = ["allow", "cache-control", "x-content-type-options", "content-length", "date"];
    let names = head.lines().skip(1).filter_map(|line| line.split_once(':').map(|(name, _)| name));
    head.contains("\nallow: ") && names.into_iter().all(|name| known.contains(&name))
}

/// A page in a browser that has been led here by name must not get through, whatever it knows.
#[test]
fn foreign_hosts_and_origins_are_refused_whatever_the_token() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let port = platform.serve().address().port();
    let hosts = foreign::hosts(port).into_iter().map(|value| ("Host", value));
    let origins = foreign::origins(port).into_iter().map(|value| ("Origin", value));
    for (header, value) in hosts.chain(origins) {
        for path in ["/api/v1/me", "/api/v1/tools", KEYS, "/metrics", "/api/v1/events"] {
            let ask = Ask::get(path).header(header, &value);
            let head = platform.admin().begin(&ask).head(LIMIT);
            assert!(
                [400, 403, 421].contains(&head.status),
                "{header}: {value}, {path}: {}",
                head.raw
            );
        }
        let made = Ask::post(KEYS, r#"{"name":"x","role":"admin"}"#).header(header, &value);
        assert!(platform.admin().send(&made).status() >= 400, "{header}: {value}");
    }
    assert_eq!(platform.admin().get(KEYS).is(200)["total"], 0);
    let own = Ask::get("/api/v1/me").header("Origin", &format!("http://127.0.0.1:{port}"));
    platform.admin().send(&own).is(200);
}

#[test]
fn mcp_is_for_callers_and_whoever_may_do_more() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let gone = revoked(&platform);
    let answer = |token: &str, path: &str| {
        let initialize = mcp::initialize("1", "2025-11-25");
        let ask = match path {
            "/sse" => Ask::get(path).header("Accept", "text/event-stream"),
            _ => Ask::post(path, initialize),
        };
        platform.rest(Some(token)).begin(&ask).head(LIMIT)
    };
    for path in ["/mcp", "/sse"] {
        for token in ["not-a-token", &gone] {
            let head = answer(token, path);
            assert_eq!(head.status, 401, "{path}: {}", head.raw);
            assert!(head.header("www-authenticate").is_some(), "{}", head.raw);
        }
        assert_eq!(answer(&platform.key("viewer"), path).status, 403, "{path}");
        for role in ["caller", "operator", "admin"] {
            assert_eq!(answer(&platform.key(role), path).status, 200, "{path} as {role}");
        }
        assert_eq!(answer(ADMIN, path).status, 200, "{path}");
    }
    assert!(scan::is_json(platform.admin().get("/api/v1/openapi.json").response.body.as_slice()));
}

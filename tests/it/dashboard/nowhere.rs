//! Addresses that are nobody's, and pages of the API: what a browser is shown there, and what a program is told.

use kit::dashboard::Person;
use kit::http::Ask;
use kit::platform::ADMIN;
use kit::room::Room;

#[test]
fn an_unknown_address_is_a_page_for_a_browser_and_json_for_a_program() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let stranger = Person::stranger(platform.serve().address());
    let person = Person::signed_in(&platform, ADMIN);
    for path in ["/nope", "/nope/deeper", "/.well-known/nope"] {
        for who in [&stranger, &person] {
            let page = who.get(path);
            assert_eq!(page.status(), 404, "{path}: {}", page.head.raw);
            let text = page.text();
            assert!(
                text.contains("There is no such page.") && text.contains("href=\"/\""),
                "{text}"
            );
        }
        let program = Ask::get(path).header("Accept", "*/*");
        // What there is, is not told to strangers; what a client has to find out first is.
        let stranger = if path.starts_with("/.well-known/") { 404 } else { 401 };
        assert_eq!(platform.rest(None).send(&program).status(), stranger, "{path}");
        let told = platform.admin().send(&program);
        assert_eq!(told.status(), 404, "{told}");
        let error = &told.json()["error"];
        assert!(error["message"].as_str().is_some_and(|it| it.contains("/mcp")), "{told}");
    }
}

#[test]
fn the_pages_of_the_api_take_the_session_of_the_dashboard() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let stranger = Person::stranger(platform.serve().address());
    let led = stranger.get("/api/v1/docs");
    assert_eq!(led.status(), 303, "{}", led.head.raw);
    assert_eq!(led.head.header("location"), Some("/sign-in?next=%2Fapi%2Fv1%2Fdocs"));
    let person = Person::signed_in(&platform, ADMIN);
    assert!(person.page("/settings").contains("href=\"/api/v1/docs\""));
    for (path, kind, part) in [
        ("/api/v1/docs", "text/html", "/api/v1/aggregator/servers"),
        ("/api/v1/docs.css", "text/css", "{"),
        ("/api/v1/openapi.json", "application/json", "\"openapi\""),
    ] {
        let answer = person.get(path);
        assert_eq!(answer.status(), 200, "{path}: {}", answer.head.raw);
        let found = answer.head.header("content-type").unwrap_or_default();
        assert!(found.starts_with(kind) && answer.text().contains(part), "{path}: {found}");
    }
    // The session is good for these pages only, and programs show a token as ever.
    assert_eq!(person.get("/api/v1/me").status(), 401);
    let program = platform.rest(None).send(&Ask::get("/api/v1/docs").header("Accept", "*/*"));
    assert_eq!(program.status(), 401, "{program}");
    assert_eq!(platform.admin().get("/api/v1/docs").status(), 200);
}

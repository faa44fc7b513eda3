//! `serve` without a platform: a page that says what there is, and how to get the rest.

use kit::http::{Ask, Connection};
use kit::room::Room;

use super::echoing;

#[test]
fn without_a_platform_the_front_page_says_how_to_get_one() {
    let room = Room::new();
    room.config([("a", echoing(&room, "a").entry())]);
    let serve = room.serve(&[]);
    let mut connection = Connection::open(serve.address());
    let accept = "text/html,application/xhtml+xml,*/*;q=0.8";
    let page = connection.ask(&Ask::get("/").header("Accept", accept));
    assert_eq!(page.status(), 200, "{}", page.head.raw);
    let kind = page.head.header("content-type").unwrap_or_default();
    assert!(kind.starts_with("text/html"), "{}", page.head.raw);
    assert!(page.head.header("content-security-policy").unwrap().contains("default-src 'none'"));
    let text = page.text();
    assert!(text.contains("--data-dir") && text.contains("/mcp") && !text.contains("<script"));
    let plain = connection.ask(&Ask::get("/"));
    assert!(plain.text().starts_with("This is Trunkline"), "programs get plain text");
    for path in ["/servers", "/sign-in", "/ui/live"] {
        assert_eq!(connection.ask(&Ask::get(path)).status(), 404, "{path}");
    }
}

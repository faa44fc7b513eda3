//! The list becomes short of itself where a client is known to carry fewer tools than there are.

use kit::LIMIT;
use kit::client::Client;
use kit::mcp::Speak;
use kit::room::Room;
use kit::serve::Serve;
use kit::streamable::Streamable;

use super::{OWN, found, names};

fn house(room: &Room, count: usize) {
    room.config([("a", room.fake("a").generated(count, 50).tool("*", kit::say::mirror()).entry())]);
}

#[test]
fn a_client_that_carries_fewer_finds_the_others() {
    for (count, flags, is_short) in [
        (80, &["--for", "cursor"][..], false),
        (81, &["--for", "cursor"], true),
        (81, &["--for", "cursor", "--expose", "full"], false),
        (81, &["--for", "vscode"], false),
        (200, &[], false),
        (2, &["--for", "cursor", "--expose", "search"], true),
    ] {
        let room = Room::new();
        house(&room, count);
        let client: Client = room.start_ready(flags);
        let listed = client.list_names();
        match is_short {
            true => assert_eq!(listed, OWN, "{flags:?}"),
            false => assert_eq!(listed.len(), count, "{flags:?}"),
        }
        if is_short && !flags.contains(&"search") {
            let told = ["81 tools: above 80 Cursor", "found with `search_tools`"];
            client.wait_stderr(&told, LIMIT);
        }
    }
}

#[test]
fn over_http_each_kind_of_client_has_its_own_list() {
    let room = Room::new();
    house(&room, 81);
    let serve = Serve::start(room.serve_command(&[]));
    assert_eq!(serve.http().list_names().len(), 81);
    let cursor = Streamable::new(serve.address(), "/mcp/for/cursor");
    cursor.initialize("2025-11-25").result();
    assert_eq!(cursor.list_names(), OWN);
    let answer = found(&cursor, "search_tools", r#"{"query":"t7"}"#);
    assert_eq!(names(&answer)[0], "a__t7");
    cursor.call("a__t7", "{}").result();
}

#[test]
fn the_simple_product_lists_everything() {
    let room = Room::new();
    house(&room, 81);
    let client = room.start_ready(&["--simple", "--for", "cursor"]);
    assert_eq!(client.list_names().len(), 81);
    let refused = Client::run(room.trunkline(&["--simple", "--expose", "search"]));
    assert_eq!(refused.code, Some(2));
}

//! What is refused before the API is asked is refused in the API's words (RFC 9457).

use kit::http::Ask;
use kit::platform::{ADMIN, SERVERS};
use kit::room::Room;

#[test]
fn a_request_for_the_api_that_goes_no_further_than_the_door_gets_a_problem() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let bearer = format!("Bearer {ADMIN}");
    for (name, value, status) in [
        ("Origin", "https://evil.example", 403),
        ("Content-Length", "x", 400),
        ("Transfer-Encoding", "gzip", 400),
    ] {
        let ask = Ask::new("POST", SERVERS).header("Authorization", &bearer).header(name, value);
        let answer = platform.rest(None).send(&ask);
        assert_eq!(answer.status(), status, "{name}: {answer}");
        assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{answer}");
        assert_eq!(answer.json()["status"], answer.status(), "{answer}");
        let mcp = Ask::new("POST", "/mcp").header("Authorization", &bearer).header(name, value);
        let answer = platform.rest(None).send(&mcp);
        assert_eq!(answer.header("content-type"), Some("application/json"), "{answer}");
    }
}

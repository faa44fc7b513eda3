//! A sign-in that begins at one replica, ends at another and is known to all.

use kit::platform::Platform;
use kit::room::Room;

use super::provider::Provider;
use super::{Visitor, command};

#[test]
fn each_step_of_a_sign_in_may_come_to_another_replica() {
    let (room, provider) = (Room::new(), Provider::start());
    let flags = ["--public-url", "https://tools.example"];
    let replicas = [(); 3].map(|()| Platform::start(command(&room, &provider, &flags)));
    let [first, second, third] = replicas.each_ref().map(|replica| replica.serve().address());
    let mut alice = Visitor::new(first);
    alice.host = "tools.example".to_owned();
    let back = alice.go_there(&provider, "alice");
    alice.address = second;
    let page = alice.get(&back);
    assert_eq!(page.status(), 200, "{}", page.text());
    for address in [third, first, second] {
        alice.address = address;
        assert!(alice.page("/servers").contains("alice@example.com"));
    }
}

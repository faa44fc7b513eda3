//! Servers that are registered over REST: a proxy is no way around the guard of addresses.

use kit::platform::{Platform, SERVERS, id_of};
use kit::proxy::{Admits, Proxy};
use kit::room::Room;
use kit::{LIMIT, say};
use serde_json::json;

use super::Dialect;

/// The proxy would lead every name to a server on the loopback, which may not be reached directly.
#[test]
fn a_registered_server_does_not_get_past_the_guard_by_way_of_a_proxy() {
    let room = Room::new();
    let service = Dialect::Streamable.listen(room.fake("a").tool("echo", say::echo()));
    let proxy = Proxy::with(Admits::Everybody, Some(service.address()));
    let mut command = room.platform_command(&[]);
    command.env("ALL_PROXY", format!("http://{}", proxy.address()));
    let platform = Platform::start(command);
    for url in ["http://mcp.invalid/mcp", "https://mcp.invalid/mcp"] {
        let shown = platform.register(&json!({
            "name": if url.starts_with("https") { "inner-s" } else { "inner" },
            "transport_type": "HTTP",
            "connection_config": { "url": url },
            "auto_connect": true,
        }));
        let id = id_of(&shown);
        let shown = platform.wait_server(&id, "it has failed", LIMIT, |server| {
            server.to_string().contains("its address has to be known here")
        });
        assert!(shown.to_string().contains("mcp.invalid"), "{shown}");
    }
    let refused = platform.admin().post(
        SERVERS,
        &json!({
            "name": "near",
            "transport_type": "HTTP",
            "connection_config": { "url": "http://10.0.0.1/mcp" },
        }),
    );
    assert_eq!(refused.status(), 422, "{refused}");
    assert_eq!(proxy.wishes(), [], "the proxy was never asked");
}

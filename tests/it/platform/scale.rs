//! NFR-S, NFR-P2: twenty servers with a thousand tools each, found and called.

use kit::LIMIT;
use kit::mcp::Speak;
use kit::platform::{ADMIN, SERVERS, id_of, remote};
use kit::room::Room;
use kit::say;
use kit::service::Wire;
use serde_json::json;

const SERVERS_IN_ALL: usize = 20;
const TOOLS_EACH: usize = 1_000;

#[test]
fn nfr_s1_nfr_s2_nfr_s3_nfr_p2_twenty_servers_of_a_thousand_tools_are_listed_and_called() {
    let turn = crate::ONE_AT_A_TIME.lock();
    let room = Room::new();
    let platform = room.platform(&[]);
    let ids: Vec<String> = (0..SERVERS_IN_ALL)
        .map(|n| {
            let name = format!("s{n:02}");
            let fake = room.fake(&name).generated(TOOLS_EACH, 100).tool("*", say::echo());
            let service = fake.listen(Wire::Http);
            let id = id_of(&platform.register(&remote(&name, &service)));
            room.keep(service);
            id
        })
        .collect();
    for id in &ids {
        let server = platform.wait_server(id, "all its tools", 4 * LIMIT, |server| {
            server["status"] == "CONNECTED" && server["tools"] == TOOLS_EACH
        });
        assert_eq!(server["last_error"], json!(null), "{server:#}");
    }
    let list = platform.admin().get("/api/v1/tools?limit=1").is(200);
    assert_eq!(list["total"], SERVERS_IN_ALL * TOOLS_EACH);
    let mut names = platform.tool_names(ADMIN);
    names.sort();
    names.dedup();
    assert_eq!(names.len(), SERVERS_IN_ALL * TOOLS_EACH);
    let client = platform.mcp(ADMIN);
    let mut over_mcp = client.list_names();
    over_mcp.sort();
    assert_eq!(over_mcp, names, "both lists are the same");
    for n in 0..SERVERS_IN_ALL {
        for tool in ["t0", "t999"] {
            let result = platform.call(&format!("s{n:02}.{tool}"), &json!({ "n": n })).is(200);
            assert_eq!(result["structuredContent"]["arguments"], json!({ "n": n }));
            assert_eq!(result["metadata"]["routed_to"], format!("s{n:02}"));
        }
    }
    let servers = platform.admin().get(&format!("{SERVERS}?limit=1000")).is(200);
    assert_eq!(servers["total"], SERVERS_IN_ALL);
    drop(turn);
}

//! Policies of a platform: keys, roles, the admin, REST, the audit log and the metrics.

use kit::mcp::Speak as _;
use kit::platform::{ADMIN, CALL, Platform};
use kit::process::wait_until;
use kit::room::Room;
use kit::service::Wire;
use kit::{LIMIT, ledger, say};
use serde_json::{Value, json};

use super::{ALL, assert_forbidden};

/// A platform with server `a` and these policies in a file.
fn platform(room: &Room, policies: &str) -> Platform {
    let file = room.write("p.cedar", policies);
    let platform = room.platform(&["--policies", file.to_str().expect("UTF-8")]);
    let fake = room.fake("a").tool("look", say::echo()).tool("act", say::echo());
    let fake = fake.definitions(&[
        r#"{"name":"look","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#,
        r#"{"name":"act","inputSchema":{"type":"object"}}"#,
    ]);
    let service = fake.listen(Wire::Http);
    platform.connected("a", &service);
    room.keep(service);
    platform
}

fn key(platform: &Platform, body: &Value) -> (String, String) {
    let made = platform.make_key(body);
    let text = |name: &str| made[name].as_str().expect("a text").to_owned();
    (text("id"), text("key"))
}

#[test]
fn policies_of_keys_roles_and_the_admin_hold_over_mcp_and_rest() {
    let room = Room::new();
    let platform = platform(
        &room,
        "@id(\"admin\") permit(principal is Trunkline::Admin, action, resource);\n\
         @id(\"readers\") permit(principal in Trunkline::Role::\"caller\", action, resource is Trunkline::Tool) when { resource.readOnlyHint };\n\
         @id(\"ci\") permit(principal is Trunkline::Key, action, resource) when { principal.name == \"ci\" };\n\
         @id(\"seen\") permit(principal in Trunkline::Role::\"operator\", action == Trunkline::Action::\"list\", resource);",
    );
    let (_, ci) = key(&platform, &json!({ "name": "ci", "role": "caller" }));
    let (_, reader) = key(&platform, &json!({ "name": "reader", "role": "caller" }));
    let (_, operator) = key(&platform, &json!({ "name": "op", "role": "operator" }));
    for (token, listed, may_act) in [
        (&ci[..], &["a.act", "a.look"][..], true),
        (ADMIN, &["a.act", "a.look"], true),
        (&reader, &["a.look"], false),
        (&operator, &["a.act", "a.look"], false),
    ] {
        let session = platform.mcp(token);
        assert_eq!(session.list_names(), listed);
        assert_eq!(platform.tool_names(token), listed);
        assert_eq!(session.call("a.act", "{}").try_result().is_some(), may_act);
        let called =
            platform.rest(Some(token)).post(CALL, &json!({ "name": "a.act", "arguments": {} }));
        match (may_act, listed.len()) {
            (true, _) => drop(called.is(200)),
            (false, 1) => drop(called.problem(404, "no-such-tool")),
            (false, _) => drop(called.problem(403, "not-permitted")),
        }
    }
    assert_forbidden(&platform.mcp(&operator).call("a.act", "{}"), &[], "no policy permits it");
    // Patterns go before policies: what they leave out is left out.
    let (_, narrow) =
        key(&platform, &json!({ "name": "ci", "role": "caller", "tools": ["a.look"] }));
    assert_eq!(platform.mcp(&narrow).list_names(), ["a.look"]);
    assert_eq!(ledger::calls(&room.ledger("a")).len(), 4);
}

#[test]
fn policies_that_refuse_are_in_the_audit_log_and_the_metrics() {
    let room = Room::new();
    let no = "@id(\"no-acts\") @reason(\"ask first\") forbid(principal, action == Trunkline::Action::\"call\", resource == Trunkline::Tool::\"a.act\");";
    let platform = platform(&room, &format!("{ALL}{no}"));
    let (id, caller) = key(&platform, &json!({ "name": "c", "role": "caller" }));
    assert_forbidden(
        &platform.mcp(&caller).call("a.act", r#"{"secret":"s3cret"}"#),
        &["no-acts"],
        "ask first",
    );
    let over_rest =
        platform.rest(Some(&caller)).post(CALL, &json!({ "name": "a.act", "arguments": {} }));
    let problem = over_rest.problem(403, "not-permitted");
    assert_eq!(problem["detail"], "policy \"no-acts\" forbids it: ask first");
    let refused = |record: &Value| {
        record["action"] == "call-tool"
            && record["outcome"] == "refused"
            && record["detail"]
                .as_str()
                .is_some_and(|detail| detail.contains("policy \"no-acts\" forbids it"))
    };
    platform.wait_audit("both refusals", |record| refused(record));
    wait_until("both are recorded", LIMIT, || {
        platform.audit().iter().filter(|it| refused(it)).count() == 2
    });
    let of_key = format!("key:{id}");
    assert!(
        platform
            .audit()
            .iter()
            .filter(|it| refused(it))
            .all(|it| it["credential_id"] == of_key[..])
    );
    assert!(!json!(platform.audit()).to_string().contains("s3cret"));
    wait_until("they are counted", LIMIT, || {
        let text = platform.admin().get("/metrics").response.text();
        text.contains("trunkline_policy_refusals_total 2\n")
            && text.contains("trunkline_policies 2\n")
    });
}

#[test]
fn policies_that_shut_a_key_out_end_its_open_sessions_and_calls() {
    let room = Room::new();
    let file = room.write("p.cedar", ALL);
    let platform = room.platform(&["--policies", file.to_str().expect("UTF-8")]);
    let service =
        room.fake("a").tool("never", say::never()).tool("echo", say::echo()).listen(Wire::Http);
    platform.connected("a", &service);
    let (id, gone) = key(&platform, &json!({ "name": "gone", "role": "operator" }));
    let (_, stays) = key(&platform, &json!({ "name": "stays", "role": "caller" }));
    let (session, other) = (platform.mcp(&gone), platform.mcp(&stays));
    assert_eq!(session.listen(), 200);
    let open = session.begin("a.never", "{}");
    wait_until("it is with the server", LIMIT, || ledger::calls(&room.ledger("a")).len() == 1);
    room.write(
        "p.cedar",
        format!("{ALL}forbid(principal == Trunkline::Key::\"{id}\", action, resource);"),
    );
    let ended = session.answer(&open, LIMIT);
    assert_eq!(ended.code(), -31007, "{ended}");
    for path in ["/api/v1/tools", "/api/v1/me"] {
        platform.rest(Some(&gone)).get(path).problem(403, "forbidden");
    }
    other.call("a.echo", "{}").result();
    platform.wait_audit("it was not let in", |record| {
        record["action"] == "use-mcp" || record["credential_id"] == format!("key:{id}")
    });
    room.write("p.cedar", ALL);
    wait_until("it is let in again", LIMIT, || {
        platform.rest(Some(&gone)).get("/api/v1/me").status() == 200
    });
    platform.mcp(&gone).call("a.echo", "{}").result();
}

/// What a tool says about itself may change while it runs: what was decided about it does not outlive that.
#[test]
fn policies_are_decided_anew_when_a_tool_changes() {
    let room = Room::new();
    let policies =
        "permit(principal, action, resource is Trunkline::Tool) when { resource.readOnlyHint };";
    let platform = platform(&room, policies);
    let (_, caller) = key(&platform, &json!({ "name": "c", "role": "caller" }));
    let session = platform.mcp(&caller);
    assert_eq!(session.list_names(), ["a.look"]);
    let changed = room.fake("b").tool("act", say::echo()).definitions(&[
        r#"{"name":"act","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#,
    ]);
    let service = changed.listen(Wire::Http);
    platform.connected("b", &service);
    session.wait_list("a new server's tool", LIMIT, |tools| tools.len() == 2);
    session.call("b.act", "{}").result();
}

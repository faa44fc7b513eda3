//! Policies of the store: put over REST, in force at once, on every replica and after a restart.

use kit::database::Database;
use kit::http::Ask;
use kit::mcp::Speak as _;
use kit::platform::{ADMIN, Platform, percent};
use kit::process::wait_until;
use kit::rest::{Answer, Rest};
use kit::room::Room;
use kit::service::Wire;
use kit::{LIMIT, say};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{ALL, assert_forbidden};

const POLICIES: &str = "/api/v1/policies";
const NO_ACTS: &str = "@id(\"no-acts\") @reason(\"ask first\")\n\
    forbid(principal, action == Trunkline::Action::\"call\", resource == Trunkline::Tool::\"a.act\");";

fn platform(room: &Room, flags: &[&str]) -> Platform {
    let platform = room.platform(flags);
    serve_tools(room, &platform);
    platform
}

/// Server `a` with two tools.
fn serve_tools(room: &Room, platform: &Platform) {
    let fake = room.fake("a").tool("look", say::echo()).tool("act", say::echo());
    let service = fake.listen(Wire::Http);
    platform.connected("a", &service);
    room.keep(service);
}

#[track_caller]
fn put(rest: &Rest, id: &str, text: &str) -> Answer {
    let body = json!({ "text": text }).to_string();
    rest.with_body("PUT", &format!("{POLICIES}/{id}"), body.as_bytes())
}

fn put_if(tag: &str, id: &str, text: &str) -> Ask {
    let ask = Ask::new("PUT", &format!("{POLICIES}/{id}")).header("If-Match", tag);
    ask.header("Content-Type", "application/json").body(json!({ "text": text }).to_string())
}

#[track_caller]
fn listed(rest: &Rest) -> Vec<(String, String)> {
    let list = rest.get(POLICIES).is(200);
    let text = |it: &Value, name: &str| it[name].as_str().unwrap_or_default().to_owned();
    let items = list["policies"].as_array().cloned().unwrap_or_default();
    items.iter().map(|it| (text(it, "id"), text(it, "source"))).collect()
}

#[test]
fn policies_over_rest_are_put_replaced_and_deleted_by_admins_and_recorded() {
    let room = Room::new();
    let file = room.write("p.cedar", ALL);
    let path = file.to_str().expect("UTF-8").to_owned();
    let platform = room.platform(&["--policies", &path]);
    let of_file = format!("file:{path}");
    let (operator, caller) = (platform.key("operator"), platform.key("caller"));
    let (operator, caller) = (platform.rest(Some(&operator)), platform.rest(Some(&caller)));
    caller.get(POLICIES).problem(403, "forbidden");
    put(&operator, "acts", NO_ACTS).problem(403, "forbidden");

    let made = put(platform.admin(), "acts", NO_ACTS);
    let shown = made.is(201);
    assert_eq!(shown["text"], NO_ACTS);
    assert_eq!((&shown["source"], &shown["updated_by"]), (&json!("store"), &json!("admin")));
    let effect = &shown["policies"][0];
    assert_eq!((&effect["id"], &effect["effect"]), (&json!("no-acts"), &json!("forbid")));
    assert_eq!((&effect["reason"], &effect["line"]), (&json!("ask first"), &json!(1)));
    let both = [("acts", "store"), (&of_file, "file")].map(|(a, b)| (a.to_owned(), b.to_owned()));
    assert_eq!(listed(&operator), both);

    // Those of files are read here and changed there.
    let place = percent(&of_file);
    let read = operator.get(&format!("{POLICIES}/{place}")).is(200);
    assert_eq!((&read["text"], &read["updated_at"]), (&json!(ALL), &Value::Null));
    put(platform.admin(), &place, NO_ACTS).problem(409, "policy-of-file");
    platform.admin().delete(&format!("{POLICIES}/{place}")).problem(409, "policy-of-file");

    let one = format!("{POLICIES}/acts");
    let tag = operator.get(&one).header("etag").expect("a tag").to_owned();
    assert_eq!(made.header("etag"), Some(&tag[..]));
    let known = Ask::new("GET", &one).header("If-None-Match", &tag);
    assert_eq!(operator.send(&known).status(), 304);
    let other =
        "@id(\"no-looks\") forbid(principal, action, resource == Trunkline::Tool::\"a.look\");";
    platform.admin().send(&put_if(&tag, "acts", other)).is(200);
    platform.admin().send(&put_if(&tag, "acts", NO_ACTS)).problem(412, "stale");
    platform.admin().send(&put_if("*", "new", NO_ACTS)).problem(412, "stale");
    let stale = Ask::new("DELETE", &one).header("If-Match", &tag);
    platform.admin().send(&stale).problem(412, "stale");
    assert_eq!(operator.get(&one).is(200)["text"], other);
    operator.delete(&one).problem(403, "forbidden");
    assert_eq!(platform.admin().delete(&one).status(), 204);
    platform.admin().delete(&one).problem(404, "no-such-policy");
    operator.get(&one).problem(404, "no-such-policy");
    // Made anew, it is another one: what was read of the first does not fit.
    put(platform.admin(), "acts", NO_ACTS).is(201);
    platform.admin().send(&put_if(&tag, "acts", other)).problem(412, "stale");

    for (action, detail) in [
        ("put-policy", "acts: added no-acts (forbid)"),
        ("put-policy", "acts: added no-looks (forbid); removed no-acts (forbid)"),
        ("delete-policy", "acts: removed no-looks (forbid)"),
    ] {
        let record = platform.wait_audit(detail, |it| it["detail"] == detail);
        assert_eq!((&record["action"], &record["outcome"]), (&json!(action), &json!("ok")));
        assert_eq!(record["principal"], "admin");
    }
    platform.wait_audit("an operator was refused", |it| {
        it["action"] == "put-policy" && it["outcome"] == "refused"
    });
}

#[test]
fn policies_that_cedar_does_not_take_are_refused_with_its_words_and_change_nothing() {
    let room = Room::new();
    let file = room.write("p.cedar", ALL);
    let path = file.to_str().expect("UTF-8").to_owned();
    let platform = room.platform(&["--policies", &path]);
    put(platform.admin(), "acts", NO_ACTS).is(201);
    let taken = format!("the id `all` is taken by a policy of {path}");
    let deep = format!("permit(principal, action, resource) when {{ {} }};", "(".repeat(40_000));
    for (text, line, words) in [
        ("permit(principal, action, resource)", 1, "unexpected end of input"),
        ("\n\npermit(principal, action, resorce);", 3, "resorce"),
        (
            "\npermit(principal, action == Trunkline::Action::\"cal\", resource);",
            2,
            "unrecognized action",
        ),
        (ALL, 1, &taken[..]),
        // Cedar would overflow the stack of the whole program.
        (&deep, 1, "is nested deeper than 50 levels"),
        (NO_ACTS, 1, "the id `no-acts` is taken by a policy of store:acts"),
    ] {
        let problem = put(platform.admin(), "second", text).problem(422, "invalid");
        let error = &problem["errors"][0];
        assert_eq!(error["pointer"], "/text", "{problem:#}");
        let message = error["message"].as_str().unwrap_or_default();
        let begins = format!("has a mistake in line {line}: ");
        assert!(message.starts_with(&begins) && message.contains(words), "{text}: {message}");
    }
    for (id, body) in [
        ("second", "{}"),
        ("second", r#"{"text":""}"#),
        ("second", r#"{"text":7}"#),
        ("second", r#"{"text":"x","id":"second"}"#),
        (".second", r#"{"text":"permit(principal, action, resource);"}"#),
        ("a%20b", r#"{"text":"permit(principal, action, resource);"}"#),
    ] {
        let path = format!("{POLICIES}/{id}");
        platform.admin().with_body("PUT", &path, body.as_bytes()).problem(422, "invalid");
    }
    assert_eq!(listed(platform.admin()).len(), 2);
    // Its own ids are free for its next text.
    put(platform.admin(), "acts", &format!("// why\n{NO_ACTS}")).is(200);
    platform.wait_audit("what was refused", |it| {
        it["action"] == "put-policy"
            && it["outcome"] == "refused"
            && it["detail"].as_str().is_some_and(|it| it.contains("422 invalid"))
    });
}

#[test]
fn stored_policies_hold_at_once_for_sessions_that_are_open() {
    let room = Room::new();
    let platform = platform(&room, &[]);
    // The first policy of all; sessions from before it begin anew.
    put(platform.admin(), "base", ALL).is(201);
    let caller = platform.key("caller");
    let session = platform.mcp(&caller);
    session.call("a.act", "{}").result();
    put(platform.admin(), "acts", NO_ACTS).is(201);
    assert_forbidden(&session.call("a.act", "{}"), &["no-acts"], "ask first");
    session.call("a.look", "{}").result();
    let hidden = "forbid(principal, action, resource == Trunkline::Tool::\"a.act\");";
    put(platform.admin(), "acts", hidden).is(200);
    assert_eq!(session.list_names(), ["a.look"]);
    assert_eq!(platform.tool_names(&caller), ["a.look"]);
    for (id, names) in [("acts", &["a.act", "a.look"][..]), ("base", &["a.act", "a.look"])] {
        assert_eq!(platform.admin().delete(&format!("{POLICIES}/{id}")).status(), 204);
        assert_eq!(session.list_names(), names, "without {id}");
        session.call("a.act", "{}").result();
    }
    // What shuts everybody out leaves the admin token in: it can be taken back.
    put(platform.admin(), "none", "forbid(principal, action, resource);").is(201);
    let admin = platform.key("admin");
    platform.rest(Some(&admin)).get(POLICIES).problem(403, "forbidden");
    assert_eq!(platform.admin().delete(&format!("{POLICIES}/none")).status(), 204);
    platform.rest(Some(&admin)).get(POLICIES).is(200);
    platform.mcp(&caller).call("a.act", "{}").result();
}

#[test]
fn stored_policies_that_cannot_be_used_at_a_start_refuse_everybody_but_the_admin_token() {
    let room = Room::new();
    let caller = {
        let platform = platform(&room, &[]);
        put(platform.admin(), "base", ALL).is(201);
        let caller = platform.key("caller");
        platform.serve().process().signal(Signal::TERM);
        platform.serve().process().wait_exit(LIMIT);
        caller
    };
    // After a restart they hold; with a file that has the same id they cannot.
    let file = room.write("p.cedar", ALL);
    let platform = room.platform(&["--policies", file.to_str().expect("UTF-8")]);
    platform.serve().process().wait_stderr(
        &[
            "the stored policies cannot be used",
            "store:base:1: the id `all` is taken",
            "PUT or DELETE",
        ],
        LIMIT,
    );
    platform.rest(Some(&caller)).get("/api/v1/me").problem(403, "forbidden");
    let shown = platform.admin().get(&format!("{POLICIES}/base")).is(200);
    assert!(shown["problem"].as_str().is_some_and(|it| it.contains("is taken")), "{shown:#}");
    let other = ALL.replace("all", "all-stored");
    put(platform.admin(), "base", &other).is(200);
    platform.rest(Some(&caller)).get("/api/v1/me").is(200);
    let shown = platform.admin().get(&format!("{POLICIES}/base")).is(200);
    assert_eq!(shown["problem"], Value::Null);
}

#[test]
fn stored_policies_hold_on_another_replica_on_postgres_and_after_its_restart() {
    const KEY: &str = "a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s=";
    let database = Database::new();
    let url = database.direct_url();
    let rooms = [Room::new(), Room::new()];
    let start = |room: &Room| {
        let mut command = room.platform_command(&["--store", &url, "--allow-net", "127.0.0.0/8"]);
        command.env("TRUNKLINE_KEY", KEY);
        Platform::start(command)
    };
    let [here, there] = rooms.each_ref().map(start);
    put(here.admin(), "base", ALL).is(201);
    serve_tools(&rooms[0], &here);
    let caller = here.key("caller");
    wait_until("the other knows the policy, the key and the server", LIMIT, || {
        let metrics = there.admin().get("/metrics").response.text();
        metrics.contains("trunkline_policies 1\n")
            && there.rest(Some(&caller)).get("/api/v1/me").status() == 200
            && there.tool_names(ADMIN).len() == 2
    });
    let session = there.mcp(&caller);
    session.call("a.act", "{}").result();
    put(here.admin(), "acts", NO_ACTS).is(201);
    wait_until("the other obeys", LIMIT, || session.call("a.act", "{}").try_result().is_none());
    assert_forbidden(&session.call("a.act", "{}"), &["no-acts"], "ask first");
    assert_eq!(listed(there.admin()), listed(here.admin()));
    // Two that use one id, at once at two replicas: one of them is refused.
    let texts = ["permit", "forbid"].map(|effect| {
        format!("@id(\"one\") {effect}(principal is Trunkline::Admin, action, resource);")
    });
    let answers = std::thread::scope(|scope| {
        let first = scope.spawn(|| put(here.admin(), "first", &texts[0]).status());
        let second = scope.spawn(|| put(there.admin(), "second", &texts[1]).status());
        let mut both = [first, second].map(|it| it.join().expect("an answer"));
        both.sort_unstable();
        both
    });
    assert_eq!(answers, [201, 422]);
    there.serve().process().signal(Signal::TERM);
    there.serve().process().wait_exit(LIMIT);
    drop(there);
    let there = start(&rooms[1]);
    wait_until("it has its tools again", LIMIT, || there.tool_names(&caller).len() == 2);
    assert_forbidden(&there.mcp(&caller).call("a.act", "{}"), &["no-acts"], "ask first");
}

//! Decisions about calls are prepared once for each caller and tool where a policy looks at the circumstances. Whatever
//! they were made of may change: policies, keys, what a tool says of itself, its skills. The next call sees it.

use kit::mcp::Speak as _;
use kit::platform::{CALL, KEYS, Platform};
use kit::process::wait_until;
use kit::room::Room;
use kit::service::Wire;
use kit::streamable::Streamable;
use kit::{LIMIT, ledger, say};
use serde_json::json;

use super::{ALL, FORBIDDEN};

const FREE: &str = r#"{"path":"/free"}"#;

/// A platform, where server `a` has the tool `act`, and `turn` after which `act` destroys nothing any more.
struct Scene {
    platform: Platform,
    id: String,
    room: Room,
}

impl Scene {
    fn new(policy: &str) -> Self {
        let room = Room::new();
        let platform = room.platform(&[]);
        let act = |hint: bool| {
            let hints = format!(r#"{{"destructiveHint":{hint}}}"#);
            format!(r#"{{"name":"act","inputSchema":{{"type":"object"}},"annotations":{hints}}}"#)
        };
        let turn = r#"{"name":"turn","inputSchema":{"type":"object"}}"#;
        let turned = say::change_tools(&[turn, &act(false)]);
        let steps = say::steps([turned, say::changed("tools"), say::text("turned")]);
        let fake = room.fake("a").tool("act", say::echo()).tool("turn", steps);
        let service = fake.definitions(&[turn, &act(true)]).listen(Wire::Http);
        let id = platform.connected("a", &service);
        room.keep(service);
        let scene = Self { platform, id, room };
        scene.put(policy);
        scene
    }

    /// Holds when this returns.
    #[track_caller]
    fn put(&self, policy: &str) {
        let body = json!({ "text": format!("{ALL}{policy}") }).to_string();
        let answer = self.platform.admin().with_body("PUT", "/api/v1/policies/p", body.as_bytes());
        assert!([200, 201].contains(&answer.status()), "{answer}");
    }

    fn caller(&self) -> Caller<'_> {
        let made = self.platform.make_key(&json!({ "name": "c", "role": "caller" }));
        let text = |name: &str| made[name].as_str().expect("a text").to_owned();
        let (id, key) = (text("id"), text("key"));
        Caller { session: self.platform.mcp(&key), scene: self, id, key }
    }
}

struct Caller<'s> {
    scene: &'s Scene,
    session: Streamable,
    id: String,
    key: String,
}

impl Caller<'_> {
    /// Asserts whether `a.act` may be called with these arguments, over every way in.
    #[track_caller]
    fn may_act(&self, arguments: &str, expected: bool) {
        for _ in 0..2 {
            let answer = self.session.call("a.act", arguments);
            let code = answer.try_error().map(|_| answer.code());
            assert_eq!(code, (!expected).then_some(FORBIDDEN), "{arguments}: {answer}");
        }
        let body = format!(r#"{{"name":"a.act","arguments":{arguments}}}"#);
        let rest = self.scene.platform.rest(Some(&self.key));
        let status = rest.with_body("POST", CALL, body.as_bytes()).status();
        assert_eq!(status, if expected { 200 } else { 403 }, "{arguments}");
    }
}

fn forbid(condition: &str) -> String {
    format!(
        "@id(\"no\") forbid(principal, action == Trunkline::Action::\"call\", resource is Trunkline::Tool) \
         when {{ {condition} }};"
    )
}

#[test]
fn a_policy_that_changes_holds_for_the_next_call() {
    let paths = |like: &str| {
        forbid(&format!("context.arguments has path && context.arguments.path like \"{like}\""))
    };
    let scene = Scene::new(&paths("/etc/*"));
    let caller = scene.caller();
    let etc = r#"{"path":"/etc/passwd"}"#;
    caller.may_act(FREE, true);
    caller.may_act(etc, false);
    scene.put(&paths("/fr*"));
    caller.may_act(FREE, false);
    caller.may_act(etc, true);
    // What looked at the arguments looks at the address now, and at nothing then.
    scene.put(&forbid("context.address.isLoopback()"));
    caller.may_act(etc, false);
    scene.put(&forbid("!context.address.isLoopback()"));
    caller.may_act(etc, true);
    scene.put(&forbid("resource.name == \"act\""));
    caller.may_act(etc, false);
    scene.put("");
    caller.may_act(etc, true);
    scene.put(&paths("/etc/*"));
    caller.may_act(etc, false);
}

#[test]
fn what_a_tool_says_of_itself_now_is_what_is_decided_about() {
    let scene = Scene::new(&forbid("resource.destructiveHint && context.arguments has path"));
    let caller = scene.caller();
    caller.may_act(FREE, false);
    caller.may_act("{}", true);
    caller.session.call("a.turn", "{}").result();
    let is_turned = |tool: &kit::mcp::Tool| {
        String::from_utf8_lossy(&tool.raw).contains("\"destructiveHint\":false")
    };
    wait_until("the change is listed", LIMIT, || caller.session.list().iter().any(is_turned));
    caller.may_act(FREE, true);
}

#[test]
fn a_skill_that_a_person_sets_or_clears_counts_for_the_next_call() {
    let skill = "resource in Trunkline::Skill::\"finance\" && context.arguments has path";
    let scene = Scene::new(&forbid(skill));
    let caller = scene.caller();
    let admin = scene.platform.admin();
    caller.may_act(FREE, true);
    let place =
        format!("/api/v1/tools/{}/skills", kit::platform::percent(&format!("{}/act", scene.id)));
    admin.with_body("PUT", &place, br#"{"skill_ids":["finance"]}"#).is(200);
    caller.may_act(FREE, false);
    admin.delete(&place).is(200);
    caller.may_act(FREE, true);
}

#[test]
fn a_key_that_is_revoked_calls_nothing_more() {
    let scene = Scene::new(&forbid("context.arguments has never"));
    let [caller, other] = [(); 2].map(|()| scene.caller());
    caller.may_act(FREE, true);
    other.may_act(FREE, true);
    let before = ledger::calls(&scene.room.ledger("a")).len();
    assert_eq!(scene.platform.admin().delete(&format!("{KEYS}/{}", caller.id)).status(), 204);
    let rest = scene.platform.rest(Some(&caller.key));
    rest.post(CALL, &json!({ "name": "a.act", "arguments": {} })).problem(401, "unauthenticated");
    let request = r#"{"jsonrpc":"2.0","id":99,"method":"tools/call","params":{"name":"a.act","arguments":{}}}"#;
    assert_eq!(caller.session.post(request).status, 401);
    assert_eq!(ledger::calls(&scene.room.ledger("a")).len(), before);
    other.may_act(FREE, true);
}

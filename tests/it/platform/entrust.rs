//! What was given for one server is sent to no other: who may refer to secrets, and what a server keeps
//! that is moved.

use kit::ledger;
use kit::platform::{Platform, SERVERS, id_of, remote, stdio};
use kit::room::Room;
use kit::service::Wire;
use serde_json::{Value, json};

use super::echoing;

const SECRETS: &str = "/api/v1/secrets";
/// Nobody is asked: nothing here is connected.
const HERE: &str = "https://here.example.com/mcp";
/// Of a client that was registered by hand.
const ISSUER: &str = "https://issuer.example.com";

fn registration(name: &str, more: &Value) -> Value {
    let mut body = json!({
        "name": name,
        "transport_type": "HTTP",
        "connection_config": { "url": HERE },
        "auto_connect": false,
    });
    merge(&mut body, more);
    body
}

fn merge(body: &mut Value, more: &Value) {
    match (body, more) {
        (Value::Object(body), Value::Object(more)) => {
            for (name, value) in more {
                merge(body.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (body, more) => *body = more.clone(),
    }
}

fn house(room: &Room) -> Platform {
    let platform = room.platform(&["--allow-env", "ALLOWED"]);
    let put = json!({ "value": "canary-secret" }).to_string();
    platform.admin().with_body("PUT", &format!("{SECRETS}/prod"), put.as_bytes()).is(201);
    platform
}

/// Every place a reference may stand in.
fn references() -> Vec<Value> {
    let header = |value: &str| json!({ "connection_config": { "headers": { "X-Key": value } } });
    let url = |url: &str| json!({ "connection_config": { "url": url } });
    vec![
        header("${secret:prod}"),
        header("a ${secret:prod} b"),
        header("${ALLOWED}"),
        header("${env:ALLOWED}"),
        header("${ALLOWED:-or else}"),
        url("https://here.example.com/mcp?key=${secret:prod}"),
        url("https://here.example.com/${ALLOWED}/mcp"),
        json!({ "health_check_url": "https://here.example.com/up?key=${secret:prod}" }),
        json!({ "oauth": { "issuer": ISSUER, "client_id": "c",
            "client_secret": "${secret:prod}" } }),
    ]
}

#[test]
fn nfr_sec1_a_reference_takes_an_admin_wherever_it_stands() {
    let room = Room::new();
    let platform = house(&room);
    let operator = platform.rest(Some(&platform.key("operator")));
    let plain = id_of(&operator.post(SERVERS, &registration("plain", &json!({}))).is(201));
    for (n, reference) in references().iter().enumerate() {
        let body = registration(&format!("s{n}"), reference);
        let problem = operator.post(SERVERS, &body).problem(403, "forbidden");
        assert!(problem["hint"].as_str().is_some_and(|it| it.contains("admin")), "{problem:#}");
        let path = format!("{SERVERS}/{plain}");
        operator.patch(&path, reference).problem(403, "forbidden");
        platform.admin().post(SERVERS, &body).is(201);
        let own = id_of(&platform.register(&registration(&format!("p{n}"), &json!({}))));
        platform.admin().patch(&format!("{SERVERS}/{own}"), reference).is(200);
        // Whoever may change a server may change the rest of it, and send back what was shown.
        let path = format!("{SERVERS}/{own}");
        let shown = platform.server(&own);
        operator.patch(&path, &json!({ "description": "x" })).is(200);
        operator.patch(&path, &json!({ "connection_config": shown["connection_config"] })).is(200);
    }
    let refused = platform.wait_audit("the refusal", |record| {
        record["outcome"] == "refused" && record["action"] == "edit-server"
    });
    assert_eq!(refused["server_name"], "plain", "{refused:#}");
}

/// A change of a server that has a header, and whether it keeps what it was given for.
const MOVES: [(&str, &str, u16); 14] = [
    ("https://here.example.com/other", "{}", 200),
    ("https://here.example.com:443/mcp", "{}", 200),
    ("https://here.example.com/mcp?a=b", r#"{"X-Key":"***"}"#, 200),
    ("http://here.example.com/mcp", "{}", 422),
    ("https://here.example.com:8443/mcp", "{}", 422),
    ("https://there.example.com/mcp", "{}", 422),
    ("https://there.example.com/mcp", r#"{"X-Key":"***"}"#, 422),
    ("https://there.example.com/mcp", r#"{"x-key":"***"}"#, 422),
    ("https://there.example.com/mcp", r#"{"X-Other":"new"}"#, 422),
    ("https://there.example.com/mcp", r#"{"X-Key":"new"}"#, 422),
    ("https://there.example.com/mcp", r#"{"X-Key":"new","X-Two":null}"#, 200),
    ("https://there.example.com/mcp", r#"{"x-key":"new","x-two":"new"}"#, 200),
    ("https://there.example.com/mcp", r#"{"X-Key":null,"X-Two":null}"#, 200),
    ("https://there.example.com/mcp", "null", 200),
];

#[test]
fn nfr_sec1_a_server_that_is_moved_takes_no_header_along_whoever_moves_it() {
    let room = Room::new();
    let platform = house(&room);
    for role in ["operator", "admin"] {
        let rest = platform.rest(Some(&platform.key(role)));
        for (n, (url, headers, expected)) in MOVES.into_iter().enumerate() {
            let given = json!({ "headers": { "X-Key": "canary-one", "X-Two": "canary-two" } });
            let given = json!({ "connection_config": given });
            let id =
                id_of(&rest.post(SERVERS, &registration(&format!("{role}{n}"), &given)).is(201));
            let headers: Value = serde_json::from_str(headers).expect("JSON");
            let change = json!({ "connection_config": { "url": url, "headers": headers } });
            let answer = rest.patch(&format!("{SERVERS}/{id}"), &change);
            assert_eq!(answer.status(), expected, "{role}: {answer}");
            if expected == 422 {
                let problem = answer.problem(422, "invalid");
                let said = problem.to_string();
                assert!(said.contains("/connection_config/headers/X-"), "{said}");
                assert!(
                    said.contains("https://here.example.com") && !said.contains("canary"),
                    "{said}"
                );
                assert_eq!(platform.server(&id)["connection_config"]["url"], HERE);
            }
        }
    }
}

#[test]
fn nfr_sec1_a_server_that_is_moved_takes_no_clients_secret_along() {
    let room = Room::new();
    let platform = house(&room);
    let client =
        |secret: &str| json!({ "issuer": ISSUER, "client_id": "c", "client_secret": secret });
    for (n, (oauth, expected)) in [
        (json!({}), 422),
        (json!({ "oauth": client("***") }), 422),
        (json!({ "oauth": client("new") }), 200),
        (json!({ "oauth": { "client_id": "c" } }), 200),
        (json!({ "oauth": null }), 200),
    ]
    .into_iter()
    .enumerate()
    {
        let given = json!({ "oauth": client("canary-client") });
        let id = id_of(&platform.register(&registration(&format!("s{n}"), &given)));
        let mut change = json!({ "connection_config": { "url": "https://there.example.com/mcp" } });
        merge(&mut change, &oauth);
        let answer = platform.admin().patch(&format!("{SERVERS}/{id}"), &change);
        assert_eq!(answer.status(), expected, "{answer}");
    }
}

#[test]
fn nfr_sec1_a_clients_secret_is_bound_to_an_issuer() {
    let room = Room::new();
    let platform = house(&room);
    let operator = platform.rest(Some(&platform.key("operator")));
    let admin = platform.admin();
    let client = |issuer: &str, secret: &str| json!({ "oauth": { "issuer": issuer, "client_id": "c", "client_secret": secret } });
    let unbound = json!({ "oauth": { "client_id": "c", "client_secret": "canary-client" } });
    let problem = admin.post(SERVERS, &registration("x", &unbound)).problem(422, "invalid");
    assert_eq!(problem["errors"][0]["pointer"], "/oauth/issuer", "{problem:#}");
    assert!(problem["errors"][0]["hint"].as_str().is_some(), "{problem:#}");
    let known = id_of(&platform.register(&registration("y", &client(ISSUER, "canary-client"))));
    let referred = registration("z", &client(ISSUER, "${secret:prod}"));
    let referred = id_of(&platform.register(&referred));
    let other = "https://other.example.com";
    for (id, change, expected) in [
        (&known, unbound.clone(), 422),
        (&known, client(other, "***"), 422),
        (&known, client(other, "new"), 200),
        (&known, client(other, "***"), 200),
        (&known, json!({ "oauth": { "client_id": "c", "client_secret": "***" } }), 422),
        (&known, json!({ "oauth": null }), 200),
        (&referred, client(other, "***"), 403),
        (&referred, client(other, "${secret:prod}"), 403),
        (&referred, client(ISSUER, "${secret:prod}"), 200),
    ] {
        let answer = operator.patch(&format!("{SERVERS}/{id}"), &change);
        assert_eq!(answer.status(), expected, "{change}: {answer}");
    }
}

#[test]
fn nfr_sec1_another_command_is_given_no_variables_of_the_one_before() {
    let room = Room::new();
    let platform = room.platform(&["--allow-stdio-registration"]);
    let entry = json!({ "command": "a", "args": ["b"], "env": { "KEY": "canary", "TWO": "x" } });
    let mut body = stdio("c", &entry);
    body["auto_connect"] = json!(false);
    let id = id_of(&platform.register(&body));
    for (config, expected) in [
        (json!({ "command": "z" }), 422),
        (json!({ "args": ["b", "c"] }), 422),
        (json!({ "args": null }), 422),
        (json!({ "cwd": "/elsewhere" }), 422),
        (json!({ "command": "z", "env": { "KEY": "***", "TWO": "x" } }), 422),
        (json!({ "command": "z", "env": { "key": "other case", "TWO": "x" } }), 422),
        (json!({ "command": "a", "args": ["b"] }), 200),
        (json!({ "env": { "TWO": "y" } }), 200),
        (json!({ "command": "z", "env": { "KEY": "new", "TWO": null } }), 200),
        (json!({ "command": "y", "env": null }), 200),
        (json!({ "command": "x" }), 200),
    ] {
        let change = json!({ "connection_config": config });
        let answer = platform.admin().patch(&format!("{SERVERS}/{id}"), &change);
        assert_eq!(answer.status(), expected, "{answer}");
        assert!(!answer.to_string().contains("canary\""), "{answer}");
    }
}

#[test]
fn nfr_sec1_the_new_address_receives_nothing_that_was_given_for_the_old_one() {
    let room = Room::new();
    let good = echoing(&room, "good").listen(Wire::Http);
    let other = echoing(&room, "other").listen(Wire::Http);
    let platform = room.platform(&[]);
    let operator = platform.rest(Some(&platform.key("operator")));
    let mut body = remote("s", &good);
    body["connection_config"]["headers"] = json!({ "X-Key": "canary-one" });
    let id = id_of(&platform.register(&body));
    platform.wait_status(&id, "CONNECTED");
    let path = format!("{SERVERS}/{id}");
    let moved = json!({ "connection_config": { "url": other.url() } });
    operator.patch(&path, &moved).problem(422, "invalid");
    assert!(ledger::heads(&room.ledger("other")).is_empty());
    let moved =
        json!({ "connection_config": { "url": other.url(), "headers": { "X-Key": "two" } } });
    operator.patch(&path, &moved).is(200);
    kit::process::wait_until("it is connected there", kit::LIMIT, || {
        let answer = platform.call("s.echo", &json!({}));
        answer.status() == 200 && !ledger::heads(&room.ledger("other")).is_empty()
    });
    let heads = ledger::heads(&room.ledger("other"));
    assert!(heads.iter().all(|head| head.header("x-key") == Some("two")), "{heads:?}");
}

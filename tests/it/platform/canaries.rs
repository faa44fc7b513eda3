//! Secrets that were given are used, and found nowhere: no log, no answer, no record, no file, no
//! process list.

use std::path::{Path, PathBuf};

use kit::http::Ask;
use kit::mcp::Speak;
use kit::page::{Page, Says};
use kit::platform::{ADMIN, CALL, KEYS, Platform, SERVERS, id_of, stdio};
use kit::room::Room;
use kit::service::{Service, Wire};
use kit::{LIMIT, ledger, process, say};
use serde_json::{Map, Value, json};

const KEY: &str = "a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s=";

/// A secret that cannot stand anywhere by chance.
fn canary(n: usize) -> String {
    format!("canary-{n:02}-7f3a9c51e8d2b604")
}

fn contains(haystack: &[u8], needle: &str) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle.as_bytes())
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).expect("the data directory").flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found
}

/// Servers of every transport that were given secrets in every place; all of the secrets.
fn nest(room: &Room, page: &Page) -> (Platform, Vec<String>, Vec<String>) {
    let mut command = room.platform_command(&[
        "--debug",
        "--allow-stdio-registration",
        "--allow-net",
        "127.0.0.0/8",
        "--allow-env",
        "NEST_TOKEN",
        "--health-interval",
        "1s",
    ]);
    command.env("TRUNKLINE_KEY", KEY).env("NEST_TOKEN", canary(0));
    let platform = Platform::start(command);
    let mut secrets = vec![canary(0), KEY.to_owned(), ADMIN.to_owned()];
    let mut fresh = {
        let mut n = 0;
        move || {
            n += 1;
            canary(n)
        }
    };
    let mut ids = Vec::new();
    for (name, wire) in [("h", Wire::Http), ("s", Wire::Sse)] {
        let service = room.fake(name).tool("echo", say::echo()).listen(wire);
        let mut headers = Map::new();
        headers.insert("Authorization".into(), "Bearer ${NEST_TOKEN}".into());
        for n in 0..5 {
            let secret = fresh();
            headers.insert(format!("X-Secret-{n}"), secret.clone().into());
            secrets.push(secret);
        }
        let [in_query, in_lone, in_health] = [fresh(), fresh(), fresh()];
        let kind = if wire == Wire::Http { "HTTP" } else { "SSE" };
        let shown = platform.register(&json!({
            "name": name,
            "transport_type": kind,
            "connection_config": {
                "url": format!("{}?key={in_query}&{in_lone}", service.url()),
                "headers": headers,
            },
            "health_check_url": format!("{}?token={in_health}", page.url()),
        }));
        secrets.extend([in_query, in_lone, in_health]);
        ids.push(id_of(&shown));
        room.keep(service);
    }
    let mut fake = room.fake("c").tool("echo", say::echo());
    for n in 0..7 {
        let secret = fresh();
        fake = fake.env(&format!("SECRET_{n}"), &secret);
        secrets.push(secret);
    }
    // It says what it was given, as careless servers do.
    let fake = fake.at_start(say::steps([say::stderr("started with @ENV@\n")]));
    ids.push(id_of(&platform.register(&stdio("c", &fake.entry()))));
    for id in &ids {
        platform.wait_status(id, "CONNECTED");
    }
    (platform, secrets, ids)
}

/// Things that are done with secrets; those that come up.
fn life(room: &Room, platform: &Platform, ids: &[String]) -> Vec<String> {
    let mut secrets = Vec::new();
    let argument = canary(80);
    for name in ["h.echo", "s.echo", "c.echo"] {
        platform.call(name, &json!({ "password": argument })).is(200);
    }
    let made = platform.make_key(&json!({ "name": "x", "role": "caller" }));
    let key = made["key"].as_str().expect("a key").to_owned();
    platform.mcp(&key).assert_echo("c", "echo", &format!(r#"{{"password":"{argument}"}}"#));
    let gone = platform.make_key(&json!({ "name": "y", "role": "admin" }));
    platform.admin().delete(&format!("{KEYS}/{}", id_of(&gone)));
    let gone = gone["key"].as_str().expect("a key").to_owned();
    platform.rest(Some(&gone)).get("/api/v1/me").problem(401, "unauthenticated");
    let stranger = canary(81);
    platform.rest(Some(&stranger)).get("/api/v1/me").problem(401, "unauthenticated");
    let in_query = canary(82);
    platform.rest(None).get(&format!("/api/v1/me?access_token={in_query}"));
    let changed = canary(83);
    let patch = json!({ "connection_config": { "headers": { "X-Secret-0": changed } } });
    platform.admin().patch(&format!("{SERVERS}/{}", ids[0]), &patch).is(200);
    platform.wait_status(&ids[0], "CONNECTED");
    // What is refused is not repeated either.
    let refused = canary(84);
    let bad = json!({ "name": "a b", "transport_type": "HTTP", "connection_config": {
        "url": format!("http://10.0.0.1/?key={refused}"),
        "headers": { "X": refused, "Y": format!("{refused}\r\n") },
    } });
    let answer = platform.admin().post(SERVERS, &bad);
    assert_eq!(answer.status(), 422);
    assert!(!answer.response.text().contains(&refused), "{answer}");
    platform.admin().with_body("POST", CALL, format!(r#"{{"name":"{refused}"#).as_bytes());
    process::wait_until("the change has arrived", LIMIT, || {
        let heads = ledger::heads(&room.ledger("h"));
        heads.iter().any(|head| head.raw.contains(&changed))
    });
    secrets.extend([argument, stranger, in_query, changed, refused]);
    secrets
        .extend([key, gone].iter().filter_map(|key| key.splitn(3, '_').nth(2).map(str::to_owned)));
    secrets
}

/// Everything an admin can read.
fn answers(platform: &Platform, ids: &[String]) -> Vec<(String, String)> {
    let mut paths: Vec<String> = ["", "?limit=1000"]
        .iter()
        .flat_map(|query| {
            ["aggregator/servers", "tools", "audit", "keys"]
                .map(|list| format!("/api/v1/{list}{query}"))
        })
        .collect();
    paths.extend(
        ["/api/v1/me", "/api/v1/openapi.json", "/api/v1/docs", "/metrics", "/readyz"]
            .map(str::to_owned),
    );
    for id in ids {
        paths.extend(["", "/health", "/tools"].map(|part| format!("{SERVERS}/{id}{part}")));
    }
    let read = |path: String| {
        let answer = platform.admin().get(&path);
        assert_eq!(answer.status(), 200, "{answer}");
        (path, format!("{}{}", answer.response.head.raw, answer.response.text()))
    };
    paths.into_iter().map(read).collect()
}

#[test]
fn nfr_sec1_secrets_reach_their_servers_and_are_found_nowhere_else() {
    let room = Room::new();
    let page = Page::new(Says::Status(200));
    let (platform, mut secrets, ids) = nest(&room, &page);
    let ask = Ask::get("/api/v1/events").header("Accept", "text/event-stream");
    let mut events = platform.admin().begin(&ask);
    assert_eq!(events.head(LIMIT).status, 200);
    secrets.extend(life(&room, &platform, &ids));
    process::wait_until("health was asked for", LIMIT, || page.heads().len() >= 2);
    assert!(secrets.len() >= 30, "{}", secrets.len());

    // They are used, so that not finding them says something.
    let heads = ledger::heads(&room.ledger("h"));
    assert!(heads[0].raw.contains(&format!("Bearer {}", canary(0))), "{heads:?}");
    assert!(heads[0].target().contains(&canary(6)), "{heads:?}");
    assert!(page.heads().iter().any(|head| head.contains("canary-08")), "{:?}", page.heads());
    let [pid] = ledger::started(&room.ledger("c"))[..] else { panic!("one process") };
    let environment = std::fs::read(format!("/proc/{pid}/environ")).expect("its environment");
    assert!(contains(&environment, &canary(17)));

    let answers = answers(&platform, &ids);
    let ours = platform.serve().process().pid().as_raw_nonzero().get();
    let mut processes = process::marked(room.marker());
    processes.extend(process::descendants(ours));
    assert!(processes.iter().any(|process| process.pid == ours));
    let heard: Vec<Value> =
        std::iter::from_fn(|| events.event(std::time::Duration::from_millis(200)))
            .map(|event| Value::from(String::from_utf8_lossy(&event.data).into_owned()))
            .collect();
    let look = |when: &str| {
        let stderr = platform.serve().process().stderr();
        for secret in &secrets {
            assert!(!stderr.contains(secret), "{when}: {secret} is in the log");
            for path in files(&room.path("data")) {
                let bytes = std::fs::read(&path).unwrap_or_default();
                assert!(!contains(&bytes, secret), "{when}: {secret} is in {}", path.display());
            }
        }
    };
    look("while it runs");
    for secret in &secrets {
        for (path, text) in &answers {
            assert!(!text.contains(secret), "{secret} is in {path}: {text}");
        }
        for process in &processes {
            let line = process.command_line();
            assert!(!line.contains(secret), "{secret} is in the arguments: {line}");
        }
        let event = heard.iter().find(|event| event.to_string().contains(secret));
        assert_eq!(event, None, "{secret} is in an event");
    }
    platform.serve().process().signal(rustix::process::Signal::TERM);
    platform.serve().process().wait_exit(LIMIT);
    look("after its end");
}

/// The registration of a server with this header.
fn with_header(name: &str, service: &Service, value: &str) -> Value {
    json!({
        "name": name,
        "transport_type": "HTTP",
        "connection_config": { "url": service.url(), "headers": { "Authorization": value } },
    })
}

#[test]
fn a_secret_that_comes_back_as_it_was_shown_stays_as_it_is() {
    let room = Room::new();
    let service = room.fake("a").tool("echo", say::echo()).listen(Wire::Http);
    let platform = room.platform(&[]);
    let mut body = with_header("a", &service, "Bearer the-real-one");
    body["connection_config"]["headers"]["X-Other"] = "another".into();
    let id = id_of(&platform.register(&body));
    let server = platform.wait_status(&id, "CONNECTED");
    let shown = server["connection_config"].clone();
    assert_eq!(shown["headers"], json!({ "Authorization": "***", "X-Other": "***" }));
    let path = format!("{SERVERS}/{id}");
    platform.admin().patch(&path, &json!({ "connection_config": shown })).is(200);
    let change = json!({ "connection_config": { "headers": { "X-Other": null } } });
    let changed = platform.admin().patch(&path, &change).is(200);
    assert_eq!(changed["connection_config"]["headers"], json!({ "Authorization": "***" }));
    platform.act(&id, "disconnect").is(200);
    let before = ledger::heads(&room.ledger("a")).len();
    platform.act(&id, "connect").is(202);
    platform.wait_status(&id, "CONNECTED");
    for head in &ledger::heads(&room.ledger("a"))[before..] {
        // The session before may still be saying goodbye.
        if head.method() == "POST" {
            assert_eq!(head.header("authorization"), Some("Bearer the-real-one"), "{head:?}");
            assert_eq!(head.header("x-other"), None, "{head:?}");
        }
    }
    let stars = with_header("b", &service, "***");
    platform.admin().post(SERVERS, &stars).problem(422, "invalid");
}

#[test]
fn a_variable_that_was_not_allowed_is_refused_and_named() {
    let room = Room::new();
    let service = room.fake("a").tool("echo", say::echo()).listen(Wire::Http);
    let mut command = room.platform_command(&["--allow-net", "127.0.0.0/8"]);
    command.env("NEST_TOKEN", canary(0));
    let platform = Platform::start(command);
    for reference in ["${NEST_TOKEN}", "${env:NEST_TOKEN}"] {
        let body = with_header("a", &service, &format!("Bearer {reference}"));
        let problem = platform.admin().post(SERVERS, &body).problem(422, "invalid").to_string();
        assert!(problem.contains("--allow-env NEST_TOKEN"), "it says what to do: {problem}");
        assert!(!problem.contains(&canary(0)), "{problem}");
    }
    assert!(ledger::heads(&room.ledger("a")).is_empty(), "nobody was asked");
}

#[test]
fn a_server_whose_variable_or_secret_is_missing_is_not_asked_and_the_error_names_it() {
    let room = Room::new();
    let service = room.fake("a").tool("echo", say::echo()).listen(Wire::Http);
    let mut command =
        room.platform_command(&["--allow-net", "127.0.0.0/8", "--allow-env", "NEST_TOKEN"]);
    command.env_remove("NEST_TOKEN");
    let platform = Platform::start(command);
    for (name, reference, missing) in
        [("a", "${NEST_TOKEN}", "NEST_TOKEN"), ("b", "${secret:nothing}", "nothing")]
    {
        let id = id_of(&platform.register(&with_header(name, &service, reference)));
        let server = platform.wait_status(&id, "ERROR");
        assert!(server["last_error"].to_string().contains(missing), "{server:#}");
    }
    assert!(ledger::heads(&room.ledger("a")).is_empty(), "nobody was asked");
}

/// Arguments and addresses may be made of variables; whoever may see servers is not to see those.
#[test]
fn values_of_variables_in_arguments_and_addresses_of_the_file_are_not_shown() {
    let room = Room::new();
    let mut command = room.fake("a").tool("echo", say::echo()).entry();
    let args = command["args"].as_array_mut().expect("arguments");
    args.extend(["--token".into(), "--key=${NEST_TOKEN}".into(), "${NEST_TOKEN}".into()]);
    let far = json!({ "url": "http://127.0.0.1:9/${NEST_TOKEN}/mcp?k=${NEST_TOKEN}" });
    let config = room.config([("a", command), ("far", far)]);
    let mut serve = room.platform_command(&["--config", config.to_str().expect("UTF-8")]);
    serve.env("NEST_TOKEN", canary(0));
    let platform = Platform::start(serve);
    let viewer = platform.rest(Some(&platform.key("viewer")));
    let mut shown = String::new();
    for path in ["", "/file:a", "/file:far", "/file:a/details", "/file:far/details"] {
        shown.push_str(&viewer.get(&format!("{SERVERS}{path}")).is(200).to_string());
    }
    assert!(!shown.contains(&canary(0)), "{shown}");
    for part in ["--key=***", "http://127.0.0.1:9/***/mcp"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

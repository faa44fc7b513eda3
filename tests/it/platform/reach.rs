//! Where a server may be: addresses that are not everybody's are refused, however they are written.

use kit::apart::{apart, word};
use kit::page::{Page, Says};
use kit::platform::{Platform, SERVERS, id_of};
use kit::room::Room;
use serde_json::{Value, json};

/// Each leads to this machine, to its neighbours, to a cloud's metadata or to nothing at all.
const HOSTILE: [&str; 66] = [
    "http://127.0.0.1/",
    "http://127.0.0.1:8080/mcp",
    "https://127.0.0.1/",
    "http://127.255.255.254/",
    "http://0.0.0.0/",
    "http://0.0.0.0:3006/mcp",
    "http://0/",
    "http://10.0.0.1/",
    "http://10.255.255.255/",
    "http://172.16.0.1/",
    "http://172.31.255.255/",
    "http://192.168.0.1/",
    "http://192.168.255.255/",
    "http://100.64.0.1/",
    "http://100.127.255.255/",
    "http://169.254.0.1/",
    "http://169.254.169.254/latest/meta-data/iam/security-credentials/",
    "http://169.254.170.2/",
    "http://192.0.0.1/",
    "http://192.0.2.7/",
    "http://198.18.0.1/",
    "http://198.51.100.1/",
    "http://203.0.113.1/",
    "http://224.0.0.251/",
    "http://239.255.255.255/",
    "http://240.0.0.1/",
    "http://255.255.255.255/",
    "http://2130706433/",
    "http://3232235521/",
    "http://0x7f000001/",
    "http://0x7f.0.0.1/",
    "http://0x7F.1/",
    "http://0177.0.0.1/",
    "http://017700000001/",
    "http://127.1/",
    "http://127.0.1/",
    "http://127.0.0.1./",
    "http://127.000.000.001/",
    "http://[::]/",
    "http://[::1]/",
    "http://[0000:0000:0000:0000:0000:0000:0000:0001]:3006/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::ffff:10.0.0.1]/",
    "http://[::ffff:a9fe:a9fe]/",
    "http://[::127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[64:ff9b::10.0.0.1]/",
    "http://[64:ff9b:1::a9fe:a9fe]/",
    "http://[2002:7f00:1::]/",
    "http://[2002:c0a8:1::1]/",
    "http://[2001:0:7f00:1::]/",
    "http://[2001:db8::1]/",
    "http://[fc00::1]/",
    "http://[fd12:3456::1]/",
    "http://[fe80::1]/",
    "http://[fe80::1%25eth0]/",
    "http://[fec0::1]/",
    "http://[ff02::1]/",
    "http://localhost/",
    "http://LocalHost:3006/mcp",
    "http://localhost./",
    "http://x.localhost/",
    "http://user:word@127.0.0.1/",
    "http://example.com@127.0.0.1/",
    "http://metadata.google.internal/computeMetadata/v1/",
];

/// These are no addresses of servers.
const NOT_HTTP: [&str; 8] = [
    "file:///etc/passwd",
    "gopher://127.0.0.1:6379/_INFO",
    "ftp://example.com/",
    "ws://example.com/",
    "http://",
    "//example.com/",
    "http://%31%32%37.0.0.1/",
    "http://１２７.０.０.１/",
];

fn registration(url: &str) -> Value {
    json!({ "name": "x", "transport_type": "HTTP", "connection_config": { "url": url } })
}

#[track_caller]
fn assert_refused_at(problem: &Value, pointer: &str, what: &str) {
    let errors = problem["errors"].as_array().cloned().unwrap_or_default();
    let named = errors.iter().any(|error| error["pointer"] == pointer);
    assert!(named, "{what} is refused at {pointer}: {problem:#}");
}

#[test]
fn hostile_urls_are_refused_at_registration_wherever_they_stand() {
    let room = Room::new();
    let platform = Platform::start(room.platform_command(&[]));
    for url in HOSTILE.iter().chain(&NOT_HTTP) {
        for kind in ["HTTP", "SSE"] {
            let mut body = registration(url);
            body["transport_type"] = kind.into();
            let problem = platform.admin().post(SERVERS, &body).problem(422, "invalid");
            assert_refused_at(&problem, "/connection_config/url", url);
        }
        let mut body = registration("https://example.com/mcp");
        body["health_check_url"] = (*url).into();
        let problem = platform.admin().post(SERVERS, &body).problem(422, "invalid");
        assert_refused_at(&problem, "/health_check_url", url);
    }
    assert_eq!(platform.admin().get(SERVERS).is(200)["total"], 0);
}

#[test]
fn hostile_urls_are_refused_in_a_change_too() {
    let room = Room::new();
    let platform = Platform::start(room.platform_command(&[]));
    let mut body = registration("https://example.com/mcp");
    body["auto_connect"] = false.into();
    let path = format!("{SERVERS}/{}", id_of(&platform.register(&body)));
    for url in HOSTILE {
        let body = json!({ "connection_config": { "url": url } });
        let problem = platform.admin().patch(&path, &body).problem(422, "invalid");
        assert_refused_at(&problem, "/connection_config/url", url);
        let body = json!({ "health_check_url": url });
        let problem = platform.admin().patch(&path, &body).problem(422, "invalid");
        assert_refused_at(&problem, "/health_check_url", url);
    }
    let server = platform.admin().get(&path).is(200);
    assert_eq!(server["connection_config"]["url"], "https://example.com/mcp");
}

#[test]
fn what_was_allowed_is_allowed_and_nothing_else() {
    let room = Room::new();
    let platform = Platform::start(room.platform_command(&["--allow-net", "10.1.0.0/16"]));
    let mut body = registration("http://10.1.2.3:9/mcp");
    body["auto_connect"] = false.into();
    body["name"] = "allowed".into();
    platform.register(&body);
    for url in ["http://10.2.0.1/", "http://127.0.0.1/", "http://[::1]/", "http://169.254.169.254/"]
    {
        let problem = platform.admin().post(SERVERS, &registration(url)).problem(422, "invalid");
        assert_refused_at(&problem, "/connection_config/url", url);
    }
    let problem = platform.admin().post(SERVERS, &registration("http://10.2.0.1/")).json();
    assert!(problem.to_string().contains("--allow-net"), "it says what to do: {problem:#}");
}

/// A name says nothing; where it leads is seen when it is resolved, each time.
#[test]
fn a_name_that_leads_to_this_machine_is_refused_when_it_is_connected() {
    let room = Room::new();
    let page = Page::new(Says::Status(200));
    let port =
        page.url().rsplit(':').next().and_then(|rest| rest.split('/').next().map(str::to_owned));
    let port = port.expect("a port");
    let hosts = room.write("hosts", "127.0.0.1 localhost\n127.0.0.1 innocent.example.com\n");
    let hosts = word(hosts.to_str().expect("UTF-8"));
    let command = room.platform_command(&["--health-interval", "1s"]);
    let platform = Platform::start(apart(&command, &format!("mount --bind {hosts} /etc/hosts")));
    for (name, url) in [
        ("h", format!("http://innocent.example.com:{port}/mcp")),
        ("s", format!("http://innocent.example.com:{port}/sse")),
    ] {
        let mut body = registration(&url);
        body["name"] = name.into();
        body["transport_type"] = if name == "s" { "SSE" } else { "HTTP" }.into();
        body["health_check_url"] = format!("http://innocent.example.com:{port}/health").into();
        let id = id_of(&platform.register(&body));
        let server = platform.wait_status(&id, "ERROR");
        let error = server["last_error"].to_string();
        assert!(error.contains("127.0.0.1"), "it says why: {server:#}");
        assert!(error.contains("--allow-net"), "and what to do: {server:#}");
    }
    assert_eq!(page.heads(), Vec::<String>::new(), "nobody has connected");
}

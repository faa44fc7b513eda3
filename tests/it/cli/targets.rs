//! Where the client goes: configs and URLs, what it shows there, and what it never shows here.

use kit::config::Fake;
use kit::room::Room;
use kit::run::{Done, run};
use kit::say::{self, net};
use kit::scene::each_of;
use kit::service::Wire;
use kit::{ledger, port};
use serde_json::json;

use super::{Place, Target, bare};

const WIRES: [Wire; 2] = [Wire::Http, Wire::Sse];
const SECRET: &str = "s3cret-canary-4711";

fn server(fake: Fake<'_>) -> Fake<'_> {
    fake.tool("mirror", say::mirror()).resource("x://a", "A").prompt("p", "P")
}

/// The program against this URL, without a config.
#[track_caller]
fn against(url: &str, arguments: &[&str]) -> Done {
    let room = Room::new();
    let mut command = bare(&room, arguments);
    command.args(["--url", url]);
    run(command, b"")
}

#[test]
fn headers_and_the_token_go_with_every_request() {
    each_of(WIRES, |wire| {
        let place = Place::at(Target::Url(wire), server);
        let token = format!("Bearer {SECRET}");
        for arguments in
            [&["tools"][..], &["call", "mirror", "a=1"], &["resources", "x://a"], &["prompts", "p"]]
        {
            let flags = ["--header", "X-Key: a b", "--header", "x-other:1", "--token", SECRET];
            let done = place.run(&[arguments, &flags].concat());
            assert_eq!(done.code, Some(0), "{done}");
            done.hides(SECRET);
        }
        let heads = ledger::heads(&place.room.ledger("s"));
        assert!(heads.len() >= 12, "{heads:?}");
        for head in &heads {
            assert_eq!(head.header("authorization"), Some(&token[..]), "{head:?}");
            assert_eq!(head.header("x-key"), Some("a b"), "{head:?}");
            assert_eq!(head.header("x-other"), Some("1"), "{head:?}");
        }
    });
}

#[test]
fn a_token_replaces_an_authorization_header() {
    let place = Place::at(Target::Url(Wire::Http), server);
    let flags = ["--header", "authorization: Basic old", "--token", "new"];
    place.run(&[&["tools"], &flags[..]].concat()).good();
    for head in ledger::heads(&place.room.ledger("s")) {
        assert_eq!(head.header("authorization"), Some("Bearer new"), "{head:?}");
        assert!(!head.raw.contains("old"), "{head:?}");
    }
}

#[test]
fn a_service_with_a_token_wants_it() {
    let room = Room::new();
    room.config([("s", server(room.fake("s")).entry())]);
    let serve = room.serve(&["--token", SECRET]);
    for path in ["mcp", "sse"] {
        let url = format!("http://{}/{path}", serve.address());
        let with = |token: &str| against(&url, &["call", "s.mirror", "--token", token, "--debug"]);
        let done = with(SECRET);
        assert_eq!(done.code, Some(0), "{done}");
        done.hides(SECRET);
        let wrong = with("wr0ng-canary-4711");
        wrong.bad(1, &["401"]);
        wrong.hides("wr0ng-canary");
        against(&url, &["tools"]).bad(1, &["401"]);
    }
}

#[test]
fn what_a_server_says_about_the_token_is_redacted() {
    let body = format!("no access with Bearer {SECRET}, not even with {SECRET}");
    each_of(WIRES, |wire| {
        for status in [401, 403, 500] {
            let refuse = say::steps([net::http(status, &[("Content-Type", "text/plain")], &body)]);
            let place = Place::at(Target::Url(wire), |fake| {
                fake.on("POST", refuse.clone()).on("GET", refuse.clone())
            });
            let done = place.run(&["tools", "--token", SECRET, "--debug"]);
            done.bad(1, &[&status.to_string()]);
            done.hides(SECRET);
        }
    });
}

#[test]
fn the_query_of_a_url_is_sent_and_not_shown() {
    let place = Place::at(Target::Url(Wire::Http), server);
    let url = format!("{}?key={SECRET}", place.flags[1]);
    let done = against(&url, &["tools", "--debug"]);
    assert_eq!(done.code, Some(0), "{done}");
    done.hides(SECRET);
    let heads = ledger::heads(&place.room.ledger("s"));
    assert!(heads.iter().all(|head| head.target().ends_with(SECRET)), "{heads:?}");
    let dead = format!("http://127.0.0.1:{}/mcp?key={SECRET}", port::free());
    let done = against(&dead, &["tools", "--debug"]);
    done.bad(1, &["/mcp: ", "connection refused"]);
    done.hides(SECRET);
}

#[test]
fn a_command_line_that_is_refused_quotes_no_secret() {
    let url = "http://127.0.0.1:1/mcp";
    let (spaced, user) = (format!("{SECRET} x"), format!("http://me:{SECRET}@127.0.0.1:1/mcp"));
    for (url, flags) in [
        (url, &["--token", &spaced][..]),
        (url, &["--header", SECRET]),
        (url, &["--header", &format!("X Y: {SECRET}")]),
        (&user, &[]),
    ] {
        let done = against(url, &[&["tools"], flags].concat());
        done.bad(2, &["error: invalid value '…' for '--"]);
        done.hides(SECRET);
    }
}

#[test]
fn who_is_not_there_is_said_with_what_to_do() {
    let dead = port::free();
    let url = format!("http://127.0.0.1:{dead}/mcp");
    for command in ["tools", "resources", "prompts"] {
        against(&url, &[command]).bad(1, &[&url, "connection refused", "check host and port"]);
    }
    against("http://nowhere.invalid/mcp", &["tools"]).bad(1, &["nowhere.invalid", "host"]);
}

#[test]
fn a_web_site_that_is_no_mcp_server_is_said_to_be_none() {
    let page = say::steps([net::http(
        404,
        &[("Content-Type", "text/html")],
        "<html><h1>Not Found</h1></html>",
    )]);
    let place = Place::at(Target::Url(Wire::Http), |fake| {
        fake.on("POST", page.clone()).on("GET", page.clone())
    });
    place.run(&["tools"]).bad(1, &["404"]);
}

#[test]
fn a_server_that_does_not_answer_is_not_waited_for_without_end() {
    each_of(WIRES, |wire| {
        let place = Place::at(Target::Url(wire), |fake| fake.on("initialize", say::never()));
        let out = place.run(&["tools", "--start-timeout", "1"]);
        out.bad(1, &["has not answered in time", "--start-timeout"]);
    });
}

#[test]
fn the_environment_names_the_config_and_a_url_goes_first() {
    let place = Place::new(server);
    let mut command = bare(&place.room, &["tools"]);
    command.env("MCP_PROXY_CONFIG_PATH", place.room.path("mcp.json"));
    assert_eq!(run(command, b"").text(), "s:mirror\n");
    let other = Place::at(Target::Url(Wire::Http), server);
    let mut command = other.command(&["tools"]);
    command.env("MCP_PROXY_CONFIG_PATH", place.room.path("nowhere.json"));
    assert_eq!(run(command, b"").text(), "mirror\n");
}

#[test]
fn asking_wrongly_is_a_usage_error() {
    let place = Place::new(server);
    let room = &place.room;
    let config = place.flags[1].as_str();
    let url = "http://127.0.0.1:1/mcp";
    for (arguments, part) in [
        (&["tools"][..], "--config"),
        (&["call", "--config", config], "<NAME>"),
        (&["tools", "--config", config, "--url", url], "--url"),
        (&["tools", "--token", "t"], "--url"),
        (&["tools", "--config", config, "--header", "A: b"], "--header"),
        (&["tools", "--url", "ftp://x/"], "http:// or https://"),
        (&["tools", "--url", "http://x:port/"], "port"),
        (&["tools", "--url", "http://x/", "--separator", "/"], "--separator"),
        (&["resources", "--output", "f", "--config", config], "URI"),
        (&["call", "s:mirror", "--json", "-o", "f", "--config", config], "--json"),
        (&["call", "s:mirror", "--shout", "--config", config], "--shout"),
        (&["tools", "--config", "nowhere.json"], "nowhere.json"),
        (&["sing"], "sing"),
    ] {
        let mut command = bare(room, arguments);
        // Without a folder of the user there is no config of the user's own.
        command.env_remove("HOME").env_remove("XDG_CONFIG_HOME");
        run(command, b"").bad(2, &[part]);
    }
    let help = run(bare(room, &["call", "--help"]), b"");
    assert!(help.text().contains("key=@FILE"), "{help}");
}

#[test]
fn a_config_with_problems_is_refused_as_check_does() {
    let room = Room::new();
    room.write(
        "mcp.json",
        r#"{"mcpServers":{"a":{"comand":"x"},"b":{"command":"${NOT_SET_4711}"}}}"#,
    );
    let path = room.path("mcp.json").display().to_string();
    for command in ["tools", "resources", "prompts"] {
        let done = run(bare(&room, &[command, "--config", &path]), b"");
        done.bad(2, &["missing required field `command`", "NOT_SET_4711", "2 problems"]);
    }
}

#[test]
fn a_server_that_failed_is_named_where_its_tool_is_missing() {
    let room = Room::new();
    let dead = json!({ "url": format!("http://127.0.0.1:{}/mcp", port::free()) });
    room.config([
        ("s", server(room.fake("s")).entry()),
        ("ghost", json!({ "command": "/nowhere/ghost" })),
        ("dead", dead),
    ]);
    let path = room.path("mcp.json").display().to_string();
    let ask =
        |arguments: &[&str]| run(bare(&room, &[arguments, &["--config", &path]].concat()), b"");
    let list = ask(&["tools"]);
    assert_eq!((list.code, &list.stdout[..]), (Some(0), &b"s:mirror\n"[..]), "{list}");
    ask(&["call", "ghost:boo"]).bad(
        1,
        &["there is no tool `ghost:boo`", "server `ghost` is not running", "/nowhere/ghost"],
    );
    ask(&["call", "dead:x"]).bad(1, &["server `dead` is not running", "connection refused"]);
    ask(&["tools", "other:x"]).bad(1, &["server `ghost`", "server `dead`"]);
}

#[test]
fn expanded_values_of_a_config_are_not_shown() {
    let room = Room::new();
    let die = say::steps([say::stderr(&format!("cannot log in with {SECRET}\n")), say::exit(3)]);
    let mut entry = room.fake("s").at_start(die).entry();
    entry["env"]["API_TOKEN"] = json!("${CANARY}");
    room.config([("s", entry)]);
    let path = room.path("mcp.json").display().to_string();
    let mut command = bare(&room, &["call", "s:x", "--debug", "--config", &path]);
    command.env("CANARY", SECRET);
    let done = run(command, b"");
    done.bad(1, &["server `s` is not running", "cannot log in with"]);
    done.hides(SECRET);
}

#[test]
fn a_search_where_not_all_tools_are_listed_finds_those_that_are_not() {
    let room = Room::new();
    room.config([("s", server(room.fake("s")).entry())]);
    let serve = room.serve(&["--expose", "search"]);
    let url = format!("http://{}/mcp", serve.address());
    let done = against(&url, &["search", "mirror", "--json", "--limit", "100"]);
    let json: serde_json::Value = serde_json::from_slice(done.good()).expect("JSON");
    assert_eq!(json["tools"][0]["name"], "s.mirror", "{json:#}");
    assert_eq!(json["tools"][0]["original_name"], "mirror", "{json:#}");
    assert_eq!(json["tools"][0]["source_server"]["name"], "s", "{json:#}");
    assert_eq!(json["metadata"]["total_tools_searched"], 1, "{json:#}");
    assert!(against(&url, &["search", "mirror"]).text().starts_with("1.00  s.mirror"));
    against(&url, &["search", " "]).bad(2, &["say what the tool should do"]);
    // Where all are listed, nothing says which server a tool is from.
    let serve = room.serve(&["--expose", "full"]);
    let url = format!("http://{}/mcp", serve.address());
    let json: serde_json::Value =
        serde_json::from_slice(against(&url, &["search", "mirror", "--json"]).good())
            .expect("JSON");
    assert_eq!(json["tools"][0]["name"], "s.mirror", "{json:#}");
    assert!(json["tools"][0]["source_server"].is_null(), "{json:#}");
    assert!(json["tools"][0]["original_name"].is_null(), "{json:#}");
}

//! Changes of the config: checked, kept to the byte elsewhere, one at a time, and undone.

use std::os::unix::fs::PermissionsExt as _;

use kit::apart::{apart, word};
use kit::config::Upstream;
use kit::room::Room;
use kit::run::run;
use kit::say;
use kit::terminal::Terminal;
use serde_json::Value;

use super::{CONFIG, add, command, done, good, put, session, text, trunkline};

fn mode(room: &Room, name: &str) -> u32 {
    let found = std::fs::metadata(room.path(name)).expect("it is there");
    found.permissions().mode() & 0o777
}

#[test]
fn the_config_is_made_on_first_use_and_served_without_being_named() {
    let room = Room::new();
    let path = room.path(CONFIG);
    assert_eq!(good(&room, &["path"]).trim_end(), path.to_str().unwrap());
    assert!(!path.exists(), "`path` only looks");
    let out = done(&room, &["list"]);
    assert_eq!(out.code, Some(0), "{out}");
    assert!(out.stderr.contains("trunkline add NAME -- COMMAND"), "{out}");
    assert!(text(&room).starts_with("// Your Trunkline config"), "{}", text(&room));
    assert_eq!(mode(&room, CONFIG), 0o600);
    assert_eq!(mode(&room, ".config/trunkline"), 0o700);
    let told = add(&room, "git", &["log"]).text().to_owned();
    assert!(told.starts_with("added `git` to ") && told.contains("git: 1 tool,"), "{told}");
    let client = session(&room, &[]);
    assert_eq!(client.list_names(), ["git:log"]);
    client.assert_echo("git", "log", r#"{"n":1.0}"#);
    let out = done(&room, &["check"]);
    assert!(out.text().contains("1 of 1 servers running"), "{out}");
}

#[test]
fn a_file_that_is_named_must_be_there() {
    let room = Room::new();
    for args in [
        &["list", "--config", "nowhere.json"][..],
        &["add", "a", "--config", "nowhere.json", "--", "true"],
        &["tools", "--config", "nowhere.json"],
        &["--config", "nowhere.json"],
    ] {
        done(&room, args).bad(2, &["nowhere.json", "not found"]);
    }
    assert!(!room.path("nowhere.json").exists());
    let mut command = trunkline(&room, &["list"]);
    command.env("MCP_PROXY_CONFIG_PATH", room.path("elsewhere.json"));
    run(command, b"").bad(2, &["elsewhere.json", "not found"]);
    assert!(!room.path(CONFIG).exists());
}

/// With comments, odd spacing and an order of its own.
const MINE: &str = "// mine\n{\n\t\"presets\": {}, // later\n\t\"mcpServers\": {\n\t\t// first\n\t\t\"z\": {\"command\": \"true\", \"disabled\": true}, // why\n\t},\n}\n";

#[test]
fn every_other_byte_stays_and_undo_brings_all_of_them_back() {
    let room = Room::new();
    put(&room, MINE);
    add(&room, "a", &["echo"]).good();
    let added = text(&room);
    for line in MINE.lines().filter(|line| line.contains("//")) {
        assert!(added.contains(line), "{line}: {added}");
    }
    assert!(added.find("\"z\"").unwrap() < added.find("\"a\"").unwrap(), "{added}");
    good(&room, &["disable", "a"]);
    let disabled = text(&room);
    good(&room, &["enable", "a"]);
    assert_eq!(text(&room), added);
    good(&room, &["remove", "a"]);
    assert_eq!(text(&room), MINE);
    let listed = good(&room, &["undo", "--list"]);
    let whats: Vec<&str> = listed.lines().map(|line| line.split(" (").next().unwrap()).collect();
    assert_eq!(whats, ["remove a", "enable a", "disable a", "add a"]);
    good(&room, &["undo"]);
    assert_eq!(text(&room), added);
    good(&room, &["undo"]);
    assert_eq!(text(&room), disabled);
    good(&room, &["undo", "--steps", "2"]);
    assert_eq!(text(&room), MINE);
    done(&room, &["undo"]).bad(2, &["no change"]);
}

#[test]
fn undo_does_not_lose_what_somebody_wrote_since() {
    let room = Room::new();
    put(&room, MINE);
    good(&room, &["enable", "z", "--no-check"]);
    let mine = text(&room).replace("// first", "// by hand");
    put(&room, &mine);
    done(&room, &["undo"]).bad(2, &["changed since `enable z`", "--force"]);
    assert_eq!(text(&room), mine);
    good(&room, &["undo", "--force"]);
    assert_eq!(text(&room), MINE);
    good(&room, &["undo"]);
    assert_eq!(text(&room), mine, "what was forced away comes back");
}

#[test]
fn a_server_that_does_not_start_is_not_written() {
    let room = Room::new();
    add(&room, "good", &["echo"]).good();
    let before = text(&room);
    done(&room, &["add", "bad", "--", "no-such-program-here"])
        .bad(1, &["no-such-program-here", "not found", "nothing was written", "--no-check"]);
    assert_eq!(text(&room), before);
    good(&room, &["add", "bad", "--no-check", "--", "no-such-program-here"]);
    assert!(text(&room).contains("no-such-program-here"));
    good(&room, &["disable", "bad"]);
    done(&room, &["enable", "bad"]).bad(1, &["bad did not start"]);
    assert!(good(&room, &["list"]).contains("bad     disabled"));
}

#[test]
fn names_that_are_not_there_or_there_already_are_told() {
    let room = Room::new();
    add(&room, "tickets", &["echo"]).good();
    let before = text(&room);
    for verb in ["remove", "enable", "disable"] {
        done(&room, &[verb, "tikets"]).bad(2, &["no server `tikets`", "did you mean `tickets`?"]);
    }
    done(&room, &["add", "tickets", "--", "true"]).bad(2, &["already", "--force"]);
    done(&room, &["add"]).bad(2, &["nothing to add"]);
    done(&room, &["add", "--", "true"]).bad(2, &["has no name"]);
    done(&room, &["add", "x", "https://h/mcp", "--env", "A=b"]).bad(2, &["--header"]);
    let missing = ["add", "x", "--env", "K=${NOT_SET_ANYWHERE}", "--", "true"];
    done(&room, &missing).bad(2, &["NOT_SET_ANYWHERE", "nothing was written"]);
    assert_eq!(text(&room), before);
    let again = add(&room, "tickets", &["echo"]);
    assert!(again.text().contains("says so already"), "{again}");
}

#[test]
fn a_broken_file_is_refused_and_left_as_it_was() {
    for (broken, place) in [
        ("{\"mcpServers\": {\"a\": {\"command\": \"x\"} \"b\": {}}}", "config.json:1:39"),
        ("{\"mcpServers\": []}", "`mcpServers` is not an object"),
        ("[]", "not an object"),
        ("{", ":1:2"),
    ] {
        let room = Room::new();
        put(&room, broken);
        for args in [
            &["add", "c", "--no-check", "--", "true"][..],
            &["remove", "a"],
            &["enable", "a"],
            &["disable", "a"],
            &["tools", "disable", "a:x"],
            &["list"],
        ] {
            done(&room, args).bad(2, &[place]);
            assert_eq!(text(&room), broken, "{args:?}");
        }
    }
}

#[test]
fn problems_of_other_servers_do_not_stand_in_the_way() {
    let room = Room::new();
    put(
        &room,
        r#"{"mcpServers": {"other": {"command": "x", "env": {"A": "${NOT_SET_ANYWHERE}"}}}}"#,
    );
    add(&room, "a", &["echo"]).good();
    good(&room, &["disable", "other"]);
    assert_eq!(session(&room, &[]).list_names(), ["a:echo"]);
}

#[test]
fn a_change_that_would_break_the_config_is_refused() {
    let room = Room::new();
    let config = r#"{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}},
        "tools": {"both": {"description": "", "subtools": {"a": {"tools": ["t"]}}}}}"#;
    put(&room, config);
    done(&room, &["remove", "a"]).bad(2, &["$.tools.both.subtools.a", "nothing was written"]);
    assert_eq!(text(&room), config);
    good(&room, &["remove", "b"]);
}

#[test]
fn a_server_goes_out_of_presets_and_clients_as_well() {
    let room = Room::new();
    let config = r#"{
  "mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}},
  "presets": {
    "work": [
      "a:read_*", // why
      "b" // always
    ],
    "only": ["a"]
  },
  "clients": {"cursor": {"preset": "only", "hiddenTools": ["b:t", "a.t"]}}
}
"#;
    put(&room, config);
    let out = done(&room, &["remove", "a"]);
    for part in ["removed `a` from", "`a:read_*` goes out of `presets.work`", "`a.t` goes out"] {
        assert!(String::from_utf8_lossy(&out.stdout).contains(part), "{part}: {out}");
    }
    let now = text(&room);
    assert!(now.contains("\"b\" // always") && now.contains("\"only\": []"), "{now}");
    assert!(now.contains("\"hiddenTools\": [\"b:t\"]") && !now.contains("\"a"), "{now}");
    good(&room, &["undo"]);
    assert_eq!(text(&room), config);
}

#[test]
fn somebody_who_starts_it_at_a_terminal_is_told_what_it_is() {
    let room = Room::new();
    let mut terminal = Terminal::spawn(&trunkline(&room, &[]));
    terminal.wait("trunkline --help");
    terminal.write("\u{4}");
    assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
}

#[test]
fn secrets_of_the_command_line_are_written_and_not_shown() {
    const SECRET: &str = "s3cret-of-mine";
    let room = Room::new();
    let mut words = command(&room, "a", &["echo"]);
    words.insert(0, format!("--env=API_TOKEN={SECRET}"));
    let mut args = vec!["add", "a"];
    args.extend(words.iter().map(String::as_str));
    let added = done(&room, &args);
    added.good();
    added.hides(SECRET);
    assert!(text(&room).contains(SECRET));
    let header = format!("Authorization: Bearer {SECRET}");
    let env = format!("KEY={SECRET}");
    for args in [
        &["list"][..],
        &["list", "--json"],
        &["undo", "--list"],
        &["add", "b", "http://127.0.0.1:1/mcp", "--header", &header],
        &["add", "c", "--env", SECRET, "--", "true"],
        &["add", "c", "--env", &env, "--", "false"],
        &["add", "a", "--env", &env, "--", "true"],
        &["remove", "a", "--json"],
    ] {
        done(&room, args).hides(SECRET);
    }
}

#[test]
fn changes_at_the_same_time_lose_none() {
    let room = Room::new();
    let names: Vec<String> = (0..12).map(|number| format!("s{number}")).collect();
    std::thread::scope(|scope| {
        for name in &names {
            let room = &room;
            scope.spawn(move || good(room, &["add", name, "--no-check", "--", "true"]));
        }
    });
    let listed: Value = serde_json::from_str(&good(&room, &["list", "--json"])).unwrap();
    let mut found: Vec<&str> = listed["servers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    found.sort_unstable();
    let mut expected: Vec<&str> = names.iter().map(String::as_str).collect();
    expected.sort_unstable();
    assert_eq!(found, expected);
    assert_eq!(good(&room, &["undo", "--list"]).lines().count(), 12);
    good(&room, &["undo", "--steps", "12"]);
    assert!(!text(&room).contains("true"), "{}", text(&room));
}

#[test]
fn links_and_permissions_stay() {
    let room = Room::new();
    std::fs::create_dir_all(room.path("dotfiles")).unwrap();
    std::fs::create_dir_all(room.path(".config/trunkline")).unwrap();
    room.write("dotfiles/mcp.json", MINE);
    let permissions = std::fs::Permissions::from_mode(0o640);
    std::fs::set_permissions(room.path("dotfiles/mcp.json"), permissions).unwrap();
    std::os::unix::fs::symlink(room.path("dotfiles/mcp.json"), room.path(CONFIG)).unwrap();
    good(&room, &["enable", "z", "--no-check"]);
    assert!(room.path(CONFIG).is_symlink());
    assert_eq!(mode(&room, "dotfiles/mcp.json"), 0o640);
    assert_ne!(std::fs::read_to_string(room.path("dotfiles/mcp.json")).unwrap(), MINE);
    let beside: Vec<_> = std::fs::read_dir(room.path("dotfiles")).unwrap().collect();
    assert_eq!(beside.len(), 1, "nothing is left beside the file: {beside:?}");
    good(&room, &["undo"]);
    assert_eq!(std::fs::read_to_string(room.path("dotfiles/mcp.json")).unwrap(), MINE);
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let room = Room::new();
    put(&room, MINE);
    let folder = word(room.path(".config").to_str().unwrap());
    let read_only = format!("mount --bind {folder} {folder}; mount -o remount,ro,bind {folder}");
    let command = trunkline(&room, &["add", "a", "--no-check", "--", "true"]);
    run(apart(&command, &read_only), b"").bad(1, &["config.json", "Read-only file system"]);
    assert_eq!(text(&room), MINE);
    let mut command = trunkline(&room, &["list"]);
    command.env("XDG_CONFIG_HOME", room.write("file", "").join("below"));
    run(command, b"").bad(2, &["cannot create your config", "--config"]);
    let mut command = trunkline(&room, &["list"]);
    command.env_remove("HOME");
    run(command, b"").bad(2, &["--config"]);
}

#[test]
fn a_url_is_added_and_reached() {
    let room = Room::new();
    let entry = room.fake("web").tool("echo", say::echo()).over(Upstream::Http);
    let url = entry["url"].as_str().expect("an address");
    good(&room, &["add", "web", url, "--transport", "http", "--header", "X-Key: k"]);
    let client = session(&room, &[]);
    assert_eq!(client.list_names(), ["web:echo"]);
    assert!(text(&room).contains("\"X-Key\": \"k\""), "{}", text(&room));
}

#[test]
fn the_simple_aggregator_and_a_platform_have_no_config_of_their_own() {
    let room = Room::new();
    put(&room, r#"{"mcpServers": {"a": {"command": "x"}}}"#);
    done(&room, &["--simple"]).bad(2, &["--config"]);
    done(&room, &["check", "--simple"]).bad(2, &["--config"]);
}

//! What keeps clients apart: their environment, their directory, other users, and places that cannot be used.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::os::unix::net::UnixStream;

use kit::client::Client;
use kit::room::Room;
use kit::{LIMIT, ledger, process, scan};
use rustix::process::Signal;

use super::{complaints, house, runtime_of, server_of};

fn start(room: &Room, variables: &[(&str, &str)]) -> Client {
    let mut command = room.trunkline(&["--start-timeout", "25"]);
    command.envs(variables.iter().copied());
    let client = Client::spawn(command);
    client.initialize("2025-11-25");
    client
}

/// Gives the server `a` the variable `TOKEN` of its client.
fn with_token(room: &Room) {
    let config = fs::read_to_string(room.path("mcp.json")).expect("the config");
    let mut config: serde_json::Value = serde_json::from_str(&config).expect("JSON");
    config["mcpServers"]["a"]["env"]["GIVEN"] = "${TOKEN:-none}".into();
    room.write("mcp.json", config.to_string());
}

fn given(client: &Client) -> String {
    let answer = client.call("a:env", "{}");
    let value = scan::path(answer.result(), &["env", "GIVEN"]).expect("the variable");
    scan::text(value).expect("text")
}

#[test]
fn a_client_with_another_secret_has_servers_of_its_own() {
    let room = house();
    with_token(&room);
    let secrets = ["alpha-secret-1", "beta-secret-2"];
    let [first, second] = secrets.map(|secret| start(&room, &[("TOKEN", secret)]));
    let third = start(&room, &[("TOKEN", secrets[0]), ("UNUSED", "x"), ("TERM", "other")]);
    assert_eq!(
        [given(&first), given(&second), given(&third)],
        [secrets[0], secrets[1], secrets[0]]
    );
    assert_eq!(
        server_of(&first),
        server_of(&third),
        "what the config does not use does not matter"
    );
    assert_eq!(room.runtimes().len(), 2);
    let unset = start(&room, &[]);
    assert_eq!(given(&unset), "none");
    assert_eq!(room.runtimes().len(), 3);
    let mut places = vec![room.path("run/trunkline")];
    let mut files = 0;
    while let Some(place) = places.pop() {
        assert!(!secrets.iter().any(|secret| place.to_string_lossy().contains(secret)));
        let about = fs::symlink_metadata(&place).expect("it is there");
        assert_eq!(about.permissions().mode() & 0o077, 0, "{}", place.display());
        if about.is_dir() {
            places.extend(
                fs::read_dir(&place).expect("it can be read").flatten().map(|it| it.path()),
            );
        } else if about.is_file() {
            let text = fs::read(&place).expect("it can be read");
            let text = String::from_utf8_lossy(&text);
            assert!(!secrets.iter().any(|secret| text.contains(secret)), "{}", place.display());
            files += 1;
        }
    }
    assert!(files > 0);
}

#[test]
fn directories_that_a_client_adds_to_path_for_itself_part_nobody() {
    let room = house();
    let path = std::env::var("PATH").expect("a PATH");
    let helpers = |name: &str| {
        let directory = room.path(name);
        fs::create_dir_all(&directory).expect("the room can be written");
        format!("{}:{path}", directory.display())
    };
    let paths =
        [path.clone(), helpers("tmp/arg0/codex-arg0Ab1234"), helpers("tmp/arg0/codex-arg0Cd5678")];
    let clients = paths.each_ref().map(|path| start(&room, &[("PATH", path)]));
    let servers = clients.each_ref().map(server_of);
    assert!(servers.iter().all(|server| *server == servers[0]), "{servers:?}");
    let other = start(&room, &[("PATH", &helpers("venv/bin"))]);
    assert_ne!(server_of(&other), servers[0], "what a user has put there counts");
}

#[test]
fn a_variable_that_an_edited_config_uses_parts_clients_that_differ_in_it() {
    let room = house();
    let secrets = ["alpha-secret-1", "beta-secret-2"];
    let [first, second] = secrets.map(|secret| start(&room, &[("TOKEN", secret)]));
    assert_eq!(server_of(&first), server_of(&second), "nothing uses it yet");
    with_token(&room);
    // The servers of before do not have the variable; nobody ever has another's.
    let own = |client: &Client, secret: &str| {
        let answer = client.call("a:env", "{}");
        let Some(result) = answer.try_result() else { return false };
        let value = scan::path(result, &["env", "GIVEN"]).and_then(scan::text);
        assert!(value.as_deref().is_none_or(|value| value == secret), "another's secret: {answer}");
        value.is_some()
    };
    for (client, secret) in [&second, &first].into_iter().zip([secrets[1], secrets[0]]) {
        process::wait_until("each has its own", LIMIT, || own(client, secret));
    }
    assert_ne!(server_of(&first), server_of(&second));
    assert_eq!(room.runtimes().len(), 2);
}

/// What a runtime answers to a front that has no variables at all.
fn greeting(room: &Room) -> String {
    let files = fs::read_dir(room.path("run/trunkline")).expect("the directory").flatten();
    let mut sockets =
        files.map(|it| it.path()).filter(|it| it.extension() == Some("sock".as_ref()));
    let mut stream = UnixStream::connect(sockets.next().expect("a socket")).expect("it listens");
    let hello =
        r#"{"trunkline":1,"client":{"pid":1,"lingerMs":0,"lastQuestion":0,"variables":{}}}"#;
    writeln!(stream, "{hello}").expect("it is read");
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).expect("it is answered");
    answer
}

#[test]
fn a_client_that_comes_behind_an_edit_is_sent_away_before_anything_of_it_is_read() {
    let room = house();
    let first = start(&room, &[("TOKEN", "alpha-secret-1")]);
    server_of(&first);
    assert!(greeting(&room).contains("welcome"), "nothing uses the variable yet");
    with_token(&room);
    process::wait_until("the edit is applied", LIMIT, || {
        let answer = first.call("a:env", "{}");
        let given = answer.try_result().and_then(|it| scan::path(it, &["env", "GIVEN"]));
        given.is_some()
    });
    let answer = greeting(&room);
    assert!(answer.contains("elsewhere") && !answer.contains("welcome"), "{answer}");
    server_of(&first);
}

/// How often the config is edited while clients start.
const EDITS: usize = 6;

#[test]
fn clients_that_start_while_the_config_is_edited_get_their_own_secret_and_every_answer() {
    let room = house();
    let plain = fs::read_to_string(room.path("mcp.json")).expect("the config");
    with_token(&room);
    let with_token = fs::read_to_string(room.path("mcp.json")).expect("the config");
    let secrets = ["alpha-secret-1", "beta-secret-2"];
    let mut all: Vec<(Client, &str)> = Vec::new();
    for edit in 0..EDITS {
        let begun: Vec<(Client, &str)> = secrets
            .into_iter()
            .map(|secret| {
                let mut command = room.trunkline(&["--start-timeout", "25"]);
                command.env("TOKEN", secret);
                (Client::spawn(command), secret)
            })
            .collect();
        // Written aside: a front that reads half a config is another matter.
        let text = if edit.is_multiple_of(2) { &plain } else { &with_token };
        fs::rename(room.write("edited.json", text), room.path("mcp.json")).expect("it is edited");
        all.extend(begun);
        for (client, _) in all.iter().skip(2 * edit) {
            client.initialize("2025-11-25");
        }
        for (client, secret) in &all {
            let answer = client.call("a:env", "{}");
            let Some(result) = answer.try_result() else {
                assert!(answer.message().contains("run"), "no outcome: {answer}");
                continue;
            };
            let given = scan::path(result, &["env", "GIVEN"]).and_then(scan::text);
            assert!(given.as_deref().is_none_or(|it| it == *secret), "another's secret: {answer}");
        }
    }
    // The last edit uses the variable.
    for (client, secret) in &all {
        process::wait_until("each has its own", LIMIT, || {
            let answer = client.call("a:env", "{}");
            let given = answer.try_result().and_then(|it| scan::path(it, &["env", "GIVEN"]));
            given.and_then(scan::text).as_deref() == Some(*secret)
        });
        client.assert_only_protocol();
    }
}

#[test]
fn servers_that_name_their_directory_have_it_and_others_do_not_run_in_a_project() {
    let room = house();
    let folders = ["one", "two"].map(|name| room.path(name));
    let at = |folder: &std::path::Path| {
        let mut command = room.trunkline(&["--start-timeout", "25"]);
        command.current_dir(folder).env("HOME", room.path("home"));
        let client = Client::spawn(command);
        client.initialize("2025-11-25");
        client
    };
    let cwd = |client: &Client| {
        let answer = client.call("a:env", "{}");
        scan::text(scan::path(answer.result(), &["cwd"]).expect("cwd")).expect("text")
    };
    folders.iter().chain([&room.path("home")]).for_each(|folder| fs::create_dir(folder).unwrap());
    let clients = folders.each_ref().map(|folder| at(folder));
    assert_eq!(server_of(&clients[0]), server_of(&clients[1]));
    let home = room.path("home").canonicalize().unwrap();
    assert_eq!(cwd(&clients[0]), home.to_str().unwrap());
    drop(clients);
    process::wait_until("they are gone", LIMIT, || room.runtimes().is_empty());
    let config = fs::read_to_string(room.path("mcp.json")).expect("the config");
    let mut config: serde_json::Value = serde_json::from_str(&config).expect("JSON");
    config["mcpServers"]["a"]["cwd"] = ".".into();
    room.write("mcp.json", config.to_string());
    let clients = folders.each_ref().map(|folder| at(folder));
    for (client, folder) in clients.iter().zip(&folders) {
        assert_eq!(cwd(client), folder.canonicalize().unwrap().to_str().unwrap());
    }
    assert_eq!(room.runtimes().len(), 2);
}

#[test]
fn a_socket_that_a_killed_runtime_left_is_no_obstacle() {
    let room = house();
    let first = room.start_ready(&["--linger", "60"]);
    let runtime = runtime_of(&room);
    first.signal(Signal::KILL);
    first.wait_exit(LIMIT);
    process::kill(runtime, Signal::KILL);
    process::wait_gone(room.marker(), LIMIT).expect("all are gone");
    let sockets = || {
        let entries = fs::read_dir(room.path("run/trunkline")).expect("the directory").flatten();
        entries.filter(|entry| entry.path().extension() == Some("sock".as_ref())).count()
    };
    assert_eq!(sockets(), 1, "it was left");
    let second = room.start_ready(&[]);
    server_of(&second);
    assert_eq!((sockets(), room.runtimes().len()), (1, 1));
    assert_eq!(ledger::started(&room.ledger("a")).len(), 2);
}

#[test]
fn a_runtime_whose_files_were_tidied_away_takes_nothing_from_the_next_one() {
    let room = house();
    let first = room.start_ready(&[]);
    let old = runtime_of(&room);
    server_of(&first);
    process::kill(old, Signal::STOP); // it must not notice before the next one has come
    for entry in fs::read_dir(room.path("run/trunkline")).expect("the directory").flatten() {
        if entry.path().extension().is_some_and(|it| it == "sock" || it == "lock") {
            fs::remove_file(entry.path()).unwrap();
        }
    }
    let second = room.start_ready(&[]);
    let pid = server_of(&second);
    process::kill(old, Signal::CONT);
    assert_eq!(room.runtimes().len(), 2);
    drop(first);
    process::wait_until("the first one ends", LIMIT, || !process::is_alive(old));
    let third = room.start_ready(&[]);
    assert_eq!(server_of(&third), pid, "the socket is still there");
}

#[test]
fn where_nothing_can_be_shared_one_line_says_why_and_the_client_is_served() {
    let open = house();
    fs::create_dir(open.path("run/trunkline")).unwrap();
    fs::set_permissions(open.path("run/trunkline"), fs::Permissions::from_mode(0o755)).unwrap();
    let file = house();
    fs::remove_dir(file.path("run")).unwrap();
    file.write("run", "");
    let linked = house();
    std::os::unix::fs::symlink("/tmp", linked.path("run/trunkline")).unwrap();
    let foreign = house();
    let theirs = foreign.path("run/trunkline");
    fs::DirBuilder::new().mode(0o700).create(&theirs).unwrap();
    // Only root can give a directory away; others cannot enter one that is not theirs.
    let is_given = std::os::unix::fs::chown(&theirs, Some(12_345), None).is_ok();
    let mut cases = vec![
        (&open, "chmod 700"),
        (&file, "cannot be made"),
        (&linked, "is a link, and where it leads is not trusted: remove it"),
    ];
    if is_given {
        cases.push((&foreign, "belongs to another user (uid 12345)"));
    }
    for (room, why) in cases {
        let client = room.start_ready(&[]);
        server_of(&client);
        client.wait_stderr(&["servers are started for this client alone", why], LIMIT);
        assert_eq!(complaints(&client).len(), 1, "{}", client.stderr());
        assert!(room.runtimes().is_empty());
        client.close_stdin();
        assert!(client.wait_exit(LIMIT).success());
        process::wait_gone(room.marker(), LIMIT).expect("nothing is left");
    }
}

#[test]
fn a_trunkline_behind_another_one_shares_nothing() {
    let room = house();
    let inner = room.path("mcp.json");
    let outer = room.path("outer.json");
    let entry = serde_json::json!({ "mcpServers": { "inner": {
        "command": kit::bin::trunkline(), "args": ["--config", inner],
        "env": { "TRUNKLINE_SHARED": "on", "XDG_RUNTIME_DIR": room.path("run") } } } });
    fs::write(&outer, entry.to_string()).unwrap();
    let mut command = room.trunkline(&["--start-timeout", "25"]);
    command.args(["--config"]).arg(&outer);
    let command = {
        let mut outermost = std::process::Command::new(command.get_program());
        outermost.arg("--config").arg(&outer).args(["--start-timeout", "25"]);
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => outermost.env(name, value),
                None => outermost.env_remove(name),
            };
        }
        outermost
    };
    let client = Client::spawn(command);
    client.initialize("2025-11-25");
    client.wait_list("the tools of both", LIMIT, |names| {
        names.iter().any(|name| name.contains("echo"))
    });
    assert_eq!(room.runtimes().len(), 1, "only the outer one is shared");
}

//! Where only some commands may be registered: which program runs is decided by the operator.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use kit::platform::{Platform, SERVERS, id_of, stdio};
use kit::room::Room;
use kit::{LIMIT, ledger};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::echoing;

/// `tool` is the scripted server in Trunkline's own PATH, and something else elsewhere.
struct Programs {
    own: PathBuf,
    evil: PathBuf,
    mark: PathBuf,
}

impl Programs {
    fn laid(room: &Room, entry: &Value) -> Self {
        let (own, evil, mark) = (room.path("own"), room.path("evil"), room.path("was-run"));
        for folder in [&own, &evil] {
            std::fs::create_dir(folder).expect("a folder");
        }
        let real = entry["command"].as_str().expect("a command");
        symlink(real, own.join("tool")).expect("a link");
        room.script("evil/tool", &format!(": > '{}'\n", mark.display()));
        Self { own, evil, mark }
    }

    fn platform(&self, room: &Room, flags: &[&str]) -> Platform {
        let mut command = room.platform_command(flags);
        command.env("PATH", format!("{}:/usr/bin:/bin", text(&self.own)));
        Platform::start(command)
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("text")
}

fn named(room: &Room, entry: &Value, change: &Value) -> Value {
    let mut body = stdio("a", entry);
    let config = body["connection_config"].as_object_mut().expect("an object");
    config.insert("command".to_owned(), json!("tool"));
    for (name, value) in change.as_object().expect("an object") {
        match (config.get_mut(name), value.as_object()) {
            (Some(Value::Object(known)), Some(more)) => known.extend(more.clone()),
            _ => drop(config.insert(name.clone(), value.clone())),
        }
    }
    assert!(ledger::started(&room.ledger("a")).is_empty());
    body
}

#[test]
fn a_listed_command_is_the_one_in_trunklines_own_path() {
    let room = Room::new();
    let entry = echoing(&room, "a").entry();
    let programs = Programs::laid(&room, &entry);
    let platform = programs.platform(&room, &["--allow-stdio-command", "tool"]);
    let evil = text(&programs.evil);
    for (name, value) in [
        ("PATH", evil),
        ("LD_PRELOAD", "/tmp/x.so"),
        ("LD_LIBRARY_PATH", evil),
        ("NODE_OPTIONS", "--require=/tmp/x.js"),
        ("PYTHONPATH", evil),
        ("PYTHONSTARTUP", evil),
        ("BASH_ENV", evil),
        ("PERL5LIB", evil),
        ("RUBYOPT", "-r/tmp/x.rb"),
        ("JAVA_TOOL_OPTIONS", "-javaagent:x.jar"),
    ] {
        let body = named(&room, &entry, &json!({ "env": { name: value } }));
        let problem = platform.admin().post(SERVERS, &body).problem(403, "stdio-forbidden");
        let detail = problem["detail"].as_str().unwrap_or_default();
        assert!(detail.contains(name) && !detail.contains(value), "{detail}");
    }
    let other = named(&room, &entry, &json!({ "command": "/bin/true" }));
    let problem = platform.admin().post(SERVERS, &other).problem(403, "stdio-forbidden");
    assert!(problem["detail"].as_str().is_some_and(|it| it.contains("`tool`")), "{problem}");
    let body = named(&room, &entry, &json!({ "cwd": evil }));
    let id = id_of(&platform.register(&body));
    platform.wait_status(&id, "CONNECTED");
    let path = format!("{SERVERS}/{id}");
    let bent = json!({ "connection_config": { "env": { "PATH": evil } } });
    platform.admin().patch(&path, &bent).problem(403, "stdio-forbidden");
    assert!(!programs.mark.exists());
    let refused = |action: &str| {
        let all = platform.audit().into_iter();
        all.filter(|it| it["action"] == action && it["outcome"] == "refused").count()
    };
    kit::process::wait_until("what was refused is recorded", LIMIT, || {
        (refused("register-server"), refused("edit-server")) == (11, 1)
    });
}

#[test]
fn a_command_that_was_registered_before_cannot_bend_the_list_either() {
    let room = Room::new();
    let entry = echoing(&room, "a").entry();
    let programs = Programs::laid(&room, &entry);
    let id = {
        let platform = programs.platform(&room, &["--allow-stdio-registration"]);
        let mut body = named(&room, &entry, &json!({ "env": { "PATH": text(&programs.evil) } }));
        body["auto_connect"] = json!(false);
        let id = id_of(&platform.register(&body));
        platform.serve().process().signal(Signal::TERM);
        platform.serve().process().wait_exit(LIMIT);
        id
    };
    let platform = programs.platform(&room, &["--allow-stdio-command", "tool"]);
    platform.act(&id, "connect").is(202);
    let server = platform.wait_status(&id, "ERROR");
    assert!(server["last_error"].to_string().contains("PATH"), "{server:#}");
    assert!(!programs.mark.exists());
}

//! A store that cannot be used as it should: another key, a disk without room. Serving goes on.

use std::process::Command;

use kit::apart::{apart, word};
use kit::mcp::Speak;
use kit::platform::{ADMIN, KEYS, Platform, SERVERS, id_of, remote};
use kit::room::Room;
use kit::service::{Service, Wire};
use kit::{LIMIT, bin, ledger, process, run};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::echoing;

const RIGHT: &str = "a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s=";
const WRONG: &str = "eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHg=";

/// A platform with this key, and a server of the config file.
fn keyed(room: &Room, key: &str) -> Platform {
    let config = room.config([("f", echoing(room, "f").entry())]);
    let flags = ["--allow-net", "127.0.0.0/8", "--config", config.to_str().expect("UTF-8")];
    let mut command = room.platform_command(&flags);
    command.env("TRUNKLINE_KEY", key);
    Platform::start(command)
}

fn stop(platform: &Platform) {
    platform.serve().process().signal(Signal::TERM);
    platform.serve().process().wait_exit(LIMIT);
}

fn with_secret(name: &str, service: &Service) -> Value {
    let mut body = remote(name, service);
    body["connection_config"]["headers"] = json!({ "X-Secret": "s3cr3t-of-a" });
    body
}

#[test]
fn with_another_key_records_are_shown_and_nothing_is_overwritten_while_serving_goes_on() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let (id, key) = {
        let platform = keyed(&room, RIGHT);
        let id = id_of(&platform.register(&with_secret("a", &service)));
        platform.wait_status(&id, "CONNECTED");
        let key = platform.key("viewer");
        stop(&platform);
        (id, key)
    };
    let asked = ledger::heads(&room.ledger("a")).len();
    {
        let platform = keyed(&room, WRONG);
        let server = platform.server(&id);
        assert_eq!(server["name"], "a");
        assert_ne!(server["status"], "CONNECTED", "{server:#}");
        let refused = platform.admin().post(SERVERS, &with_secret("b", &service));
        let problem = refused.problem(503, "store-unavailable");
        assert!(problem.to_string().contains("TRUNKLINE_KEY"), "it says what to do: {problem:#}");
        let patch = json!({ "connection_config": { "headers": { "X-Secret": "another" } } });
        let path = format!("{SERVERS}/{id}");
        platform.admin().patch(&path, &patch).problem(503, "store-unavailable");
        let connect = platform.act(&id, "connect");
        assert!([202, 503].contains(&connect.status()), "{connect}");
        process::wait_until("the file's server is there", LIMIT, || {
            platform.tool_names(ADMIN) == ["f.echo"]
        });
        platform.mcp(ADMIN).assert_echo("f", "echo", "{}");
        platform.call("f.echo", &json!({})).is(200);
        assert_eq!(ledger::heads(&room.ledger("a")).len(), asked, "without its secret nobody asks");
        stop(&platform);
    }
    let platform = keyed(&room, RIGHT);
    platform.wait_status(&id, "CONNECTED");
    platform.call("a.echo", &json!({})).is(200);
    platform.rest(Some(&key)).get("/api/v1/me").is(200);
    let heads = ledger::heads(&room.ledger("a"));
    assert_eq!(heads.last().and_then(|head| head.header("x-secret")), Some("s3cr3t-of-a"));
}

/// Everybody on the machine sees the command line, and the address may hold a password.
#[test]
fn the_address_of_the_store_may_be_in_the_environment() {
    let room = Room::new();
    let (there, usual) = (room.path("there.db"), room.path("data").join("trunkline.db"));
    let url = format!("sqlite:{}", there.display());
    let service = echoing(&room, "a").listen(Wire::Http);
    let mut command = room.platform_command(&["--allow-net", "127.0.0.0/8"]);
    command.env("TRUNKLINE_STORE", &url);
    let platform = Platform::start(command);
    platform.connected("a", &service);
    stop(&platform);
    assert!(there.exists() && !usual.exists());
    let mut verify = Command::new(bin::trunkline());
    verify.args(["audit", "verify", "--data-dir"]).arg(room.path("data"));
    verify.env("TRUNKLINE_STORE", &url).env_remove("TRUNKLINE_KEY");
    let done = run::run(verify, b"");
    assert_eq!(done.code, Some(0), "{done}");
    assert!(done.text().contains("1 record"), "{done}");
    for bad in ["mysql://u:hunter2@h/d", "postgres://u:hunter2@h/d?sslmode=hunter3"] {
        let mut command = room.platform_command(&[]);
        command.env("TRUNKLINE_STORE", bad);
        let done = run::run(command, b"");
        done.bad(2, &["TRUNKLINE_STORE"]);
        done.hides("hunter2");
    }
}

#[test]
fn a_key_that_is_none_is_refused_at_the_start() {
    for wrong in ["short", "a2tr", "not base64 at all, not base64 at all, no!!"] {
        let room = Room::new();
        let mut command = room.platform_command(&[]);
        command.env("TRUNKLINE_KEY", wrong);
        let done = run::run(command, b"");
        assert!(matches!(done.code, Some(1 | 2)), "{done}");
        assert!(done.stderr.contains("TRUNKLINE_KEY"), "{done}");
        done.hides(wrong);
    }
}

#[test]
fn the_data_directory_and_its_key_are_their_owners_only() {
    use std::os::unix::fs::PermissionsExt;
    let room = Room::new();
    let platform = room.platform(&[]);
    platform.key("viewer");
    for entry in std::fs::read_dir(room.path("data")).expect("a directory").flatten() {
        let mode = entry.metadata().expect("its mode").permissions().mode() & 0o077;
        assert_eq!(mode, 0, "{}", entry.path().display());
    }
    let mode = std::fs::metadata(room.path("data")).expect("its mode").permissions().mode();
    assert_eq!(mode & 0o077, 0);
}

#[test]
fn k28_on_a_full_disk_writes_are_refused_whole_and_serving_goes_on() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let disk = SmallDisk::of(&room);
    let command = room.platform_command(&["--allow-net", "127.0.0.0/8"]);
    let platform = Platform::start(disk.apart(&command));
    let id = platform.connected("a", &service);
    let before = platform.admin().get(SERVERS).is(200)["total"].clone();
    disk.fill();
    // What is left of the last pages may take a few more.
    let mut written = before.as_u64().expect("a number");
    let mut refused = None;
    for n in 0..500 {
        let mut body = with_secret(&format!("n{n}"), &service);
        body["auto_connect"] = false.into();
        body["description"] = "d".repeat(3000).into();
        let answer = platform.admin().post(SERVERS, &body);
        match answer.status() {
            201 => written += 1,
            _ => {
                refused = Some(answer);
                break;
            }
        }
    }
    let refused = refused.expect("the disk is full");
    refused.problem(507, "store-full");
    platform
        .admin()
        .post(KEYS, &json!({ "name": "x", "role": "viewer" }))
        .problem(507, "store-full");
    for n in 0..50 {
        platform.call("a.echo", &json!({ "n": n })).is(200);
    }
    platform.mcp(ADMIN).assert_echo("a", "echo", "{}");
    let list = platform.admin().get(SERVERS).is(200);
    assert_eq!(list["total"], written, "nothing is half there");
    disk.free();
    process::wait_until("it is used", LIMIT, || {
        let mut body = with_secret("later", &service);
        body["auto_connect"] = false.into();
        platform.admin().post(SERVERS, &body).status() == 201
    });
    assert_eq!(platform.server(&id)["status"], "CONNECTED");
    // Calls that were made meanwhile are recorded, or it is said how many are not.
    platform.wait_audit("a call of that time, or a loss", |record| {
        record["action"] == "call-tool" || record.to_string().contains("lost")
    });
}

/// The memory of a platform holds its key.
#[test]
fn a_crash_leaves_no_core_dump() {
    let room = Room::new();
    let platform = room.platform_command(&[]);
    // As an operator's shell may have it: dumps are wanted, as far as the system allows.
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -S -c $(ulimit -H -c); exec \"$0\" \"$@\""]);
    command.arg(platform.get_program()).args(platform.get_args());
    for (name, value) in platform.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let platform = Platform::start(command);
    let limits = format!("/proc/{}/limits", platform.serve().process().pid().as_raw_nonzero());
    let limits = std::fs::read_to_string(limits).expect("a process has limits");
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).expect("a line");
    assert_eq!(core.split_whitespace().nth(4), Some("0"), "{core}");
}

/// A swap file outlives the process.
#[test]
fn the_key_is_locked_in_memory() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let status = format!("/proc/{}/status", platform.serve().process().pid().as_raw_nonzero());
    let status = std::fs::read_to_string(status).expect("a process has a status");
    let locked = status.lines().find_map(|line| line.strip_prefix("VmLck:")).expect("a line");
    let kib: u32 = locked.trim().trim_end_matches(" kB").parse().expect("a number");
    assert!((4..=256).contains(&kib), "{kib} KiB are locked: the key's page is expected");
}

/// A disk of 4 MiB for the data of a platform. Only the platform sees it.
pub(super) struct SmallDisk<'a> {
    room: &'a Room,
}

impl<'a> SmallDisk<'a> {
    pub(super) fn of(room: &'a Room) -> Self {
        std::fs::create_dir(room.path("data")).expect("the room can be written");
        Self { room }
    }

    pub(super) fn apart(&self, command: &Command) -> Command {
        let at = |name: &str| word(self.room.path(name).to_str().expect("UTF-8"));
        let (data, full, filled) = (at("data"), at("full"), at("filled"));
        let (free, freed, fill) = (at("free"), at("freed"), at("data/fill"));
        // A shell stays beside the platform and does as the gates say; as a child of the platform, which
        // the second bracket prevents, it would be ended as a stray.
        let script = format!(
            "mount -t tmpfs -o size=4m,mode=700 none {data}; \
             ( ( until [ -e {full} ]; do sleep 0.05; done; cat /dev/zero > {fill} || touch {filled}; \
                 until [ -e {free} ]; do sleep 0.05; done; rm {fill}; touch {freed} \
               ) </dev/null >/dev/null 2>&1 & )"
        );
        apart(command, &script)
    }

    pub(super) fn fill(&self) {
        self.room.open_gate("full");
        process::wait_until("the disk is full", LIMIT, || self.room.path("filled").exists());
    }

    pub(super) fn free(&self) {
        self.room.open_gate("free");
        process::wait_until("there is room", LIMIT, || self.room.path("freed").exists());
    }
}

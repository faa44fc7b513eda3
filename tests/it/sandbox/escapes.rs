//! The escape suite: each row is one thing that a hostile server tries. It is refused under `standard`, and works
//! without a sandbox where the machine allows it, so that a wall that is missing is seen.

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};

use serde_json::json;

use super::Stage;

/// What is tried, with which errors it may end, and whether it works without walls.
struct Row {
    what: &'static str,
    errors: &'static [&'static str],
    without: Without,
}

#[derive(PartialEq)]
enum Without {
    Works,
    /// The machine, its kernel or our own care refuse it in any case.
    Depends,
}

const fn row(what: &'static str, errors: &'static [&'static str]) -> Row {
    Row { what, errors, without: Without::Works }
}

const fn never(what: &'static str, errors: &'static [&'static str]) -> Row {
    Row { what, errors, without: Without::Depends }
}

const CLOSED: &[&str] = &["EACCES"];
const REFUSED: &[&str] = &["EPERM"];

const ROWS: &[Row] = &[
    // Files.
    row("read-key", CLOSED),
    row("read-admin-token", CLOSED),
    row("read-store", CLOSED),
    row("read-config", CLOSED),
    row("read-ssh-key", CLOSED),
    row("read-aws", CLOSED),
    row("read-documents", CLOSED),
    never("read-shadow", CLOSED),
    row("read-through-proc-root", CLOSED),
    row("read-through-a-symlink", CLOSED),
    row("read-through-a-hard-link", &["EACCES", "EXDEV"]),
    never("read-by-handle", &["EPERM", "EACCES"]),
    row("move-the-key", &["EACCES", "EXDEV"]),
    row("write-store", CLOSED),
    row("write-config", CLOSED),
    row("write-bashrc", CLOSED),
    never("write-system", CLOSED),
    row("write-shared-tmp", CLOSED),
    row("cut-the-key-short", CLOSED),
    // Other processes.
    never("read-environment-of-sibling", CLOSED),
    row("read-arguments-of-sibling", CLOSED),
    never("read-memory-of-sibling", CLOSED),
    never("read-environment-of-trunkline", CLOSED),
    never("trace-sibling", REFUSED),
    never("trace-trunkline", REFUSED),
    never("read-process-memory", REFUSED),
    never("steal-a-descriptor", REFUSED),
    row("signal-sibling", REFUSED),
    row("signal-trunkline", REFUSED),
    row("signal-keeper", REFUSED),
    never("limit-trunkline", REFUSED),
    row("renice-trunkline", REFUSED),
    // Sockets.
    row("connect-socket", CLOSED),
    row("connect-abstract-socket", CLOSED),
    row("datagram-to-a-path", CLOSED),
    never("raw-socket", &["EACCES"]),
    never("packet-socket", &["EACCES"]),
    row("audit-netlink", &["EACCES"]),
    never("bind-our-port", &["EADDRINUSE"]),
    // The system.
    never("mount", REFUSED),
    never("new-mount-interface", REFUSED),
    never("chroot", REFUSED),
    never("new-user-namespace", REFUSED),
    never("enter-namespace", &["EPERM", "EACCES"]),
    never("become-another-user", REFUSED),
    never("take-capabilities", REFUSED),
    never("make-a-device", &["EPERM", "EACCES"]),
    row("set-user-id", REFUSED),
    row("set-group-id", REFUSED),
    row("open-set-user-id", REFUSED),
    row("mknod-set-user-id", REFUSED),
    never("bpf", REFUSED),
    never("perf", REFUSED),
    row("keyring", REFUSED),
    never("userfaultfd", REFUSED),
    never("io-uring", REFUSED),
    never("kexec", REFUSED),
    never("load-module", REFUSED),
    never("rename-machine", REFUSED),
    never("core-dump", REFUSED),
    never("type-into-a-terminal", &["EPERM", "EACCES", "ENOENT"]),
    // More than its share.
    never("fork-bomb", &["EAGAIN"]),
    never("thread-bomb", &["EAGAIN"]),
    row("memory-bomb", &["ENOMEM"]),
    never("fill-the-disk", &["EFBIG"]),
    never("open-files-bomb", &["EMFILE"]),
    never("inherit-a-descriptor", &["EBADF"]),
];

/// What every server needs.
const FINE: [&str; 12] = [
    "fine-read-system",
    "fine-write-work",
    "fine-write-tmp",
    "fine-tcp",
    "fine-udp",
    "fine-socketpair",
    "fine-child",
    "fine-thread",
    "fine-own-process",
    "fine-resolver",
    "fine-modes",
    "fine-fifo",
];

/// Sockets of others, for as long as they are held.
fn sockets(stage: &Stage) -> (UnixListener, UnixDatagram, UnixListener) {
    let path = |name: &str| stage.places[name].as_str().unwrap().to_owned();
    let listener = UnixListener::bind(path("socket")).unwrap();
    let datagrams = UnixDatagram::bind(path("datagrams")).unwrap();
    let name = SocketAddr::from_abstract_name(path("abstract")).unwrap();
    (listener, datagrams, UnixListener::bind_addr(&name).unwrap())
}

#[test]
fn everything_a_hostile_server_tries_is_refused_by_default_on_a_platform() {
    let stage = Stage::new(None, &[]);
    let _held = sockets(&stage);
    let mut wrong = Vec::new();
    for Row { what, errors, .. } in ROWS {
        let came = stage.attempt(what);
        if !errors.contains(&came.as_str()) {
            wrong.push(format!("{what}: {came}, expected {errors:?}"));
        }
    }
    for what in FINE {
        let came = stage.attempt(what);
        if came != "done" {
            wrong.push(format!("{what}: {came}, but it must work"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), ROWS.len(), wrong.join("\n"));
    assert!(ROWS.len() >= 40);
    // The reason is in the log, for each thing that the kernel asks about.
    let stderr = stage.stderr();
    for name in [
        "ptrace",
        "mount",
        "unshare",
        "socket",
        "keyctl",
        "io_uring_setup",
        "bpf",
        "one more process",
    ] {
        assert!(stderr.contains(&format!("sandbox standard refused {name}")), "{name}:\n{stderr}");
    }
    // Whoever was attacked works as before.
    stage.platform.call("victim.echo", &json!({})).is(200);
}

#[test]
fn the_same_works_without_a_sandbox() {
    let stage = Stage::new(Some(json!("off")), &[]);
    let _held = sockets(&stage);
    let is_root = rustix::process::geteuid().is_root();
    let mut wrong = Vec::new();
    // A bomb without walls hurts those who test beside this.
    let rows = ROWS.iter().filter(|row| !row.what.ends_with("-bomb"));
    let mut escaped = 0;
    for Row { what, without, .. } in rows {
        let came = stage.attempt(what);
        escaped += usize::from(came == "done");
        if came != "done" && *without == Without::Works {
            wrong.push(format!("{what}: {came}"));
        }
    }
    assert!(wrong.is_empty(), "without walls these fail, too:\n{}", wrong.join("\n"));
    assert!(!is_root || escaped >= 30, "only {escaped} tries say something about the walls");
}

#[test]
fn strict_has_no_network_and_a_home_of_its_own() {
    let stage = Stage::new(Some(json!("strict")), &[]);
    for (what, expected) in [
        ("fine-tcp", "EACCES"),
        ("fine-udp", "EACCES"),
        ("fine-write-work", "EACCES"),
        ("read-documents", "EACCES"),
        ("read-key", "EACCES"),
        ("shared-memory", "EPERM"),
        ("fine-write-tmp", "done"),
        ("fine-child", "done"),
    ] {
        assert_eq!(stage.attempt(what), expected, "{what}");
    }
}

#[test]
fn an_object_adds_to_the_profile() {
    let stage = Stage::new(
        Some(json!({ "read": ["~/documents"], "net": false, "unixSockets": true })),
        &["--sandbox", "strict"],
    );
    let _held = sockets(&stage);
    for (what, expected) in [
        ("read-documents", "done"),
        ("read-ssh-key", "EACCES"),
        ("fine-tcp", "EACCES"),
        ("connect-socket", "done"),
        // Landlock keeps these apart by itself.
        ("connect-abstract-socket", "EPERM"),
        ("fine-write-work", "done"),
    ] {
        assert_eq!(stage.attempt(what), expected, "{what}");
    }
}

#[test]
fn the_private_directory_of_a_run_is_removed_with_it() {
    let stage = Stage::new(None, &[]);
    assert_eq!(stage.attempt("fine-write-tmp"), "done");
    let trunkline = super::raw(stage.platform.serve().process().pid());
    let keeper = kit::process::descendants(trunkline);
    let keeper =
        keeper.iter().find(|it| it.command_line().contains("tl-keeper")).expect("a keeper");
    let mark = format!("tl-sandbox-{}-", keeper.pid);
    let left = || -> Vec<String> {
        let entries = std::fs::read_dir("/tmp").unwrap().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with(&mark)).collect()
    };
    assert!(!left().is_empty(), "none while it runs");
    let Stage { platform, room, .. } = stage;
    drop(platform);
    kit::process::wait_until("the private directories are removed", kit::LIMIT, || {
        left().is_empty()
    });
    drop(room);
}

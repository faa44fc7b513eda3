//! The escape suite: each row is one thing that a hostile server tries. It is refused under `standard`, and works
//! without a sandbox where the machine allows it, so that a wall that is missing is seen.

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};

use serde_json::json;

use super::Stage;

/// What is tried, with which errors it may end, what the log says of it, and whether it works without walls.
struct Row {
    what: &'static str,
    errors: &'static [&'static str],
    /// With the names of places in braces. Nothing: it is no wall that is in the way.
    logged: &'static str,
    without: Without,
}

#[derive(PartialEq)]
enum Without {
    Works,
    /// The machine, its kernel or our own care refuse it in any case.
    Depends,
}

const fn row(what: &'static str, errors: &'static [&'static str], logged: &'static str) -> Row {
    Row { what, errors, logged, without: Without::Works }
}

const fn never(what: &'static str, errors: &'static [&'static str], logged: &'static str) -> Row {
    Row { what, errors, logged, without: Without::Depends }
}

const CLOSED: &[&str] = &["EACCES"];
const REFUSED: &[&str] = &["EPERM"];

const ROWS: &[Row] = &[
    // Files.
    row("read-key", CLOSED, "refused `{key}`, which is Trunkline's own"),
    row("read-admin-token", CLOSED, "refused `{admin_token}`, which is Trunkline's own"),
    row("read-store", CLOSED, "refused `{store}`, which is Trunkline's own"),
    row("read-config", CLOSED, "refused `{config}`, which is Trunkline's own"),
    row("read-ssh-key", CLOSED, "refused `{home}/.ssh/id`;"),
    row("read-aws", CLOSED, "refused `{home}/.aws/credentials`;"),
    row("read-documents", CLOSED, "refused `{home}/documents/letter`;"),
    never("read-shadow", CLOSED, "`/etc/shadow`"),
    row("read-through-proc-root", CLOSED, "refused `/proc/self/root{key}`"),
    row("read-through-a-symlink", CLOSED, "refused `{key}`, which is Trunkline's own"),
    row(
        "read-through-a-hard-link",
        &["EACCES", "EXDEV"],
        "refused `{key}`, which is Trunkline's own",
    ),
    never("read-by-handle", &["EPERM", "EACCES"], "refused open_by_handle_at"),
    row("move-the-key", &["EACCES", "EXDEV"], "refused `{key}`, which is Trunkline's own"),
    row("write-store", CLOSED, "refused `{store}`, which is Trunkline's own"),
    row("write-config", CLOSED, "refused `{config}`, which is Trunkline's own"),
    row("write-bashrc", CLOSED, "refused `{home}/.bashrc`;"),
    never("write-system", CLOSED, "refused to write to `/usr/local/tl-escape`"),
    row("write-shared-tmp", CLOSED, "refused to write to `/tmp/tl-escape`"),
    row("cut-the-key-short", CLOSED, "refused `{key}`, which is Trunkline's own"),
    // Other processes.
    never("read-environment-of-sibling", CLOSED, "refused `/proc/{sibling}/environ`"),
    row("read-arguments-of-sibling", CLOSED, "refused `/proc/{sibling}/cmdline`"),
    never("read-memory-of-sibling", CLOSED, "refused `/proc/{sibling}/maps`"),
    never("read-environment-of-trunkline", CLOSED, "refused `/proc/{trunkline}/environ`"),
    never("trace-sibling", REFUSED, "refused ptrace"),
    never("trace-trunkline", REFUSED, "refused ptrace"),
    never("read-process-memory", REFUSED, "refused process_vm_readv"),
    never("steal-a-descriptor", REFUSED, "refused pidfd_getfd"),
    row("posix-queue", REFUSED, "refused mq_open"),
    row("signal-sibling", REFUSED, "refused a signal to another process"),
    row("signal-trunkline", REFUSED, "refused a signal to another process"),
    row("signal-keeper", REFUSED, "refused a signal to another process"),
    never("limit-trunkline", REFUSED, "refused prlimit of another process"),
    row("renice-trunkline", REFUSED, "refused setpriority of another process"),
    // Sockets.
    row("connect-socket", CLOSED, "refused a socket of this machine"),
    row("connect-abstract-socket", CLOSED, "refused a socket of this machine"),
    row("datagram-to-a-path", CLOSED, "refused socketpair"),
    never("raw-socket", &["EACCES"], "refused socket"),
    never("packet-socket", &["EACCES"], "refused socket"),
    row("audit-netlink", &["EACCES"], "refused socket"),
    never("bind-our-port", &["EADDRINUSE"], ""),
    // The system.
    never("mount", REFUSED, "refused mount"),
    never("new-mount-interface", REFUSED, "refused fsopen"),
    never("chroot", REFUSED, "refused chroot"),
    never("new-user-namespace", REFUSED, "refused unshare"),
    never("enter-namespace", &["EPERM", "EACCES"], "refused setns"),
    never("become-another-user", REFUSED, "refused setuid"),
    never("take-capabilities", REFUSED, "refused capset"),
    never("make-a-device", &["EPERM", "EACCES"], "of a device"),
    row("set-user-id", REFUSED, "to set-user-id"),
    row("set-group-id", REFUSED, "refused fchmod to set-user-id"),
    row("open-set-user-id", REFUSED, "of a set-user-id file"),
    row("mknod-set-user-id", REFUSED, "of a device"),
    never("bpf", REFUSED, "refused bpf"),
    never("perf", REFUSED, "refused perf_event_open"),
    row("keyring", REFUSED, "refused keyctl"),
    never("userfaultfd", REFUSED, "refused userfaultfd"),
    never("io-uring", REFUSED, "refused io_uring_setup"),
    never("kexec", REFUSED, "refused kexec_load"),
    never("load-module", REFUSED, "refused init_module"),
    never("rename-machine", REFUSED, "refused sethostname"),
    never("core-dump", REFUSED, "of core dumps"),
    never("type-into-a-terminal", &["EPERM", "EACCES", "ENOENT"], "refused ioctl on a terminal"),
    // More than its share.
    never("fork-bomb", &["EAGAIN"], "refused one more process"),
    never("thread-bomb", &["EAGAIN"], "refused one more process"),
    row("memory-bomb", &["ENOMEM"], "4 GiB of private writable memory"),
    never("fill-the-disk", &["EFBIG"], "4 GiB in a file"),
    never("open-files-bomb", &["EMFILE"], "8,192 open files"),
    never("inherit-a-descriptor", &["EBADF"], ""),
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
    assert!(ROWS.len() >= 40);
    refuses_everything(&Stage::new(None, TELLING));
}

#[test]
fn the_same_is_refused_to_what_a_server_starts_which_reads_about_itself_only() {
    let stage = Stage::behind_a_launcher(TELLING);
    refuses_everything(&stage);
    for name in ["stat", "statm", "status", "maps", "smaps_rollup", "cmdline", "environ", "cgroup"]
    {
        let own = format!("/proc/self/{name}");
        assert_eq!(stage.attempt_at("read-place", &own), "done", "{own}");
    }
    let sibling = &stage.places["sibling"];
    for (place, expected) in [
        (format!("/proc/self/../{sibling}/cmdline"), "EACCES"),
        (format!("/proc/{sibling}/stat"), "EACCES"),
        ("/proc/self/mem".to_owned(), "EACCES"),
        // Names only, as of all of /proc.
        ("/proc/self/task".to_owned(), "EISDIR"),
        ("/proc/self/none".to_owned(), "ENOENT"),
        ("/proc/none/stat".to_owned(), "ENOENT"),
        ("/proc/meminfo".to_owned(), "done"),
    ] {
        let came = stage.attempt_at("read-place", &place);
        assert_eq!(came, expected, "{place}");
    }
    assert_eq!(stage.attempt("own-number"), "done");
    // For itself a process reads what it could read without walls, and writes nothing.
    assert_eq!(stage.attempt_at("write-place", "/proc/self/oom_score_adj"), "EACCES");
}

/// Sockets of the machine are told at this level only: looking up a name tries one.
const TELLING: &[&str] = &["--log", "info"];

/// Each row ends with its error, and the log says why; what every server needs works.
fn refuses_everything(stage: &Stage) {
    let _held = sockets(stage);
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
    let unsaid = || {
        let stderr = stage.stderr();
        let is_said = |words: &str| {
            stderr.lines().any(|line| line.contains("sandbox standard") && line.contains(words))
        };
        let missing = ROWS.iter().filter(|row| !is_said(&named(row.logged, &stage.places)));
        missing.map(|row| row.what).collect::<Vec<_>>()
    };
    let said = kit::process::comes_true(kit::LIMIT, || unsaid().is_empty());
    assert!(said, "the log does not say why {:?} failed:\n{}", unsaid(), stage.stderr());
    // Whoever was attacked works as before.
    stage.platform.call("victim.echo", &json!({})).is(200);
}

/// With places for their names.
fn named(words: &str, places: &serde_json::Value) -> String {
    let places = places.as_object().unwrap().iter();
    places.fold(words.to_owned(), |words, (name, place)| {
        let place = place.as_str().map_or_else(|| place.to_string(), str::to_owned);
        words.replace(&format!("{{{name}}}"), &place)
    })
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

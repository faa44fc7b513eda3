//! The program is replaced while its clients work: nothing is lost, and each client stays where it is.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use kit::client::Client;
use kit::room::Room;
use kit::{LIMIT, ledger, process};
use serde_json::Value;

use super::another_program;
use super::caller::{Caller, compare, counting_servers};
use super::commands::said;

/// How often two newer programs come, one right behind the other.
const UPGRADES: usize = 3;
/// Outcomes that every client hears between two upgrades.
const BETWEEN: usize = 24;

/// The file of a program: device and inode.
type File = (u64, u64);

fn file(path: &Path) -> File {
    let about =
        std::fs::metadata(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    (about.dev(), about.ino())
}

/// The program that this process runs, also where its file was replaced.
fn program_of(pid: i32) -> File {
    file(Path::new(&format!("/proc/{pid}/exe")))
}

/// A client at work, on a thread of its own.
struct Working {
    pid: i32,
    program: File,
    heard: Arc<AtomicUsize>,
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Caller>,
}

impl Working {
    fn start(room: &Room, program: &Path, number: usize) -> Self {
        // It would stay for long: only the newer program ends it.
        let flags = ["--linger", "600", "--start-timeout", "25"];
        let client = Client::spawn(room.program(program, &flags));
        let pid = client.pid().as_raw_nonzero().get();
        // It may be started through another program, which becomes this one.
        process::wait_until("it runs", LIMIT, || program_of(pid) == file(program));
        let (heard, is_over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let told = (Arc::clone(&heard), Arc::clone(&is_over));
        let thread = std::thread::spawn(move || work(client, number, &told.0, &told.1));
        Self { pid, program: file(program), heard, is_over, thread }
    }

    fn heard(&self) -> usize {
        // A thread that has failed says why when it is joined.
        if self.thread.is_finished() { usize::MAX } else { self.heard.load(Ordering::Relaxed) }
    }

    fn finish(self) -> Caller {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_else(|why| std::panic::resume_unwind(why))
    }
}

/// Calls until it is over, and then leaves with calls that are open, whose answers it still reads.
fn work(client: Client, number: usize, heard: &AtomicUsize, is_over: &AtomicBool) -> Caller {
    client.initialize("2025-11-25");
    client.list();
    let mut caller = Caller::new(client, number);
    while !is_over.load(Ordering::Relaxed) {
        caller.fill();
        caller.take(Duration::from_millis(20));
        heard.store(caller.outcomes.len(), Ordering::Relaxed);
    }
    caller.fill();
    caller.client.close_stdin();
    caller.finish();
    assert!(caller.client.wait_exit(LIMIT).success(), "{}", caller.client.describe());
    caller
}

/// The runtimes that listen, by process: its clients.
fn attended(room: &Room) -> BTreeMap<i32, BTreeSet<i32>> {
    let told = said(room, &["ps", "--json"]);
    let told: Value = serde_json::from_str(&told.stdout).unwrap_or_else(|_| panic!("{told:?}"));
    let pid = |of: &Value| i32::try_from(of["pid"].as_i64().expect("a pid")).expect("a pid");
    let runtimes = told["runtimes"].as_array().expect("runtimes").iter();
    runtimes
        .map(|of| (pid(of), of["clients"].as_array().into_iter().flatten().map(pid).collect()))
        .collect()
}

/// Every client is at the runtime of the very program that it runs, and these are all runtimes that there are.
fn assert_at_home(room: &Room, all: &[Working]) -> BTreeMap<File, i32> {
    let mut home: BTreeMap<File, i32> = BTreeMap::new();
    let mut clients = BTreeSet::new();
    for (runtime, its_clients) in attended(room) {
        let program = program_of(runtime);
        assert_eq!(home.insert(program, runtime), None, "two runtimes of one program");
        let of_program = all.iter().filter(|it| it.program == program).map(|it| it.pid);
        assert_eq!(its_clients, of_program.collect(), "clients of the runtime {runtime}");
        clients.extend(its_clients);
    }
    assert_eq!(clients, all.iter().map(|it| it.pid).collect(), "every client is somewhere");
    // What listens, by the path that it was bound to: no runtime has ended yet, so no name comes twice.
    let sockets = std::fs::read_to_string("/proc/net/unix").expect("the sockets");
    let place = room.path("run").display().to_string();
    let mut paths: Vec<&str> = sockets
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            // Flags, in hexadecimal: it accepts connections (__SO_ACCEPTCON).
            let is_listening = words.nth(3) == Some("00010000");
            words.nth(3).filter(|path| is_listening && path.starts_with(&place))
        })
        .collect();
    assert_eq!(paths.len(), home.len(), "one socket each: {paths:?}");
    paths.sort_unstable();
    paths.dedup();
    assert_eq!(paths.len(), home.len(), "two runtimes at one socket");
    home
}

#[test]
fn a_program_that_is_replaced_under_load_loses_no_call_and_no_session() {
    let _turn = crate::ONE_AT_A_TIME.lock();
    let room = Room::shared();
    counting_servers(&room);
    let mut programs = (0..=2 * UPGRADES)
        .map(|number| another_program(&room, &format!("newer-{number}")))
        .collect::<Vec<_>>();
    let program = room.path("trunkline");
    let mut upgrade = || std::fs::rename(programs.remove(0), &program).expect("it is replaced");
    upgrade();
    let mut all: Vec<Working> = Vec::new();
    let start = |all: &mut Vec<Working>| all.push(Working::start(&room, &program, all.len()));
    (0..2).for_each(|_| start(&mut all));
    for _ in 0..UPGRADES {
        let before: Vec<usize> = all.iter().map(Working::heard).collect();
        // One that is being started from the old program, one whose program is replaced before it has a runtime, and
        // two of the newest.
        start(&mut all);
        upgrade();
        start(&mut all);
        upgrade();
        (0..2).for_each(|_| start(&mut all));
        let before = before.into_iter().chain(std::iter::repeat(0));
        process::wait_until("everybody is served", LIMIT, || {
            all.iter()
                .zip(before.clone())
                .all(|(it, before)| it.heard() >= before.saturating_add(BETWEEN))
        });
        assert_at_home(&room, &all);
    }
    let home = assert_at_home(&room, &all);
    assert_eq!(home.len(), 2 * UPGRADES + 1, "each program has its runtime");
    let newest = file(&program);
    let mut callers = Vec::new();
    while !all.is_empty() {
        // The oldest client first; the others go on.
        let leaving = all.remove(0);
        let of = leaving.program;
        let runtime = home[&of];
        callers.push(leaving.finish());
        let is_needed = of == newest || all.iter().any(|it| it.program == of);
        if is_needed {
            assert!(process::is_alive(runtime), "its clients need it");
        } else {
            process::wait_until("it ends after its last client", LIMIT, || {
                !process::is_alive(runtime)
            });
        }
        let before: Vec<usize> = all.iter().map(Working::heard).collect();
        process::wait_until("the others are served", LIMIT, || {
            all.iter().zip(&before).all(|(it, before)| it.heard() >= before.saturating_add(1))
        });
    }
    let left: Vec<i32> = room.runtimes().iter().map(|it| it.pid).collect();
    assert_eq!(left, [home[&newest]], "the newest stays for the next client");
    assert_eq!(said(&room, &["stop"]).code, Some(0));
    process::wait_gone(room.marker(), LIMIT).unwrap_or_else(|them| panic!("orphans: {them:?}"));
    let (results, doubts) = compare(&room, &callers);
    println!("{} programs, {} clients, {results} results", home.len(), callers.len());
    assert_eq!(doubts, 0, "an upgrade costs no call");
    for caller in &callers {
        assert_eq!(
            caller.answered_by.len(),
            2,
            "one process of each server: {:?}",
            caller.answered_by
        );
    }
    for server in ["a", "b"] {
        assert_eq!(
            ledger::started(&room.ledger(server)).len(),
            home.len(),
            "one set for each program"
        );
        assert_eq!(
            ledger::with_method(&room.ledger(server), "initialize").len(),
            home.len(),
            "no session of a server was opened twice"
        );
    }
}

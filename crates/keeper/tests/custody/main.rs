//! The promise of this crate, against real processes: whatever is killed, nothing is left.
//!
//! The owner that is killed is `examples/keep.rs`. A plain `cargo test` builds it, and nextest does;
//! `cargo test --test custody` needs `--examples` with it.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test")]

mod bare;
mod owner;
mod table;

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use kit::limit::Limit;
use owner::{Owner, Started};
use rustix::process::{Signal, getpid, kill_process, kill_process_group};
use table::{Table, wait_until};

/// What the promise allows after a SIGKILL of the owner or of the keeper, on a machine that does
/// nothing else.
const PROMISED: Limit = Limit::promised(Duration::from_secs(2));
/// For states that have no promise: long, because it is only reached when a test fails.
const PATIENCE: Duration = kit::LIMIT;

/// A server with a child, a grandchild, a grandchild in a session of its own and a daemon, all of
/// which ignore SIGTERM and SIGHUP, as `sh` passes ignored signals on.
const STUBBORN: &str = "trap '' TERM HUP
    sleep 3600 &
    sh -c 'sleep 3600 & wait' &
    setsid sh -c 'sleep 3600 & wait' &
    ( setsid sh -c 'sleep 3600 & wait' & )
    wait; sleep 3600";
const STUBBORN_PROCESSES: usize = 8;
/// Ends when its stdin does.
const OBEDIENT: &str = "cat > /dev/null";
/// Leaves on SIGTERM only.
const DEAF_TO_STDIN: &str = "trap 'exit 3' TERM; while :; do sleep 3600 & wait; done";

#[test]
fn sigkill_of_the_owner_leaves_nothing() {
    let mut owner = Owner::start();
    owner.start_stubborn(&["a", "b", "c"]);
    kill_process(owner.pid(), Signal::KILL).unwrap();
    owner.leaves_nothing();
}

#[test]
fn sigkill_of_an_owner_of_many_leaves_nothing() {
    let mut owner = Owner::start();
    let names: Vec<String> = (0..30).map(|number| format!("s{number}")).collect();
    owner.start_stubborn(&names.iter().map(String::as_str).collect::<Vec<_>>());
    kill_process(owner.pid(), Signal::KILL).unwrap();
    owner.leaves_nothing();
}

#[test]
fn sigkill_of_the_owners_group_leaves_nothing() {
    let mut owner = Owner::start();
    owner.start_stubborn(&["a", "b", "c"]);
    kill_process_group(owner.pid(), Signal::KILL).unwrap();
    owner.leaves_nothing();
}

#[test]
fn sigkill_during_fifty_launches_leaves_nothing() {
    for delay_ms in [0, 3, 10, 30] {
        let mut owner = Owner::start();
        for number in 0..50 {
            owner.spawn_sh(&format!("s{number}"), STUBBORN);
        }
        let start = Instant::now();
        wait_until(PATIENCE, "the moment to kill", || {
            start.elapsed() >= Duration::from_millis(delay_ms)
        });
        kill_process(owner.pid(), Signal::KILL).unwrap();
        owner.leaves_nothing();
    }
}

#[test]
fn sigterm_to_all_of_us_at_once_leaves_nothing() {
    let mut owner = Owner::start();
    owner.start_stubborn(&["a", "b"]);
    for keeper in owner.keepers() {
        kill_process(keeper, Signal::TERM).unwrap();
    }
    kill_process(owner.pid(), Signal::TERM).unwrap();
    owner.leaves_nothing();
}

#[test]
fn sigkill_of_the_keeper_ends_its_trees_and_no_later_one() {
    let mut owner = Owner::start();
    for round in 0..5 {
        let names = ["a", "b", "c"].map(|name| format!("{name}{round}"));
        let names = names.each_ref().map(String::as_str);
        owner.start_stubborn(&names);
        let keeper = owner.keeper().expect("a keeper");
        let deadline = PROMISED.begin();
        kill_process(keeper, Signal::KILL).unwrap();
        // Started while the others are hunted for, and not to be taken for one of them.
        let later = format!("later{round}");
        owner.spawn_sh(&later, OBEDIENT);
        for name in names {
            assert!(owner.hear(&format!("exited {name}"), PATIENCE).starts_with("was lost"));
            assert_eq!(owner.hear(&format!("gone {name}"), PATIENCE), "");
        }
        assert!(!deadline.is_over(), "not within {deadline}");
        assert_ne!(owner.started(&later).keeper, keeper, "a launch starts a new keeper");
        // `sh` and `cat`.
        wait_until(PATIENCE, "only the later one is left", || owner.servers() == 2);
        wait_until(PATIENCE, "no zombies", || owner.zombies().is_empty());
        owner.tell(&["kill", &later]);
        assert!(owner.hear(&format!("exited {later}"), PATIENCE).contains("SIGKILL"));
        owner.hear(&format!("gone {later}"), PATIENCE);
        assert_eq!(owner.servers(), 0);
    }
    kill_process(owner.pid(), Signal::KILL).unwrap();
    owner.leaves_nothing();
}

#[test]
fn sigkill_of_the_keeper_and_of_the_owner_right_after_leaves_nothing_of_new_trees() {
    let mut owner = Owner::start();
    owner.start_stubborn(&["a", "b"]);
    kill_process(owner.keeper().expect("a keeper"), Signal::KILL).unwrap();
    owner.hear("gone a", PROMISED);
    owner.hear("gone b", PROMISED);
    owner.start_stubborn(&["c"]);
    kill_process(owner.pid(), Signal::KILL).unwrap();
    owner.leaves_nothing();
}

#[test]
fn launches_get_an_answer_from_a_keeper_that_is_killed_again_and_again() {
    let mut owner = Owner::start();
    let names: Vec<String> = (0..20).map(|number| format!("s{number}")).collect();
    for (number, name) in names.iter().enumerate() {
        owner.spawn_sh(name, OBEDIENT);
        if let Some(keeper) = owner.keeper().filter(|_| number % 5 == 0) {
            kill_process(keeper, Signal::KILL).unwrap();
        }
    }
    for name in &names {
        let told =
            owner.hear_any(&[&format!("started {name}"), &format!("failed {name}")], PATIENCE);
        let is_started = told.split(' ').all(|word| word.parse::<u32>().is_ok());
        assert!(is_started || told.contains("was lost"), "{told}");
    }
    owner.spawn_sh("last", STUBBORN);
    owner.started("last");
    kill_process(owner.pid(), Signal::KILL).unwrap();
    owner.leaves_nothing();
}

#[test]
fn what_a_crashed_server_leaves_dies_while_others_live_on() {
    let mut owner = Owner::start();
    let trees = owner.start_stubborn(&["a", "b", "c"]);
    let deadline = PROMISED.begin();
    kill_process(trees[1].server, Signal::SEGV).unwrap();
    assert!(owner.hear("exited b", PATIENCE).contains("SIGSEGV"));
    owner.hear("gone b", PATIENCE);
    assert!(!deadline.is_over(), "not within {deadline}");
    assert_eq!(owner.servers(), 2 * STUBBORN_PROCESSES, "the others live on");
    assert_eq!(owner.zombies(), []);
    let keeper = trees[0].keeper;
    assert_eq!(Table::read().children(keeper).len(), 2, "nobody but the servers is left");

    // Two at once, and a third that is just starting.
    kill_process(trees[0].server, Signal::KILL).unwrap();
    kill_process(trees[2].server, Signal::KILL).unwrap();
    owner.spawn_sh("d", STUBBORN);
    owner.hear("gone a", PATIENCE);
    owner.hear("gone c", PATIENCE);
    wait_until(PATIENCE, "d is complete", || owner.servers() == STUBBORN_PROCESSES);
    assert_eq!(owner.started("d").keeper, keeper);
    assert_eq!(owner.zombies(), []);
}

#[test]
fn strays_of_one_server_get_their_time_while_those_of_another_are_killed() {
    let mut owner = Owner::start();
    let witness = std::env::temp_dir().join(owner.mark());
    let written = |text: &str| fs::read_to_string(&witness).is_ok_and(|t| t.trim_end() == text);
    owner.start_stubborn(&["rude"]);
    // The daemon needs 150 ms to end properly.
    let daemon =
        "trap 'sleep 0.15; echo bye > $1; exit' TERM; echo up > $1; while :; do sleep 0.01; done";
    let gentle = "setsid sh -c \"$1\" daemon \"$2\" & read line";
    let witness_path = witness.to_str().unwrap();
    owner.tell(&["spawn", "gentle", "", "sh", "-c", gentle, "sh", daemon, witness_path]);
    wait_until(PATIENCE, "the daemon runs", || written("up"));
    owner.tell(&["stop", "gentle", "5000", "5000"]);
    owner.tell(&["kill", "rude"]);
    owner.hear("gone rude", PROMISED);
    owner.hear("gone gentle", PROMISED);
    assert!(written("bye"), "the daemon could finish");
    fs::remove_file(witness).unwrap();
}

#[test]
fn sigkill_of_a_keeper_that_is_stopping_a_dropped_tree_leaves_nothing() {
    let mut owner = Owner::start();
    let trees = owner.start_stubborn(&["a"]);
    owner.tell(&["drop", "a"]);
    kill_process(trees[0].keeper, Signal::KILL).unwrap();
    wait_until(PROMISED, "the dropped tree is gone", || owner.servers() == 0);
}

#[test]
fn a_server_that_kills_the_keeper_kills_itself() {
    let mut owner = Owner::start();
    owner.spawn_sh("a", "trap '' TERM; sleep 3600 & read line; kill -9 $PPID; sleep 3600");
    owner.started("a");
    // The end of stdin is what `read` waits for.
    owner.tell(&["stop", "a", "60000", "0"]);
    assert!(owner.hear("exited a", PATIENCE).starts_with("was lost"));
    owner.hear("gone a", PROMISED);
    assert_eq!(owner.servers(), 0);
}

#[test]
fn a_launch_whose_keeper_is_killed_is_not_repeated() {
    let mut owner = Owner::start();
    let witness = std::env::temp_dir().join(owner.mark());
    let script = format!("echo >> {}; kill -9 $PPID; sleep 3600", witness.display());
    owner.spawn_sh("a", &script);
    // Whether the launch or the server is lost depends on who is faster.
    let told = owner.hear_any(&["failed a", "exited a"], PATIENCE);
    assert!(told.contains("was lost"), "{told}");
    wait_until(PROMISED, "it is gone", || owner.servers() == 0);
    assert_eq!(fs::read(&witness).unwrap(), b"\n", "it ran once");
    fs::remove_file(witness).unwrap();
}

#[test]
fn stop_is_as_gentle_as_the_server_allows() {
    let mut owner = Owner::start();
    // What runs, how long (ms) it is given after the end of its stdin and after SIGTERM, what it is
    // said to have ended by, and how long that takes at least. Who obeys may need a while for it.
    let cases = [
        ("obedient", OBEDIENT, ["20000", "400"], "exited with code 0", 0),
        ("deaf", DEAF_TO_STDIN, ["400", "20000"], "exited with code 3", 400),
        ("stubborn", STUBBORN, ["400", "400"], "was killed by signal 9 (SIGKILL)", 800),
    ];
    for (name, script, [wait, term], exit, least) in cases {
        owner.spawn_sh(name, script);
        let Started { server, .. } = owner.started(name);
        match script {
            STUBBORN => {
                wait_until(PATIENCE, "the tree", || owner.servers() == STUBBORN_PROCESSES);
            }
            DEAF_TO_STDIN => {
                let bit = 1 << (Signal::TERM.as_raw() - 1);
                wait_until(PATIENCE, "its trap", || Table::signals(server, "SigCgt") & bit != 0);
            }
            _ => wait_until(PATIENCE, "the server runs", || owner.servers() >= 1),
        }
        let asked = Instant::now();
        let deadline = Limit::promised(Duration::from_millis(least + 2_000)).begin();
        owner.tell(&["stop", name, wait, term]);
        assert_eq!(owner.hear(&format!("exited {name}"), PATIENCE), exit);
        owner.hear(&format!("gone {name}"), PATIENCE);
        assert!(!deadline.is_over(), "{name}: not within {deadline}");
        assert!(asked.elapsed() >= Duration::from_millis(least), "{name}: it had its time");
        assert_eq!(owner.servers(), 0, "{name}");
    }
    assert_eq!(owner.zombies(), []);
}

#[test]
fn the_end_of_a_server_is_told_at_once_and_ends_its_tree() {
    let mut owner = Owner::start();
    let cases = [
        ("code", "exit 7", "exited with code 7"),
        ("signal", "kill -SEGV $$", "was killed by signal 11 (SIGSEGV)"),
        ("daemon", "trap '' TERM; setsid sleep 3600 & exit 0", "exited with code 0"),
    ];
    for (name, script, exit) in cases {
        owner.spawn_sh(name, script);
        assert_eq!(owner.hear(&format!("exited {name}"), PATIENCE), exit);
        owner.hear(&format!("gone {name}"), PROMISED);
        assert_eq!(owner.servers(), 0, "{name}");
    }
}

#[test]
fn a_launch_that_fails_says_why() {
    let mut owner = Owner::start();
    let folder = std::env::temp_dir().join(owner.mark());
    fs::create_dir_all(&folder).unwrap();
    for (file, mode, text) in [
        ("plain", 0o644, "#!/bin/sh\n"),
        ("garbage", 0o755, "garbage"),
        ("script", 0o755, "#!/nowhere/python3\n"),
    ] {
        fs::write(folder.join(file), text).unwrap();
        File::open(folder.join(file))
            .unwrap()
            .set_permissions(Permissions::from_mode(mode))
            .unwrap();
    }
    let here = folder.to_str().unwrap();
    let cases = [
        ("", "npxx", "command `npxx` was not found; is it installed and on PATH?"),
        ("/nowhere", "sh", "working directory `/nowhere` does not exist"),
        (here, "./plain", "command `./plain` may not be executed"),
        (here, "./garbage", "command `./garbage` is not a program for this machine"),
        (here, "./script", "command `./script` exists, but the interpreter that it asks for"),
        (here, "./absent", "command `./absent` was not found"),
    ];
    for (number, (cwd, command, why)) in cases.into_iter().enumerate() {
        owner.tell(&["spawn", &format!("s{number}"), cwd, command]);
        let told = owner.hear(&format!("failed s{number}"), PATIENCE);
        assert!(told.starts_with(why), "{told}");
    }
    assert_eq!(Table::read().children(owner.keeper().expect("a keeper")), []);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_server_gets_exactly_what_was_asked_for() {
    let mut owner = Owner::start();
    let script =
        "[ \"$(env | grep -v -e ^PWD= -e ^_= -e ^SHLVL= -e ^OLDPWD= | wc -l)\" = 2 ] || exit 1
        [ \"$PWD\" = /usr ] || exit 2
        [ \"$0 $#\" = 'name 1' ] && [ \"$1\" = 'an argument' ] || exit 3
        exit 42";
    owner.tell(&[
        "spawn",
        "a",
        "/usr",
        "sh",
        "-c",
        &script.replace('\n', ";"),
        "name",
        "an argument",
    ]);
    assert_eq!(owner.hear("exited a", PATIENCE), "exited with code 42");
}

#[test]
fn large_arguments_arrive_whole() {
    let mut owner = Owner::start();
    let script = "[ ${#1}${#2}${#3}${#4}${#5} = 120000120000120000120000120000 ] && exit 42";
    let large = "x".repeat(120_000);
    let args = [large.as_str(); 5];
    for name in ["a", "b"] {
        owner.tell(&[&["spawn", name, "", "sh", "-c", script, "sh"][..], &args].concat());
    }
    for name in ["a", "b"] {
        assert_eq!(owner.hear(&format!("exited {name}"), PATIENCE), "exited with code 42");
    }
}

#[test]
fn a_relative_directory_and_none_are_relative_to_the_owners() {
    let mut owner = Owner::start();
    let here = std::env::current_dir().unwrap().canonicalize().unwrap();
    let above = here.parent().unwrap();
    for (name, cwd, expected) in [("a", "", &*here), ("b", "..", above), ("c", "", &*here)] {
        let script = format!("[ \"$(pwd -P)\" = '{}' ]", expected.display());
        owner.tell(&["spawn", name, cwd, "sh", "-c", &script]);
        assert_eq!(owner.hear(&format!("exited {name}"), PATIENCE), "exited with code 0", "{name}");
    }
}

#[test]
fn a_server_gets_no_descriptor_and_no_signal_setting_of_ours() {
    let mut owner = Owner::start();
    owner.spawn_sh("first", OBEDIENT);
    owner.started("first");
    owner.tell(&["spawn", "second", "", "cat"]);
    let Started { keeper, server } = owner.started("second");
    // A shell that starts this test in the background has it ignore SIGQUIT, for instance. SIGPIPE
    // is ignored by all Rust programs, and must not be by servers.
    let pipe = 1 << (libc::SIGPIPE - 1);
    let ours = Table::signals(getpid(), "SigIgn") & !pipe;
    // These two on purpose: who asks the terminal for something is refused, not stopped.
    let terminal = 1 << (libc::SIGTTIN - 1) | 1 << (libc::SIGTTOU - 1);
    assert_eq!(Table::signals(server, "SigIgn") & !ours, terminal & !ours);
    assert_eq!(Table::signals(server, "SigBlk"), 0);
    // What this test got from cargo, the keeper gets, and no server.
    let inherited = Table::inheritable(getpid());
    // A launch is reported while exec is still closing what is not passed on.
    wait_until(PATIENCE, "only stdio in the server", || Table::descriptors(server) == 3);
    wait_until(
        PATIENCE,
        "control and end of each server, and two of deaf.rs in the keeper",
        || Table::descriptors(keeper) == inherited + 2 * 2 + 2,
    );
}

#[test]
fn a_chain_of_forks_is_caught() {
    let mut owner = Owner::start();
    // Each process forks the next and ends, in much less time than it takes to look for it. In the
    // second case, the leader of their group has ended, too.
    for (name, script) in [
        ("led", "trap '' TERM; f() { f & }; f; sleep 3600"),
        ("unled", "trap '' TERM; f() { f & }; f; read line"),
    ] {
        owner.spawn_sh(name, script);
        let Started { server, .. } = owner.started(name);
        // The links themselves are as hard to see for the test. In the first case the server reaps
        // them, in the second it does not.
        wait_until(PATIENCE, "fifty links of the chain", || {
            Table::switches(server) > 50 || Table::read().children(server).len() > 50
        });
        owner.tell(&["stop", name, "100", "100"]);
        owner.hear(&format!("gone {name}"), PROMISED);
        assert_eq!(owner.servers(), 0, "{name}");
    }
}

#[test]
fn fifty_launches_at_once_leave_no_descriptors_and_no_zombies() {
    let mut owner = Owner::start();
    owner.spawn_sh("first", "exit 0");
    owner.hear("gone first", PATIENCE);
    let before = owner.descriptors();
    for number in 0..50 {
        owner.spawn_sh(&format!("s{number}"), OBEDIENT);
    }
    for number in 0..50 {
        owner.started(&format!("s{number}"));
    }
    let keeper = owner.keeper().expect("a keeper");
    let before_in_keeper = Table::inheritable(getpid()) + 2;
    assert_eq!(Table::descriptors(keeper), before_in_keeper + 100, "two for each server");
    for number in 0..50 {
        owner.tell(&["stop", &format!("s{number}"), "5000", "1000"]);
    }
    for number in 0..50 {
        assert_eq!(owner.hear(&format!("exited s{number}"), PATIENCE), "exited with code 0");
        owner.hear(&format!("gone s{number}"), PATIENCE);
    }
    assert_eq!(owner.keepers(), [keeper]);
    wait_until(PATIENCE, "no descriptors are left", || owner.descriptors() == before);
    wait_until(PATIENCE, "nor in the keeper", || Table::descriptors(keeper) == before_in_keeper);
    assert_eq!(owner.zombies(), []);
}

#[test]
fn a_living_server_adopts_its_orphans() {
    let mut owner = Owner::start();
    owner.spawn_sh("a", "for i in 1 2 3; do ( setsid sleep 3600 & ); done; cat");
    let Started { keeper, server } = owner.started("a");
    wait_until(PATIENCE, "cat and the orphans", || Table::read().children(server).len() == 4);
    assert_eq!(Table::read().children(keeper), [server]);
    owner.tell(&["stop", "a", "5000", "5000"]);
    assert_eq!(owner.hear("exited a", PATIENCE), "exited with code 0");
    owner.hear("gone a", PROMISED);
    assert_eq!(owner.servers(), 0);
    assert_eq!(owner.zombies(), []);
}

#[test]
fn dropping_a_tree_kills_it() {
    let mut owner = Owner::start();
    owner.start_stubborn(&["a", "b"]);
    owner.tell(&["drop", "a"]);
    wait_until(PROMISED, "a is gone", || owner.servers() == STUBBORN_PROCESSES);
    wait_until(PATIENCE, "no zombies", || owner.zombies().is_empty());
}

#[test]
fn the_keeper_costs_nothing_while_nothing_happens() {
    let mut owner = Owner::start();
    owner.start_stubborn(&["a", "b"]);
    let keeper = owner.keeper().expect("a keeper");
    // What it does for the launch may still be going on; then it must not run at all.
    let mut last = Table::switches(keeper);
    wait_until(PATIENCE, "a keeper that is not scheduled for 300 ms", || {
        let start = Instant::now();
        wait_until(PATIENCE, "300 ms", || start.elapsed() > Duration::from_millis(300));
        let before = std::mem::replace(&mut last, Table::switches(keeper));
        before == last
    });
}

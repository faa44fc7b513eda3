//! The promise of this crate, against real processes: whatever is killed, nothing is left.
//!
//! The owner that is killed is `examples/keep.rs`. A plain `cargo test` builds it, and nextest does;
//! `cargo test --test custody` needs `--examples` with it.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test")]

mod owner;
mod table;

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use owner::{Owner, Started};
use rustix::process::{Signal, getpid, kill_process, kill_process_group};
use table::{Table, wait_until};

/// What the promise allows after a SIGKILL of the owner or of a helper.
const PROMISED: Duration = Duration::from_secs(2);
/// For states that have no promise: long, because it is only reached when a test fails.
const PATIENCE: Duration = Duration::from_secs(20);

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
    for helper in owner.helpers() {
        kill_process(helper, Signal::TERM).unwrap();
    }
    kill_process(owner.pid(), Signal::TERM).unwrap();
    owner.leaves_nothing();
}

#[test]
fn sigkill_of_the_keeper_is_not_noticed_by_servers() {
    let mut owner = Owner::start();
    owner.start_stubborn(&["a", "b"]);
    let keeper = owner.keeper().expect("a keeper");
    kill_process(keeper, Signal::KILL).unwrap();
    wait_until(PATIENCE, "the keeper is reaped", || !Table::read().contains(keeper));
    assert_eq!(owner.servers(), 2 * STUBBORN_PROCESSES, "servers live on");

    owner.start_stubborn(&["c"]);
    assert_ne!(owner.keeper(), None, "a launch starts a new keeper");
    assert_eq!(owner.servers(), 3 * STUBBORN_PROCESSES);
    // A tree whose keeper died ends as well as any other, and is reaped by the owner.
    owner.tell(&["kill", "a"]);
    assert_eq!(owner.hear("gone a", PATIENCE), "");
    wait_until(PATIENCE, "no zombies", || owner.zombies().is_empty());

    kill_process(owner.pid(), Signal::KILL).unwrap();
    owner.leaves_nothing();
}

#[test]
fn launches_survive_a_keeper_that_is_killed_again_and_again() {
    let mut owner = Owner::start();
    for number in 0..20 {
        owner.spawn_sh(&format!("s{number}"), OBEDIENT);
        if let Some(keeper) = owner.keeper().filter(|_| number % 5 == 0) {
            // It may have ended by itself.
            let _ = kill_process(keeper, Signal::KILL);
        }
    }
    for number in 0..20 {
        owner.started(&format!("s{number}"));
    }
    kill_process(owner.pid(), Signal::KILL).unwrap();
    owner.leaves_nothing();
}

#[test]
fn sigkill_of_a_shim_ends_its_tree_and_no_other() {
    let mut owner = Owner::start();
    let trees = owner.start_stubborn(&["a", "b", "c"]);
    let killed = Instant::now();
    kill_process(trees[1].shim, Signal::KILL).unwrap();
    assert!(owner.hear("exited b", PATIENCE).starts_with("was lost"));
    assert_eq!(owner.hear("gone b", PATIENCE), "");
    assert!(killed.elapsed() < PROMISED, "took {:?}", killed.elapsed());
    assert_eq!(owner.servers(), 2 * STUBBORN_PROCESSES, "the others live on");
    wait_until(PATIENCE, "no zombies", || owner.zombies().is_empty());

    owner.start_stubborn(&["d"]);
    assert_eq!(owner.servers(), 3 * STUBBORN_PROCESSES);
    kill_process(owner.pid(), Signal::KILL).unwrap();
    owner.leaves_nothing();
}

#[test]
fn sigkill_of_all_helpers_at_once_leaves_nothing() {
    let mut owner = Owner::start();
    owner.start_stubborn(&["a", "b", "c"]);
    let killed = Instant::now();
    for helper in owner.helpers() {
        kill_process(helper, Signal::KILL).unwrap();
    }
    for name in ["a", "b", "c"] {
        owner.hear(&format!("gone {name}"), PATIENCE);
    }
    assert!(killed.elapsed() < PROMISED, "took {:?}", killed.elapsed());
    assert_eq!(owner.servers(), 0);
}

#[test]
fn sigkill_of_a_shim_that_is_stopping_a_dropped_tree_leaves_nothing() {
    let mut owner = Owner::start();
    let trees = owner.start_stubborn(&["a"]);
    owner.tell(&["drop", "a"]);
    kill_process(trees[0].shim, Signal::KILL).unwrap();
    wait_until(PROMISED, "the dropped tree is gone", || owner.servers() == 0);
}

#[test]
fn a_server_that_kills_its_shim_kills_itself() {
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
fn a_launch_whose_shim_is_killed_is_not_repeated() {
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
    // What runs, what it is said to have ended by, and how long (ms) that takes at least.
    let cases = [
        ("obedient", OBEDIENT, "exited with code 0", 0),
        ("deaf", DEAF_TO_STDIN, "exited with code 3", 400),
        ("stubborn", STUBBORN, "was killed by signal 9 (SIGKILL)", 800),
    ];
    for (name, script, exit, least) in cases {
        owner.spawn_sh(name, script);
        owner.started(name);
        wait_until(PATIENCE, "the server runs", || owner.servers() >= 1);
        if script == STUBBORN {
            wait_until(PATIENCE, "the tree", || owner.servers() == STUBBORN_PROCESSES);
        }
        let asked = Instant::now();
        owner.tell(&["stop", name, "400", "400"]);
        assert_eq!(owner.hear(&format!("exited {name}"), PATIENCE), exit);
        owner.hear(&format!("gone {name}"), PATIENCE);
        let took = asked.elapsed().as_millis();
        assert!((least..6000).contains(&took), "{name} took {took} ms");
        assert_eq!(owner.servers(), 0, "{name}");
    }
    wait_until(PATIENCE, "only the keeper is left", || owner.helpers().len() == 1);
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
    wait_until(PATIENCE, "only the keeper is left", || owner.helpers().len() == 1);
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
fn a_server_gets_no_descriptor_and_no_signal_setting_of_ours() {
    let mut owner = Owner::start();
    owner.spawn_sh("first", OBEDIENT);
    owner.started("first");
    owner.tell(&["spawn", "second", "", "cat"]);
    let Started { shim, server } = owner.started("second");
    // A shell that starts this test in the background has it ignore SIGQUIT, for instance. SIGPIPE
    // is ignored by all Rust programs, and must not be by servers.
    let pipe = 1 << (libc::SIGPIPE - 1);
    let ours = Table::signals(getpid(), "SigIgn") & !pipe;
    assert_eq!(Table::signals(server, "SigIgn") & !ours, 0);
    assert_eq!(Table::signals(server, "SigBlk"), 0);
    // What this test got from cargo, everyone below it gets.
    let inherited = Table::inheritable(getpid());
    // A launch is reported while exec is still closing what is not passed on.
    wait_until(PATIENCE, "only stdio in the server", || Table::descriptors(server) == inherited);
    wait_until(PATIENCE, "control, both ends of the news, and two of deaf.rs in the shim", || {
        Table::descriptors(shim) == inherited + 3 + 2
    });
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
        let Started { shim, .. } = owner.started(name);
        // The links themselves are as hard to see for the test; that the shim reaps them is not.
        wait_until(PATIENCE, "fifty links of the chain", || Table::switches(shim) > 50);
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
    assert_eq!(Table::descriptors(keeper), before_in_keeper + 50, "one for each shim");
    for number in 0..50 {
        owner.tell(&["stop", &format!("s{number}"), "5000", "1000"]);
    }
    for number in 0..50 {
        assert_eq!(owner.hear(&format!("exited s{number}"), PATIENCE), "exited with code 0");
        owner.hear(&format!("gone s{number}"), PATIENCE);
    }
    wait_until(PATIENCE, "only the keeper is left", || owner.helpers().len() == 1);
    wait_until(PATIENCE, "no descriptors are left", || owner.descriptors() == before);
    wait_until(PATIENCE, "nor in the keeper", || Table::descriptors(keeper) == before_in_keeper);
    assert_eq!(owner.zombies(), []);
}

#[test]
fn orphans_are_reaped_while_the_server_runs() {
    let mut owner = Owner::start();
    owner.spawn_sh("a", "for i in 1 2 3 4 5 6 7 8 9; do ( sleep 0.01 & ); done; cat");
    let Started { shim, server } = owner.started("a");
    wait_until(PATIENCE, "all orphans are reaped", || {
        let table = Table::read();
        let children = table.children(shim);
        children.len() == 1 && table.children(server).len() == 1
    });
    assert_eq!(owner.zombies(), []);
}

#[test]
fn dropping_a_tree_kills_it() {
    let mut owner = Owner::start();
    owner.start_stubborn(&["a", "b"]);
    owner.tell(&["drop", "a"]);
    wait_until(PROMISED, "a is gone", || owner.servers() == STUBBORN_PROCESSES);
    wait_until(PATIENCE, "its shim too", || owner.helpers().len() == 2);
    assert_eq!(owner.zombies(), []);
}

#[test]
fn helpers_cost_nothing_while_nothing_happens() {
    let mut owner = Owner::start();
    owner.start_stubborn(&["a", "b"]);
    let (helpers, ticks) = (owner.helpers(), |helpers: &[_]| {
        helpers.iter().map(|&helper| Table::switches(helper)).sum::<u64>()
    });
    assert_eq!(helpers.len(), 3);
    // What they do for the launch may still be going on; then they must not run at all.
    let mut last = ticks(&helpers);
    wait_until(PATIENCE, "helpers that are not scheduled for 300 ms", || {
        let start = Instant::now();
        wait_until(PATIENCE, "300 ms", || start.elapsed() > Duration::from_millis(300));
        let before = std::mem::replace(&mut last, ticks(&helpers));
        before == last
    });
}

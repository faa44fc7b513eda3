//! No orphans, ever: whatever ends, and however, nothing of a server's tree outlives its time.
//!
//! Each server stands behind a shell, as `npx` and `uvx` leave it, and has started descendants in
//! every way that escapes process groups and parent-death signals, all of them deaf to SIGTERM.

use std::path::Path;
use std::time::{Duration, Instant};

use kit::client::Client;
use kit::process::Process;
use kit::rng::Rng;
use kit::room::Room;
use kit::say::{self, Kin};
use kit::yardstick::Yardstick;
use kit::{LIMIT, SOON, bin, ledger, process};
use rustix::process::Signal;
use serde_json::Value;

use crate::ONE_AT_A_TIME as TURN;

const SERVERS: [&str; 3] = ["polite", "stubborn", "plain"];
const KIN: usize = 4;

fn tree(room: &Room, name: &str) -> Value {
    let deaf = Kin { ignore_term: true, ..Kin::default() };
    let start = say::steps([
        say::descend(deaf),
        say::descend(Kin { setsid: true, ..deaf }),
        say::descend(Kin { setsid: true, double_fork: true, ..deaf }),
        say::descend(Kin { setsid: true, double_fork: true, keep_stdout: true, ..deaf }),
    ]);
    let die = say::steps([say::exit(0)]);
    let fake = room.fake(name).at_start(start).tool("echo", say::echo()).tool("die", die);
    match name {
        "stubborn" => fake.behind_a_shell().ignoring_term().ignoring_eof().entry(),
        "polite" => fake.behind_a_shell().entry(),
        _ => fake.entry(),
    }
}

fn house() -> (Room, Client) {
    furnished(Room::new())
}

/// A client with a gateway of its own, or one that shares a runtime with nobody else.
fn houses() -> [(Room, Client); 2] {
    [house(), furnished(Room::shared())]
}

fn furnished(room: Room) -> (Room, Client) {
    room.config(SERVERS.map(|name| (name, tree(&room, name))));
    let client = room.start_ready(&["--no-restart"]);
    for name in SERVERS {
        wait_for_kin(&room, name);
    }
    (room, client)
}

/// Waits until every descendant of a server is what it will be (past its shell).
fn wait_for_kin(room: &Room, name: &str) {
    let program = bin::fake_mcp();
    let program = program.to_str().expect("UTF-8");
    let grown = || {
        let own = of_server(room, name);
        own.iter().filter(|p| p.command_line().starts_with(&format!("{program} --linger"))).count()
    };
    process::wait_until("the descendants have been started", LIMIT, || grown() == KIN);
}

/// The processes of one server: it and all it started, but not its helper.
fn of_server(room: &Room, name: &str) -> Vec<Process> {
    let ledger = room.ledger(name);
    let script = room.path(&format!("{name}.script.json"));
    let mut all = process::with_argument(ledger.to_str().expect("UTF-8"));
    all.extend(process::with_argument(script.to_str().expect("UTF-8")));
    all
}

/// Everything that works for this client: what is below it, and a shared runtime, which is nobody's child, with what is
/// below that.
fn household(room: &Room, client: &Client) -> Vec<i32> {
    let mut all = process::descendants(client.pid().as_raw_nonzero().get());
    for runtime in room.runtimes() {
        all.extend(process::descendants(runtime.pid));
        all.push(runtime);
    }
    all.iter().map(|process| process.pid).collect()
}

#[track_caller]
fn assert_gone(room: &Room, household: &[i32], promise: Duration) {
    let yardstick = Yardstick::new();
    match process::wait_all_gone(room.marker(), household, LIMIT) {
        Ok(time) => yardstick.assert_kept(promise, time),
        Err(left) => panic!("left after {LIMIT:?}: {:#?}", command_lines(&left)),
    }
}

/// Waits until this holds, which was promised within a time.
#[track_caller]
fn assert_within(what: &str, promise: Duration, state: impl FnMut() -> bool) {
    let (yardstick, start) = (Yardstick::new(), Instant::now());
    process::wait_until(what, LIMIT, state);
    yardstick.assert_kept(promise, start.elapsed());
}

fn command_lines(processes: &[Process]) -> Vec<String> {
    processes.iter().map(|p| format!("{} {} {}", p.pid, p.state, p.command_line())).collect()
}

#[test]
fn k10_nothing_is_left_3_s_after_sigterm() {
    let _turn = TURN.lock();
    for signal in [Signal::TERM, Signal::INT] {
        for (room, client) in houses() {
            let household = household(&room, &client);
            client.signal(signal);
            assert_gone(&room, &household, Duration::from_secs(3));
            client.wait_exit(SOON);
        }
    }
}

#[test]
fn k11_nothing_is_left_2_s_after_sigkill() {
    let _turn = TURN.lock();
    for (room, client) in houses() {
        let household = household(&room, &client);
        client.signal(Signal::KILL);
        // A front alone is not the gateway: its runtime may have other clients.
        room.runtimes().iter().for_each(|runtime| runtime.kill(Signal::KILL));
        assert_gone(&room, &household, Duration::from_secs(2));
    }
}

#[test]
fn k11_a_runtime_that_is_killed_leaves_nothing_while_its_client_goes_on() {
    let _turn = TURN.lock();
    let (room, client) = furnished(Room::shared());
    let household = household(&room, &client);
    let [runtime] = &room.runtimes()[..] else { panic!("one runtime: {:?}", room.runtimes()) };
    runtime.kill(Signal::KILL);
    let left = || household.iter().any(|pid| process::is_alive(*pid));
    assert_within("all that it had started is gone", Duration::from_secs(2), || !left());
    for name in SERVERS {
        client.assert_echo(name, "echo", "{}");
    }
    assert_eq!(room.runtimes().len(), 1);
}

#[test]
fn k10_nothing_is_left_6_s_after_the_client_closes_stdin() {
    let _turn = TURN.lock();
    for (room, client) in houses() {
        let household = household(&room, &client);
        client.close_stdin();
        assert_gone(&room, &household, Duration::from_secs(6));
        assert!(client.wait_exit(SOON).success());
    }
}

/// The processes between the gateway and a server that run the gateway's own program.
fn helpers(client: &Client, room: &Room, name: &str) -> Vec<i32> {
    let own = bin::trunkline().canonicalize().expect("the program exists");
    let is_ours = |pid: &i32| {
        std::fs::read_link(Path::new("/proc").join(pid.to_string()).join("exe"))
            .is_ok_and(|exe| exe == own)
    };
    let [server] = ledger::started(&room.ledger(name))[..] else { panic!("one process of {name}") };
    let between = process::between(client.pid().as_raw_nonzero().get(), server);
    between.into_iter().filter(is_ours).collect()
}

/// The one helper, which all servers share.
fn keeper(client: &Client, room: &Room) -> i32 {
    let [keeper] = helpers(client, room, SERVERS[0])[..] else { panic!("one helper") };
    for name in SERVERS {
        assert_eq!(helpers(client, room, name), [keeper], "the same for {name}");
    }
    keeper
}

#[test]
fn k11_nothing_is_left_2_s_after_sigkill_of_the_helper() {
    let _turn = TURN.lock();
    let (room, client) = house();
    process::kill(keeper(&client, &room), Signal::KILL);
    let gateway = client.pid().as_raw_nonzero().get();
    let gone = || {
        process::descendants(gateway).is_empty()
            && SERVERS.iter().all(|name| of_server(&room, name).is_empty())
    };
    assert_within("every tree is gone", Duration::from_secs(2), gone);
    client.wait_list("their tools have left", SOON, <[_]>::is_empty);
    for name in SERVERS {
        client.call_within(&format!("{name}:echo"), "{}", SOON).error();
    }
    assert!(client.is_alive(), "the helper's death is its servers', not the gateway's");
}

#[test]
fn k11_without_the_helper_the_servers_can_be_started_again() {
    let _turn = TURN.lock();
    let room = Room::new();
    room.config(SERVERS.map(|name| (name, tree(&room, name))));
    let client = room.start_ready(&["--restart"]);
    for name in SERVERS {
        wait_for_kin(&room, name);
    }
    let (before, helper) = (household(&room, &client), keeper(&client, &room));
    process::kill(helper, Signal::KILL);
    let left = || before.iter().any(|pid| process::is_alive(*pid));
    assert_within("every tree is gone", Duration::from_secs(2), || !left());
    for name in SERVERS {
        let again = || ledger::started(&room.ledger(name)).len() == 2;
        process::wait_until("it is started again", LIMIT, again);
        let back = || client.call(&format!("{name}:echo"), "{}").try_result().is_some();
        process::wait_until("the new process answers", LIMIT, back);
        wait_for_kin(&room, name);
    }
    let household = household(&room, &client);
    client.signal(Signal::KILL);
    assert_gone(&room, &household, Duration::from_secs(2));
}

#[test]
fn k10_when_a_server_ends_its_descendants_end_too() {
    let _turn = TURN.lock();
    let (room, client) = house();
    for name in SERVERS {
        client.call_within(&format!("{name}:die"), "{}", SOON).error();
        let gone = || of_server(&room, name).is_empty();
        assert_within("its whole tree is gone", Duration::from_secs(6), gone);
    }
    let pid = client.pid().as_raw_nonzero().get();
    let zombies = || process::descendants(pid).iter().filter(|p| p.is_zombie()).count();
    process::wait_until("no zombie is left", SOON, || zombies() == 0);
    assert!(client.is_alive());
}

#[test]
fn k10_when_only_the_wrapper_dies_the_server_behind_it_does_not_stay() {
    let _turn = TURN.lock();
    let (room, client) = house();
    let [server] = ledger::started(&room.ledger("polite"))[..] else { panic!("one process") };
    let [wrapper, ..] = process::between(client.pid().as_raw_nonzero().get(), server)[..] else {
        panic!("the shell stands between")
    };
    process::kill(wrapper, Signal::KILL);
    let gone = || of_server(&room, "polite").is_empty();
    assert_within("its whole tree is gone", Duration::from_secs(6), gone);
    client.call_within("polite:echo", "{}", SOON).error();
    client.assert_echo("plain", "echo", "{}");
}

#[test]
fn k11_killed_at_any_moment_of_its_start_it_leaves_nothing() {
    let _turn = TURN.lock();
    let mut rng = Rng::new(11);
    for round in 0..25 {
        let room = if round % 2 == 0 { Room::new() } else { Room::shared() };
        room.config(SERVERS.map(|name| (name, tree(&room, name))));
        let client = Client::spawn(room.trunkline(&[]));
        // A random moment, not a wait: the kill must be right at every one of them.
        std::thread::sleep(Duration::from_micros(rng.below(80_000) as u64));
        let household = household(&room, &client);
        client.signal(Signal::KILL);
        drop(client);
        println!("round {round}");
        let (yardstick, start) = (Yardstick::new(), Instant::now());
        process::wait_until("nothing is left", LIMIT, || {
            // One that was being started then becomes a runtime a moment later.
            room.runtimes().iter().for_each(|runtime| runtime.kill(Signal::KILL));
            let has_left = household.iter().any(|pid| process::is_alive(*pid));
            !has_left && process::marked(room.marker()).is_empty()
        });
        yardstick.assert_kept(Duration::from_secs(2), start.elapsed());
    }
}

#[test]
fn k10_sigterm_in_the_middle_of_calls_settles_or_ends_them_and_leaves_nothing() {
    let _turn = TURN.lock();
    let room = Room::new();
    let fake = room.fake("a").tool("never", say::never()).tool("echo", say::echo());
    room.config([("a", fake.ignoring_term().ignoring_eof().entry())]);
    let client = room.start_ready(&[]);
    let open: Vec<_> = (0..20).map(|_| client.begin("a:never", "{}")).collect();
    client.assert_echo("a", "echo", "{}");
    let household = household(&room, &client);
    client.signal(Signal::TERM);
    assert_gone(&room, &household, Duration::from_secs(3));
    client.wait_exit(SOON);
    assert!(client.stdout_ended(SOON));
    for id in open {
        let mut outcomes = 0;
        while client.try_wait_for(Duration::ZERO, |line| line.is_answer_to(&id)).is_some() {
            outcomes += 1;
        }
        assert_eq!(outcomes, 1, "every call has exactly one outcome");
    }
    client.assert_only_protocol();
}

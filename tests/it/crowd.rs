//! 200 clients on one service with 10 children: every answer is right, stalled readers or not.
//!
//! In the suite for a few seconds; `TRUNKLINE_CROWD_SECONDS=60` makes it the long run.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use kit::http::{Ask, Connection};
use kit::mcp::{self, Speak};
use kit::rng::Rng;
use kit::room::Room;
use kit::scene::{Front, Talk};
use kit::serve::Serve;
use kit::{LIMIT, process, say, scan};

const CLIENTS: usize = 200;
const CHILDREN: usize = 10;

fn seconds() -> u64 {
    let given = std::env::var("TRUNKLINE_CROWD_SECONDS").ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(5)
}

fn house() -> Room {
    let room = Room::new();
    let big = say::steps([say::huge(64 << 10, say::Place::First)]);
    let servers = (0..CHILDREN).map(|child| {
        let name = format!("c{child}");
        let fake = room
            .fake(&name)
            .tool("echo", say::echo())
            .tool("progress", say::steps([say::progress(2), say::result("@ARGS@")]))
            .tool("big", big.clone())
            .resource(&format!("x://{name}"), "R")
            .prompt(&format!("p{child}"), "P");
        (name, fake.entry())
    });
    room.config_of(servers.collect());
    room
}

/// One client's life: calls of every kind, each answer judged.
fn live(client: &Talk, number: usize, until: Instant, done: &AtomicUsize) {
    let mut rng = Rng::new(number as u64);
    let mut round = 0_u64;
    while Instant::now() < until {
        round += 1;
        let child = rng.below(CHILDREN);
        let arguments = format!(r#"{{"client":{number},"round":{round}}}"#);
        match rng.below(10) {
            0 => {
                let params = format!(r#"{{"uri":"x://c{child}"}}"#);
                let answer = client.ask("resources/read", &params);
                let text = String::from_utf8_lossy(answer.result()).into_owned();
                assert!(text.contains(&format!("from c{child}")), "{text}");
            }
            1 => {
                let params = format!(r#"{{"name":"p{child}","arguments":{arguments}}}"#);
                let answer = client.ask("prompts/get", &params);
                let sent = scan::get(answer.result(), "arguments");
                assert_eq!(sent, Some(arguments.as_bytes()), "crossed: {answer}");
            }
            2 => {
                let params = format!(
                    r#"{{"name":"c{child}.progress","arguments":{arguments},"_meta":{{"progressToken":{round}}}}}"#
                );
                let id = client.start("tools/call", &params);
                for _ in 0..2 {
                    let progress = client.notification("notifications/progress", LIMIT);
                    let token = scan::path(&progress.0, &["params", "progressToken"]);
                    assert_eq!(token, Some(round.to_string().as_bytes()), "crossed: {progress}");
                }
                let answer = client.answer(&id, LIMIT);
                assert_eq!(answer.result(), arguments.as_bytes(), "crossed: {answer}");
            }
            3 => assert_eq!(client.list().len(), CHILDREN * 3),
            4 => assert!(client.call(&format!("c{child}.big"), "{}").result().len() > 64 << 10),
            _ => client.assert_echo(&format!("c{child}"), "echo", &arguments),
        }
        done.fetch_add(1, Ordering::Relaxed);
    }
}

/// Opens sessions whose streams and answers are never read.
fn stall(serve: &Serve, count: usize) -> Vec<Connection> {
    let mut all = Vec::new();
    for number in 0..count {
        let client = serve.streamable();
        client.initialize("2025-11-25").result();
        let mut get = client.connection();
        get.begin(&client.dress(Ask::get("/mcp").header("Accept", "text/event-stream")));
        let mut post = client.connection();
        let body = mcp::call("1", &format!("c{}.big", number % CHILDREN), "{}");
        post.begin(&client.dress(Ask::post("/mcp", body)));
        all.extend([get, post]);
    }
    all
}

#[test]
fn nfr_s_two_hundred_clients_get_their_own_answers_and_stalled_ones_change_nothing() {
    let _turn = crate::ONE_AT_A_TIME.lock();
    raise_file_limit();
    let room = house();
    let serve = room.serve(&[]);
    let pid = serve.process().pid().as_raw_nonzero().get();
    let fronts = Front::NETWORK.iter().cycle().take(CLIENTS);
    let clients: Vec<Talk> = fronts.map(|front| serve.talk(*front, "{}")).collect();
    clients[0].list();
    let half = Duration::from_secs(seconds()) / 2;
    let calm = run(&clients, half);
    let settled = process::memory_kib(pid);
    let stalled = stall(&serve, CLIENTS);
    let pressed = run(&clients, half);
    println!("{calm} calls, then {pressed} beside {CLIENTS} stalled readers");
    assert!(pressed * 4 > calm, "{calm} calls without, {pressed} with stalled readers");
    drop(stalled);
    for client in &clients {
        client.assert_only_protocol();
        assert_eq!(client.try_wait_for(Duration::ZERO, |line| line.id().is_some()), None);
    }
    drop(clients);
    let back = || process::memory_kib(pid) < settled + (64 << 10);
    process::wait_until("the memory is back where it was", LIMIT, back);
    assert!(process::peak_memory_kib(pid) < 1 << 20);
    serve.http().assert_echo("c0", "echo", "{}");
    let errors: Vec<String> = serve
        .process()
        .stderr()
        .lines()
        .filter(|line| line.contains("ERROR") || line.contains("panic"))
        .map(str::to_owned)
        .collect();
    assert!(errors.is_empty(), "{errors:?}");
}

/// All clients at once for this long; how many calls they made.
fn run(clients: &[Talk], time: Duration) -> usize {
    let (done, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let until = Instant::now() + time;
    std::thread::scope(|scope| {
        for (number, client) in clients.iter().enumerate() {
            let (done, failed) = (&done, &failed);
            scope.spawn(move || {
                let life = std::panic::AssertUnwindSafe(|| live(client, number, until, done));
                if std::panic::catch_unwind(life).is_err() {
                    failed.store(true, Ordering::Relaxed);
                }
            });
        }
    });
    assert!(!failed.load(Ordering::Relaxed), "a client got a wrong answer (details above)");
    done.load(Ordering::Relaxed)
}

/// Every client of this test has a few sockets.
fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    setrlimit(Resource::Nofile, raised).expect("the soft limit can be raised to the hard one");
}

//! 200 clients on one service with 10 children: every answer is right, stalled readers or not.
//!
//! In the suite for a few seconds; `cargo xtask soak` makes it the long run and shows its figures.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use kit::http::{Ask, Connection};
use kit::limit::Limit;
use kit::line::Line;
use kit::mcp::{self, Speak};
use kit::rng::Rng;
use kit::room::Room;
use kit::scene::{Front, Talk};
use kit::serve::Serve;
use kit::{LIMIT, port, process, say, scan};

const CLIENTS: usize = 200;
const CHILDREN: usize = 10;
/// More than the system's buffers between two processes hold, so that the service is left with
/// the rest of an answer that nobody reads.
const VAST: usize = 4 << 20;
/// What the allocator may keep for the next crowd, and what that may need beyond, in KiB.
const KEPT: u64 = 64 << 10;
const MORE: u64 = 16 << 10;

fn seconds() -> u64 {
    let given = std::env::var("TRUNKLINE_CROWD_SECONDS").ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(5)
}

fn house() -> Room {
    let room = Room::threaded();
    let big = say::steps([say::huge(64 << 10, say::Place::First)]);
    let vast = say::steps([say::huge(VAST, say::Place::First)]);
    let servers = (0..CHILDREN).map(|child| {
        let name = format!("c{child}");
        let fake = room
            .fake(&name)
            .tool("echo", say::echo())
            .tool("progress", say::steps([say::progress(2), say::result("@ARGS@")]))
            .tool("big", big.clone())
            .tool("vast", vast.clone())
            .resource(&format!("x://{name}"), "R")
            .prompt(&format!("p{child}"), "P");
        (name, fake.entry())
    });
    room.config_of(servers.collect());
    room
}

/// What a client may get instead of its own answer.
enum Wrong {
    Error(String),
    Crossed(String),
}

/// The result, and whether it is the one that was asked for.
fn judge(answer: &Line, is_right: impl Fn(&[u8]) -> bool) -> Result<(), Wrong> {
    match answer.try_result() {
        None => Err(Wrong::Error(answer.to_string())),
        Some(result) if is_right(result) => Ok(()),
        Some(_) => Err(Wrong::Crossed(answer.to_string())),
    }
}

/// One call of a random kind, its answer judged.
fn ask(client: &Talk, number: usize, round: u64, rng: &mut Rng) -> Result<(), Wrong> {
    let child = rng.below(CHILDREN);
    let arguments = format!(r#"{{"client":{number},"round":{round}}}"#);
    let sent = |result: &[u8]| scan::get(result, "arguments") == Some(arguments.as_bytes());
    match rng.below(10) {
        0 => {
            let answer = client.ask("resources/read", &format!(r#"{{"uri":"x://c{child}"}}"#));
            let from = format!("from c{child}");
            judge(&answer, |result| String::from_utf8_lossy(result).contains(&from))
        }
        1 => {
            let params = format!(r#"{{"name":"p{child}","arguments":{arguments}}}"#);
            judge(&client.ask("prompts/get", &params), sent)
        }
        2 => with_progress(client, child, round, &arguments),
        3 => {
            let answer = client.ask("tools/list", "{}");
            let tools = |list: &[u8]| {
                let tools = scan::get(list, "tools").and_then(scan::elements);
                tools.is_some_and(|tools| tools.len() == CHILDREN * 4)
            };
            judge(&answer, tools)
        }
        4 => {
            let answer = client.call(&format!("c{child}.big"), "{}");
            judge(&answer, |result| result.len() > 64 << 10)
        }
        _ => {
            let answer = client.call(&format!("c{child}.echo"), &arguments);
            let from = format!("\"c{child}\"");
            judge(&answer, |result| {
                let content = scan::get(result, "structuredContent").unwrap_or_default();
                sent(content) && scan::get(content, "from") == Some(from.as_bytes())
            })
        }
    }
}

fn with_progress(client: &Talk, child: usize, round: u64, arguments: &str) -> Result<(), Wrong> {
    let params = format!(
        r#"{{"name":"c{child}.progress","arguments":{arguments},"_meta":{{"progressToken":{round}}}}}"#
    );
    let id = client.start("tools/call", &params);
    for _ in 0..2 {
        let progress = client.notification("notifications/progress", LIMIT);
        let token = scan::path(&progress.0, &["params", "progressToken"]);
        if token != Some(round.to_string().as_bytes()) {
            return Err(Wrong::Crossed(progress.to_string()));
        }
    }
    judge(&client.answer(&id, LIMIT), |result| result == arguments.as_bytes())
}

/// What all clients together have seen.
#[derive(Debug, Default)]
struct Tally {
    calls: AtomicUsize,
    errors: Mutex<Vec<String>>,
    crossed: Mutex<Vec<String>>,
}

impl Tally {
    fn note(&self, wrong: Wrong) {
        let (list, text) = match wrong {
            Wrong::Error(text) => (&self.errors, text),
            Wrong::Crossed(text) => (&self.crossed, text),
        };
        list.lock().expect("no holder panics").push(text);
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    fn wrong(&self) -> (usize, usize) {
        let count = |list: &Mutex<Vec<String>>| list.lock().expect("no holder panics").len();
        (count(&self.errors), count(&self.crossed))
    }
}

/// One client's life: calls of every kind for this long.
fn live(client: &Talk, number: usize, until: Instant, tally: &Tally) {
    let mut rng = Rng::new(number as u64);
    let mut round = 0;
    while Instant::now() < until {
        round += 1;
        // An answer that does not come is a panic of the kit's, with all it knows.
        let asked = catch_unwind(AssertUnwindSafe(|| ask(client, number, round, &mut rng)));
        match asked {
            Ok(Ok(())) => {}
            Ok(Err(wrong)) => tally.note(wrong),
            Err(_) => return tally.note(Wrong::Error("no answer (details above)".to_owned())),
        }
        tally.calls.fetch_add(1, Ordering::Relaxed);
    }
}

/// Opens sessions whose streams and answers are never read, and makes sure that they are stuck.
fn stall(serve: &Serve, count: usize) -> Vec<Connection> {
    let mut all = Vec::new();
    for number in 0..count {
        let client = serve.streamable();
        client.initialize("2025-11-25").result();
        let mut get = client.connection();
        get.begin(&client.dress(Ask::get("/mcp").header("Accept", "text/event-stream")));
        let mut post = client.connection();
        let body = mcp::call("1", &format!("c{}.vast", number % CHILDREN), "{}");
        post.begin(&client.dress(Ask::post("/mcp", body)));
        all.extend([get, post]);
    }
    let stuck = || port::unread(serve.address().port()) >= count;
    process::wait_until("every one of them is stuck", LIMIT, stuck);
    all
}

#[test]
fn nfr_s_two_hundred_clients_get_their_own_answers_and_stalled_ones_change_nothing() {
    let _turn = crate::ONE_AT_A_TIME.lock();
    // Every client has a few sockets.
    kit::process::raise_open_files();
    let room = house();
    let serve = room.serve(&[]);
    let pid = serve.process().pid().as_raw_nonzero().get();
    let clients = connect(&serve);
    let before = process::memory_kib(pid);
    let half = Duration::from_secs(seconds()) / 2;
    let calm = run(&clients, half);
    let between = process::memory_kib(pid);
    let stalled = stall(&serve, CLIENTS);
    let pressed = run(&clients, half);
    drop(stalled);
    for client in &clients {
        client.assert_only_protocol();
        assert_eq!(client.try_wait_for(Duration::ZERO, |line| line.id().is_some()), None);
    }
    drop(clients);
    let settled = settle(pid, before + KEPT);
    let peak = process::peak_memory_kib(pid);
    let next = run(&connect(&serve), half / 2);
    let again = settle(pid, settled + MORE);
    tell("alone", half, &calm);
    tell("beside 200 stalled readers", half, &pressed);
    tell("of another crowd", half / 2, &next);
    let mib = |kib: u64| format!("{:.1}", kib as f64 / 1024.0);
    println!(
        "memory in MiB: {} with {CLIENTS} clients connected, {} after the first half, {} at most, \
         {} when all had left, {} after another crowd",
        mib(before),
        mib(between),
        mib(peak),
        mib(settled),
        mib(again)
    );
    for tally in [&calm, &pressed, &next] {
        assert_eq!(tally.wrong(), (0, 0), "{tally:?}");
    }
    let (without, with) = (calm.calls(), pressed.calls());
    assert!(with * 4 > without, "{without} calls without, {with} with stalled readers");
    assert!(settled < before + KEPT, "{before} KiB became {settled} KiB");
    assert!(again < settled + MORE, "{settled} KiB became {again} KiB: every crowd costs more");
    // A stalled reader costs the answer it does not read, until it is given up, and not more.
    let held = (CLIENTS * VAST) as u64 / 1024;
    assert!(peak < before + held + (256 << 10), "{peak} KiB, {held} of them for stalled readers");
    serve.http().assert_echo("c0", "echo", "{}");
    assert_eq!(errors_of(&serve), Vec::<String>::new());
}

/// Clients of both network fronts.
fn connect(serve: &Serve) -> Vec<Talk> {
    let fronts = Front::NETWORK.iter().cycle().take(CLIENTS);
    let clients: Vec<Talk> = fronts.map(|front| serve.talk(*front, "{}")).collect();
    clients[0].list();
    clients
}

/// The memory once it is below this, or when waiting for that is over.
fn settle(pid: i32, wanted: u64) -> u64 {
    let deadline = Limit::from(LIMIT).begin();
    while process::memory_kib(pid) >= wanted && !deadline.is_over() {
        std::thread::sleep(Duration::from_millis(20));
    }
    process::memory_kib(pid)
}

fn tell(how: &str, time: Duration, tally: &Tally) {
    let (errors, crossed) = tally.wrong();
    let (calls, seconds) = (tally.calls(), time.as_secs_f64());
    println!(
        "{CLIENTS} clients, {CHILDREN} children, {how}: {calls} calls in {seconds} s ({:.0}/s), \
         {errors} errors, {crossed} crossed answers",
        calls as f64 / seconds
    );
}

/// What the service has complained about.
fn errors_of(serve: &Serve) -> Vec<String> {
    let stderr = serve.process().stderr();
    let bad = |line: &&str| line.contains("error") || line.contains("panic");
    stderr.lines().filter(bad).map(str::to_owned).collect()
}

/// All clients at once for this long.
fn run(clients: &[Talk], time: Duration) -> Tally {
    let tally = Tally::default();
    let until = Instant::now() + time;
    std::thread::scope(|scope| {
        for (number, client) in clients.iter().enumerate() {
            let tally = &tally;
            scope.spawn(move || live(client, number, until, tally));
        }
    });
    tally
}

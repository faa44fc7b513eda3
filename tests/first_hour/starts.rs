//! How long until a client has every tool of twenty slow servers that are remembered, and how small its front is.

use std::time::{Duration, Instant};

use kit::client::Client;
use kit::room::Room;
use kit::{LIMIT, process, say};
use serde_json::Value;

const SERVERS: usize = 20;
const TOOLS: usize = 10;
/// How long each server takes to start.
const SLOW_MS: u64 = 3000;
/// A front gives back what its start took after a second.
const SETTLED: Duration = Duration::from_secs(3);

/// What is promised, in milliseconds: p50 and p99 of a start, both with a runtime that is there; and in KiB.
const START: [f64; 2] = [30.0, 80.0];
const THERE: [f64; 2] = [15.0, 15.0];
const FRONT_KIB: u64 = 3 * 1024;

/// What was not kept.
pub(crate) fn run(starts: usize) -> Result<Vec<String>, String> {
    let room = Room::shared();
    room.config_of((0..SERVERS).map(|number| slow(&room, number)).collect());
    println!(
        "=== {SERVERS} servers with {TOOLS} tools each that take 3 s to start: {starts} starts each"
    );
    let first = remember(&room, &[])?;
    println!("the first start ever takes {:.0} ms", millis(first));
    println!(
        "{:<40}  {:>9}  {:>9}  {:>9}",
        "FROM SPAWN TO THE COMPLETE LIST", "P50", "P99", "LONGEST"
    );
    let mut missed = Vec::new();
    let fresh = measure(starts, || {
        let (took, client) = start(&room, &[])?;
        leave(&room, &client);
        Ok((took, client))
    })?;
    show("a runtime starts with the client", &fresh, START, &mut missed);
    let (_, resident) = start(&room, &[])?;
    let there = measure(starts, || start(&room, &[]))?;
    show("the runtime is there", &there, THERE, &mut missed);
    std::thread::sleep(SETTLED);
    let memory = process::memory_kib(resident.pid().as_raw_nonzero().get());
    println!("a front that waits has {memory} KiB resident");
    if memory > FRONT_KIB {
        missed.push(format!("a front has {memory} KiB, promised are {FRONT_KIB}"));
    }
    leave(&room, &resident);
    // Servers were told what this client can do, which is less than what a runtime can: they are asked anew.
    remember(&room, &["--no-shared"])?;
    let alone = measure(starts, || start(&room, &["--no-shared"]))?;
    show("alone (--no-shared)", &alone, START, &mut missed);
    Ok(missed)
}

fn slow(room: &Room, number: usize) -> (String, Value) {
    let name = format!("s{number}");
    let fake = room.fake(&name).at_start(say::steps([say::pause(SLOW_MS)]));
    let fake = (0..TOOLS).fold(fake, |fake, tool| fake.tool(&format!("t{tool}"), say::echo()));
    (name, fake.entry())
}

/// The first start ever, with these flags: every server is waited for. How long until all are listed.
fn remember(room: &Room, flags: &[&str]) -> Result<Duration, String> {
    let listings = room.path("remembered/listings");
    drop(std::fs::remove_dir_all(&listings));
    let (took, client) = start(room, &[&["--start-timeout", "120"], flags].concat())?;
    process::wait_until("they are remembered", LIMIT, || {
        std::fs::read_dir(&listings).map_or(0, Iterator::count) == SERVERS
    });
    leave(room, &client);
    Ok(took)
}

fn leave(room: &Room, client: &Client) {
    client.close_stdin();
    client.wait_exit(LIMIT);
    process::wait_until("all has ended", LIMIT, || room.runtimes().is_empty());
}

/// From the start of the process to the complete list.
fn start(room: &Room, flags: &[&str]) -> Result<(Duration, Client), String> {
    let command = room.trunkline(flags);
    let begun = Instant::now();
    let client = Client::spawn(command);
    client.initialize("2025-11-25");
    let listed = client.list_names().len();
    let took = begun.elapsed();
    match listed == SERVERS * TOOLS {
        true => Ok((took, client)),
        false => Err(format!("{listed} tools are listed:\n{}", client.describe())),
    }
}

fn measure(
    starts: usize,
    mut one: impl FnMut() -> Result<(Duration, Client), String>,
) -> Result<Vec<Duration>, String> {
    let mut times = Vec::new();
    for _ in 0..starts {
        let (took, client) = one()?;
        times.push(took);
        client.close_stdin();
        client.wait_exit(LIMIT);
    }
    times.sort_unstable();
    Ok(times)
}

fn show(what: &str, times: &[Duration], promised: [f64; 2], missed: &mut Vec<String>) {
    let at = |share: f64| {
        let index = ((times.len() as f64 * share).ceil() as usize).clamp(1, times.len()) - 1;
        millis(times[index])
    };
    let (p50, p99, longest) = (at(0.5), at(0.99), at(1.0));
    println!("{what:<40}  {p50:>6.1} ms  {p99:>6.1} ms  {longest:>6.1} ms");
    for (name, figure, promised) in [("p50", p50, promised[0]), ("p99", p99, promised[1])] {
        if figure > promised {
            missed.push(format!("{what}: {name} is {figure:.1} ms, promised are {promised} ms"));
        }
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

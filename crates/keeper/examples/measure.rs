//! What the keeper costs: `measure [COUNT] [COMMAND]` prints the time of concurrent launches, with
//! the keeper and without, and what the keeper needs while nothing happens.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use trunkline_keeper::{Custody, Keeper, Launch, LaunchError};

const ROUNDS: usize = 15;
const IDLE: Duration = Duration::from_secs(10);

fn main() -> ExitCode {
    if let Some(code) = trunkline_keeper::run_if_asked() {
        return code;
    }
    let mut args = std::env::args_os().skip(1);
    let count = args.next().and_then(|count| count.to_str()?.parse().ok()).unwrap_or(50);
    let command = args.next().unwrap_or_else(|| "/bin/true".into());
    // First, because afterwards the keeper takes every other child for a stray.
    let direct = direct(count, &command);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let result = runtime.and_then(|runtime| {
        say(&format!("{count} × {} without the keeper: {}", command.display(), summary(direct?)))?;
        runtime.block_on(kept(count, command))
    });
    if result.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Until all have executed their program, with three pipes each, as std does it.
#[expect(clippy::disallowed_methods, reason = "what the keeper is compared with")]
fn direct(count: usize, command: &OsString) -> io::Result<Vec<Duration>> {
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let mut children = Vec::new();
        for _ in 0..count {
            let mut command = Command::new(command);
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            children.push(command.spawn()?);
        }
        times.push(start.elapsed());
        for mut child in children {
            child.wait()?;
        }
    }
    Ok(times)
}

async fn kept(count: usize, command: OsString) -> io::Result<()> {
    let start = Instant::now();
    let keeper = Keeper::start()?;
    say(&format!("Keeper::start: {:.2} ms", millis(start.elapsed())))?;
    let mut reaper = JoinSet::new();
    reaper.spawn(keeper.clone().reap());
    let start = Instant::now();
    launch_all(&keeper, 1, &command).await?;
    say(&format!("first launch: {:.2} ms", millis(start.elapsed())))?;

    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let trees = launch_all(&keeper, count, &command).await?;
        times.push(start.elapsed());
        gone(trees).await;
    }
    say(&format!("{count} × {} with the keeper: {}", command.display(), summary(times)))?;

    let trees = launch_all(&keeper, count, &"/bin/cat".into()).await?;
    footprint(&trees, ROUNDS * count + 1 + count).await?;
    let start = Instant::now();
    gone(trees).await;
    say(&format!("stop of {count}: {:.1} ms", millis(start.elapsed())))
}

async fn launch_all(
    keeper: &Keeper,
    count: usize,
    command: &OsString,
) -> Result<Vec<Custody>, io::Error> {
    let mut launches = JoinSet::new();
    for _ in 0..count {
        let (keeper, command) = (keeper.clone(), command.clone());
        launches.spawn(async move {
            let launch =
                Launch { command, env: std::env::vars_os().collect(), ..Launch::default() };
            keeper.spawn(&launch).await
        });
    }
    let all: Result<Vec<Custody>, LaunchError> = launches.join_all().await.into_iter().collect();
    all.map_err(io::Error::other)
}

async fn gone(trees: Vec<Custody>) {
    for Custody { stdin, mut tree, .. } in trees {
        drop(stdin);
        tree.gone().await;
    }
}

async fn footprint(trees: &[Custody], launches: usize) -> io::Result<()> {
    let Some(keeper) = trees.first().map(|custody| custody.tree.keeper()) else {
        return Ok(());
    };
    for (who, pid) in [("owner", std::process::id()), ("keeper", keeper)] {
        let [rss, pss, private] = ["Rss:", "Pss:", "Private_Dirty:"].map(|key| memory(pid, key));
        say(&format!("{who}: RSS {} KiB, PSS {} KiB, private dirty {} KiB", rss?, pss?, private?))?;
    }
    let before = processor_time(keeper)?;
    let each = before / 1000 / u64::try_from(launches).unwrap_or(1);
    say(&format!("CPU of the keeper for a server, from its launch to its end: {each} µs"))?;
    tokio::time::sleep(IDLE).await;
    let used = processor_time(keeper)? - before;
    say(&format!("CPU of the idle keeper in {IDLE:?}: {used} ns"))
}

fn memory(pid: u32, key: &str) -> io::Result<u64> {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let line = rollup.lines().find_map(|line| line.strip_prefix(key));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Nanoseconds on a processor, of its one thread.
fn processor_time(pid: u32) -> io::Result<u64> {
    let line = fs::read_to_string(format!("/proc/{pid}/schedstat"))?;
    let time = line.split(' ').next().and_then(|time| time.parse().ok());
    time.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn summary(mut times: Vec<Duration>) -> String {
    times.sort();
    let at = |place: usize| times.get(place).copied().map_or(0.0, millis);
    format!("median {:.1} ms, best {:.1} ms", at(times.len() / 2), at(0))
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

fn say(line: &str) -> io::Result<()> {
    writeln!(io::stdout(), "{line}")
}

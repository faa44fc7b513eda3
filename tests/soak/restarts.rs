//! A server is killed and comes back, again and again, while it and others are called: every call
//! has one outcome, none runs twice, and the others do not notice.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use kit::platform::Platform;
use kit::process;
use kit::rng::Rng;
use kit::room::Room;
use kit::service::{Service, Wire};
use rustix::process::Signal;

use crate::Size;
use crate::caller::Outcome;
use crate::control::{self, Control};
use crate::crowd::{Call, Crowd, Newest, Until, Whom};
use crate::house::{arrived, echoing, with_command};
use crate::report::{Report, millis, quantile, ratio, row, times};
use crate::timeline::{self, Kill};

/// Calls a second to the server that is killed, unless another rate is asked for.
const RATE: u64 = 200;
const KILLS: u64 = 100;
const QUIET_SECONDS: u64 = 20;
/// The breaker's first pauses are below a second; who is not back by then has failed.
const BACK: Duration = Duration::from_secs(10);
const VICTIM: &str = "a";
const OTHERS: [&str; 3] = ["b", "c", "d"];
const OTHERS_RATE: u64 = 300;

/// How the server that is killed is reached, and so who starts it again.
enum Victim {
    /// We do.
    Http(Service),
    /// The platform does.
    Command,
}

impl Victim {
    fn label(&self) -> &'static str {
        match self {
            Self::Http(_) => "HTTP",
            Self::Command => "stdio",
        }
    }

    /// Kills it; a network server is back when this returns.
    fn kill(&mut self, room: &Room) {
        match self {
            Self::Http(service) => service.restart(),
            Self::Command => {
                let script = room.path(&format!("{VICTIM}."));
                let script = script.to_str().expect("UTF-8");
                for process in process::with_argument(script) {
                    process.kill(Signal::KILL);
                }
            }
        }
    }
}

/// What was called, and what came of it.
struct Seen {
    /// Nobody is killed.
    quiet: Vec<Call>,
    /// Meanwhile.
    loud: Vec<Call>,
    /// The server that is killed.
    own: Vec<Call>,
    kills: Vec<Kill>,
    /// A server that Trunkline has nothing to do with, called directly at the same times.
    direct: Control,
}

pub fn run(report: &mut Report, size: Size) {
    for over_http in [true, false] {
        let room = Room::new();
        // More calls than a key may make by default.
        let flags = ["--allow-stdio-registration", "--health-interval", "1s", "--limits", "off"];
        let platform = room.platform(&flags);
        let victim = match over_http {
            true => {
                let service = echoing(&room, VICTIM).listen(Wire::Http);
                platform.connected(VICTIM, &service);
                Victim::Http(service)
            }
            false => {
                with_command(&platform, &room, VICTIM);
                Victim::Command
            }
        };
        for name in ["b", "c"] {
            let service = echoing(&room, name).listen(Wire::Http);
            platform.connected(name, &service);
            room.keep(service);
        }
        with_command(&platform, &room, "d");
        round(report, size, (&room, &platform), victim);
    }
}

fn round(
    report: &mut Report,
    size: Size,
    (room, platform): (&Room, &Platform),
    mut victim: Victim,
) {
    let (key, rate) = (platform.key("caller"), size.rate.unwrap_or(RATE));
    let untouched = echoing(room, "untouched").listen(Wire::Http);
    let crowd = |servers, rate, callers, first| {
        let whom = Whom::Platform(platform, &key);
        Crowd { whom, servers, rate, callers, first }
    };
    let (of_victim, of_others) = (&[VICTIM][..], &OTHERS[..]);
    let seconds = size.of(QUIET_SECONDS);
    let (quiet, direct_quiet) = std::thread::scope(|scope| {
        let own = crowd(of_victim, rate, 16, 0);
        scope.spawn(move || own.run(Until::Calls(rate * seconds), &Newest::new()));
        let direct = control::crowd(&untouched);
        let direct =
            scope.spawn(move || direct.run(Until::Calls(control::RATE * seconds), &Newest::new()));
        let others = crowd(of_others, OTHERS_RATE, 24, 10_000_000);
        let quiet = others.run(Until::Calls(OTHERS_RATE * seconds), &Newest::new());
        (quiet, direct.join().expect("no caller panics"))
    });
    let (over, newest, unheard) = (AtomicBool::new(false), Newest::new(), Newest::new());
    let (kills, own, loud, direct_loud) = std::thread::scope(|scope| {
        let (over, newest, unheard) = (&over, &newest, &unheard);
        let own = crowd(of_victim, rate, 64, 20_000_000);
        let others = crowd(of_others, OTHERS_RATE, 24, 30_000_000);
        let direct = control::crowd(&untouched);
        let own = scope.spawn(move || own.run(Until::Told(over), newest));
        let loud = scope.spawn(move || others.run(Until::Told(over), unheard));
        let direct = scope.spawn(move || direct.run(Until::Told(over), unheard));
        let kills = kill(&mut victim, room, newest, size.of(KILLS));
        over.store(true, Ordering::Relaxed);
        let [own, loud, direct] =
            [own, loud, direct].map(|thread| thread.join().expect("no caller panics"));
        (kills, own, loud, direct)
    });
    let label = victim.label();
    drop(victim);
    let direct = Control::with_bare_starts(room, &untouched, [direct_quiet, direct_loud], seconds);
    let seen = Seen { quiet, loud, own, kills, direct };
    show(report, label, &seen);
    judge(report, label, room, &seen);
}

/// Kills it so often; each time it is given a moment to be of use.
fn kill(victim: &mut Victim, room: &Room, newest: &Newest, count: u64) -> Vec<Kill> {
    let mut rng = Rng::new(7);
    process::wait_until("calls are answered", BACK, || newest.is_after(Instant::now() - BACK));
    let back = |killed: Instant| {
        while killed.elapsed() < BACK {
            if newest.is_after(killed) {
                return Some(Instant::now());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        None
    };
    (0..count)
        .map(|_| {
            std::thread::sleep(Duration::from_millis(rng.number() % 200));
            let at = Instant::now();
            victim.kill(room);
            Kill { at, back: back(Instant::now()) }
        })
        .collect()
}

fn show(report: &mut Report, label: &str, seen: &Seen) {
    let Seen { quiet, loud, own, kills, direct } = seen;
    let title = format!("A server over {label} killed and restarted {} times", kills.len());
    report.table(
        &format!("{title}; milliseconds"),
        &["calls to", "calls", "right", "p50", "p99", "longest"],
        &[
            row("the others, nobody is killed", quiet),
            row("the others, meanwhile", loud),
            row("the one that is killed", own),
        ],
    );
    report.table(
        &format!("{title}: the same machine without Trunkline in between; milliseconds"),
        &["one server, called directly", "calls", "right", "p50", "p99", "longest"],
        &direct.rows(),
    );
    let quiet_p99 = quantile(&times(quiet), 0.99);
    report.table(
        &format!("{title}: when calls to the others were slow; milliseconds"),
        &timeline::HEADER,
        &timeline::rows(loud, kills, 2 * quiet_p99),
    );
    let back: Vec<Duration> = kills.iter().filter_map(Kill::away).collect();
    println!(
        "back after {} ms (p50), {} ms at most",
        millis(quantile(&back, 0.5)),
        millis(quantile(&back, 1.0))
    );
    let share = 100.0 * back.len() as f64 / kills.len() as f64;
    let what = |what: &str| format!("restarts over {label}: {what}");
    report.check(&what("came back"), "> 95 %", format!("{share:.0} %"), share > 95.0);
    let ratio = ratio(quiet, loud);
    report.check(
        &what("p99 of the others, ratio to quiet"),
        "≤ 2×",
        format!("{ratio:.2}×"),
        ratio <= 2.0,
    );
    direct.note(report, label);
}

fn judge(report: &mut Report, label: &str, room: &Room, seen: &Seen) {
    let own = &seen.own;
    let what = |what: &str| format!("restarts over {label}: {what}");
    let others = seen.quiet.iter().chain(&seen.loud).chain(seen.direct.all());
    let bad: Vec<_> = others.filter(|call| call.outcome != Outcome::Right).collect();
    report.none(&what("calls to the others without their own answer"), &bad);
    let lost: Vec<_> = own
        .iter()
        .filter(|call| matches!(call.outcome, Outcome::Lost | Outcome::Wrong(_)))
        .collect();
    report.none(&what("calls without an answer, or with another's"), &lost);
    let counts = arrived(room, VICTIM);
    let doubled: Vec<_> = counts.iter().filter(|(_, count)| **count > 1).collect();
    report.none(&what("calls that ran twice"), &doubled);
    // An error is an outcome if it tells the truth about whether the call may have run.
    let untrue: Vec<_> = own
        .iter()
        .filter(|call| match &call.outcome {
            Outcome::Right => !counts.contains_key(&call.number),
            Outcome::Error(text) => {
                counts.contains_key(&call.number) && !text.contains("may have run")
            }
            _ => false,
        })
        .collect();
    report.none(&what("answers that are not true"), &untrue);
    let failed = own.iter().filter(|call| matches!(call.outcome, Outcome::Error(_))).count();
    println!("{failed} of {} calls ended with an error that says what became of them", own.len());
}

//! What more threads cost and gain: the same program with one thread that moves messages, with eight, and with as many
//! as the machine has processors.

use super::course::{Course, HTTP, MODERN};
use super::par64::{self, Figures};
use super::turns::{Entrant, Task, Turns, compete};
use super::{Context, USUAL};
use crate::drive::affinity::Placement;
use crate::drive::call::{Ask, SLOTS};
use crate::drive::contender::Kind;
use crate::drive::expected::every_tool;
use crate::drive::futexes;
use crate::drive::report::{Report, Rows};
use crate::drive::route::Sessions;
use crate::drive::stats::Series;
use crate::era::Era;

/// More threads than this machine may have processors: what they cost shows on any.
const MANY: usize = 8;
/// Processor time of a call with many threads, by that with one.
const CPU_LIMIT: f64 = 1.15;
/// The busiest thread, by the least busy one.
const EVEN: f64 = 1.25;
const FUTEXES: f64 = 0.05;
/// Calls while futexes are counted.
const COUNTED: usize = 2_000;

pub(super) fn run(context: &Context, report: &mut Report) -> Result<(), String> {
    context.cpus.place(Placement::Free).map_err(|error| error.to_string())?;
    for course in &HTTP {
        calls(context, report, course, Era::Legacy)?;
    }
    calls(context, report, &MODERN[1], Era::Modern)
}

/// One, many, and between and beyond them the powers of two up to the number of processors.
fn counts() -> Vec<usize> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let mut counts = vec![1, MANY];
    counts.extend((1..).map(|power| 1 << power).take_while(|&count| count <= processors.min(64)));
    counts.sort_unstable();
    counts.dedup();
    counts
}

fn calls(context: &Context, report: &mut Report, course: &Course, era: Era) -> Result<(), String> {
    let course = Course { route: course.route.with(SLOTS, Sessions::OneEach), ..*course };
    let pairs = every_tool(USUAL);
    let task = Task { shape: USUAL, route: course.route, pairs: &pairs, ask: Ask::Echo };
    let turns = Turns { rounds: context.rounds(60), peer_rounds: 0 };
    let counts = counts();
    let threads = counts.iter().map(|&count| Kind::Threads(count));
    let contenders: Vec<_> =
        [Kind::Direct].into_iter().chain(threads).map(|kind| kind.of(era)).collect();
    let mut figures = vec![Figures::default(); contenders.len()];
    let (mut evenness, mut futexes) = (Series::default(), Series::default());
    let mut uncounted = None;
    let entrants = compete(context, report, &contenders, task, turns, |index, lane| {
        let own = lane.target.own();
        let before = own.threads("pump");
        par64::measure(lane, &mut figures[index])?;
        if !matches!(lane.target.kind, Kind::Threads(MANY)) {
            return Ok(());
        }
        let spent = own.threads("pump").into_iter().zip(before).map(|(now, then)| now - then);
        let spent: Vec<f64> = spent.map(|time| time as f64).collect();
        let (most, least) = (
            spent.iter().copied().fold(0.0, f64::max),
            spent.iter().copied().fold(f64::MAX, f64::min),
        );
        evenness.push(most / least.max(1.0));
        // Once for each start: `strace` makes what it looks at slow.
        if lane.turns == 0 {
            let counted = futexes::counted(own.main, &context.place.directory, || {
                lane.parallel(COUNTED).map(drop)
            });
            match counted {
                Ok(count) => futexes.push(count as f64 / COUNTED as f64),
                Err(error) => uncounted = Some(error),
            }
        }
        Ok(())
    })?;
    report.table(
        &course.title("Threads that move messages, all CPUs"),
        &format!(
            "64 calls in flight in 64 sessions, round robin over 10 × 10 tools; CPU of the middle in microseconds per \
             call. The driver has one thread: where it is the slowest, more threads bring no more calls. *{MANY} threads* \
             on fewer processors show what threads cost.{}",
            course.remark
        ),
        rows(&entrants, &figures),
    );
    let place = |count| counts.iter().position(|&known| known == count).map_or(1, |at| at + 1);
    let ratio = figures[place(MANY)].cpu.with(&figures[place(1)].cpu, |a, b| a / b);
    report.at_most(
        &format!("{}CPU per call with {MANY} threads, ratio to one", course.prefix),
        &ratio,
        CPU_LIMIT,
        "×",
    );
    report.at_most(
        &format!("{}busiest of {MANY} threads, ratio to the least busy", course.prefix),
        &evenness,
        EVEN,
        "×",
    );
    match uncounted {
        None => report.at_most(
            &format!("{}futex calls per call with {MANY} threads", course.prefix),
            &futexes,
            FUTEXES,
            "",
        ),
        Some(error) => report.leave_out(format!("futex calls: {error}")),
    }
    Ok(())
}

fn rows(entrants: &[Entrant], figures: &[Figures]) -> Rows {
    let mut rows = Rows::with_header(&[
        "",
        "calls/s",
        "ratio to one thread",
        "CPU per call",
        "ratio to one thread",
    ]);
    let ratio = |a: f64, b: f64| a / b;
    for (entrant, own) in entrants.iter().zip(figures) {
        let one = &figures[1];
        let rate = own.rate.with(&one.rate, ratio).show();
        rows.push([
            &entrant.name,
            &own.rate.show(),
            &rate,
            &own.cpu.show(),
            &own.cpu.with(&one.cpu, ratio).show(),
        ]);
    }
    rows
}

//! Calls while others search ten thousand tools: what a call notices of it.

use super::neighbours::{Neighbours, Work};
use crate::drive::affinity::{BOTH, Placement};
use crate::drive::call::Ask;
use crate::drive::contender::{Door, Kind};
use crate::drive::process;
use crate::drive::report::{Report, Rows};
use crate::drive::scenario::Context;
use crate::drive::scenario::course::HTTP;
use crate::drive::scenario::lane::Lane;
use crate::drive::scenario::turns::{self, Task};
use crate::drive::stats::{Series, micros};
use crate::drive::target::Shape;
use crate::era::Era;
use std::time::{Duration, Instant};

const SHAPE: Shape = Shape { servers: 10, tools: 1_000 };

/// Beside what the calls are made; the first is what the others are compared with.
const BESIDE: [(&str, Work, usize); 4] = [
    ("nobody", Work::None, 0),
    ("one client that searches", Work::Search, 1),
    ("eight clients that search", Work::Search, 8),
    ("two threads that only count", Work::Count, 2),
];

/// Whoever has used less than so many nanoseconds between two looks idles; it is not waited for longer than that.
const IDLE: u64 = 5_000_000;
const LOOK: Duration = Duration::from_millis(500);
const PATIENCE: Duration = Duration::from_secs(60);

/// The figures of one kind of neighbours, once per round.
#[derive(Debug, Default, Clone)]
struct Figures {
    p50: Series,
    p99: Series,
    /// Searches a second.
    searches: Series,
}

pub(in crate::drive::scenario) fn run(
    context: &Context,
    report: &mut Report,
) -> Result<(), String> {
    BOTH.into_iter().try_for_each(|placement| run_placed(context, report, placement))
}

fn run_placed(context: &Context, report: &mut Report, placement: Placement) -> Result<(), String> {
    context.cpus.place(placement).map_err(|error| error.to_string())?;
    // All tools of one server: the children's own caches stay out of the figure.
    let pairs: Vec<_> = (0..100).map(|tool| (SHAPE.servers / 2, tool)).collect();
    let task = Task { shape: SHAPE, route: HTTP[1].route.narrow(), pairs: &pairs, ask: Ask::Echo };
    let contenders = [Kind::Platform(Door::Mcp).of(Era::Legacy)];
    let expected = turns::record(context, &contenders, task)?;
    let lanes = turns::start(context, report, &contenders, task, &expected)?;
    let mut lane = lanes.into_iter().next().ok_or("no platform")?;
    settle(&lane);
    let mut figures = vec![Figures::default(); BESIDE.len()];
    for round in 0..context.rounds(60) {
        for place in 0..BESIDE.len() {
            let index = (round + place) % BESIDE.len();
            let (_, work, count) = BESIDE[index];
            lane.target.watch();
            let measured = lane.target.refresh().and_then(|()| {
                let neighbours = Neighbours::start(lane.target.port()?, work, count)?;
                measure(&mut lane, neighbours, &mut figures[index])
            });
            measured.map_err(|error| lane.target.blame(&error))?;
        }
    }
    report.table(
        &format!("The platform: calls beside searches, {}", placement.label()),
        "Sequential small calls with a key over HTTP, with children over stdio that have 10 × 1000 tools, while others \
         on connections of their own search all of these tools, each one question after the other; microseconds, and the \
         ratio to calls beside nobody. Threads of the driver that only count show what is due to the processors being \
         taken, whoever takes them.",
        rows(&figures),
    );
    Ok(())
}

/// Waits until the platform has given all tools their skills and has nothing left to do.
fn settle(lane: &Lane) {
    let own = lane.target.own();
    let begin = Instant::now();
    let mut before = 0;
    while begin.elapsed() < PATIENCE && own.cpu().saturating_sub(before) > IDLE {
        before = own.cpu();
        process::pause(LOOK);
    }
}

/// One turn: a few calls to warm the caches, then 2,000: some dozen searches long.
fn measure(lane: &mut Lane, neighbours: Neighbours, figures: &mut Figures) -> Result<(), String> {
    let mut samples = Vec::with_capacity(2_000);
    lane.sequential(50, &mut samples)?;
    samples.clear();
    let (begin, before) = (Instant::now(), neighbours.done());
    lane.sequential(2_000, &mut samples)?;
    let (time, done) = (begin.elapsed(), neighbours.done() - before);
    neighbours.end()?;
    figures.p50.push(micros(&mut samples, 0.5));
    figures.p99.push(micros(&mut samples, 0.99));
    figures.searches.push(done as f64 / time.as_secs_f64());
    Ok(())
}

fn rows(figures: &[Figures]) -> Rows {
    let mut rows =
        Rows::with_header(&["beside", "p50", "ratio", "p99", "ratio", "searches a second"]);
    for ((name, work, _), own) in BESIDE.iter().zip(figures) {
        let ratio = |a: f64, b: f64| a / b;
        let (p50, p99) =
            (own.p50.with(&figures[0].p50, ratio), own.p99.with(&figures[0].p99, ratio));
        let searches = if *work == Work::Search { own.searches.show() } else { "–".to_owned() };
        rows.push([
            (*name).to_owned(),
            own.p50.show(),
            p50.show(),
            own.p99.show(),
            p99.show(),
            searches,
        ]);
    }
    rows
}

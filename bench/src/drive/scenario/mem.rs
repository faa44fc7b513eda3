//! Resident memory: idle with ten children, and whether a million calls make it grow.

use super::lane::Lane;
use super::turns::{self, Task};
use super::{Context, USUAL};
use crate::drive::affinity::Placement;
use crate::drive::call::Ask;
use crate::drive::contender::Kind;
use crate::drive::expected::every_tool;
use crate::drive::process::{self, Memory};
use crate::drive::report::{Report, Rows};
use crate::drive::route::Route;
use crate::drive::stats::Series;
use std::time::Duration;

/// Calls between "warm" and the beginning: buffers have found their size.
const WARM: usize = 10_000;
/// A leak of one byte a call would be four times this, in KiB.
const NO_GROWTH: f64 = 256.0;

/// The main process and its helpers at one moment.
#[derive(Debug, Clone, Copy)]
struct Moment {
    main: Memory,
    helpers: Memory,
    count: usize,
}

pub(super) fn run(context: &Context, report: &mut Report) -> Result<(), String> {
    context.cpus.place(Placement::Free).map_err(|error| error.to_string())?;
    let calls = if context.quick { 200_000 } else { 1_000_000 };
    let mut rows = Rows::with_header(&[
        "",
        "idle",
        "own PSS idle",
        "helpers",
        "warm",
        "end",
        "growth",
        "calls",
    ]);
    let task =
        Task { shape: USUAL, route: Route::Stdio, pairs: &every_tool(USUAL), ask: Ask::Echo };
    let contenders = context.middles();
    let expected = turns::record(context, &contenders, task)?;
    for contender in &contenders {
        let lanes =
            turns::start(context, report, std::slice::from_ref(contender), task, &expected)?;
        let kind = &contender.kind;
        let Some(mut lane) = lanes.into_iter().next() else {
            continue;
        };
        let calls = if kind.is_peer() { calls / 1000 } else { calls };
        match measure(&mut lane, calls) {
            Ok(moments) => {
                rows.push(row(&lane, moments, calls));
                check(report, kind, moments);
            }
            Err(error) if kind.is_peer() => report.leave_out(lane.target.blame(&error)),
            Err(error) => return Err(lane.target.blame(&error)),
        }
    }
    report.table(
        "Memory",
        "VmRSS of the middle process in MiB: idle with 10 children, warm after the first 1 % of the calls, at the end; \
         *own PSS* is the proportional share of it and its helpers together, *helpers* their number and their VmRSS \
         summed up. 64 calls in flight.",
        rows,
    );
    Ok(())
}

fn measure(lane: &mut Lane, calls: usize) -> Result<[Moment; 3], String> {
    let look = |lane: &Lane| {
        process::pause(Duration::from_millis(500));
        let own = lane.target.own();
        Moment {
            main: process::memory(own.main),
            helpers: own.memory_of_helpers(),
            count: own.helpers.len(),
        }
    };
    let warm = WARM.min(calls / 100);
    let idle = look(lane);
    lane.target.watch();
    lane.parallel(warm)?;
    let warmed = look(lane);
    let portion = calls / 20;
    for _ in 0..20 {
        lane.target.watch();
        lane.parallel(portion)?;
    }
    Ok([idle, warmed, look(lane)])
}

fn check(report: &mut Report, kind: &Kind, [idle, warm, end]: [Moment; 3]) {
    if !matches!(kind, Kind::Subject) {
        return;
    }
    let one = |value: f64| {
        let mut series = Series::default();
        series.push(value);
        series
    };
    report.at_most(
        "resident memory idle with 10 children",
        &one(mib(idle.main.resident)),
        12.0,
        " MiB",
    );
    let own = mib(idle.main.proportional + idle.helpers.proportional);
    report.at_most("the same with all helpers (PSS)", &one(own), 12.0, " MiB");
    let grown = |now: Moment| (now.main.resident + now.helpers.resident) as f64;
    report.at_most(
        "growth from warm to the last call",
        &one(grown(end) - grown(warm)),
        NO_GROWTH,
        " KiB",
    );
}

fn row(lane: &Lane, [idle, warm, end]: [Moment; 3], calls: usize) -> Vec<String> {
    let show = |kib: u64| format!("{:.1}", mib(kib));
    let growth = end.main.resident as f64 - warm.main.resident as f64;
    vec![
        lane.target.name.clone(),
        show(idle.main.resident),
        show(idle.main.proportional + idle.helpers.proportional),
        format!("{}: {}", idle.count, show(idle.helpers.resident)),
        show(warm.main.resident),
        show(end.main.resident),
        format!("{growth} KiB"),
        calls.to_string(),
    ]
}

fn mib(kib: u64) -> f64 {
    kib as f64 / 1024.0
}

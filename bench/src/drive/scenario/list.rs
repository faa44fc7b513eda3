//! `tools/list` with ten thousand tools.

use super::Context;
use super::lane::Lane;
use super::turns::{Entrant, Task, Turns, compete};
use crate::drive::affinity::{BOTH, Placement};
use crate::drive::call::Ask;
use crate::drive::report::{Report, Rows};
use crate::drive::route::Route;
use crate::drive::stats::Series;
use crate::drive::target::Shape;
use serde_json::Value;
use std::collections::HashSet;
use std::time::Instant;

const SHAPE: Shape = Shape { servers: 10, tools: 1000 };

pub(super) fn run(context: &Context, report: &mut Report) -> Result<(), String> {
    BOTH.into_iter().try_for_each(|placement| run_placed(context, report, placement))
}

fn run_placed(context: &Context, report: &mut Report, placement: Placement) -> Result<(), String> {
    context.cpus.place(placement).map_err(|error| error.to_string())?;
    let task = Task { shape: SHAPE, route: Route::Stdio, pairs: &[], ask: Ask::Echo };
    let turns = Turns { rounds: context.rounds(60), peer_rounds: 3 };
    let contenders = context.middles();
    let mut times = vec![Series::default(); contenders.len()];
    let mut sizes = vec![0; contenders.len()];
    let entrants = compete(context, report, &contenders, task, turns, |index, lane| {
        if sizes[index] == 0 {
            sizes[index] = check(lane)?;
        }
        measure(lane, sizes[index], &mut times[index])
    })?;
    report.table(
        &format!("tools/list of 10 × 1000 tools, {}", placement.label()),
        "From the request to the last byte of the answer; milliseconds.",
        rows(&entrants, &times, &sizes),
    );
    report.at_most(
        &format!("tools/list of 10 × 1000 tools, {}", placement.label()),
        &times[1],
        10.0,
        " ms",
    );
    Ok(())
}

/// The list has every tool once; returns its length.
fn check(lane: &mut Lane) -> Result<usize, String> {
    let mut names: HashSet<Value> = HashSet::new();
    let mut size = 0;
    lane.target.connection(0).list(3, |page| {
        size += page.len();
        let page: Value = serde_json::from_slice(page).unwrap_or_default();
        names.extend(
            page["result"]["tools"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|tool| tool["name"].clone()),
        );
    })?;
    let wanted = SHAPE.servers * SHAPE.tools;
    if names.len() == wanted {
        Ok(size)
    } else {
        Err(format!("{} different names of {wanted}", names.len()))
    }
}

/// One turn: one list to warm up, then the mean of three.
fn measure(lane: &mut Lane, size: usize, times: &mut Series) -> Result<(), String> {
    let count = if lane.target.kind.is_peer() { 1 } else { 3 };
    let connection = lane.target.connection(0);
    connection.list(3, |_| ())?;
    let begin = Instant::now();
    for _ in 0..count {
        let mut got = 0;
        connection.list(3, |page| got += page.len())?;
        if got != size {
            return Err(format!("the list has {got} bytes instead of {size}"));
        }
    }
    times.push(begin.elapsed().as_secs_f64() * 1000.0 / f64::from(count));
    Ok(())
}

fn rows(entrants: &[Entrant], times: &[Series], sizes: &[usize]) -> Rows {
    let mut rows = Rows::with_header(&["", "ms", "MB"]);
    for ((entrant, own), size) in entrants.iter().zip(times).zip(sizes) {
        rows.push([&entrant.name, &own.show(), &format!("{:.1}", *size as f64 / 1e6)]);
    }
    rows
}

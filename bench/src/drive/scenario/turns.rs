//! Starts the contenders and lets them take turns.

use super::Context;
use super::lane::Lane;
use crate::drive::call::Ask;
use crate::drive::expected::Expected;
use crate::drive::report::Report;
use crate::drive::route::Route;
use crate::drive::target::{Kind, Shape, Target};

/// What the contenders are called for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Task<'a> {
    pub(super) shape: Shape,
    pub(super) route: Route,
    /// Server and tool, in the order of the calls.
    pub(super) pairs: &'a [(usize, usize)],
    pub(super) ask: Ask,
}

/// How often.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turns {
    pub(super) rounds: usize,
    /// Peers are slow and take part in the first few rounds only.
    pub(super) peer_rounds: usize,
}

/// One row of a table.
#[derive(Debug, Clone)]
pub(super) struct Entrant {
    pub(super) name: String,
    pub(super) kind: Kind,
}

/// How often everybody is started anew: where the scheduler puts a process, and where its memory lies, stays with it
/// for life, and one start's luck should not decide.
const GENERATIONS: usize = 5;

/// Starts everybody in `kinds` (peers last), lets them take turns, and does so a few times.
pub(super) fn compete(
    context: &Context,
    report: &mut Report,
    kinds: &[Kind],
    task: Task<'_>,
    turns: Turns,
    mut step: impl FnMut(usize, &mut Lane) -> Result<(), String>,
) -> Result<Vec<Entrant>, String> {
    let expected =
        Expected::record(&context.place, (task.shape, task.route), task.pairs, task.ask)?;
    let ours: Vec<Kind> = kinds.iter().filter(|kind| !kind.is_peer()).cloned().collect();
    let mut entrants = Vec::new();
    for generation in 0..GENERATIONS {
        let kinds = if generation == 0 { kinds } else { &ours };
        let mut lanes = start(context, report, kinds, task, &expected)?;
        if generation == 0 {
            entrants = lanes.iter().map(entrant).collect();
        }
        let turns = Turns { rounds: turns.rounds.div_ceil(GENERATIONS), ..turns };
        take_turns(&mut lanes, turns, &mut step)?;
        lanes.iter().filter_map(failure).for_each(|failure| report.leave_out(failure));
    }
    Ok(entrants)
}

/// Starts everybody in `kinds`; a peer that cannot start is noted and left out.
pub(super) fn start(
    context: &Context,
    report: &mut Report,
    kinds: &[Kind],
    task: Task<'_>,
    expected: &Expected,
) -> Result<Vec<Lane>, String> {
    let mut lanes = Vec::new();
    for kind in kinds {
        let lane = Target::ready(&context.place, kind, task.shape, task.route).and_then(|target| {
            let calls = target.calls(task.pairs, task.ask, expected)?;
            Ok(Lane::new(target, calls))
        });
        match lane {
            Ok(lane) => lanes.push(lane),
            Err(error) if kind.is_peer() => report.leave_out(error),
            Err(error) => return Err(error),
        }
    }
    Ok(lanes)
}

/// Lets the lanes take turns; the order rotates from round to round.
pub(super) fn take_turns(
    lanes: &mut [Lane],
    turns: Turns,
    mut step: impl FnMut(usize, &mut Lane) -> Result<(), String>,
) -> Result<(), String> {
    let count = lanes.len();
    for round in 0..turns.rounds {
        for place in 0..count {
            let index = (round + place) % count;
            let lane = &mut lanes[index];
            let peer = lane.target.kind.is_peer();
            if lane.failed.is_some() || (peer && round >= turns.peer_rounds) {
                continue;
            }
            lane.target.watch();
            match lane.target.refresh().and_then(|()| step(index, lane)) {
                Err(error) if peer => lane.failed = Some(error),
                other => other.map_err(|error| lane.target.blame(&error))?,
            }
            lane.turns += 1;
        }
    }
    Ok(())
}

fn entrant(lane: &Lane) -> Entrant {
    Entrant { name: lane.target.name.clone(), kind: lane.target.kind.clone() }
}

fn failure(lane: &Lane) -> Option<String> {
    lane.failed.as_deref().map(|error| lane.target.blame(error))
}

//! Starts the contenders and lets them take turns.

use super::Context;
use super::lane::Lane;
use crate::drive::call::Ask;
use crate::drive::contender::{Contender, Eras, Kind};
use crate::drive::expected::Expected;
use crate::drive::report::Report;
use crate::drive::route::Route;
use crate::drive::target::{Shape, Target};
use crate::era::Era;

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
    pub(super) eras: Eras,
    /// Bytes of a request and of the direct answer.
    pub(super) lengths: (usize, usize),
}

/// How often everybody is started anew: where the scheduler puts a process, and where its memory lies, stays with it
/// for life, and one start's luck should not decide.
const GENERATIONS: usize = 5;

/// Starts all contenders (optional ones last), lets them take turns, and does so a few times.
pub(super) fn compete(
    context: &Context,
    report: &mut Report,
    contenders: &[Contender],
    task: Task<'_>,
    turns: Turns,
    mut step: impl FnMut(usize, &mut Lane) -> Result<(), String>,
) -> Result<Vec<Entrant>, String> {
    let expected = record(context, contenders, task)?;
    let ours: Vec<Contender> =
        contenders.iter().filter(|contender| !contender.kind.is_peer()).cloned().collect();
    let mut entrants = Vec::new();
    for generation in 0..GENERATIONS {
        let contenders = if generation == 0 { contenders } else { &ours };
        let mut lanes = start(context, report, contenders, task, &expected)?;
        if generation == 0 {
            entrants = lanes.iter().map(entrant).collect();
        }
        let turns = Turns { rounds: turns.rounds.div_ceil(GENERATIONS), ..turns };
        take_turns(&mut lanes, turns, &mut step)?;
        lanes.iter().filter_map(failure).for_each(|failure| report.leave_out(failure));
    }
    Ok(entrants)
}

/// The answers that the contenders must give.
pub(super) fn record(
    context: &Context,
    contenders: &[Contender],
    task: Task<'_>,
) -> Result<Expected, String> {
    let mut eras = vec![Era::Legacy, Era::Modern];
    eras.retain(|&era| contenders.iter().any(|contender| contender.eras.children == era));
    Expected::record(&context.place, &eras, (task.shape, task.route), task.pairs, task.ask)
}

/// Starts all contenders; an optional one that cannot start is noted and left out.
pub(super) fn start(
    context: &Context,
    report: &mut Report,
    contenders: &[Contender],
    task: Task<'_>,
    expected: &Expected,
) -> Result<Vec<Lane>, String> {
    let mut lanes = Vec::new();
    for contender in contenders {
        let target = Target::ready(&context.place, contender, task.shape, task.route);
        let lane = target.and_then(|target| {
            let calls = target.calls(task.pairs, task.ask, expected)?;
            Ok(Lane::new(target, calls))
        });
        match lane {
            Ok(lane) => lanes.push(lane),
            Err(error) if contender.is_optional() => report.leave_out(error),
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
            let optional = peer || lane.target.eras.crossed();
            match lane.target.refresh().and_then(|()| step(index, lane)) {
                Err(error) if optional => lane.failed = Some(error),
                other => other.map_err(|error| lane.target.blame(&error))?,
            }
            lane.turns += 1;
        }
    }
    Ok(())
}

fn entrant(lane: &Lane) -> Entrant {
    Entrant {
        name: lane.target.name.clone(),
        kind: lane.target.kind.clone(),
        eras: lane.target.eras,
        lengths: lane.lengths(),
    }
}

fn failure(lane: &Lane) -> Option<String> {
    lane.failed.as_deref().map(|error| lane.target.blame(error))
}

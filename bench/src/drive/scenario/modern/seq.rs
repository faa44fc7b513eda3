//! Sequential calls in both eras and across them, everything on one CPU.

use super::{NO_SLOWER, both_eras, crossed, lengths, place};
use crate::drive::affinity::Placement;
use crate::drive::call::Ask;
use crate::drive::contender::Kind;
use crate::drive::expected::every_tool;
use crate::drive::report::{Report, Rows};
use crate::drive::scenario::course::Course;
use crate::drive::scenario::seq::{Figures, added, check, measure};
use crate::drive::scenario::turns::{Entrant, Task, Turns, compete};
use crate::drive::scenario::{Context, USUAL};
use crate::drive::stats::Series;
use crate::era::Era;

pub(in crate::drive::scenario) fn run(
    context: &Context,
    report: &mut Report,
    course: &Course,
) -> Result<(), String> {
    context.cpus.place(Placement::Pinned).map_err(|error| error.to_string())?;
    let task =
        Task { shape: USUAL, route: course.route, pairs: &every_tool(USUAL), ask: Ask::Echo };
    let turns = Turns { rounds: context.rounds(150), peer_rounds: 0 };
    let contenders = [both_eras(), crossed().to_vec()].concat();
    let mut figures = vec![Figures::default(); contenders.len()];
    let entrants = compete(context, report, &contenders, task, turns, |index, lane| {
        measure(lane, &mut figures[index])
    })?;
    report.table(
        &course.title("Sequential calls, one CPU"),
        &format!(
            "One small call after the other, round robin over 10 × 10 tools; microseconds. {}{}. *Added* is p50 less \
             that of the direct client of the children's era. The ratios are to the same contender between a legacy \
             client and legacy children; the floor's says what the longer messages cost anybody. The last two rows \
             are calls that change their era on the way: they have no target.",
            lengths(&entrants),
            if course.remark.is_empty() { "" } else { ", without the heads of HTTP" },
        ),
        rows(&entrants, &figures),
    );
    check(report, course, [&figures[0], &figures[1], &figures[2]]);
    let [direct, subject] = [&figures[3], &figures[5]];
    let modern = added(&figures[2], &figures[0]);
    let ratio = modern.with(&added(subject, direct), |a, b| a / b);
    let what = |what: &str| format!("{}{what}, ratio to legacy", course.prefix);
    report.at_most(&what("added p50 of sequential calls"), &ratio, NO_SLOWER, "×");
    let ratio = figures[2].cpu.with(&subject.cpu, |a, b| a / b);
    report.at_most(&what("CPU per call"), &ratio, NO_SLOWER, "×");
    Ok(())
}

fn rows(entrants: &[Entrant], figures: &[Figures]) -> Rows {
    let header =
        ["", "client → children", "p50", "p99", "added p50", "ratio", "CPU per call", "ratio"];
    let mut rows = Rows::with_header(&header);
    let added_by = |at: usize| {
        let entrant = &entrants[at];
        match place(entrants, &Kind::Direct, entrant.eras.children) {
            Some(direct) if direct != at => added(&figures[at], &figures[direct]),
            _ => Series::default(),
        }
    };
    for (at, entrant) in entrants.iter().enumerate() {
        let own = &figures[at];
        let legacy = place(entrants, &entrant.kind, Era::Legacy).unwrap_or(at);
        let ratio = |a: f64, b: f64| a / b;
        let (plus, cpu) = (added_by(at), own.cpu.with(&figures[legacy].cpu, ratio));
        let cells = [
            entrant.name.clone(),
            entrant.eras.label(),
            own.p50.show(),
            own.p99.show(),
            plus.show(),
            plus.with(&added_by(legacy), ratio).show(),
            own.cpu.show(),
            cpu.show(),
        ];
        rows.push(cells);
    }
    rows
}

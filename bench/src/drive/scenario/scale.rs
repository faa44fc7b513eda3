//! Whether a call costs more when there are more servers or tools.

use super::Context;
use super::lane::Lane;
use super::seq::{self, Figures};
use super::turns::{self, Task, Turns};
use crate::drive::affinity::Placement;
use crate::drive::call::Ask;
use crate::drive::contender::Kind;
use crate::drive::report::{Report, Rows};
use crate::drive::route::Route;
use crate::drive::target::Shape;
use crate::era::Era;

const SHAPES: [Shape; 3] = [
    Shape { servers: 1, tools: 10 },
    Shape { servers: 10, tools: 1000 },
    Shape { servers: 50, tools: 10 },
];
/// "Does not depend": what remains is the caches' doing.
const SAME: f64 = 1.15;

pub(super) fn run(context: &Context, report: &mut Report) -> Result<(), String> {
    context.cpus.place(Placement::Pinned).map_err(|error| error.to_string())?;
    let mut lanes = Vec::new();
    for shape in SHAPES {
        // One server in the middle of the list, all of its tools: the children's own caches stay out of the figure.
        let pairs: Vec<_> = (0..shape.tools).map(|tool| (shape.servers / 2, tool)).collect();
        let task = Task { shape, route: Route::Stdio, pairs: &pairs, ask: Ask::Echo };
        let contenders = [Kind::Floor, Kind::Subject].map(|kind| kind.of(Era::Legacy));
        let expected = turns::record(context, &contenders, task)?;
        lanes.extend(turns::start(context, report, &contenders, task, &expected)?);
    }
    let mut figures = vec![Figures::default(); lanes.len()];
    let turns = Turns { rounds: context.rounds(60), peer_rounds: 0 };
    turns::take_turns(&mut lanes, turns, |index, lane| seq::measure(lane, &mut figures[index]))?;
    report.table(
        "Cost of a call by number of servers and tools, one CPU",
        "Sequential calls to all tools of one server while the others idle; microseconds, and the ratio to the same \
         contender with 1 × 10.",
        rows(&lanes, &figures),
    );
    for (index, shape) in SHAPES.iter().enumerate().skip(1) {
        let ratio = figures[2 * index + 1].cpu.with(&figures[1].cpu, |a, b| a / b);
        report.at_most(
            &format!("CPU per call with {}, ratio to 1 × 10", shape.label()),
            &ratio,
            SAME,
            "×",
        );
    }
    Ok(())
}

fn rows(lanes: &[Lane], figures: &[Figures]) -> Rows {
    let mut rows =
        Rows::with_header(&["", "servers × tools", "p50", "ratio", "CPU per call", "ratio"]);
    for (index, (lane, own)) in lanes.iter().zip(figures).enumerate() {
        let base = &figures[index % 2];
        let ratio = |a: f64, b: f64| a / b;
        let (p50, cpu) = (own.p50.with(&base.p50, ratio), own.cpu.with(&base.cpu, ratio));
        let name = [lane.target.name.clone(), lane.target.shape.label()];
        let figures = [own.p50.show(), p50.show(), own.cpu.show(), cpu.show()];
        rows.push(name.into_iter().chain(figures));
    }
    rows
}

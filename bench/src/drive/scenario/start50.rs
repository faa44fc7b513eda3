//! From the start of the process to a complete `tools/list`, with fifty children.

use super::Context;
use crate::drive::affinity::{BOTH, Placement};
use crate::drive::contender::Contender;
use crate::drive::report::{Report, Rows};
use crate::drive::route::Route;
use crate::drive::stats::Series;
use crate::drive::target::{Shape, Target};
use std::time::Instant;

const SHAPE: Shape = Shape { servers: 50, tools: 10 };

pub(super) fn run(context: &Context, report: &mut Report) -> Result<(), String> {
    BOTH.into_iter().try_for_each(|placement| run_placed(context, report, placement))
}

fn run_placed(context: &Context, report: &mut Report, placement: Placement) -> Result<(), String> {
    context.cpus.place(placement).map_err(|error| error.to_string())?;
    let contenders = context.middles();
    let mut names = vec![String::new(); contenders.len()];
    let mut times = vec![Series::default(); contenders.len()];
    for round in 0..context.rounds(30) {
        for place in 0..contenders.len() {
            let index = (round + place) % contenders.len();
            if contenders[index].kind.is_peer() && round > 0 {
                continue;
            }
            match measure(context, &contenders[index]) {
                Ok((name, time)) => {
                    names[index] = name;
                    times[index].push(time);
                }
                Err(error) if contenders[index].is_optional() => report.leave_out(error),
                Err(error) => return Err(error),
            }
        }
    }
    report.table(
        &format!("50 children ready, {}", placement.label()),
        "From the start of the process until `tools/list`, asked right after `initialize`, has all 50 × 10 tools; \
         milliseconds.",
        rows(&names, &times),
    );
    let ratio = times[1].with(&times[0], |a, b| a / b);
    report.at_most(
        &format!("50 children ready, {}, ratio to the floor", placement.label()),
        &ratio,
        1.5,
        "×",
    );
    Ok(())
}

fn measure(context: &Context, contender: &Contender) -> Result<(String, f64), String> {
    let begin = Instant::now();
    let mut target = Target::spawn(&context.place, contender, SHAPE, Route::Stdio)?;
    let ready = target.initialize().and_then(|()| target.wait_for_tools());
    let time = begin.elapsed().as_secs_f64() * 1000.0;
    ready.map_err(|error| target.blame(&error))?;
    Ok((target.name.clone(), time))
}

fn rows(names: &[String], times: &[Series]) -> Rows {
    let mut rows = Rows::with_header(&["", "ms", "ratio to floor"]);
    for (name, own) in names.iter().zip(times).filter(|(_, own)| !own.is_empty()) {
        let ratio = own.with(&times[0], |a, b| a / b);
        rows.push([name, &own.show(), &ratio.show()]);
    }
    rows
}

//! Slow readers on every front, with every kind of server, at several speeds: a minute each, and how
//! much the memory of the gateway grew.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kit::slow::{
    BOUND_KIB, BYTES, Cell, Front, Outcome, PACES, STREAM_WINDOW, Server, Slow, WINDOW, Work,
};

use crate::Size;
use crate::report::Report;

const MILLISECONDS: u64 = 60_000;

pub fn run(report: &mut Report, size: Size) {
    let time = Duration::from_millis(size.of(MILLISECONDS));
    let cells = cells();
    println!(
        "{} cells of {time:?}: {WINDOW} calls of {BYTES} bytes open at a time ({STREAM_WINDOW} at /sse)",
        cells.len()
    );
    let outcomes = run_all(&cells, Work::Time(time));
    for slow in [Slow::Client, Slow::Server] {
        let header = ["client at", "server", "read", "calls", "MiB/s", "memory grew by MiB"];
        let rows = cells.iter().zip(&outcomes).filter(|(cell, _)| cell.slow == slow);
        let rows: Vec<_> = rows.map(|(cell, outcome)| row(cell, outcome.as_ref())).collect();
        report.table(&format!("The {slow:?} reads slowly"), &header, &rows);
    }
    let failed = outcomes.iter().filter(|outcome| outcome.is_none()).count();
    report.check("cells in which a call went wrong", "0", failed, failed == 0);
    let most = outcomes.iter().flatten().map(|outcome| outcome.grown_kib).max().unwrap_or(0);
    let limit = format!("{} MiB", BOUND_KIB >> 10);
    report.check("memory grew by at most", &limit, mib(most), most <= BOUND_KIB);
}

fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    for slow in [Slow::Client, Slow::Server] {
        for front in Front::ALL {
            for server in Server::ALL {
                cells.extend(PACES.map(|pace| Cell { front, server, slow, pace }));
            }
        }
    }
    cells
}

/// As many at a time as there are processors; `None`: a call went wrong, and that was told.
fn run_all(cells: &[Cell], work: Work) -> Vec<Option<Outcome>> {
    let at_once = std::thread::available_parallelism().map_or(2, usize::from);
    let (next, done) = (AtomicUsize::new(0), Mutex::new(vec![None; cells.len()]));
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(cell) = cells.get(number) else { return };
                    let outcome = catch_unwind(AssertUnwindSafe(|| cell.run(work))).ok();
                    println!("{}", row(cell, outcome.as_ref()).join(" | "));
                    done.lock().expect("no holder panics")[number] = outcome;
                }
            });
        }
    });
    done.into_inner().expect("no holder panics")
}

fn row(cell: &Cell, outcome: Option<&Outcome>) -> Vec<String> {
    let mut row = vec![format!("{:?}", cell.front), format!("{:?}", cell.server)];
    row.push(cell.pace.to_string());
    match outcome {
        Some(Outcome { calls, time, grown_kib }) => {
            let bytes = *calls as f64 * BYTES as f64 / time.as_secs_f64();
            row.push(calls.to_string());
            row.push(format!("{:.1}", bytes / f64::from(1 << 20)));
            row.push(mib(*grown_kib));
        }
        None => row.extend(["–", "–", "a call went wrong"].map(str::to_owned)),
    }
    row
}

fn mib(kib: u64) -> String {
    format!("{:.1}", kib as f64 / 1024.0)
}

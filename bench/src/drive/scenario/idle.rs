//! Memory of idle connections: ten thousand sessions with an open event stream each, as far as descriptors allow.

use super::{Context, USUAL};
use crate::drive::affinity::Placement;
use crate::drive::connection::Connection;
use crate::drive::contender::Kind;
use crate::drive::post::Desk;
use crate::drive::process::{self, pause};
use crate::drive::report::{Report, Rows};
use crate::drive::route::{Http, Route, Servers, Sessions};
use crate::drive::stats::Series;
use crate::drive::target::Target;
use crate::era::Era;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::time::Duration;

const STREAMS: usize = 10_000;
const LIMIT_KIB: f64 = 12.0;

pub(super) fn run(context: &Context, report: &mut Report) -> Result<(), String> {
    context.cpus.place(Placement::Free).map_err(|error| error.to_string())?;
    let streams = STREAMS.min(descriptors() / 8 * 3); // Trunkline needs two for each, and some for others
    let http = Http { servers: Servers::Stdio, connections: 1, sessions: Sessions::OneEach };
    let programs = [Some(Kind::Subject), context.place.before.as_ref().map(|_| Kind::Before)];
    let mut rows = Rows::with_header(&["", "streams", "before (MiB)", "after (MiB)", "KiB each"]);
    for kind in programs.into_iter().flatten() {
        let is_subject = matches!(kind, Kind::Subject);
        let kind = kind.of(Era::Legacy);
        let target = Target::ready(&context.place, &kind, USUAL, Route::Http(http))?;
        let [before, after] = measure(&target, streams).map_err(|error| target.blame(&error))?;
        let mut each = Series::default();
        each.push((after as f64 - before as f64) / streams as f64);
        let mib = |kib: u64| format!("{:.1}", kib as f64 / 1024.0);
        let count = streams.to_string();
        rows.push([target.name.clone(), count, mib(before), mib(after), each.show()]);
        if is_subject {
            let what = format!("resident memory of each of {streams} idle sessions with a stream");
            report.at_most(&what, &each, LIMIT_KIB, " KiB");
        }
    }
    report.table(
        "Idle streams",
        "Sessions of 2025-06-18, each with an open event stream on a connection of its own; VmRSS of the main process.",
        rows,
    );
    Ok(())
}

/// How many this process may have, once it has asked for as many as it can get.
fn descriptors() -> usize {
    let most = getrlimit(Resource::Nofile).maximum;
    let raised = setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most });
    let now = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    raised.map_or(1024, |()| usize::try_from(now).unwrap_or(usize::MAX))
}

/// Resident memory in KiB without the streams and with them.
fn measure(target: &Target, streams: usize) -> Result<[u64; 2], String> {
    let port = target.port()?;
    let resident = || {
        pause(Duration::from_secs(1));
        process::memory(target.own().main).resident
    };
    let before = resident();
    let mut held = Vec::with_capacity(streams);
    for number in 0..streams {
        if number % 500 == 0 {
            target.watch();
        }
        let connection = Connection::http(port, Era::Legacy, Desk::OPEN);
        let mut connection = connection.map_err(|error| format!("stream {number}: {error}"))?;
        connection.initialize().map_err(|error| format!("session {number}: {error}"))?;
        connection.listen().map_err(|error| format!("stream {number}: {error}"))?;
        held.push(connection);
    }
    let after = resident();
    drop(held);
    Ok([before, after])
}

//! What delays small calls: a large catalog that changes all the time, answers of 64 MiB, and a client that sends
//! thousands of calls at once, each beside what the same calls take when it is quiet.

use super::Context;
use crate::drive::affinity::Placement;
use crate::drive::call::{self, Ask, Call};
use crate::drive::connection::Connection;
use crate::drive::contender::Kind;
use crate::drive::post::Desk;
use crate::drive::process::pause;
use crate::drive::report::{Report, Rows};
use crate::drive::route::{Http, Route, Servers, Sessions};
use crate::drive::stats::{Series, micros};
use crate::drive::target::{Shape, Target};
use crate::era::Era;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const SHAPE: Shape = Shape { servers: 10, tools: 1000 };
/// Each server says every two seconds that its list has changed: it is listed again at most once a second.
const CHANGE_EVERY: Duration = Duration::from_millis(200);
/// As long as an answer may be, with what stands around the text.
const LARGE: usize = (64 << 20) - 1024;
/// Ten thousand calls at once.
const BURST: (usize, usize) = (200, 50);
/// Clients that call, each in a session, and the pause between an answer and the next call.
const CALLERS: usize = 2;
const THINKING: Duration = Duration::from_micros(300);

/// What goes on beside the small calls.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Beside {
    Nothing,
    Changes,
    Large,
    Burst,
}

impl Beside {
    const LOADS: [Self; 3] = [Self::Changes, Self::Large, Self::Burst];

    fn label(self) -> &'static str {
        match self {
            Self::Nothing => "nothing (quiet)",
            Self::Changes => "a catalog of 10 × 1000 tools that changes every 200 ms",
            Self::Large => "answers of 64 MiB, one after the other",
            Self::Burst => "a client that sends 10,000 calls at once, again and again",
        }
    }

    /// Its p99, by that of quiet calls.
    fn limit(self) -> f64 {
        if self == Self::Burst { 2.0 } else { 3.0 }
    }
}

pub(super) fn run(context: &Context, report: &mut Report) -> Result<(), String> {
    context.cpus.place(Placement::Free).map_err(|error| error.to_string())?;
    let http = Http { servers: Servers::Stdio, connections: 1, sessions: Sessions::OneEach };
    let programs = [Some(Kind::Subject), context.place.before.as_ref().map(|_| Kind::Before)];
    let mut rows = Rows::with_header(&["", "beside", "p50", "p99", "p99.9", "p99 by quiet p99"]);
    for kind in programs.into_iter().flatten() {
        let is_subject = matches!(kind, Kind::Subject);
        let kind = kind.of(Era::Legacy);
        let target = Target::ready(&context.place, &kind, SHAPE, Route::Http(http))?;
        let figures = measure(context, &target).map_err(|error| target.blame(&error))?;
        for (beside, own) in [Beside::Nothing].into_iter().chain(Beside::LOADS).zip(&figures) {
            let ratio = own.p99.with(&figures[0].p99, |a, b| a / b);
            let shown = [&own.p50, &own.p99, &own.p999, &ratio].map(Series::show);
            rows.push(
                [vec![target.name.clone(), beside.label().to_owned()], shown.into()].concat(),
            );
            if is_subject && beside != Beside::Nothing {
                let what = format!("p99 of small calls beside {}, ratio to quiet", beside.label());
                report.at_most(&what, &ratio, beside.limit(), "×");
            }
        }
    }
    report.table(
        "Small calls beside something large",
        "Two clients over HTTP, each with one call at a time and 0.3 ms between two; children over stdio, those of the \
         small calls are others than those of the load; driver, children and load share the CPUs. Microseconds.",
        rows,
    );
    Ok(())
}

#[derive(Debug, Default, Clone)]
struct Figures {
    p50: Series,
    p99: Series,
    p999: Series,
}

/// Quiet first, then each load; in turns.
fn measure(context: &Context, target: &Target) -> Result<[Figures; 4], String> {
    let span = Duration::from_secs(if context.quick { 2 } else { 6 });
    let mut figures: [Figures; 4] = Default::default();
    for _ in 0..context.rounds(9) {
        let kinds = [Beside::Nothing].into_iter().chain(Beside::LOADS);
        for (beside, own) in kinds.zip(&mut figures) {
            target.watch();
            let mut samples = small_calls(target, beside, span)?;
            own.p50.push(micros(&mut samples, 0.5));
            own.p99.push(micros(&mut samples, 0.99));
            own.p999.push(micros(&mut samples, 0.999));
        }
    }
    Ok(figures)
}

/// The nanoseconds of small calls while something else goes on.
fn small_calls(target: &Target, beside: Beside, span: Duration) -> Result<Vec<u64>, String> {
    let port = target.port()?;
    // The first server has the load, the others have the calls.
    let calls: Vec<Vec<Call>> = (0..CALLERS)
        .map(|caller| {
            let own = (1..SHAPE.servers).filter(|server| server % CALLERS == caller);
            own.map(|server| target.call((server, caller), Ask::Echo)).collect()
        })
        .collect::<Result<_, String>>()?;
    let load = Load::of(target, beside)?;
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let load = scope.spawn(|| load.go_on(port, &is_over));
        let callers: Vec<_> = calls
            .into_iter()
            .map(|calls| scope.spawn(move || one_after_the_other(port, calls, span)))
            .collect();
        let samples: Vec<_> = callers.into_iter().map(|caller| joined(caller.join())).collect();
        is_over.store(true, Ordering::Relaxed);
        joined(load.join())?;
        Ok(samples.into_iter().collect::<Result<Vec<_>, String>>()?.concat())
    })
}

fn joined<T>(result: thread::Result<Result<T, String>>) -> Result<T, String> {
    result.unwrap_or_else(|_| Err("a thread of the driver panicked".to_owned()))
}

fn connect(port: u16) -> Result<Connection, String> {
    let connection = Connection::http(port, Era::Legacy, Desk::OPEN);
    let mut connection = connection.map_err(|error| format!("no connection: {error}"))?;
    connection.initialize()?;
    Ok(connection)
}

fn one_after_the_other(
    port: u16,
    mut calls: Vec<Call>,
    span: Duration,
) -> Result<Vec<u64>, String> {
    let mut connection = connect(port)?;
    let (mut samples, mut count) = (Vec::new(), 0);
    // The load has begun, and what is cold is warm.
    let begin = Instant::now() + span / 10;
    while begin.elapsed() < span {
        let kinds = calls.len() as u64;
        let call = &mut calls[(count % kinds) as usize];
        let id = call::id(count, 0);
        count += 1;
        let sent = Instant::now();
        connection.send(call.request(id))?;
        let answer = connection.line()?;
        if sent > begin {
            samples.push(sent.elapsed().as_nanos() as u64);
        }
        if connection.id(answer) != Some(id) {
            return Err("an answer to something else".to_owned());
        }
        pause(THINKING);
    }
    Ok(samples)
}

/// What goes on beside the calls, ready to begin.
struct Load {
    beside: Beside,
    calls: Vec<Call>,
}

impl Load {
    fn of(target: &Target, beside: Beside) -> Result<Self, String> {
        let of = |server, ask| target.call((server, 0), ask);
        let calls = match beside {
            Beside::Nothing => Ok(Vec::new()),
            Beside::Changes => (0..SHAPE.servers).map(|server| of(server, Ask::Change)).collect(),
            Beside::Large => of(0, Ask::Size(LARGE)).map(|call| vec![call]),
            Beside::Burst => of(0, Ask::Echo).map(|call| vec![call]),
        };
        Ok(Self { beside, calls: calls? })
    }

    fn go_on(mut self, port: u16, is_over: &AtomicBool) -> Result<(), String> {
        let width = if self.beside == Beside::Burst { BURST.0 } else { 1 };
        let mut connections = vec![connect(port)?];
        for _ in 1..width {
            let connection = Connection::http(port, Era::Legacy, Desk::OPEN);
            let mut connection = connection.map_err(|error| format!("no connection: {error}"))?;
            connection.join(&connections[0]);
            connections.push(connection);
        }
        let mut count = 0;
        while !is_over.load(Ordering::Relaxed) {
            self.once(&mut connections, &mut count)?;
        }
        Ok(())
    }

    fn once(&mut self, connections: &mut [Connection], count: &mut u64) -> Result<(), String> {
        let mut id = || {
            *count += 1;
            call::id(*count, 0)
        };
        match self.beside {
            Beside::Nothing => pause(CHANGE_EVERY),
            Beside::Changes => {
                connections[0].send(self.calls[0].request(id()))?;
                connections[0].line()?;
                self.calls.rotate_left(1);
                pause(CHANGE_EVERY);
            }
            Beside::Large => {
                connections[0].send(self.calls[0].request(id()))?;
                let length = connections[0].large()?.length;
                if length < LARGE {
                    return Err(format!("a large answer has {length} bytes"));
                }
            }
            Beside::Burst => {
                for connection in &mut *connections {
                    for _ in 0..BURST.1 {
                        connection.queue(self.calls[0].request(id()));
                    }
                }
                connections.iter_mut().try_for_each(Connection::flush)?;
                for connection in connections {
                    (0..BURST.1).try_for_each(|_| connection.line().map(drop))?;
                }
            }
        }
        Ok(())
    }
}

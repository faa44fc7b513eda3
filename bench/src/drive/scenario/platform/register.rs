//! From the request that registers a server until it is connected and its tools are known.

use super::service::{Remote, Service, command};
use crate::drive::affinity::Placement;
use crate::drive::launch::Offer;
use crate::drive::report::{Report, Rows};
use crate::drive::rest::Rest;
use crate::drive::scenario::Context;
use crate::drive::stats::{Series, micros};
use crate::drive::target::Shape;
use crate::era::Era;
use serde_json::Value;
use std::time::Instant;

const OFFER: Offer = Offer { shape: Shape { servers: 1, tools: 10 }, era: Era::Legacy };
/// NFR-P1, in milliseconds.
const LIMIT: f64 = 2_000.0;

/// Nanoseconds from the request to the answer, and to the server's being connected.
#[derive(Debug, Default)]
struct Times {
    answered: Vec<u64>,
    connected: Vec<u64>,
}

pub(in crate::drive::scenario) fn run(
    context: &Context,
    report: &mut Report,
) -> Result<(), String> {
    context.cpus.place(Placement::Free).map_err(|error| error.to_string())?;
    let count = context.rounds(60);
    let service = Service::start(&context.place)?;
    let remote = Remote::start(&context.place, 0, OFFER)?;
    let mut admin = service.admin()?;
    let mut rows = Rows::with_header(&[
        "",
        "answered, p50",
        "answered, longest",
        "connected, p50",
        "connected, longest",
        "servers",
    ]);
    for kind in ["stdio", "HTTP"] {
        let mut times = Times::default();
        for number in 0..count {
            let name = format!("{}-{number}", kind.to_lowercase());
            let body = match kind {
                "stdio" => command(&context.place, &name, OFFER),
                _ => remote.entry(&name),
            };
            measure(&mut admin, &body, &mut times)?;
        }
        let longest = millis(&mut times.connected, 1.0);
        let figures = [
            millis(&mut times.answered, 0.5),
            millis(&mut times.answered, 1.0),
            millis(&mut times.connected, 0.5),
            longest.clone(),
        ];
        let shown = figures.iter().map(Series::show);
        rows.push([kind.to_owned()].into_iter().chain(shown).chain([count.to_string()]));
        let what = format!("platform: registration over {kind} until connected, longest (NFR-P1)");
        report.at_most(&what, &longest, LIMIT, " ms");
    }
    report.table(
        "The platform: registering a server",
        "From `POST /aggregator/servers` to its answer, which means that the server is on the disk, and until \
         `GET /aggregator/servers/{id}` shows it as `CONNECTED` with its 10 tools; one server after the other, all of \
         them stay; milliseconds.",
        rows,
    );
    Ok(())
}

fn measure(admin: &mut Rest, body: &Value, times: &mut Times) -> Result<(), String> {
    let begin = Instant::now();
    let id = admin.register(body)?;
    times.answered.push(begin.elapsed().as_nanos() as u64);
    admin.wait_connected(&id, OFFER.shape.tools)?;
    times.connected.push(begin.elapsed().as_nanos() as u64);
    Ok(())
}

/// A quantile in milliseconds.
fn millis(samples: &mut [u64], q: f64) -> Series {
    let mut series = Series::default();
    series.push(micros(samples, q) / 1000.0);
    series
}

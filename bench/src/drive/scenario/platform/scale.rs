//! Twenty servers with a thousand tools each: how long they take to come in and to be listed, and what they weigh.

use super::service::{Remote, Service};
use crate::drive::affinity::Placement;
use crate::drive::connection::Connection;
use crate::drive::launch::Offer;
use crate::drive::post::{Desk, MCP};
use crate::drive::report::{Report, Rows};
use crate::drive::rest::Rest;
use crate::drive::scenario::Context;
use crate::drive::stats::Series;
use crate::drive::target::Shape;
use crate::era::Era;
use std::time::Instant;

const SHAPE: Shape = Shape { servers: 20, tools: 1_000 };
const OFFER: Offer = Offer { shape: SHAPE, era: Era::Legacy };
/// NFR-P2, in milliseconds: all tools of one server.
const DISCOVERY: f64 = 5_000.0;
/// As for half as many tools over stdio: 10 ms for 10,000.
const LIST: f64 = 20.0;

pub(in crate::drive::scenario) fn run(
    context: &Context,
    report: &mut Report,
) -> Result<(), String> {
    context.cpus.place(Placement::Free).map_err(|error| error.to_string())?;
    let remotes = (0..SHAPE.servers).map(|server| Remote::start(&context.place, server, OFFER));
    let remotes: Vec<Remote> = remotes.collect::<Result<_, _>>()?;
    let service = Service::start(&context.place)?;
    let mut admin = service.admin()?;
    let empty = service.memory().resident;
    let (each, all) = register(&mut admin, &remotes)?;
    let full = service.memory().resident;
    let rounds = context.rounds(30);
    let (rest, rest_size) = list_over_rest(&mut admin, rounds)?;
    let key = admin.make_key("caller")?;
    let (mcp, mcp_size) = list_over_mcp(service.port, key, rounds)?;
    let after = service.memory().resident;

    let mib = |kib: u64| format!("{:.1}", kib as f64 / 1024.0);
    let mega = |bytes: usize| format!("{:.1} MB", bytes as f64 / 1e6);
    let mut rows = Rows::with_header(&["", "", ""]);
    rows.push(["one server, until its tools are known", &format!("{} ms", each.show()), ""]);
    rows.push(["all of them", &format!("{} ms", all.show()), ""]);
    rows.push(["`GET /tools`, all pages", &format!("{} ms", rest.show()), &mega(rest_size)]);
    rows.push(["`tools/list` with a key", &format!("{} ms", mcp.show()), &mega(mcp_size)]);
    let memory = format!("{} MiB", mib(full));
    rows.push([
        "memory (VmRSS)",
        &memory,
        &format!("{} before, {} after all", mib(empty), mib(after)),
    ]);
    report.table(
        &format!("The platform: {} tools registered", SHAPE.label()),
        "Children over HTTP, registered one after the other, each when the one before it is connected. Lists from the \
         request to the last byte of the answer; over REST in 20 pages of 1,000 tools.",
        rows,
    );
    report.at_most("platform: 1,000 tools discovered (NFR-P2)", &each, DISCOVERY, " ms");
    report.at_most("platform: tools/list of 20 × 1000 tools with a key", &mcp, LIST, " ms");
    Ok(())
}

/// Milliseconds for each server, and for all.
fn register(admin: &mut Rest, remotes: &[Remote]) -> Result<(Series, Series), String> {
    let (mut each, mut all) = (Series::default(), Series::default());
    let first = Instant::now();
    for (number, remote) in remotes.iter().enumerate() {
        let begin = Instant::now();
        let id = admin.register(&remote.entry(&format!("s{number}")))?;
        admin.wait_connected(&id, SHAPE.tools)?;
        each.push(millis(begin));
    }
    admin.wait_for_tools(SHAPE.servers * SHAPE.tools)?;
    all.push(millis(first));
    Ok((each, all))
}

fn list_over_rest(admin: &mut Rest, rounds: usize) -> Result<(Series, usize), String> {
    let mut times = Series::default();
    let mut size = 0;
    for _ in 0..rounds {
        let begin = Instant::now();
        let (tools, bytes) = admin.list_tools()?;
        times.push(millis(begin));
        complete(tools)?;
        size = bytes;
    }
    Ok((times, size))
}

fn list_over_mcp(port: u16, key: String, rounds: usize) -> Result<(Series, usize), String> {
    let desk = Desk { path: MCP, token: Some(key) };
    let connection = Connection::http(port, Era::Legacy, desk);
    let mut connection = connection.map_err(|error| error.to_string())?;
    connection.initialize()?;
    let mut times = Series::default();
    let mut size = 0;
    for _ in 0..rounds {
        let begin = Instant::now();
        let mut bytes = 0;
        connection.list(3, |page| bytes += page.len())?;
        times.push(millis(begin));
        size = bytes;
    }
    let mut tools = 0;
    connection.list(3, |page| {
        tools += memchr::memmem::find_iter(page, b"\"inputSchema\"").count();
    })?;
    complete(tools)?;
    Ok((times, size))
}

fn complete(tools: usize) -> Result<(), String> {
    let wanted = SHAPE.servers * SHAPE.tools;
    if tools == wanted { Ok(()) } else { Err(format!("{tools} of {wanted} tools are listed")) }
}

fn millis(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}

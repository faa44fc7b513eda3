//! 1,000 calls a second for a minute: none is lost or doubled, and each has its record.

use std::time::{Duration, Instant};

use kit::platform::Platform;
use kit::process;
use kit::room::Room;
use kit::service::Wire;

use crate::Size;
use crate::caller::Outcome;
use crate::crowd::{Call, Crowd, Newest, Until, Whom};
use crate::house::{arrived, echoing, stop, verify, with_command};
use crate::report::{Report, millis, quantile};

const RATE: u64 = 1_000;
const SECONDS: u64 = 60;
const SERVERS: [&str; 6] = ["h0", "h1", "h2", "h3", "p0", "p1"];
/// The log may be behind by what its queue holds.
const SETTLED: Duration = Duration::from_secs(60);

pub fn run(report: &mut Report, size: Size) {
    let room = Room::new();
    // More calls than a key may make by default.
    let platform = room.platform(&["--allow-stdio-registration", "--limits", "off"]);
    for name in SERVERS {
        match name.starts_with('h') {
            true => {
                let service = echoing(&room, name).listen(Wire::Http);
                platform.connected(name, &service);
                room.keep(service);
            }
            false => with_command(&platform, &room, name),
        }
    }
    let key = platform.key("caller");
    let count = RATE * size.of(SECONDS);
    let crowd = Crowd {
        whom: Whom::Platform(&platform, &key),
        servers: &SERVERS,
        rate: RATE,
        callers: 64,
        first: 0,
    };
    let begin = Instant::now();
    let calls = crowd.run(Until::Calls(count), &Newest::new());
    let took = begin.elapsed();
    let log = settled(&platform, count);
    let memory = process::memory_kib(platform.serve().process().pid().as_raw_nonzero().get());

    show(report, &calls);
    println!(
        "{count} calls in {:.1} s by 64 callers to 6 servers; {} records of calls in the audit log, {} lost and \
         counted; {:.1} MiB resident at the end",
        took.as_secs_f64(),
        log.records,
        log.lost,
        memory as f64 / 1024.0
    );
    judge(report, &room, &calls);
    let rate = calls.len() as f64 / took.as_secs_f64();
    report.check("load: calls a second", "≥ 990", format!("{rate:.0}"), rate >= 990.0);
    let told = log.records + log.lost;
    report.check(
        "load: calls that the audit log tells of",
        &count.to_string(),
        told,
        told == count,
    );
    stop(&platform);
    drop(platform);
    let broken: Vec<String> = verify(&room, None).into_iter().collect();
    report.none("load: faults in the chain", &broken);
}

struct Log {
    records: u64,
    /// Those that were counted instead.
    lost: u64,
}

/// The log once it tells of this many calls, or does not change any more.
fn settled(platform: &Platform, wanted: u64) -> Log {
    let begin = Instant::now();
    loop {
        let records = platform.audit();
        let records =
            records.iter().filter(|record| record["action"] == "call-tool").count() as u64;
        let metrics = platform.admin().get("/metrics").response.text();
        let lost = ["trunkline_audit_lost_total", "trunkline_events_lost_total"]
            .map(|name| figure(&metrics, name));
        let log = Log { records, lost: lost.iter().sum() };
        if log.records + log.lost >= wanted || begin.elapsed() > SETTLED {
            return log;
        }
        std::thread::sleep(Duration::from_millis(500));
    }
}

fn figure(metrics: &str, name: &str) -> u64 {
    let line = metrics.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.trim().parse().ok()).unwrap_or_else(|| panic!("no {name}: {metrics}"))
}

fn show(report: &Report, calls: &[Call]) {
    let row = |way: &str, over_mcp: bool| {
        let own: Vec<&Call> = calls.iter().filter(|call| call.over_mcp == over_mcp).collect();
        let times: Vec<Duration> = own.iter().map(|call| call.time).collect();
        let right = own.iter().filter(|call| call.outcome == Outcome::Right).count();
        let figures = [0.5, 0.99, 0.999, 1.0].map(|q| millis(quantile(&times, q)));
        [vec![way.to_owned(), own.len().to_string(), right.to_string()], figures.to_vec()].concat()
    };
    report.table(
        "1,000 calls a second, from when each was due; milliseconds",
        &["", "calls", "right", "p50", "p99", "p99.9", "longest"],
        &[row("MCP with a key", true), row("REST with a key", false)],
    );
}

fn judge(report: &mut Report, room: &Room, calls: &[Call]) {
    let bad: Vec<&Call> = calls.iter().filter(|call| call.outcome != Outcome::Right).collect();
    report.none("load: calls without their own answer", &bad);
    let (mut doubled, mut missing) = (Vec::new(), Vec::new());
    for (place, server) in SERVERS.iter().enumerate() {
        let counts = arrived(room, server);
        doubled.extend(counts.iter().filter(|(_, count)| **count > 1).map(|(number, _)| *number));
        let own = calls.iter().filter(|call| call.server == place);
        missing.extend(own.map(|call| call.number).filter(|number| !counts.contains_key(number)));
    }
    report.none("load: calls that ran twice", &doubled);
    report.none("load: calls that did not reach their server", &missing);
}

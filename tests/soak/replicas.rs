//! Three replicas behind haproxy without stickiness, on one Postgres: they are killed, restarted one after the other,
//! and cut off from their store, while clients call, every second one with idempotency keys.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use kit::client::Client;
use kit::database::Database;
use kit::insistent::{Insistent, Over, Told};
use kit::process::wait_until;
use kit::replicas::Replica;
use kit::rng::Rng;
use kit::room::Room;
use kit::service::Wire;
use kit::way::Way;
use kit::{LIMIT, port};

use crate::Size;
use crate::house::{arrived, echoing};
use crate::report::{Report, millis, quantile};

/// Calls a second, unless another rate is asked for.
const RATE: u64 = 400;
const CALLERS: u64 = 32;
const KILLS_SECONDS: u64 = 300;
const KILL_EVERY: Duration = Duration::from_secs(5);
const ROLLS: u64 = 4;
const OUTAGE_SECONDS: u64 = 30;
/// A client that insists gives up after so long: longer than a store is away, and a replica taken for alive.
const PATIENCE: Duration = Duration::from_secs(120);
/// A log that has not grown for so long has everything: what waits in a spool is written within seconds.
const SETTLED: Duration = Duration::from_secs(15);

/// One call and what came of it.
#[derive(Debug)]
struct Call {
    number: u64,
    kind: Kind,
    time: Duration,
    told: Told,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Kind {
    over: Over,
    is_keyed: bool,
}

const KINDS: [Kind; 4] = [
    Kind { over: Over::Mcp, is_keyed: true },
    Kind { over: Over::Mcp, is_keyed: false },
    Kind { over: Over::Rest, is_keyed: true },
    Kind { over: Over::Rest, is_keyed: false },
];

struct Cluster {
    room: Room,
    replicas: Vec<Replica>,
    store: String,
    way: Way,
    balancer: SocketAddr,
    _haproxy: Client,
    key: String,
    rate: u64,
    /// The number of the next call.
    next: u64,
    /// Calls of earlier parts that ran and have no record.
    unrecorded: usize,
    _database: Database,
}

pub fn run(report: &mut Report, size: Size) {
    let mut cluster = Cluster::start(size.rate.unwrap_or(RATE));
    killed(&mut cluster, report, size);
    rolled(&mut cluster, report, size);
    cut_off(&mut cluster, report, size);
    for replica in &mut cluster.replicas {
        replica.stop();
    }
    let broken: Vec<String> = cluster.replicas[0].audit_fault(&cluster.store).into_iter().collect();
    report.none("replicas: faults in the chain", &broken);
}

impl Cluster {
    fn start(rate: u64) -> Self {
        let room = Room::new();
        let service = echoing(&room, "a").listen(Wire::Http);
        let database = Database::new();
        let way = Way::to(database.behind());
        let through = database.url(&way);
        let flags = ["--limits", "off", "--drain-delay", "3", "--max-stale", "600s"];
        let replicas: Vec<Replica> = (0..3).map(|_| Replica::start(&through, &flags)).collect();
        replicas[0].platform().connected("a", &service);
        room.keep(service);
        let key = replicas[0].platform().key("caller");
        for replica in &replicas {
            wait_until("each replica has the tool", LIMIT, || {
                replica.platform().tool_names(&key) == ["a.echo"]
            });
        }
        let (haproxy, balancer) = balanced(&room, &replicas);
        Self {
            room,
            replicas,
            store: database.direct_url(),
            way,
            balancer,
            _haproxy: haproxy,
            key,
            rate,
            next: 0,
            unrecorded: 0,
            _database: database,
        }
    }

    /// Has clients call while `happen` does something to the replicas; every call that was made.
    fn under_load(&mut self, happen: impl FnOnce(&mut Vec<Replica>, &Way)) -> Vec<Call> {
        let is_over = AtomicBool::new(false);
        let begin = Instant::now() + Duration::from_millis(100);
        let crowd = Crowd {
            to: self.balancer,
            key: &self.key,
            rate: self.rate,
            first: self.next,
            begin,
            is_over: &is_over,
        };
        let (replicas, way) = (&mut self.replicas, &self.way);
        let calls: Vec<Call> = std::thread::scope(|scope| {
            let crowd = &crowd;
            let callers: Vec<_> =
                (0..CALLERS).map(|place| scope.spawn(move || crowd.live(place))).collect();
            happen(replicas, way);
            is_over.store(true, Ordering::Relaxed);
            let joined = callers.into_iter().map(|caller| caller.join().expect("none panics"));
            joined.flatten().collect()
        });
        self.next = 1 + calls.iter().map(|call| call.number).max().unwrap_or(self.next);
        calls
    }

    /// Records of calls that ran, once there are as many as this, or no more come.
    fn audited(&self, wanted: usize) -> usize {
        let (mut begin, mut last) = (Instant::now(), 0);
        loop {
            let records = self.replicas[0].platform().audit();
            let ran = |record: &&serde_json::Value| {
                let outcome = record["outcome"].as_str().unwrap_or_default();
                record["action"] == "call-tool" && matches!(outcome, "ok" | "cancelled")
            };
            let count = records.iter().filter(ran).count();
            if count >= wanted || begin.elapsed() > SETTLED {
                return count;
            }
            if count > last {
                (begin, last) = (Instant::now(), count);
            }
            std::thread::sleep(Duration::from_secs(1));
        }
    }
}

/// Clients that call at given moments.
struct Crowd<'a> {
    to: SocketAddr,
    key: &'a str,
    rate: u64,
    first: u64,
    begin: Instant,
    is_over: &'a AtomicBool,
}

impl Crowd<'_> {
    /// The life of the caller at this place: every so-many-th call.
    fn live(&self, place: u64) -> Vec<Call> {
        let kind = KINDS[place as usize % KINDS.len()];
        let mut caller = Insistent::new(self.to, self.key, kind.over);
        let mut calls = Vec::new();
        for turn in (place..).step_by(CALLERS as usize) {
            let due = self.begin + Duration::from_nanos(turn * 1_000_000_000 / self.rate);
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            if self.is_over.load(Ordering::Relaxed) {
                break;
            }
            let number = self.first + turn;
            let begin = Instant::now();
            let told = match kind.is_keyed {
                true => caller.insist("a.echo", number, &format!("call-{number}"), PATIENCE),
                false => caller.once("a.echo", number, None),
            };
            calls.push(Call { number, kind, time: begin.elapsed(), told });
        }
        calls
    }
}

fn balanced(room: &Room, replicas: &[Replica]) -> (Client, SocketAddr) {
    let port = port::free();
    let servers = replicas.iter().enumerate().map(|(place, replica)| {
        format!(" server r{place} {} check inter 250ms fall 1 rise 1\n", replica.address())
    });
    let servers: String = servers.collect();
    // What was sent is never sent again by the balancer: it may have run.
    room.write(
        "haproxy.cfg",
        format!(
            "defaults\n mode http\n timeout connect 2s\n timeout client 10m\n timeout server 10m\n \
             timeout http-keep-alive 10m\n retries 3\n option redispatch 1\n retry-on conn-failure\n\
             frontend clients\n bind 127.0.0.1:{port}\n default_backend replicas\n\
             backend replicas\n balance roundrobin\n option httpchk GET /readyz\n{servers}"
        ),
    );
    let place = "/usr/sbin/haproxy";
    let program = if std::path::Path::new(place).exists() { place } else { "haproxy" };
    let mut command = Command::new(program);
    command.arg("-db").arg("-f").arg(room.path("haproxy.cfg"));
    let haproxy = Client::spawn(command);
    let there = SocketAddr::from(([127, 0, 0, 1], port));
    wait_until("haproxy knows its replicas", LIMIT, || {
        let Ok(mut connection) = kit::http::Connection::try_open(there) else { return false };
        connection.begin(&kit::http::Ask::get("/healthz"));
        connection.try_response(LIMIT).is_some_and(|answer| answer.status() == 200)
    });
    (haproxy, there)
}

/// A replica is killed every few seconds.
fn killed(cluster: &mut Cluster, report: &mut Report, size: Size) {
    let seconds = size.of(KILLS_SECONDS).max(2 * KILL_EVERY.as_secs());
    let mut rng = Rng::new(7);
    let mut kills = 0;
    let calls = cluster.under_load(|replicas, _| {
        let end = Instant::now() + Duration::from_secs(seconds);
        while Instant::now() + KILL_EVERY <= end {
            std::thread::sleep(KILL_EVERY);
            let replica = rng.below(replicas.len());
            replicas[replica].kill();
            replicas[replica].again();
            kills += 1;
        }
    });
    let what = format!("{kills} kills");
    let unrecorded = judge(cluster, report, &what, &calls);
    let bare: Vec<&Call> = calls.iter().filter(|call| !call.kind.is_keyed).collect();
    let retryable = bare.iter().filter(|call| matches!(call.told, Told::DidNotRun(_))).count();
    let share = 100.0 * retryable as f64 / bare.len().max(1) as f64;
    let name = format!("{what}: calls without a key that were told to come again");
    report.check(&name, "≤ 0.1 %", format!("{share:.3} %"), share <= 0.1);
    // What a killed replica has not written of the last moments is lost with it: told, not promised.
    report.note(&format!("{what}: calls that ran and are not in the audit log"), unrecorded);
}

/// Each replica is ended as an operator ends it, and started again.
fn rolled(cluster: &mut Cluster, report: &mut Report, size: Size) {
    let rolls = size.of(ROLLS);
    let calls = cluster.under_load(|replicas, _| {
        for _ in 0..rolls {
            for replica in replicas.iter_mut() {
                replica.stop();
                replica.again();
                replica.wait_ready();
                // haproxy looks every quarter of a second.
                std::thread::sleep(Duration::from_secs(1));
            }
        }
    });
    let what = format!("{rolls} rolling restarts");
    let unrecorded = judge(cluster, report, &what, &calls);
    let failed: Vec<&Call> = calls.iter().filter(|call| call.told != Told::Right).collect();
    report.none(&format!("{what}: calls without their answer"), &failed);
    let name = format!("{what}: calls that ran and are not in the audit log");
    report.check(&name, "0", unrecorded, unrecorded == 0);
}

/// No replica reaches the store for a while.
fn cut_off(cluster: &mut Cluster, report: &mut Report, size: Size) {
    let seconds = size.of(OUTAGE_SECONDS);
    let calls = cluster.under_load(|_, way| {
        std::thread::sleep(Duration::from_secs(3));
        way.cut();
        std::thread::sleep(Duration::from_secs(seconds));
        way.join();
        std::thread::sleep(Duration::from_secs(5));
    });
    let what = format!("{seconds} s without a store");
    let unrecorded = judge(cluster, report, &what, &calls);
    let failed: Vec<&Call> = calls.iter().filter(|call| call.told != Told::Right).collect();
    report.none(&format!("{what}: calls without their answer"), &failed);
    let name = format!("{what}: calls that ran and are not in the audit log");
    report.check(&name, "0", unrecorded, unrecorded == 0);
}

/// What must hold whatever happens to replicas; how many calls of this part ran and have no record.
fn judge(cluster: &mut Cluster, report: &mut Report, what: &str, calls: &[Call]) -> usize {
    show(report, what, calls);
    let counts = arrived(&cluster.room, "a");
    let ran = |call: &Call| counts.get(&call.number).copied().unwrap_or_default();
    let is_told_wrong = |call: &&Call| match &call.told {
        Told::Right => ran(call) != 1,
        Told::DidNotRun(_) => ran(call) != 0,
        Told::MayHaveRun(_) | Told::Cut => ran(call) > 1,
        Told::Wrong(_) => true,
    };
    let untrue: Vec<&Call> = calls.iter().filter(is_told_wrong).collect();
    report.none(&format!("{what}: calls that were told what is not so"), &untrue);
    let keyed = || calls.iter().filter(|call| call.kind.is_keyed);
    let open: Vec<&Call> =
        keyed().filter(|call| matches!(call.told, Told::Cut | Told::DidNotRun(_))).collect();
    report.none(&format!("{what}: calls with a key without an outcome"), &open);
    let doubled: Vec<&Call> = keyed().filter(|call| ran(call) > 1).collect();
    report.none(&format!("{what}: calls with a key that ran twice"), &doubled);
    let unknown =
        |call: &&Call| matches!(&call.told, Told::Wrong(text) if text.contains("not found"));
    let missing: Vec<&Call> = calls.iter().filter(unknown).collect();
    report.none(&format!("{what}: tools that were not found"), &missing);
    let all: usize = counts.values().sum();
    // Those that are missing since an earlier part stay missing.
    let wanted = all - cluster.unrecorded;
    let unrecorded = wanted.saturating_sub(cluster.audited(wanted));
    cluster.unrecorded += unrecorded;
    unrecorded
}

fn show(report: &Report, what: &str, calls: &[Call]) {
    let row = |kind: Kind| {
        let own: Vec<&Call> = calls.iter().filter(|call| call.kind == kind).collect();
        let count = |wanted: fn(&Told) -> bool| {
            own.iter().filter(|call| wanted(&call.told)).count().to_string()
        };
        let times: Vec<Duration> = own.iter().map(|call| call.time).collect();
        let over = match kind.over {
            Over::Mcp => "MCP",
            Over::Rest => "REST",
        };
        let with = if kind.is_keyed { "with keys" } else { "without" };
        let counts = [
            own.len().to_string(),
            count(|told| *told == Told::Right),
            count(|told| matches!(told, Told::MayHaveRun(_))),
            count(|told| matches!(told, Told::DidNotRun(_))),
            count(|told| *told == Told::Cut),
        ];
        let times = [0.5, 0.99, 1.0].map(|q| millis(quantile(&times, q)));
        [vec![format!("{over}, {with}")], counts.to_vec(), times.to_vec()].concat()
    };
    report.table(
        &format!("{what}; from when each was sent, milliseconds"),
        &["", "calls", "right", "may have run", "did not run", "cut", "p50", "p99", "longest"],
        &KINDS.map(row),
    );
}

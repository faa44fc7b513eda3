//! Everything there is to know, as one text.

use super::calls::{CallOutcome, Metrics};
use super::process::{self, Process};
use super::text::{MetricKind, Text};
use crate::health::ServerStatus as Status;
use trunkline_gateway::{LimitedCalls, ResultScans};

/// What is not counted here but known elsewhere, at the moment of asking.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InstanceMetrics<'a> {
    pub servers: &'a [ServerMetrics<'a>],
    /// How many servers have each status, those without series of their own included.
    pub statuses: &'a [(&'static str, u64)],
    pub sessions: u64,
    pub audit: AuditMetrics,
    /// Seconds since the store last said which API keys are good, and whether that is too long.
    pub store_silent_seconds: u64,
    pub is_stale: bool,
    /// Requests with a token that is none.
    pub tokens_refused: u64,
    pub traces_dropped: u64,
    /// Events of the data plane that found no room.
    pub events_lost: u64,
    /// Requests that policies have refused.
    pub policy_refusals: u64,
    pub policies: u64,
    /// What limits have refused.
    pub limited: &'a [LimitedCalls],
    /// What the scanner has read of results.
    pub results: ResultScans,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct AuditMetrics {
    pub waiting: u64,
    pub lost: u64,
    pub export_lost: u64,
    /// Records that wait on disk, their bytes, and the bytes there may be.
    pub spool: [u64; 3],
    /// Whether records can be written to the store now.
    pub is_store_up: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ServerMetrics<'a> {
    pub name: &'a str,
    pub status: Status,
    pub restarts: u64,
    pub tools: u64,
    pub open_calls: u64,
    /// What the scanner found in its texts, by severity.
    pub findings: &'a [(&'static str, u64)],
}

/// The body of `GET /metrics`. `shows`: may the asker see the server with this name?
pub fn expose(
    metrics: &Metrics,
    platform: &InstanceMetrics<'_>,
    shows: impl Fn(&str) -> bool,
) -> String {
    let mut text = Text::default();
    calls(&mut text, metrics, shows);
    servers(&mut text, platform);
    own(&mut text, platform);
    limited(&mut text, platform.limited);
    results(&mut text, platform.results);
    text.family("trunkline_build_info", MetricKind::Gauge, "1; the version is a label.")
        .sample(&[("version", env!("CARGO_PKG_VERSION"))], 1);
    process(&mut text, &process::look());
    text.done()
}

fn calls(text: &mut Text, metrics: &Metrics, shows: impl Fn(&str) -> bool) {
    let mut servers = metrics.servers();
    servers.retain(|(name, _)| shows(name));
    let mut family = text.family(
        "trunkline_calls_total",
        MetricKind::Counter,
        "Calls that have ended, by outcome.",
    );
    for (name, calls) in &servers {
        for (outcome, count) in CallOutcome::ALL.iter().zip(calls.outcomes) {
            family.sample(&[("server", name), ("outcome", outcome.as_str())], count);
        }
    }
    let mut family = text.family(
        "trunkline_call_seconds",
        MetricKind::Histogram,
        "How long calls took, from when they came to when they ended.",
    );
    for (name, calls) in &servers {
        for (bound, count) in calls.times.cumulative() {
            let bound = bound.to_string();
            family.named("_bucket", &[("server", name), ("le", &bound)], count);
        }
        let count = calls.times.count();
        family
            .named("_bucket", &[("server", name), ("le", "+Inf")], count)
            .named("_sum", &[("server", name)], calls.times.seconds())
            .named("_count", &[("server", name)], count);
    }
}

fn servers(text: &mut Text, platform: &InstanceMetrics<'_>) {
    let mut family = text.family(
        "trunkline_server_up",
        MetricKind::Gauge,
        "1 if the server takes calls, 0 if not; its status is a label.",
    );
    for server in platform.servers {
        let up = matches!(server.status, Status::Connected | Status::Degraded);
        let labels = [("server", server.name), ("status", server.status.as_str())];
        family.sample(&labels, u64::from(up));
    }
    let mut family = text.family(
        "trunkline_servers",
        MetricKind::Gauge,
        "Servers, by status: also those beyond the first 250, which have no series of their own.",
    );
    for (status, count) in platform.statuses {
        family.sample(&[("status", status)], *count);
    }
    type Value = fn(&ServerMetrics<'_>) -> u64;
    let others: [(&'static str, MetricKind, &'static str, Value); 3] = [
        (
            "trunkline_restarts_total",
            MetricKind::Counter,
            "How often the server was started or connected again.",
            |server| server.restarts,
        ),
        ("trunkline_tools", MetricKind::Gauge, "Tools of the server.", |server| server.tools),
        (
            "trunkline_open_calls",
            MetricKind::Gauge,
            "Calls the server has not answered yet.",
            |server| server.open_calls,
        ),
    ];
    let mut family = text.family(
        "trunkline_scan_findings",
        MetricKind::Gauge,
        "Texts of the server that may lie to a model, by severity.",
    );
    for server in platform.servers {
        for (severity, count) in server.findings {
            family.sample(&[("server", server.name), ("severity", severity)], *count);
        }
    }
    for (name, kind, help, value) in others {
        let mut family = text.family(name, kind, help);
        for server in platform.servers {
            family.sample(&[("server", server.name)], value(server));
        }
    }
}

fn own(text: &mut Text, platform: &InstanceMetrics<'_>) {
    let others = [
        ("trunkline_sessions", MetricKind::Gauge, "Clients that are connected.", platform.sessions),
        (
            "trunkline_store_silent_seconds",
            MetricKind::Gauge,
            "Seconds since the store last said which API keys are good.",
            platform.store_silent_seconds,
        ),
        (
            "trunkline_keys_stale",
            MetricKind::Gauge,
            "1 while API keys are refused because the store was silent for --max-stale.",
            u64::from(platform.is_stale),
        ),
        (
            "trunkline_tokens_refused_total",
            MetricKind::Counter,
            "Requests with a token that is not known, revoked or expired.",
            platform.tokens_refused,
        ),
        (
            "trunkline_traces_dropped_total",
            MetricKind::Counter,
            "Requests whose spans could not be sent.",
            platform.traces_dropped,
        ),
        (
            "trunkline_events_lost_total",
            MetricKind::Counter,
            "Ends of calls that were not counted because there was no room.",
            platform.events_lost,
        ),
        ("trunkline_policies", MetricKind::Gauge, "Policies that hold.", platform.policies),
        (
            "trunkline_policy_refusals_total",
            MetricKind::Counter,
            "Requests that policies have refused.",
            platform.policy_refusals,
        ),
    ];
    for (name, kind, help, value) in others.into_iter().chain(audit(&platform.audit)) {
        text.family(name, kind, help).sample(&[], value);
    }
}

fn audit(audit: &AuditMetrics) -> [(&'static str, MetricKind, &'static str, u64); 7] {
    let [spooled, spool_bytes, spool_limit] = audit.spool;
    [
        (
            "trunkline_audit_waiting",
            MetricKind::Gauge,
            "Audit records that are not written yet.",
            audit.waiting,
        ),
        (
            "trunkline_audit_spool_records",
            MetricKind::Gauge,
            "Audit records that wait on disk for the store.",
            spooled,
        ),
        (
            "trunkline_audit_spool_bytes",
            MetricKind::Gauge,
            "Bytes of the audit records that wait on disk.",
            spool_bytes,
        ),
        (
            "trunkline_audit_spool_limit_bytes",
            MetricKind::Gauge,
            "Bytes that audit records may have on disk (--audit-spool).",
            spool_limit,
        ),
        (
            "trunkline_audit_store_up",
            MetricKind::Gauge,
            "1 while the store takes audit records, 0 while it does not.",
            u64::from(audit.is_store_up),
        ),
        (
            "trunkline_audit_lost_total",
            MetricKind::Counter,
            "Audit records that were never written.",
            audit.lost,
        ),
        (
            "trunkline_audit_export_lost_total",
            MetricKind::Counter,
            "Audit records that were written, but not passed on by --audit-export.",
            audit.export_lost,
        ),
    ]
}

fn limited(text: &mut Text, limited: &[LimitedCalls]) {
    let mut family = text.family(
        "trunkline_limited_total",
        MetricKind::Counter,
        "Calls, sessions, connections and subscriptions that a limit has refused, by scope and limit.",
    );
    for LimitedCalls { scope, limit, count } in limited {
        family.sample(&[("scope", scope), ("limit", limit)], *count);
    }
}

/// Under the names every Prometheus client uses.
fn process(text: &mut Text, process: &Process) {
    let reals = [
        (
            "process_cpu_seconds_total",
            MetricKind::Counter,
            "Processor time of this process.",
            process.cpu_seconds,
        ),
        (
            "process_start_time_seconds",
            MetricKind::Gauge,
            "When this process was started, since 1970.",
            process.started,
        ),
    ];
    for (name, kind, help, value) in reals {
        if let Some(value) = value {
            text.family(name, kind, help).sample(&[], value);
        }
    }
    let wholes = [
        ("process_resident_memory_bytes", "Memory in use.", process.resident_bytes),
        ("process_virtual_memory_bytes", "Addresses in use.", process.virtual_bytes),
        ("process_threads", "Threads.", process.threads),
        ("process_open_fds", "Open files and sockets.", process.open_fds),
        ("process_max_fds", "How many there may be.", process.max_fds),
    ];
    for (name, help, value) in wholes {
        if let Some(value) = value {
            text.family(name, MetricKind::Gauge, help).sample(&[], value);
        }
    }
}

fn results(text: &mut Text, results: ResultScans) {
    let ResultScans { scanned, found, dropped } = results;
    let mut family = text.family(
        "trunkline_scan_results_total",
        MetricKind::Counter,
        "Results that the scanner has read, those in which it found something, and those it had no time for.",
    );
    for (outcome, count) in [("scanned", scanned), ("found", found), ("dropped", dropped)] {
        family.sample(&[("outcome", outcome)], count);
    }
}

//! The text as a strict reader of the format sees it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;
use trunkline_gateway::{LimitedCalls, ResultScans};

use super::{AuditMetrics, CallOutcome, InstanceMetrics, Metrics, ServerMetrics, expose};
use crate::health::ServerStatus as Status;

type Sample = (String, BTreeMap<String, String>, f64);

/// Refuses what the format does not allow: families in two places or without a type, names and
/// escapes that are none, samples twice, a histogram that does not add up.
fn read(text: &str) -> HashMap<String, Vec<Sample>> {
    assert!(text.ends_with('\n') && !text.contains("\n\n") && !text.contains('\r'));
    let mut families: HashMap<String, Vec<Sample>> = HashMap::new();
    let mut kinds = HashMap::new();
    let mut family = String::new();
    let mut seen = HashSet::new();
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, words) = help.split_once(' ').expect("a help text");
            assert!(!words.is_empty() && !kinds.contains_key(name), "{line}");
            family = name.to_owned();
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').expect("a type");
            assert_eq!(name, family, "the type stands behind the help");
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert_eq!(name.ends_with("_total"), kind == "counter", "{line}");
            kinds.insert(name.to_owned(), kind.to_owned());
            families.insert(name.to_owned(), Vec::new());
        } else {
            let sample = sample(line);
            let suffix = sample.0.strip_prefix(&family).expect("a sample of this family");
            let expected: &[&str] = match kinds[&family].as_str() {
                "histogram" => &["_bucket", "_sum", "_count"],
                _ => &[""],
            };
            assert!(expected.contains(&suffix), "{line}");
            assert!(seen.insert((sample.0.clone(), sample.1.clone())), "twice: {line}");
            families.get_mut(&family).unwrap().push(sample);
        }
    }
    for (name, samples) in &families {
        if kinds[name] == "histogram" {
            add_up(name, samples);
        }
    }
    families
}

fn sample(line: &str) -> Sample {
    let end = line.find(['{', ' ']).expect("a value");
    let (name, rest) = line.split_at(end);
    let first = |c: char| c.is_ascii_alphabetic() || c == '_' || c == ':';
    assert!(name.starts_with(first), "{line}");
    assert!(name.chars().all(|c| first(c) || c.is_ascii_digit()), "{line}");
    let (labels, value) = match rest.strip_prefix('{') {
        None => (BTreeMap::new(), rest),
        Some(rest) => labels(rest),
    };
    let value = value.strip_prefix(' ').expect("a space before the value");
    (name.to_owned(), labels, value.parse().expect("a number"))
}

fn labels(mut rest: &str) -> (BTreeMap<String, String>, &str) {
    let mut labels = BTreeMap::new();
    loop {
        let (name, behind) = rest.split_once("=\"").expect("a label");
        assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{name}");
        let (mut value, mut chars) = (String::new(), behind.char_indices());
        let end = loop {
            match chars.next().expect("a closing quote") {
                (at, '"') => break at,
                (_, '\\') => value.push(match chars.next().expect("an escape").1 {
                    'n' => '\n',
                    c @ ('\\' | '"') => c,
                    other => panic!("\\{other} is no escape"),
                }),
                (_, other) => value.push(other),
            }
        };
        assert!(labels.insert(name.to_owned(), value).is_none(), "{name} twice");
        rest = behind.get(end + 1..).unwrap();
        match rest.strip_prefix(',') {
            Some(next) => rest = next,
            None => return (labels, rest.strip_prefix('}').expect("a closing brace")),
        }
    }
}

fn add_up(name: &str, samples: &[Sample]) {
    let mut rows: BTreeMap<_, (f64, Option<f64>, Option<f64>)> = BTreeMap::new();
    for (full, labels, value) in samples {
        let mut own = labels.clone();
        let bound = own.remove("le");
        let row = rows.entry(own).or_insert((0.0, None, None));
        match full.strip_prefix(name).unwrap() {
            "_bucket" => {
                assert!(*value >= row.0, "buckets hold those before them");
                row.0 = *value;
                if bound.as_deref() == Some("+Inf") {
                    row.1 = Some(*value);
                } else {
                    assert!(bound.unwrap().parse::<f64>().is_ok() && row.1.is_none());
                }
            }
            "_count" => row.2 = Some(*value),
            _ => {}
        }
    }
    for (_, infinite, count) in rows.into_values() {
        assert!(infinite.is_some() && infinite == count, "{name}");
    }
}

fn value(families: &HashMap<String, Vec<Sample>>, name: &str, labels: &[(&str, &str)]) -> f64 {
    let wanted: BTreeMap<_, _> =
        labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let all = families.values().flatten();
    let mut found = all.filter(|(own, labels, _)| own == name && *labels == wanted);
    found.next().unwrap_or_else(|| panic!("{name} {labels:?}")).2
}

const ODD: &str = "a\"b\\c\nd}é,x=\"1\"";

#[test]
fn us5_ac7_what_happened_is_exposed_in_the_format() {
    let metrics = Metrics::default();
    metrics.set_servers(["github", ODD]);
    metrics.call("github", CallOutcome::Ok, Duration::from_millis(20));
    metrics.call("github", CallOutcome::Ok, Duration::from_millis(200));
    metrics.call("github", CallOutcome::Timeout, Duration::from_secs(100));
    metrics.call(ODD, CallOutcome::ToolError, Duration::from_millis(1));
    let server = |name, status| ServerMetrics {
        name,
        status,
        restarts: 2,
        tools: 7,
        open_calls: 1,
        findings: &[("medium", 3), ("high", 1)],
    };
    let servers = [server("github", Status::Degraded), server(ODD, Status::Error)];
    let platform = InstanceMetrics {
        servers: &servers,
        statuses: &[("CONNECTED", 300)],
        audit: AuditMetrics {
            waiting: 4,
            lost: 5,
            export_lost: 14,
            spool: [15, 16, 17],
            is_store_up: true,
        },
        sessions: 3,
        store_silent_seconds: 15,
        is_stale: true,
        tokens_refused: 9,
        traces_dropped: 6,
        events_lost: 8,
        policy_refusals: 11,
        policies: 12,
        limited: &[LimitedCalls { scope: "tool", limit: "open_calls", count: 10 }],
        results: ResultScans { scanned: 11, found: 12, dropped: 13 },
    };
    let families = read(&expose(&metrics, &platform, |_| true));
    let github = ("server", "github");
    for (name, labels, expected) in [
        ("trunkline_calls_total", &[github, ("outcome", "ok")][..], 2.0),
        ("trunkline_calls_total", &[github, ("outcome", "timeout")], 1.0),
        ("trunkline_calls_total", &[github, ("outcome", "gone")], 0.0),
        ("trunkline_calls_total", &[("server", ODD), ("outcome", "tool-error")], 1.0),
        ("trunkline_call_seconds_bucket", &[github, ("le", "0.025")], 1.0),
        ("trunkline_call_seconds_bucket", &[github, ("le", "60")], 2.0),
        ("trunkline_call_seconds_count", &[github], 3.0),
        ("trunkline_call_seconds_sum", &[github], 100.22),
        ("trunkline_server_up", &[github, ("status", "DEGRADED")], 1.0),
        ("trunkline_server_up", &[("server", ODD), ("status", "ERROR")], 0.0),
        ("trunkline_restarts_total", &[github], 2.0),
        ("trunkline_tools", &[github], 7.0),
        ("trunkline_scan_findings", &[github, ("severity", "high")], 1.0),
        ("trunkline_open_calls", &[github], 1.0),
        ("trunkline_tokens_refused_total", &[], 9.0),
        ("trunkline_sessions", &[], 3.0),
        ("trunkline_audit_waiting", &[], 4.0),
        ("trunkline_store_silent_seconds", &[], 15.0),
        ("trunkline_keys_stale", &[], 1.0),
        ("trunkline_audit_lost_total", &[], 5.0),
        ("trunkline_servers", &[("status", "CONNECTED")], 300.0),
        ("trunkline_audit_spool_records", &[], 15.0),
        ("trunkline_audit_spool_bytes", &[], 16.0),
        ("trunkline_audit_spool_limit_bytes", &[], 17.0),
        ("trunkline_audit_store_up", &[], 1.0),
        ("trunkline_traces_dropped_total", &[], 6.0),
        ("trunkline_audit_export_lost_total", &[], 14.0),
        ("trunkline_events_lost_total", &[], 8.0),
        ("trunkline_scan_results_total", &[("outcome", "scanned")], 11.0),
        ("trunkline_scan_results_total", &[("outcome", "found")], 12.0),
        ("trunkline_scan_results_total", &[("outcome", "dropped")], 13.0),
        ("trunkline_policy_refusals_total", &[], 11.0),
        ("trunkline_policies", &[], 12.0),
        ("trunkline_limited_total", &[("scope", "tool"), ("limit", "open_calls")], 10.0),
    ] {
        let found = value(&families, name, labels);
        assert!((found - expected).abs() < 1e-9, "{name} {labels:?}: {found}");
    }
    assert!(value(&families, "process_resident_memory_bytes", &[]) > 0.0);
    assert!(value(&families, "process_open_fds", &[]) > 0.0);
    assert!(value(&families, "process_cpu_seconds_total", &[]) >= 0.0);
}

#[test]
fn an_empty_platform_is_a_valid_text() {
    let families = read(&expose(&Metrics::default(), &InstanceMetrics::default(), |_| true));
    assert!(families["trunkline_calls_total"].is_empty());
}

#[test]
fn only_so_many_servers_have_series_of_their_own_and_those_keep_them() {
    let metrics = Metrics::default();
    let names: Vec<String> = (0..1_000).map(|number| format!("s{number:04}")).collect();
    metrics.set_servers(names[500..].iter().map(String::as_str));
    metrics.call("s0500", CallOutcome::Ok, Duration::ZERO);
    metrics.call("s0999", CallOutcome::Ok, Duration::ZERO);
    metrics.set_servers(names.iter().map(String::as_str));
    assert!(metrics.is_apart("s0500") && !metrics.is_apart("s0000"));
    let families = read(&expose(&metrics, &InstanceMetrics::default(), |_| true));
    let series = families.values().map(Vec::len).sum::<usize>();
    assert!(series < 8_000, "{series}");
    let ok = |server| {
        value(&families, "trunkline_calls_total", &[("server", server), ("outcome", "ok")])
    };
    assert!((ok("s0500") - 1.0).abs() < 1e-9 && (ok("(other)") - 1.0).abs() < 1e-9);
}

#[test]
fn labels_do_not_grow_with_names_nobody_configured() {
    let metrics = Metrics::default();
    metrics.set_servers(["a", "b"]);
    metrics.call("b", CallOutcome::Ok, Duration::ZERO);
    for number in 0..1_000 {
        metrics.call(&format!("invented-{number}"), CallOutcome::Refused, Duration::ZERO);
    }
    metrics.set_servers(["b", "c"]);
    let families = read(&expose(&metrics, &InstanceMetrics::default(), |_| true));
    let names: HashSet<_> =
        families["trunkline_calls_total"].iter().map(|s| s.1["server"].clone()).collect();
    assert_eq!(names, HashSet::from(["b", "c", "(other)"].map(str::to_owned)));
    let labels = [("server", "(other)"), ("outcome", "refused")];
    assert!((value(&families, "trunkline_calls_total", &labels) - 1_000.0).abs() < 1e-9);
    assert!(
        (value(&families, "trunkline_calls_total", &[("server", "b"), ("outcome", "ok")]) - 1.0)
            .abs()
            < 1e-9
    );
}

//! The dashboard and the alerts: every metric they name is one that `/metrics` has, and Prometheus reads them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use kit::mcp::Speak;
use kit::platform::ADMIN;
use kit::process::wait_until;
use kit::room::Room;
use kit::service::Wire;
use kit::{LIMIT, run};
use serde_json::{Value, json};

use super::{calls, echoing};

pub(super) fn packaging(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging").join(name)
}

fn read(name: &str) -> String {
    let path = packaging(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The names of metrics in an expression or in the text of `/metrics`.
fn names(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let ours = |word: &&str| word.starts_with("trunkline_") || word.starts_with("process_");
    words.filter(ours).map(str::to_owned).collect()
}

#[test]
fn every_metric_of_the_dashboard_and_the_alerts_is_exposed() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&[]);
    platform.connected("a", &service);
    platform.mcp(ADMIN).assert_echo("a", "echo", "{}");
    wait_until("the call is counted", LIMIT, || calls(&platform) == 1);
    let text = platform.admin().get("/metrics").response.text().to_owned();
    let exposed = names(&text);
    let dashboard: Value =
        serde_json::from_str(&read("observability/dashboard.json")).expect("JSON");
    let mut used = BTreeSet::new();
    for panel in dashboard["panels"].as_array().expect("panels") {
        for target in panel["targets"].as_array().expect("targets") {
            let found = names(target["expr"].as_str().expect("an expression"));
            assert!(!found.is_empty(), "{target}");
            used.extend(found);
        }
    }
    let list = dashboard["templating"]["list"].as_array().expect("variables");
    used.extend(list.iter().flat_map(|variable| names(&variable["query"].to_string())));
    let alerts = read("observability/alerts.yaml");
    let rules = alerts.lines().filter(|line| !line.contains("alert:"));
    used.extend(rules.flat_map(names));
    assert!(used.len() > 15, "{used:?}");
    let unknown: Vec<_> = used.difference(&exposed).collect();
    assert!(unknown.is_empty(), "{unknown:?} in\n{text}");
}

#[test]
fn prometheus_reads_the_alerts_and_their_tests_pass() {
    for arguments in [["check", "rules", "alerts.yaml"], ["test", "rules", "alerts.test.yaml"]] {
        let mut promtool = Command::new("promtool");
        promtool.args(arguments).current_dir(packaging("observability"));
        let done = run::run(promtool, b"");
        assert_eq!(done.code, Some(0), "{done}");
    }
}

#[test]
fn prometheus_reads_what_is_exposed() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&[]);
    platform.connected("a", &service);
    platform.call("a.echo", &json!({})).is(200);
    let text = platform.admin().get("/metrics").response.text().to_owned();
    let mut promtool = Command::new("promtool");
    promtool.args(["check", "metrics"]);
    let done = run::run(promtool, text.as_bytes());
    // 3: it can be read, and promtool would name something in another way.
    assert!(matches!(done.code, Some(0 | 3)), "{done}");
    assert!(!done.stderr.contains("error while linting"), "{done}");
}

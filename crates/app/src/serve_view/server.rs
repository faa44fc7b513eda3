//! Renders servers as a table, one server as a page, and changes between two looks.

use serde_json::Value;
use trunkline_control::figures::{count, millis, plural, share};

use crate::client::{block, columns, line};
use crate::terminal::Paint;

/// What the API says of one server.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ServerLine {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) status: String,
    pub(crate) wanted: bool,
    source: String,
    era: String,
    tools: u64,
    p50: Option<f64>,
    p95: Option<f64>,
    errors: Option<f64>,
    restarts: u64,
    trouble: String,
    /// Calls a minute, when the caller has asked for the counts.
    pub(crate) rate: Option<f64>,
}

impl ServerLine {
    pub(crate) fn read(server: &Value) -> Self {
        let text = |pointer: &str| {
            server.pointer(pointer).and_then(Value::as_str).map(line).unwrap_or_default()
        };
        let number = |pointer: &str| server.pointer(pointer).and_then(Value::as_f64);
        let status = text("/status");
        // What was wrong before it came back is in its page.
        let is_up = matches!(status.as_str(), "CONNECTED" | "CONNECTING" | "IDLE");
        Self {
            id: text("/id"),
            name: text("/name"),
            wanted: server.get("auto_connect").and_then(Value::as_bool).unwrap_or(true),
            source: text("/source"),
            era: text("/era"),
            tools: server.get("tools").and_then(Value::as_u64).unwrap_or_default(),
            p50: number("/health/response_time_ms/p50"),
            p95: number("/health/response_time_ms/p95"),
            errors: number("/health/error_rate"),
            restarts: server.get("restarts").and_then(Value::as_u64).unwrap_or_default(),
            trouble: if is_up { String::new() } else { text("/last_error/message") },
            rate: None,
            status,
        }
    }

    /// It does what it should.
    pub(crate) fn is_well(&self) -> bool {
        !self.wanted || matches!(self.status.as_str(), "CONNECTED" | "IDLE")
    }

    fn cells(&self) -> [String; 9] {
        let dash = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
        let time = |time: Option<f64>| time.map_or("-".to_owned(), |time| millis(Some(time)));
        [
            self.name.clone(),
            self.status.to_lowercase(),
            dash(&self.era),
            count(self.tools),
            count(self.restarts),
            self.rate.map_or("-".to_owned(), |rate| format!("{rate:.0}")),
            time(self.p50),
            time(self.p95),
            self.errors.map_or("-".to_owned(), |rate| share(Some(rate))),
        ]
    }
}

const HEAD: [&str; 9] =
    ["SERVER", "STATE", "ERA", "TOOLS", "RESTARTS", "CALLS/MIN", "P50", "P95", "ERRORS"];

/// The columns that `top` can sort by.
pub(crate) const SORTS: [&str; 4] = ["name", "state", "calls", "p95"];

/// In the order of a column: the largest first where it is a number.
pub(crate) fn sort(servers: &mut [ServerLine], by: usize) {
    let down = |one: Option<f64>, other: Option<f64>| {
        other.unwrap_or(-1.0).total_cmp(&one.unwrap_or(-1.0))
    };
    servers.sort_by(|one, other| match SORTS.get(by % SORTS.len()) {
        Some(&"state") => (one.is_well(), &one.status).cmp(&(other.is_well(), &other.status)),
        Some(&"calls") => down(one.rate, other.rate),
        Some(&"p95") => down(one.p95, other.p95),
        _ => one.name.cmp(&other.name),
    });
}

/// The table, with what is wrong under each server.
pub(crate) fn list(servers: &[ServerLine], width: usize, paint: Paint) -> Vec<String> {
    let rows: Vec<_> = std::iter::once(HEAD.map(str::to_owned))
        .chain(servers.iter().map(ServerLine::cells))
        .collect();
    let text = columns(&rows, "", width);
    let mut lines = text.lines();
    let mut out: Vec<String> = lines.next().map(|head| paint.bold(head)).into_iter().collect();
    for (server, row) in servers.iter().zip(lines) {
        out.push(match server.status.as_str() {
            "CONNECTED" => row.to_owned(),
            "CONNECTING" | "DEGRADED" => paint.yellow(row),
            _ if !server.wanted => paint.dim(row),
            _ => paint.red(row),
        });
        if !server.trouble.is_empty() {
            out.push(crate::client::cut(&format!("    {}", server.trouble), width));
        }
    }
    out
}

/// `2 of 3 servers up, 14 tools`
pub(crate) fn summary(servers: &[ServerLine]) -> String {
    let up = servers.iter().filter(|server| server.status == "CONNECTED").count();
    let tools: u64 = servers.iter().map(|server| server.tools).sum();
    format!("{up} of {} servers up, {}", servers.len(), plural(tools, "tool"))
}

/// What has changed since the last look, if anything has.
pub(crate) fn change(before: &[ServerLine], now: &[ServerLine]) -> Vec<(String, String)> {
    let mut out = Vec::new();
    for server in now {
        let old = before.iter().find(|old| old.id == server.id);
        let why = match server.trouble.as_str() {
            "" => String::new(),
            trouble => format!(": {trouble}"),
        };
        match old {
            None => {
                out.push((
                    server.name.clone(),
                    format!("is new, {}", server.status.to_lowercase()),
                ));
            }
            Some(old) if old.status != server.status => {
                let (from, to) = (old.status.to_lowercase(), server.status.to_lowercase());
                out.push((server.name.clone(), format!("{from} -> {to}{why}")));
            }
            Some(_) => {}
        }
    }
    for old in before.iter().filter(|old| !now.iter().any(|server| server.id == old.id)) {
        out.push((old.name.clone(), "is gone".to_owned()));
    }
    out
}

/// Everything about one server.
pub(crate) fn detail(server: &Value, paint: Paint) -> String {
    let row = ServerLine::read(server);
    let text = |pointer: &str| server.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let [.., p50, p95, errors] = row.cells();
    let health = format!("{}, p50 {p50}, p95 {p95}, errors {errors}", text("/health/status"));
    let rows = [
        ("state", row.status.to_lowercase()),
        ("id", row.id.clone()),
        ("from", row.source.clone()),
        ("transport", text("/transport_type").to_owned()),
        ("protocol", text("/protocol_version").to_owned()),
        ("tools", row.tools.to_string()),
        ("health", health),
        ("login", text("/auth/state").to_owned()),
        ("last error", text("/last_error/message").to_owned()),
        ("since", text("/last_error/at").to_owned()),
        ("fix", text("/last_error/hint").to_owned()),
    ];
    let said = rows.iter().filter(|(_, value)| !value.is_empty());
    let lines = said.map(|(name, value)| {
        let mut lines = block(value);
        lines = lines.trim_end().replace('\n', "\n              ");
        format!("  {name:10}  {lines}\n")
    });
    format!("{}\n{}", paint.bold(&row.name), lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn server(name: &str, status: &str) -> Value {
        json!({"id": name, "name": name, "status": status, "source": "api", "auto_connect": true,
            "era": "legacy", "tools": 3, "restarts": 7, "health": {"status": "healthy",
            "response_time_ms": {"p50": 1.4, "p95": 20.6}, "error_rate": 0.125},
            "last_error": {"message": "it broke", "hint": "mend it", "at": "T"}})
    }

    #[test]
    fn servers_are_a_table() {
        let servers = [server("a", "CONNECTED"), server("longer", "ERROR")];
        let lines: Vec<ServerLine> = servers.iter().map(ServerLine::read).collect();
        let text = list(&lines, 100, Paint::new(false)).join("\n");
        let expected = "SERVER  STATE      ERA     TOOLS  RESTARTS  CALLS/MIN  P50     P95    ERRORS\n\
            a       connected  legacy  3      7         -          1.4 ms  21 ms  12 %\n\
            longer  error      legacy  3      7         -          1.4 ms  21 ms  12 %\n    it broke";
        assert_eq!(text, expected);
        assert_eq!(summary(&lines), "1 of 2 servers up, 6 tools");
        assert!(lines[0].is_well() && !lines[1].is_well());
        assert!(detail(&servers[1], Paint::new(false)).contains("  fix         mend it\n"));
    }

    #[test]
    fn changes_are_told() {
        let read = |name: &str, status: &str| ServerLine::read(&server(name, status));
        let before = [read("a", "CONNECTED"), read("b", "CONNECTED")];
        let now = [read("a", "ERROR"), read("c", "CONNECTING")];
        let told: Vec<String> = change(&before, &now)
            .into_iter()
            .map(|(name, what)| format!("{name} {what}"))
            .collect();
        assert_eq!(told, ["a connected -> error: it broke", "c is new, connecting", "b is gone"]);
    }

    #[test]
    fn sorting_goes_by_a_column() {
        let mut servers = [
            ServerLine { rate: Some(1.0), ..ServerLine::read(&server("b", "CONNECTED")) },
            ServerLine { rate: Some(5.0), ..ServerLine::read(&server("a", "ERROR")) },
            ServerLine { rate: None, ..ServerLine::read(&server("c", "CONNECTED")) },
        ];
        let names =
            |servers: &[ServerLine]| servers.iter().map(|it| it.name.clone()).collect::<String>();
        for (by, expected) in [(0, "abc"), (1, "abc"), (2, "abc"), (4, "abc")] {
            sort(&mut servers, by);
            assert_eq!(names(&servers), expected, "{by}");
        }
    }
}

//! Renders one record of the audit log as a line.

use serde_json::Value;
use trunkline_control::figures::millis;

use crate::client::{cut, line};
use crate::terminal::Paint;

/// `2026-11-15T10:00:00Z  ok       call-tool  github create_issue  450 ms  by ci`
pub(crate) fn record_line(record: &Value, width: usize, paint: Paint) -> String {
    let text = |key: &str| record.get(key).and_then(Value::as_str).map(line).unwrap_or_default();
    let outcome = text("outcome");
    let time =
        record.get("duration_us").and_then(Value::as_f64).map(|it| millis(Some(it / 1_000.0)));
    let by = text("principal");
    let parts = [
        text("action"),
        [text("server_name"), text("tool")].join(" ").trim().to_owned(),
        time.unwrap_or_default(),
        if by.is_empty() { String::new() } else { format!("by {by}") },
        text("detail"),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    // Colours take no room on the screen, so the text is cut before it gets them.
    let head = format!("{}  {outcome:10}  ", text("at"));
    let rest = cut(&parts.join("  "), width.saturating_sub(head.chars().count()));
    let word = format!("{outcome:10}");
    let word = if outcome == "ok" { paint.green(&word) } else { paint.red(&word) };
    format!("{}  {word}  {rest}\n", paint.dim(&text("at")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_record_is_a_line() {
        let record = json!({"at": "T", "outcome": "ok", "action": "call-tool", "server_name": "git",
            "tool": "log\u{1b}[2J", "duration_us": 450_200, "principal": "ci", "detail": null});
        let expected = "T  ok          call-tool  git log\u{fffd}[2J  450 ms  by ci\n";
        assert_eq!(record_line(&record, 200, Paint::new(false)), expected);
        assert_eq!(record_line(&record, 25, Paint::new(false)), "T  ok          call-tool…\n");
    }
}

//! Progress for people: one line that is written over and over.

use serde_json::Value;

use super::{parsed, text};
use crate::client::clean;

/// `3 of 10 (30%) words`, from the parameters of `notifications/progress`.
pub(crate) fn progress_line(params: &[u8], width: usize) -> String {
    let params = parsed(params);
    let number = |key: &str| params.get(key).filter(|value| value.is_number());
    let share = match (number("progress"), number("total")) {
        (Some(done), Some(total)) => format!("{done} of {total}{}", percent(done, total)),
        (Some(done), None) => done.to_string(),
        (None, _) => String::new(),
    };
    let words = clean::line(text(&params, "message"));
    clean::cut(format!("{share} {words}").trim(), width)
}

fn percent(done: &Value, total: &Value) -> String {
    match (done.as_f64(), total.as_f64()) {
        (Some(done), Some(total)) if total > 0.0 => {
            format!(" ({:.0}%)", (done / total * 100.0).clamp(0.0, 100.0))
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_reads_well() {
        for (params, expected) in [
            (
                r#"{"progress":3,"total":10,"message":"copy\u001b[2J"}"#,
                "3 of 10 (30%) copy\u{fffd}[2J",
            ),
            (r#"{"progress":0.5}"#, "0.5"),
            (r#"{"progress":5,"total":0}"#, "5 of 0"),
            (r#"{"message":"only words"}"#, "only words"),
            ("nonsense", ""),
        ] {
            assert_eq!(progress_line(params.as_bytes(), 80), expected, "{params}");
        }
        assert_eq!(progress_line(br#"{"progress":100,"message":"long"}"#, 6), "100 l…");
    }
}

//! Progress for people: one line that is overwritten.

use trunkline_wire::member;

use super::words;
use crate::client::clean;

/// `3 of 10 (30%) words`, from the parameters of `notifications/progress`.
pub(crate) fn progress_line(params: &[u8], width: usize) -> String {
    let share = match (number(params, "progress"), number(params, "total")) {
        (Some(done), Some(total)) => format!("{done} of {total}{}", percent(done, total)),
        (Some(done), None) => done.to_owned(),
        (None, _) => String::new(),
    };
    let words = clean::line(&words(params, "message"));
    clean::cut(format!("{share} {words}").trim(), width)
}

/// A number as it was written.
fn number<'p>(params: &'p [u8], key: &str) -> Option<&'p str> {
    let token = std::str::from_utf8(member(params, key)?).ok()?;
    token.starts_with(|c: char| c == '-' || c.is_ascii_digit()).then_some(token)
}

fn percent(done: &str, total: &str) -> String {
    match (done.parse::<f64>(), total.parse::<f64>()) {
        (Ok(done), Ok(total)) if total > 0.0 && total.is_finite() => {
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
            (r#"{"progress":5,"total":1e400}"#, "5 of 1e400"),
            (r#"{"progress":"x","message":5}"#, "5"),
            (r#"{"message":"only words"}"#, "only words"),
            ("nonsense", ""),
        ] {
            assert_eq!(progress_line(params.as_bytes(), 80), expected, "{params}");
        }
        assert_eq!(progress_line(br#"{"progress":100,"message":"long"}"#, 6), "100 l…");
    }
}

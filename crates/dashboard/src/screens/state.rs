//! How states look: one badge for each word of the API, the same on every screen.

use maud::{Markup, html};
use serde_json::Value;

/// `CONNECTED`, `DEGRADED`… as the API spells them.
pub(super) fn badge(status: &str) -> Markup {
    let (tone, word) = match status {
        "CONNECTED" => ("good", "Connected"),
        "CONNECTING" => ("accent", "Connecting"),
        "DEGRADED" => ("warn", "Degraded"),
        "ERROR" => ("bad", "Error"),
        "DISCONNECTED" => ("", "Disconnected"),
        "IDLE" => ("", "Idle"),
        other => ("", other),
    };
    html! { span class={ "badge dot " (tone) } { (word) } }
}

/// What a tool's annotations say, in words. They are its server's, and not to be relied on.
pub(super) fn hints(annotations: &Value) -> Markup {
    let says = |key: &str, value: bool| annotations[key].as_bool() == Some(value);
    let reads = says("readOnlyHint", true);
    let all = [
        (reads, "badge good", "readOnlyHint", "read-only"),
        (!reads && says("destructiveHint", true), "badge bad", "destructiveHint", "destructive"),
        (!reads && says("idempotentHint", true), "badge", "idempotentHint", "repeatable"),
        (says("openWorldHint", true), "badge", "openWorldHint", "open world"),
    ];
    html! {
        @for (_, class, title, words) in all.iter().filter(|(holds, ..)| *holds) {
            span class=(class) title=(title) { (words) } " "
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hints_are_said_in_words() {
        for (annotations, words) in [
            (json!(null), vec![]),
            (json!({"readOnlyHint": true, "destructiveHint": true}), vec!["read-only"]),
            (
                json!({"destructiveHint": true, "openWorldHint": true}),
                vec!["destructive", "open world"],
            ),
            (json!({"idempotentHint": true, "destructiveHint": "yes"}), vec!["repeatable"]),
            (json!([1]), vec![]),
        ] {
            let shown = hints(&annotations).into_string();
            assert_eq!(shown.matches("<span").count(), words.len(), "{annotations}");
            assert!(words.iter().all(|word| shown.contains(word)), "{shown}");
        }
    }

    #[test]
    fn a_word_that_is_not_known_is_shown_and_escaped() {
        assert!(badge("<b>").into_string().contains("&lt;b&gt;"));
    }
}

//! Checks that `content` and `structuredContent` of a result agree: some clients show only one of them.

use serde_json::Value;

use super::finding::{Finding, Grade};

/// Whether a tool can be tried: it says that it changes nothing, and it needs to be told nothing.
pub(crate) fn harmless(tool: &Value) -> bool {
    let hint = |name: &str| tool.pointer(&format!("/annotations/{name}"));
    let reads = hint("readOnlyHint") == Some(&Value::Bool(true));
    let required = tool.pointer("/inputSchema/required").and_then(Value::as_array);
    reads && required.is_none_or(Vec::is_empty) && tool.get("outputSchema").is_some()
}

/// What is wrong with the result of this tool, if anything is.
pub(crate) fn mismatch(tool: &str, result: &Value) -> Option<Finding> {
    let structured = result.get("structuredContent")?;
    let content = result.get("content").and_then(Value::as_array).cloned().unwrap_or_default();
    let texts: Vec<&str> =
        content.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect();
    let said = texts.iter().any(|text| match serde_json::from_str::<Value>(text) {
        Ok(value) => value == *structured,
        Err(_) => false,
    });
    if said {
        return None;
    }
    let problem = match content.is_empty() {
        true => {
            "its result has `structuredContent` and no `content`: Gemini CLI shows its model nothing"
        }
        false => {
            "`content` and `structuredContent` of its result differ: Claude Code and Codex show their \
             model only the second, Gemini CLI only the first"
        }
    };
    let fix =
        "the server should put the JSON of `structuredContent` into a text block of `content`, too";
    Some(Finding::new(Grade::Warning, "results", tool, problem.to_owned()).fix(fix))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_halves_have_to_say_the_same() {
        let text = |text: &str| json!([{"type": "text", "text": text}]);
        let table = [
            (json!({"content": text("{\"v\": 42}"), "structuredContent": {"v": 42}}), false),
            (json!({"content": text("TEXT-ONLY"), "structuredContent": {"v": 42}}), true),
            (json!({"content": [], "structuredContent": {"v": 42}}), true),
            (json!({"content": text("TEXT-ONLY")}), false),
        ];
        for (result, expected) in table {
            assert_eq!(mismatch("t", &result).is_some(), expected, "{result}");
        }
    }

    #[test]
    fn only_what_changes_nothing_is_tried() {
        let tool = json!({"annotations": {"readOnlyHint": true}, "outputSchema": {},
            "inputSchema": {"type": "object", "required": []}});
        assert!(harmless(&tool));
        let mut other = tool.clone();
        other["inputSchema"]["required"] = json!(["a"]);
        assert!(!harmless(&other));
        other = tool;
        other["annotations"] = json!({});
        assert!(!harmless(&other));
    }
}

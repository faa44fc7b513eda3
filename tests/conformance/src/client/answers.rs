//! What the client says: arguments that fit a schema, and answers to what it is asked.

use serde_json::{Map, Value, json};

/// A value for every property that must be there.
pub(super) fn filled_in(schema: &Value) -> Value {
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let filled = required.filter_map(Value::as_str).map(|name| {
        let kind = schema.pointer(&format!("/properties/{name}/type")).and_then(Value::as_str);
        let value = match kind {
            Some("number") => json!(2.5),
            Some("integer") => json!(2),
            Some("boolean") => json!(true),
            Some("array") => json!([]),
            Some("object") => json!({}),
            _ => json!("text"),
        };
        (name.to_owned(), value)
    });
    Value::Object(filled.collect())
}

/// The answer to one question.
pub(super) fn to_question(method: &str, params: &Value) -> Option<Value> {
    match method {
        "elicitation/create" => {
            let schema = params.get("requestedSchema").unwrap_or(&Value::Null);
            Some(json!({ "action": "accept", "content": filled_in(schema) }))
        }
        "sampling/createMessage" => {
            let content = json!({ "type": "text", "text": "text" });
            Some(json!({ "role": "assistant", "content": content, "model": "none" }))
        }
        "roots/list" => Some(json!({ "roots": [] })),
        _ => None,
    }
}

/// What the next request must carry after a result that needs input; `None` after any other.
pub(super) fn to_required(result: &Value) -> Option<Map<String, Value>> {
    if result.get("resultType") != Some(&json!("input_required")) {
        return None;
    }
    let asked = result.get("inputRequests").and_then(Value::as_object).into_iter().flatten();
    let responses: Map<String, Value> = asked
        .filter_map(|(key, question)| {
            let method = question.get("method")?.as_str()?;
            let params = question.get("params").unwrap_or(&Value::Null);
            Some((key.clone(), to_question(method, params)?))
        })
        .collect();
    let mut carried = Map::from_iter([("inputResponses".to_owned(), Value::Object(responses))]);
    if let Some(state) = result.get("requestState") {
        carried.insert("requestState".to_owned(), state.clone());
    }
    Some(carried)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    #[test]
    fn a_form_is_filled_in_as_far_as_it_must_be() {
        let schema = json!({
            "properties": { "a": { "type": "number" }, "b": { "type": "string" }, "c": {} },
            "required": ["a", "b"],
        });
        assert_eq!(super::filled_in(&schema), json!({ "a": 2.5, "b": "text" }));
        assert_eq!(super::filled_in(&Value::Null), json!({}));
    }

    #[test]
    fn what_was_asked_is_answered_and_the_state_goes_back() {
        let rows = [
            (json!({ "content": [] }), None),
            (json!({ "resultType": "complete" }), None),
            (
                json!({
                    "resultType": "input_required",
                    "inputRequests": { "k": { "method": "roots/list" } },
                    "requestState": "s",
                }),
                Some(json!({ "inputResponses": { "k": { "roots": [] } }, "requestState": "s" })),
            ),
            (
                json!({ "resultType": "input_required", "inputRequests": {} }),
                Some(json!({ "inputResponses": {} })),
            ),
        ];
        for (result, expected) in rows {
            assert_eq!(super::to_required(&result).map(Value::Object), expected, "{result}");
        }
    }
}

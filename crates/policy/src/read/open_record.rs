//! Records whose members no schema knows: `context.arguments` and `principal.claims`.
//!
//! Cedar's validator wants every attribute declared. What is compared with a member of an open record is
//! therefore taken out before a policy is validated; everything else of the policy is validated strictly.

use serde_json::{Value, json};

/// Does the policy, in Cedar's JSON form, look at `context`?
pub(crate) fn uses_variable(policy: &Value, name: &str) -> bool {
    policy
        .get("conditions")
        .is_some_and(|conditions| mentions(conditions, &|value| is_variable(value, name)))
}

/// The policy without what its conditions say about open records; `None`: they say nothing about any.
pub(crate) fn without_open_records(policy: &Value) -> Option<Value> {
    let conditions = policy.get("conditions")?.as_array()?;
    if !conditions.iter().any(|condition| mentions(condition, &is_open_record)) {
        return None;
    }
    let mut policy = policy.clone();
    for condition in policy.get_mut("conditions")?.as_array_mut()? {
        if let Some(body) = condition.get_mut("body") {
            take_out(body);
        }
    }
    Some(policy)
}

/// Operators between truth values: below them each side is looked at for itself.
const LOGIC: [&str; 4] = ["&&", "||", "!", "if-then-else"];

fn take_out(expression: &mut Value) {
    if !mentions(expression, &is_open_record) {
        return;
    }
    let logic = expression.as_object_mut().and_then(|object| {
        let (operator, operands) = object.iter_mut().next()?;
        LOGIC.contains(&operator.as_str()).then_some(operands)
    });
    match logic.and_then(Value::as_object_mut) {
        Some(operands) => operands.values_mut().for_each(take_out),
        // A truth value that the validator cannot work out beforehand.
        None => {
            *expression = json!({"like": {
                "left": {"Value": "open"}, "pattern": ["Wildcard"],
            }});
        }
    }
}

/// `context.arguments` and `principal.claims`, as an attribute or with `has`.
fn is_open_record(value: &Value) -> bool {
    let is_access = |of: &str, attribute: &str| {
        let access = value.get(".");
        let left = access.and_then(|access| access.get("left"));
        let name = access.and_then(|access| access.get("attr")).and_then(Value::as_str);
        name == Some(attribute) && left.is_some_and(|left| is_variable(left, of))
    };
    is_access("context", "arguments") || is_access("principal", "claims")
}

fn is_variable(value: &Value, name: &str) -> bool {
    value.get("Var").and_then(Value::as_str) == Some(name)
}

fn mentions(value: &Value, wanted: &dyn Fn(&Value) -> bool) -> bool {
    wanted(value)
        || match value {
            Value::Array(elements) => elements.iter().any(|element| mentions(element, wanted)),
            Value::Object(members) => members.values().any(|member| mentions(member, wanted)),
            _ => false,
        }
}

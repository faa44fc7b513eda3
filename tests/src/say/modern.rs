//! Words of the stateless era: results that ask, subscriptions that end, eras that are hard to tell.

use serde_json::{Value, json};

use crate::scan;

/// A result that asks: key, method and raw params of each question (empty: none), and a raw state.
pub fn input_required(questions: &[(&str, &str, &str)], state: Option<&str>) -> Value {
    let question = |(key, method, params): &(&str, &str, &str)| {
        let params =
            if params.is_empty() { String::new() } else { format!(r#","params":{params}"#) };
        format!(r#"{}:{{"method":"{method}"{params}}}"#, scan::quote(key))
    };
    let questions: Vec<String> = questions.iter().map(question).collect();
    let mut members = vec![r#""resultType":"input_required""#.to_owned()];
    if !questions.is_empty() {
        members.push(format!(r#""inputRequests":{{{}}}"#, questions.join(",")));
    }
    members.extend(state.map(|state| format!(r#""requestState":{state}"#)));
    super::result(&format!("{{{}}}", members.join(",")))
}

/// What happens in each round of a request: a `requestState` that starts with `N:` leads to steps
/// number N, answers without a state to number 1, nothing of both to number 0.
pub fn rounds<const N: usize>(rounds: [Value; N]) -> Value {
    json!({ "rounds": Vec::from(rounds) })
}

/// Sends several requests to the client at once; when all are answered, `@ANSWER@` is their array.
pub fn ask_all(questions: &[(&str, &str)]) -> Value {
    let all: Vec<Value> = questions
        .iter()
        .map(|(method, params)| json!({ "method": method, "params": params }))
        .collect();
    json!({ "ask_all": all })
}

/// Waits until a request or notification with this method has come.
pub fn until_method(method: &str) -> Value {
    json!({ "until_method": method })
}

/// Ends every subscription as a server does that shuts down in peace.
pub fn end_listens() -> Value {
    json!({ "end_listens": true })
}

/// Drops the connection of every subscription.
pub fn drop_listens() -> Value {
    json!({ "end_listens": false })
}

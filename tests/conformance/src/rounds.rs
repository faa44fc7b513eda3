//! A script before a modern client: which round a request is in, and what it gets.

use rmcp::ErrorData;
use rmcp::model::InputResponses;
use serde_json::{Map, Value, json};

use crate::questions::Question;
use crate::scripts::{Answers, Memory, Need, Script};

#[derive(Debug, PartialEq)]
pub(crate) enum Step {
    /// The result that asks.
    Ask(Value),
    Done(Answers),
}

/// What a request says about the rounds before it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Said<'a> {
    pub(crate) responses: Option<&'a InputResponses>,
    pub(crate) state: Option<&'a str>,
    /// `clientCapabilities`.
    pub(crate) capabilities: &'a Value,
}

pub(crate) fn next(script: &Script, name: &str, said: Said<'_>) -> Result<Step, ErrorData> {
    let answered = match (script.memory, said.state) {
        (Memory::None, _) => Some(0),
        (Memory::State, None) => None,
        (Memory::State, Some(text)) => Some(
            (0..script.rounds.len())
                .find(|&round| state(name, round) == text)
                .ok_or_else(|| ErrorData::invalid_params("this is not my requestState", None))?,
        ),
    };
    let round = match answered {
        None => 0,
        Some(round) => match answers(script, round, said) {
            None => round,
            Some(answers) if round + 1 == script.rounds.len() => return Ok(Step::Done(answers)),
            Some(_) => round + 1,
        },
    };
    ask(script, name, round, said.capabilities).map(Step::Ask)
}

/// What answers a round; `None` when something is missing or is no answer at all.
fn answers(script: &Script, round: usize, said: Said<'_>) -> Option<Answers> {
    let responses = said.responses?;
    let questions = script.rounds.get(round)?;
    let answer = |question: &Question| {
        let answer = responses.get(question.key).filter(|answer| answer.is_object())?;
        Some((question.key.to_owned(), answer.clone()))
    };
    let answers: Answers = questions.iter().filter_map(answer).collect();
    let enough = match script.need {
        Need::Every => answers.len() == questions.len(),
        Need::Any => !answers.is_empty(),
    };
    enough.then_some(answers)
}

fn ask(
    script: &Script,
    name: &str,
    round: usize,
    capabilities: &Value,
) -> Result<Value, ErrorData> {
    let questions = script.rounds.get(round).map(Vec::as_slice).unwrap_or_default();
    let mut requests = Map::new();
    for question in questions {
        match (capabilities.get(question.capability()), script.need) {
            (Some(_), _) => drop(requests.insert(question.key.to_owned(), question.as_value())),
            (None, Need::Any) => {}
            (None, Need::Every) => return Err(missing(question.capability())),
        }
    }
    let mut result = json!({ "resultType": "input_required", "inputRequests": requests });
    if let (Memory::State, Some(result)) = (script.memory, result.as_object_mut()) {
        result.insert("requestState".to_owned(), json!(state(name, round)));
    }
    Ok(result)
}

/// Nothing to gain by forging it, so it is not sealed; it is compared whole.
fn state(name: &str, round: usize) -> String {
    format!("{name}/{round}/fixture")
}

fn missing(capability: &str) -> ErrorData {
    let required = serde_json::from_value(json!({ capability: {} }));
    ErrorData::missing_required_client_capability(required.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Said, Step, next};
    use crate::scripts;

    /// What a request to a tool of this name comes to: the keys that are asked for, or `done`.
    fn step(name: &str, responses: &Value, state: Option<&str>, capabilities: &Value) -> String {
        let name = format!("test_input_required_result_{name}");
        let script = scripts::of_tool(&name, &json!({})).expect("a tool that asks");
        let responses = serde_json::from_value(responses.clone()).expect("a map");
        let said = Said { responses: Some(&responses), state, capabilities };
        match next(&script, &name, said) {
            Ok(Step::Done(_)) => "done".to_owned(),
            Ok(Step::Ask(result)) => {
                let asked = result.get("inputRequests").and_then(Value::as_object).expect("a map");
                asked.keys().cloned().collect::<Vec<_>>().join(" ")
            }
            Err(error) => error.code.0.to_string(),
        }
    }

    #[test]
    fn a_request_is_in_the_round_it_says() {
        let all = json!({ "elicitation": {}, "roots": {}, "sampling": {} });
        let (first, second) = (
            "test_input_required_result_multi_round/0/fixture",
            "test_input_required_result_multi_round/1/fixture",
        );
        let rows = [
            ("elicitation", json!({}), None, "user_name"),
            ("elicitation", json!({ "user_name": 12345 }), None, "user_name"),
            ("elicitation", json!({ "other": {} }), None, "user_name"),
            ("elicitation", json!({ "user_name": {}, "other": {} }), None, "done"),
            ("multi_round", json!({ "step1": {} }), None, "step1"),
            ("multi_round", json!({ "step1": {} }), Some(first), "step2"),
            ("multi_round", json!({ "step1": {} }), Some(second), "step2"),
            ("multi_round", json!({ "step2": {} }), Some(second), "done"),
            ("multi_round", json!({ "step2": {} }), Some("made up"), "-32602"),
            ("capabilities", json!({}), None, "user_name capital_question"),
        ];
        for (name, responses, state, expected) in rows {
            assert_eq!(
                step(name, &responses, state, &all),
                expected,
                "{name} {responses} {state:?}"
            );
        }
    }

    #[test]
    fn a_client_is_asked_what_it_can_answer() {
        let model = json!({ "sampling": {} });
        assert_eq!(step("capabilities", &json!({}), None, &model), "capital_question");
        assert_eq!(step("multiple_inputs", &json!({}), None, &model), "-32021");
        assert_eq!(step("sampling", &json!({}), None, &json!({})), "-32021");
    }
}

//! The tools and prompts that ask before they answer: what they ask, in which rounds, and the end.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::questions::{
    Question, elicitation, every_default, every_enum, field, roots, sampling, two_strings,
};

/// What was answered in the last round, by the questions' keys.
pub(crate) type Answers = BTreeMap<String, Value>;

#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) rounds: Vec<Vec<Question>>,
    pub(crate) need: Need,
    pub(crate) memory: Memory,
    pub(crate) refusal: Refusal,
    pub(crate) end: fn(&Answers) -> String,
}

/// How many of a round's questions must be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    Every,
    /// One will do, and only what the client can answer is asked.
    Any,
}

/// How a modern client's next request says which round it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Memory {
    /// There is one round, so it need not.
    None,
    /// By the `requestState` it was given.
    State,
}

/// What a legacy client gets that was asked and would not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// A result with `isError`.
    Result,
    /// An error of the protocol.
    Error,
}

impl Script {
    fn one(question: Question, end: fn(&Answers) -> String) -> Self {
        Self::rounds(vec![vec![question]], Memory::None, end)
    }

    fn rounds(rounds: Vec<Vec<Question>>, memory: Memory, end: fn(&Answers) -> String) -> Self {
        Self { rounds, need: Need::Every, memory, refusal: Refusal::Result, end }
    }
}

/// `None` for a tool that answers at once, or does not exist.
pub(crate) fn of_tool(name: &str, arguments: &Value) -> Option<Script> {
    let argument = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let elicit =
        |message: &str, schema| Script::one(elicitation("answer", message, schema), elicited);
    Some(match name {
        "test_sampling" => Script::one(sampling("answer", argument("prompt")), said),
        "test_elicitation" => elicit(argument("message"), two_strings()),
        "test_elicitation_sep1034_defaults" => {
            elicit("Please review these values", every_default())
        }
        "test_elicitation_sep1330_enums" => elicit("Please choose", every_enum()),
        "test_streaming_elicitation" => {
            let question =
                elicitation("streaming_elicitation", "A value?", field("value", "string"));
            Script::one(question, elicited)
        }
        "test_missing_capability" => {
            let script = Script::one(sampling("needed", "Is there a model?"), said);
            Script { refusal: Refusal::Error, ..script }
        }
        name => return of_input_required(name.strip_prefix("test_input_required_result_")?),
    })
}

fn of_input_required(name: &str) -> Option<Script> {
    Some(match name {
        "elicitation" => Script::one(user_name(), greeted),
        "sampling" => Script::one(capital("capital_question"), said),
        "list_roots" => Script::one(roots("client_roots"), counted),
        "request_state" | "tampered_state" => {
            let question = elicitation("confirm", "Go on?", field("ok", "boolean"));
            Script::rounds(vec![vec![question]], Memory::State, |_| "state-ok".to_owned())
        }
        "multiple_inputs" => {
            let round = vec![user_name(), capital("greeting"), roots("client_roots")];
            Script::rounds(vec![round], Memory::State, greeted)
        }
        "multi_round" => {
            let first = elicitation("step1", "Your name?", field("name", "string"));
            let second = elicitation("step2", "Your color?", field("color", "string"));
            Script::rounds(vec![vec![first], vec![second]], Memory::State, elicited)
        }
        "capabilities" => {
            let round = vec![user_name(), capital("capital_question")];
            let script = Script::rounds(vec![round], Memory::None, |answers| {
                format!("Answered: {}", answers.keys().cloned().collect::<Vec<_>>().join(", "))
            });
            Script { need: Need::Any, ..script }
        }
        _ => return None,
    })
}

/// `None` for a prompt that answers at once, or does not exist.
pub(crate) fn of_prompt(name: &str) -> Option<Script> {
    let schema = field("context", "string");
    (name == "test_input_required_result_prompt").then(|| {
        let question = elicitation("user_context", "What is the prompt about?", schema);
        Script::one(question, |answers| format!("Context: {}", content(answers, "context")))
    })
}

fn user_name() -> Question {
    elicitation("user_name", "What is your name?", field("name", "string"))
}

fn capital(key: &'static str) -> Question {
    sampling(key, "What is the capital of France?")
}

fn said(answers: &Answers) -> String {
    let answer = answers.values().next().unwrap_or(&Value::Null);
    let text = answer.pointer("/content/text").or_else(|| answer.pointer("/content/0/text"));
    format!("LLM response: {}", text.and_then(Value::as_str).unwrap_or("nothing"))
}

fn elicited(answers: &Answers) -> String {
    let answer = answers.values().next().unwrap_or(&Value::Null);
    let action = answer.get("action").and_then(Value::as_str).unwrap_or("nothing");
    let content = answer.get("content").unwrap_or(&Value::Null);
    format!("Elicitation completed: action={action}, content={content}")
}

fn greeted(answers: &Answers) -> String {
    format!("Hello, {}!", content(answers, "name"))
}

fn counted(answers: &Answers) -> String {
    let roots = answers.values().next().and_then(|answer| answer.get("roots")?.as_array());
    format!("{} roots", roots.map_or(0, Vec::len))
}

/// A field of the form that was filled in.
fn content<'a>(answers: &'a Answers, name: &str) -> &'a str {
    let mut forms = answers.values().filter_map(|answer| answer.get("content"));
    forms.find_map(|form| form.get(name)?.as_str()).unwrap_or("nobody")
}

//! The dialogue about one elicitation: takes lines of the user, gives prompts and at last an answer.
//!
//! Pure, so that it can be tested without a terminal. The user sees who asks, may go through his
//! answers again before they are sent, and may refuse at any time.

use serde_json::Value;

use super::answer::answer;
use super::question::{Field, PersonQuestion};
use crate::client::arguments::Json;
use crate::client::clean;
use crate::client::schema::spelling;

#[derive(Debug)]
pub(crate) struct Dialogue {
    stage: Stage,
    fields: Vec<Field>,
    /// Of the fields before the one asked for; `None` was left out.
    answers: Vec<Option<Json>>,
}

#[derive(Debug)]
enum Stage {
    Field,
    Review,
    Page,
    Over,
}

/// What happens next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum DialogueStep {
    /// Show this and read a line.
    Prompt(String),
    /// The result of `elicitation/create`.
    Answer(Vec<u8>),
}

const DECLINE: &[u8] = br#"{"action":"decline"}"#;
const CANCEL: &[u8] = br#"{"action":"cancel"}"#;

/// The answer when no person is at the terminal.
pub(crate) fn decline() -> Vec<u8> {
    DECLINE.to_vec()
}

impl Dialogue {
    /// `who` asks: the tool that was called.
    pub(crate) fn start(question: PersonQuestion, who: &str) -> (Self, DialogueStep) {
        let who = clean::line(who);
        let (stage, fields, text) = match question {
            PersonQuestion::Form { message, fields } => {
                let how = "Enter leaves a field out or keeps its default; Ctrl-D cancels.";
                (Stage::Field, fields, format!("\n`{who}` asks: {message}\n{how}\n"))
            }
            PersonQuestion::Page { message, url } => {
                (Stage::Page, Vec::new(), page(&who, &message, &url))
            }
            PersonQuestion::Unknown => (Stage::Over, Vec::new(), String::new()),
        };
        let mut dialogue = Self { stage, fields, answers: Vec::new() };
        let step = dialogue.prompt(text);
        (dialogue, step)
    }

    /// Takes a line; `None` is the end of input.
    pub(crate) fn say(&mut self, line: Option<&str>) -> DialogueStep {
        let Some(line) = line else {
            return DialogueStep::Answer(CANCEL.to_vec());
        };
        match self.stage {
            Stage::Field => self.field(line),
            Stage::Review => self.review(line),
            Stage::Page if is_yes(line) => DialogueStep::Answer(br#"{"action":"accept"}"#.to_vec()),
            Stage::Page | Stage::Over => DialogueStep::Answer(decline()),
        }
    }

    fn field(&mut self, line: &str) -> DialogueStep {
        let Some(field) = self.fields.get(self.answers.len()) else {
            return self.prompt(String::new());
        };
        match answer(field, line) {
            Ok(value) => {
                self.answers.push(value);
                self.prompt(String::new())
            }
            Err(what) => {
                let again = format!("`{}` {what}\n", clean::line(&field.name));
                self.prompt(again)
            }
        }
    }

    fn review(&mut self, line: &str) -> DialogueStep {
        match line.trim().to_ascii_lowercase().as_str() {
            "" | "y" | "yes" => DialogueStep::Answer(self.accepted()),
            "n" | "no" => DialogueStep::Answer(decline()),
            "e" | "edit" => {
                self.answers.clear();
                self.stage = Stage::Field;
                self.prompt(String::new())
            }
            _ => DialogueStep::Prompt(SEND.to_owned()),
        }
    }

    /// `text`, and the prompt for what is to be said now.
    fn prompt(&mut self, text: String) -> DialogueStep {
        match self.stage {
            Stage::Over => DialogueStep::Answer(decline()),
            Stage::Page | Stage::Review => DialogueStep::Prompt(text),
            Stage::Field => match self.fields.get(self.answers.len()) {
                Some(field) => DialogueStep::Prompt(text + &field_prompt(field)),
                None => {
                    self.stage = Stage::Review;
                    DialogueStep::Prompt(text + &self.summary() + SEND)
                }
            },
        }
    }

    fn summary(&self) -> String {
        let line = |(field, answer): (&Field, &Option<Json>)| {
            let value =
                answer.as_ref().map(|value| String::from_utf8_lossy(&value.bytes()).into_owned());
            format!("  {}: {}\n", clean::line(&field.name), value.unwrap_or_else(|| "-".to_owned()))
        };
        self.fields.iter().zip(&self.answers).map(line).collect()
    }

    fn accepted(&self) -> Vec<u8> {
        let given = self.fields.iter().zip(&self.answers);
        let members = given.filter_map(|(field, value)| Some((field.name.clone(), value.clone()?)));
        let mut out = br#"{"action":"accept","content":"#.to_vec();
        Json::Object(members.collect()).write(&mut out);
        out.push(b'}');
        out
    }
}

const SEND: &str = "Send this? [Y]es, [n]o, [e]dit: ";

fn is_yes(line: &str) -> bool {
    matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

fn field_prompt(field: &Field) -> String {
    let mut out = format!("{}\n", field.label);
    for (number, (_, name)) in field.options.iter().enumerate() {
        out.push_str(&format!("  {}. {name}\n", number + 1));
    }
    let hint = match field.schema.get("default") {
        Some(value) => format!(" [{}]", preset(field, value)),
        None if field.required => String::new(),
        None => " [-]".to_owned(),
    };
    out + &format!("{}{hint}: ", clean::line(&field.name))
}

/// A default as the user would say it.
fn preset(field: &Field, value: &Value) -> String {
    let name = |value: &Value| {
        let known = field.options.iter().find(|(option, _)| option == value);
        known.map_or_else(|| clean::line(&spelling(value)), |(_, name)| name.clone())
    };
    match value {
        Value::Array(values) => values.iter().map(name).collect::<Vec<_>>().join(", "),
        one => name(one),
    }
}

fn page(who: &str, message: &str, url: &str) -> String {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = host.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    let warning = if host.contains("xn--") {
        "\nIts name is written in another script: look twice.\n"
    } else {
        ""
    };
    format!(
        "\n`{who}` asks you to open a page on {host}: {message}\n\n  {url}\n{warning}\n\
         Open it in your browser if you trust it. Go on? [y]es, [N]o: "
    )
}

//! Trying a tool: the form or JSON, the call, and what came of it.

use maud::{Markup, html};
use trunkline_wire::{encode as quote, is_json, pretty};

use super::definition::Tool;
use super::{Looked, copy, page};
use crate::form::{Form, encode};
use crate::layout;
use crate::outcome;
use crate::page::{Outcome, Page};
use crate::trials::Trial;
use crate::tryit::{self, Blank, Filled, Mistake};
use crate::visitor::Visitor;

/// What somebody has entered so far.
pub(super) enum Entered {
    Form { filled: Filled, mistakes: Vec<Mistake> },
    Json { text: String, mistake: Option<String> },
}

impl Entered {
    /// What is there at first.
    pub(super) fn first(blank: &Blank, as_json: bool) -> Self {
        let filled = Filled::preset(blank);
        match as_json || *blank == Blank::Anything {
            true => Self::json(&tryit::draft(blank.fields(), &filled)),
            false => Self::Form { filled, mistakes: Vec::new() },
        }
    }

    /// What was sent, in the way it was sent.
    pub(super) fn sent(form: &Form) -> Self {
        match form.get("mode") {
            Some("json") => {
                let text = form.get("arguments").unwrap_or_default();
                Self::Json { text: text.to_owned(), mistake: None }
            }
            _ => Self::Form { filled: Filled::sent(form.iter()), mistakes: Vec::new() },
        }
    }

    fn json(arguments: &str) -> Self {
        Self::Json { text: pretty(arguments.as_bytes()), mistake: None }
    }

    /// The same as JSON.
    fn into_json(self, blank: &Blank) -> Self {
        match self {
            Self::Form { filled, .. } => Self::json(&tryit::draft(blank.fields(), &filled)),
            Self::Json { .. } => self,
        }
    }

    /// The same as a form, if one can show it.
    fn into_form(self, blank: &Blank) -> Self {
        let Self::Json { text, .. } = self else { return self };
        let text = if text.trim().is_empty() { "{}".to_owned() } else { text };
        match Filled::json(blank, &text) {
            Ok(filled) => Self::Form { filled, mistakes: Vec::new() },
            Err(why) => Self::Json { text, mistake: Some(format!("It stays JSON: {why}.")) },
        }
    }

    /// The arguments to call it with, or the same with what is wrong.
    fn arguments(self, blank: &Blank) -> Result<(Self, String), Self> {
        match self {
            Self::Form { filled, .. } => match tryit::collect(blank.fields(), &filled) {
                Ok(arguments) => Ok((Self::Form { filled, mistakes: Vec::new() }, arguments)),
                Err(mistakes) => Err(Self::Form { filled, mistakes }),
            },
            Self::Json { text, .. } => match object(&text) {
                Ok(arguments) => Ok((Self::Json { text, mistake: None }, arguments)),
                Err(mistake) => Err(Self::Json { text, mistake: Some(mistake) }),
            },
        }
    }

    /// What would be sent, as far as it is right.
    pub(super) fn draft(&self, blank: &Blank) -> String {
        match self {
            Self::Form { filled, .. } => tryit::draft(blank.fields(), filled),
            Self::Json { text, .. } => object(text).unwrap_or_else(|_| "{}".to_owned()),
        }
    }

    fn is_wrong(&self) -> bool {
        match self {
            Self::Form { mistakes, .. } => !mistakes.is_empty(),
            Self::Json { mistake, .. } => mistake.is_some(),
        }
    }
}

/// JSON that is an object, or why not.
fn object(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Ok("{}".to_owned()),
        json if !is_json(json.as_bytes()) => {
            let place = serde_json::from_str::<&serde_json::value::RawValue>(json).err();
            let place = place.map(|error| format!(" ({error})")).unwrap_or_default();
            Err(format!("This is not JSON{place}."))
        }
        json if !json.starts_with('{') => {
            Err("Arguments are an object: { \"name\": value }.".to_owned())
        }
        json => Ok(json.to_owned()),
    }
}

/// `POST /tools/{id}`: calls it and leads to the result, or shows what was entered the other way, or (for
/// `tryit.js`) how the same call is made elsewhere.
pub(crate) async fn attempt(visitor: &Visitor<'_>) -> Outcome {
    let tool = Tool::find(visitor, visitor.id()).await?;
    let blank = tryit::read(&tool.schema);
    let entered = Entered::sent(&visitor.form);
    let entered = match visitor.form.get("do") {
        Some("commands") => {
            let looked = Looked { tool, blank, entered, result: None };
            return Ok(Page::html(200, copy::show(visitor, &looked)));
        }
        Some("json") => entered.into_json(&blank),
        Some("form") => entered.into_form(&blank),
        _ => match entered.arguments(&blank) {
            Ok((entered, arguments)) => {
                let result = called(visitor, &tool, &arguments).await;
                let trial = Trial { form: visitor.form.clone(), result: result.clone() };
                let trials = &visitor.house.trials;
                if let Some(id) = trials.keep(&visitor.session.csrf, &tool.id, trial) {
                    let place = format!("/tools/{}?result={id}", encode(&tool.id));
                    return Ok(Page::see_other(place));
                }
                // Too large to be kept: it is shown this once.
                let result = Some(result);
                return page(visitor, 200, &Looked { tool, blank, entered, result }).await;
            }
            Err(entered) => entered,
        },
    };
    let status = if entered.is_wrong() { 422 } else { 200 };
    page(visitor, status, &Looked { tool, blank, entered, result: None }).await
}

/// To the byte: neither the arguments nor the result are read into anything.
async fn called(visitor: &Visitor<'_>, tool: &Tool, arguments: &str) -> Markup {
    let body = call_body(&tool.name, arguments);
    let answer = visitor.raw("POST", "/api/v1/tools/call", body.into_bytes(), &[]).await;
    outcome::show(&outcome::Answer { status: answer.status, body: answer.body })
}

/// The body of `POST /tools/call`.
pub(super) fn call_body(name: &str, arguments: &str) -> String {
    let name = String::from_utf8_lossy(&quote(name)).into_owned();
    format!(r#"{{"name":{name},"arguments":{arguments}}}"#)
}

/// The card with the form.
pub(super) fn form(visitor: &Visitor<'_>, looked: &Looked) -> Markup {
    let place = format!("/tools/{}", encode(&looked.tool.id));
    html! {
        section.card {
            h2 { "Try it" }
            form.form #try-it method="post" action=(place) {
                (layout::hidden(visitor))
                @match &looked.entered {
                    Entered::Form { filled, mistakes } => (fields(&looked.blank, filled, mistakes)),
                    Entered::Json { text, mistake } => (json(&looked.blank, text, mistake.as_deref())),
                }
            }
        }
    }
}

fn fields(blank: &Blank, filled: &Filled, mistakes: &[Mistake]) -> Markup {
    html! {
        input type="hidden" name="mode" value="form";
        @if !mistakes.is_empty() {
            p.notice.bad role="alert" { "Not called: see what is marked below." }
        }
        @if *blank == Blank::Nothing { p.dim { "It takes no arguments." } }
        (tryit::show(blank.fields(), filled, mistakes))
        div.buttons {
            button.primary type="submit" name="do" value="call" { "Call" }
            // What is not filled in yet does not keep anybody from JSON.
            button type="submit" name="do" value="json" formnovalidate { "Write JSON instead" }
        }
    }
}

fn json(blank: &Blank, text: &str, mistake: Option<&str>) -> Markup {
    html! {
        input type="hidden" name="mode" value="json";
        div.field {
            label for="arguments" { "Arguments, as JSON" }
            textarea #arguments name="arguments" rows="10" spellcheck="false" autocomplete="off"
                aria-describedby="arguments-mistake" aria-invalid=[mistake.map(|_| "true")] { "\n" (text) }
            p.mistake #arguments-mistake { @if let Some(mistake) = mistake { (mistake) } }
        }
        div.buttons {
            button.primary type="submit" name="do" value="call" { "Call" }
            @if *blank != Blank::Anything {
                button type="submit" name="do" value="form" { "Back to the form" }
            }
        }
    }
}

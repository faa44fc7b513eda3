//! Trying a tool: the form or JSON, the call, and what came of it.

use maud::{Markup, html};
use trunkline_wire::{encode as quote, is_json, pretty};

use super::definition::Tool;
use super::{ToolPage, copy, page};
use crate::argument_form::{self, ArgumentForm, Filled, Mistake};
use crate::form::{Form, encode};
use crate::layout;
use crate::page::{Page, PageResult};
use crate::page_request::PageRequest;
use crate::tool_result;
use crate::trials::Trial;

/// What somebody has entered so far.
pub(super) enum TrialInput {
    Form { filled: Filled, mistakes: Vec<Mistake> },
    Json { text: String, mistake: Option<String> },
}

impl TrialInput {
    /// What is there at first.
    pub(super) fn first(blank: &ArgumentForm, as_json: bool) -> Self {
        let filled = Filled::preset(blank);
        match as_json || *blank == ArgumentForm::Anything {
            true => Self::json(&argument_form::draft(blank.fields(), &filled)),
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

    /// Turns what was filled in into JSON.
    fn into_json(self, blank: &ArgumentForm) -> Self {
        match self {
            Self::Form { filled, .. } => Self::json(&argument_form::draft(blank.fields(), &filled)),
            Self::Json { .. } => self,
        }
    }

    /// Turns JSON into a form, if a form can show it.
    fn into_form(self, blank: &ArgumentForm) -> Self {
        let Self::Json { text, .. } = self else { return self };
        let text = if text.trim().is_empty() { "{}".to_owned() } else { text };
        match Filled::json(blank, &text) {
            Ok(filled) => Self::Form { filled, mistakes: Vec::new() },
            Err(why) => Self::Json { text, mistake: Some(format!("It stays JSON: {why}.")) },
        }
    }

    /// The arguments to call it with, or the same with what is wrong.
    fn arguments(self, blank: &ArgumentForm) -> Result<(Self, String), Self> {
        match self {
            Self::Form { filled, .. } => match argument_form::collect(blank.fields(), &filled) {
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
    pub(super) fn draft(&self, blank: &ArgumentForm) -> String {
        match self {
            Self::Form { filled, .. } => argument_form::draft(blank.fields(), filled),
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
pub(crate) async fn attempt(request: &PageRequest<'_>) -> PageResult {
    let tool = Tool::find(request, request.id()).await?;
    let blank = argument_form::read(&tool.schema);
    let entered = TrialInput::sent(&request.form);
    let entered = match request.form.get("do") {
        Some("commands") => {
            let looked = ToolPage { tool, blank, entered, result: None };
            return Ok(Page::html(200, copy::show(request, &looked)));
        }
        Some("json") => entered.into_json(&blank),
        Some("form") => entered.into_form(&blank),
        _ => match entered.arguments(&blank) {
            Ok((entered, arguments)) => {
                let result = called(request, &tool, &arguments).await;
                let trial = Trial { form: request.form.clone(), result: result.clone() };
                let trials = &request.state.trials;
                if let Some(id) = trials.keep(&request.session.csrf, &tool.id, trial) {
                    let place = format!("/tools/{}?result={id}", encode(&tool.id));
                    return Ok(Page::see_other(place));
                }
                // Too large to be kept: it is shown this once.
                let result = Some(result);
                return page(request, 200, &ToolPage { tool, blank, entered, result }).await;
            }
            Err(entered) => entered,
        },
    };
    let status = if entered.is_wrong() { 422 } else { 200 };
    page(request, status, &ToolPage { tool, blank, entered, result: None }).await
}

/// To the byte: neither the arguments nor the result are read into anything.
async fn called(request: &PageRequest<'_>, tool: &Tool, arguments: &str) -> Markup {
    let body = call_body(&tool.name, arguments);
    let answer = request.raw("POST", "/api/v1/tools/call", body.into_bytes(), &[]).await;
    tool_result::show(&tool_result::ToolResult { status: answer.status, body: answer.body })
}

/// The body of `POST /tools/call`.
pub(super) fn call_body(name: &str, arguments: &str) -> String {
    let name = String::from_utf8_lossy(&quote(name)).into_owned();
    format!(r#"{{"name":{name},"arguments":{arguments}}}"#)
}

/// The card with the form.
pub(super) fn form(request: &PageRequest<'_>, looked: &ToolPage) -> Markup {
    let place = format!("/tools/{}", encode(&looked.tool.id));
    html! {
        section.card {
            h2 { "Try it" }
            form.form #try-it method="post" action=(place) {
                (layout::hidden(request))
                @match &looked.entered {
                    TrialInput::Form { filled, mistakes } => (fields(&looked.blank, filled, mistakes)),
                    TrialInput::Json { text, mistake } => (json(&looked.blank, text, mistake.as_deref())),
                }
            }
        }
    }
}

fn fields(blank: &ArgumentForm, filled: &Filled, mistakes: &[Mistake]) -> Markup {
    html! {
        input type="hidden" name="mode" value="form";
        @if !mistakes.is_empty() {
            p.notice.bad role="alert" { "Not called: fix the highlighted fields." }
        }
        @if *blank == ArgumentForm::Nothing { p.dim { "No arguments." } }
        (argument_form::show(blank.fields(), filled, mistakes))
        div.buttons {
            button.primary type="submit" name="do" value="call" { "Call" }
            // What is not filled in yet does not keep anybody from JSON.
            button type="submit" name="do" value="json" formnovalidate { "Write JSON instead" }
        }
    }
}

fn json(blank: &ArgumentForm, text: &str, mistake: Option<&str>) -> Markup {
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
            @if *blank != ArgumentForm::Anything {
                button type="submit" name="do" value="form" { "Back to the form" }
            }
        }
    }
}

//! The screen of one tool: what it is, trying it, its skills.

mod copy;
mod definition;
mod skills;
mod trial;

pub(super) use skills::change as change_skills;
pub(super) use trial::attempt;

use maud::{Markup, html};
use trunkline_control::access::Action;

use self::definition::Tool;
use self::trial::TrialInput;
use super::state::hints;
use super::taxonomy::{Taxonomy, skill_badges};
use crate::argument_form::{self, ArgumentForm};
use crate::form::encode;
use crate::format::short;
use crate::layout::{self, Shell};
use crate::page::{Page, PageResult};
use crate::page_request::PageRequest;

const LONGEST: usize = 5_000;

pub(super) async fn show(request: &PageRequest<'_>) -> PageResult {
    let tool = Tool::find(request, request.id()).await?;
    let blank = argument_form::read(&tool.schema);
    let (entered, result) = match request.query.get("result") {
        None => (TrialInput::first(&blank, request.query.get("as") == Some("json")), None),
        Some(id) => match request.state.trials.find(&request.session.csrf, &tool.id, id) {
            Some(trial) => (TrialInput::sent(&trial.form), Some(trial.result)),
            None => (TrialInput::first(&blank, false), Some(gone())),
        },
    };
    page(request, 200, &ToolPage { tool, blank, entered, result }).await
}

fn gone() -> Markup {
    html! {
        section.card.outcome #outcome {
            h2 { "Result" }
            p.dim { "This result has expired. Call the tool again." }
        }
    }
}

/// A tool that is looked at, and how far somebody has come with it.
struct ToolPage {
    tool: Tool,
    blank: ArgumentForm,
    entered: TrialInput,
    result: Option<Markup>,
}

async fn page(request: &PageRequest<'_>, status: u16, looked: &ToolPage) -> PageResult {
    let tool = &looked.tool;
    let taxonomy = Taxonomy::ask(request).await?;
    let may_call = request.may(Action::CallTool);
    let content = html! {
        (about(tool, &taxonomy))
        div.columns {
            div {
                @if may_call { (trial::form(request, looked)) } @else {
                    section.card { h2 { "Try it" } p.dim { "Calling tools requires the caller role or higher." } }
                }
                @if let Some(result) = &looked.result { (result) }
            }
            div {
                @if may_call { (copy::show(request, looked)) }
                (skills::show(request, tool, &taxonomy).await)
                (schema(tool))
            }
        }
    };
    let trail = [("/tools", "Tools")];
    let title = short(&tool.name, 120);
    let shell = Shell {
        title: &title,
        here: "/tools",
        trail: &trail,
        scripts: &["tryit.js"],
        ..Shell::default()
    };
    let framed: Page = layout::framed(request, status, &shell, &content);
    Ok(framed)
}

fn about(tool: &Tool, taxonomy: &Taxonomy) -> Markup {
    html! {
        section.card.about {
            p.prose { (short(&tool.description, LONGEST)) }
            @if tool.description.is_empty() { p.dim { "No description." } }
            dl.facts {
                dt { "Server" }
                dd {
                    @if tool.is_custom { "Custom tools of the config file" } @else {
                        a href={ "/servers/" (encode(&tool.server_id)) } { (tool.server) }
                    }
                }
                dt { "Name on the server" } dd { code { (short(&tool.original, 200)) } }
                dt { "Skills" } dd { (skill_badges(&tool.skills, taxonomy)) }
                @let hints = hints(&tool.annotations);
                @if !hints.0.is_empty() { dt { "Annotations" } dd { (hints) } }
            }
        }
    }
}

fn schema(tool: &Tool) -> Markup {
    html! {
        section.card {
            details {
                summary { "Its schema" }
                pre.block tabindex="0" { (tool.schema_shown()) }
            }
        }
    }
}

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
use self::trial::Entered;
use super::state::hints;
use super::taxonomy::{Taxonomy, skill_badges};
use crate::form::encode;
use crate::layout::{self, Shell};
use crate::page::{Outcome, Page};
use crate::tryit::{self, Blank};
use crate::visitor::Visitor;
use crate::words::short;

const LONGEST: usize = 5_000;

pub(super) async fn show(visitor: &Visitor<'_>) -> Outcome {
    let tool = Tool::find(visitor, visitor.id()).await?;
    let blank = tryit::read(&tool.schema);
    let (entered, result) = match visitor.query.get("result") {
        None => (Entered::first(&blank, visitor.query.get("as") == Some("json")), None),
        Some(id) => match visitor.house.trials.find(&visitor.session.csrf, &tool.id, id) {
            Some(trial) => (Entered::sent(&trial.form), Some(trial.result)),
            None => (Entered::first(&blank, false), Some(gone())),
        },
    };
    page(visitor, 200, &Looked { tool, blank, entered, result }).await
}

fn gone() -> Markup {
    html! {
        section.card.outcome #outcome {
            h2 { "Result" }
            p.dim { "This result is not kept any more. Call the tool again to get another." }
        }
    }
}

/// A tool that is looked at, and how far somebody has come with it.
struct Looked {
    tool: Tool,
    blank: Blank,
    entered: Entered,
    result: Option<Markup>,
}

async fn page(visitor: &Visitor<'_>, status: u16, looked: &Looked) -> Outcome {
    let tool = &looked.tool;
    let taxonomy = Taxonomy::ask(visitor).await?;
    let may_call = visitor.may(Action::CallTool);
    let content = html! {
        (about(tool, &taxonomy))
        div.columns {
            div {
                @if may_call { (trial::form(visitor, looked)) } @else {
                    section.card { h2 { "Try it" } p.dim { "Calling tools needs the role caller or a higher one." } }
                }
                @if let Some(result) = &looked.result { (result) }
            }
            div {
                @if may_call { (copy::show(visitor, looked)) }
                (skills::show(visitor, tool, &taxonomy).await)
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
    let framed: Page = layout::framed(visitor, status, &shell, &content);
    Ok(framed)
}

fn about(tool: &Tool, taxonomy: &Taxonomy) -> Markup {
    html! {
        section.card.about {
            p.prose { (short(&tool.description, LONGEST)) }
            @if tool.description.is_empty() { p.dim { "Its server does not say what it does." } }
            dl.facts {
                dt { "Server" }
                dd {
                    @if tool.is_custom { "Custom tools of the config file" } @else {
                        a href={ "/servers/" (encode(&tool.server_id)) } { (tool.server) }
                    }
                }
                dt { "Its own name" } dd { code { (short(&tool.original, 200)) } }
                dt { "Skills" } dd { (skill_badges(&tool.skills, taxonomy)) }
                @let hints = hints(&tool.annotations);
                @if !hints.0.is_empty() { dt { "It says of itself" } dd { (hints) } }
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

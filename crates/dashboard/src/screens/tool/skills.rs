//! The skills of one tool: how sure each is, who says so, and a person's own word.

use maud::{Markup, html};
use serde_json::{Value, json};
use trunkline_control::access::Action;

use super::definition::Tool;
use crate::api_client::ApiError;
use crate::form::encode;
use crate::format::{plural, short};
use crate::layout;
use crate::page::{Page, PageResult};
use crate::page_request::PageRequest;
use crate::screens::taxonomy::Taxonomy;
use crate::session::Notice;

/// As many as a tool can have.
const MOST: usize = 3;

/// The card. What cannot be told is told as such: the rest of the page does not depend on it.
pub(super) async fn show(request: &PageRequest<'_>, tool: &Tool, taxonomy: &Taxonomy) -> Markup {
    let told = request.get(&place(&tool.id, "skills")).await;
    html! {
        section.card {
            h2 { "Skills" }
            @match &told {
                Ok(told) => {
                    (judged(told, taxonomy))
                    @if request.may(Action::EditSkills) && !tool.is_custom {
                        (forms(request, tool, told, taxonomy))
                    }
                },
                Err(trouble) => p.dim { (trouble.sentence()) },
            }
        }
    }
}

fn judged(told: &Value, taxonomy: &Taxonomy) -> Markup {
    let skills = told["skills"].as_array().map(Vec::as_slice).unwrap_or_default();
    let source = match told["source"].as_str() {
        Some("manual") => "Set manually.",
        Some("llm") => "Classified by the language model.",
        Some("model") => "Classified by the built-in model.",
        _ => "Not classified yet.",
    };
    html! {
        @if skills.is_empty() { p.dim { "No skill matches." } }
        dl.facts {
            @for skill in skills {
                @let id = skill["id"].as_str().unwrap_or_default();
                @let sure = skill["confidence"].as_f64().unwrap_or_default();
                dt { (short(taxonomy.title(id), 40)) }
                dd.nowrap { meter min="0" max="1" value=(sure) aria-hidden="true" {} " " (format!("{:.0} %", sure * 100.0)) }
            }
        }
        p.dim.small { (source) }
    }
}

fn forms(request: &PageRequest<'_>, tool: &Tool, told: &Value, taxonomy: &Taxonomy) -> Markup {
    let action = format!("/tools/{}/skills", encode(&tool.id));
    let is_manual = told["source"] == "manual";
    let words = ["Primary skill", "Second skill", "Third skill"];
    html! {
        details {
            summary { "Set skills manually" }
            form.form method="post" action=(action) {
                (layout::hidden(request))
                @for (index, word) in words.iter().enumerate().take(MOST) {
                    @let now = tool.skills.get(index).map(String::as_str);
                    div.field {
                        label for={ "skill-" (index) } { (word) }
                        select id={ "skill-" (index) } name="skill" {
                            option value="" { "–" }
                            @for skill in taxonomy.skills() {
                                option value=(skill.id) selected[now == Some(&skill.id)] { (skill.title) }
                            }
                        }
                    }
                }
                div.buttons {
                    button.primary type="submit" name="do" value="set" { "Save skills" }
                    @if is_manual {
                        button type="submit" name="do" value="clear" { "Reset to automatic" }
                    } @else {
                        button type="submit" name="do" value="classify" { "Reclassify" }
                    }
                }
            }
        }
    }
}

/// `POST /tools/{id}/skills`.
pub(crate) async fn change(request: &PageRequest<'_>) -> PageResult {
    let id = request.id();
    let done = match request.form.get("do") {
        Some("clear") => request.send("DELETE", &place(id, "skills"), None).await,
        Some("classify") => request.send("POST", &place(id, "classify"), None).await,
        _ => set(request, id).await,
    };
    request.leave(match done {
        Ok(told) => {
            let skills = told.get("skill_ids").and_then(Value::as_array).map_or(0, Vec::len);
            let skills = u64::try_from(skills).unwrap_or_default();
            Notice::Done(format!("Saved: {}.", plural(skills, "skill")))
        }
        Err(trouble) => Notice::Failed(trouble.sentence()),
    });
    Ok(Page::see_other(format!("/tools/{}", encode(id))))
}

async fn set(request: &PageRequest<'_>, id: &str) -> Result<Value, ApiError> {
    let mut wanted: Vec<&str> = Vec::new();
    for skill in request.form.all("skill").filter(|skill| !skill.is_empty()).take(MOST) {
        if !wanted.contains(&skill) {
            wanted.push(skill);
        }
    }
    let body = json!({ "skill_ids": wanted });
    request.send("PUT", &place(id, "skills"), Some(&body)).await
}

fn place(id: &str, what: &str) -> String {
    format!("/api/v1/tools/{}/{what}", encode(id))
}

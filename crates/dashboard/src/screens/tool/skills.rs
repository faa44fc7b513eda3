//! The skills of one tool: how sure each is, who says so, and a person's own word.

use maud::{Markup, html};
use serde_json::{Value, json};
use trunkline_control::access::Action;

use super::definition::Tool;
use crate::ask::Trouble;
use crate::form::encode;
use crate::layout;
use crate::page::{Outcome, Page};
use crate::screens::taxonomy::Taxonomy;
use crate::session::Notice;
use crate::visitor::Visitor;
use crate::words::{plural, short};

/// As many as a tool can have.
const MOST: usize = 3;

/// The card. What cannot be told is told as such: the rest of the page does not depend on it.
pub(super) async fn show(visitor: &Visitor<'_>, tool: &Tool, taxonomy: &Taxonomy) -> Markup {
    let told = visitor.get(&place(&tool.id, "skills")).await;
    html! {
        section.card {
            h2 { "Skills" }
            @match &told {
                Ok(told) => {
                    (judged(told, taxonomy))
                    @if visitor.may(Action::EditSkills) && !tool.is_custom {
                        (forms(visitor, tool, told, taxonomy))
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
        Some("manual") => "Said by a person.",
        Some("llm") => "Given by the language model.",
        Some("model") => "Given by the model in the program.",
        _ => "Not looked at yet.",
    };
    html! {
        @if skills.is_empty() { p.dim { "None fits." } }
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

fn forms(visitor: &Visitor<'_>, tool: &Tool, told: &Value, taxonomy: &Taxonomy) -> Markup {
    let action = format!("/tools/{}/skills", encode(&tool.id));
    let is_manual = told["source"] == "manual";
    let words = ["Mostly", "Also", "And"];
    html! {
        details {
            summary { "Say it yourself" }
            form.form method="post" action=(action) {
                (layout::hidden(visitor))
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
                        button type="submit" name="do" value="clear" { "Leave it to Trunkline" }
                    } @else {
                        button type="submit" name="do" value="classify" { "Judge again" }
                    }
                }
            }
        }
    }
}

/// `POST /tools/{id}/skills`.
pub(crate) async fn change(visitor: &Visitor<'_>) -> Outcome {
    let id = visitor.id();
    let done = match visitor.form.get("do") {
        Some("clear") => visitor.send("DELETE", &place(id, "skills"), None).await,
        Some("classify") => visitor.send("POST", &place(id, "classify"), None).await,
        _ => set(visitor, id).await,
    };
    visitor.leave(match done {
        Ok(told) => {
            let skills = told.get("skill_ids").and_then(Value::as_array).map_or(0, Vec::len);
            let skills = u64::try_from(skills).unwrap_or_default();
            Notice::Done(format!("The tool has {} now.", plural(skills, "skill")))
        }
        Err(trouble) => Notice::Failed(trouble.sentence()),
    });
    Ok(Page::see_other(format!("/tools/{}", encode(id))))
}

async fn set(visitor: &Visitor<'_>, id: &str) -> Result<Value, Trouble> {
    let mut wanted: Vec<&str> = Vec::new();
    for skill in visitor.form.all("skill").filter(|skill| !skill.is_empty()).take(MOST) {
        if !wanted.contains(&skill) {
            wanted.push(skill);
        }
    }
    let body = json!({ "skill_ids": wanted });
    visitor.send("PUT", &place(id, "skills"), Some(&body)).await
}

fn place(id: &str, what: &str) -> String {
    format!("/api/v1/tools/{}/{what}", encode(id))
}

//! One skill: changed, and removed.

use maud::{Markup, html};
use serde_json::json;

use super::skills::{HERE, told};
use super::taxonomy::{Skill, Taxonomy};
use crate::ask::Trouble;
use crate::form::encode;
use crate::layout::{self, Shell};
use crate::page::{Outcome, Page};
use crate::session::Notice;
use crate::visitor::Visitor;
use crate::words::plural;

const TRAIL: [(&str, &str); 1] = [(HERE, "Skills")];

/// `GET /skills/{id}/edit`.
pub(super) async fn show(visitor: &Visitor<'_>) -> Outcome {
    let skill = find(visitor).await?;
    Ok(page(visitor, 200, &skill, None))
}

/// `POST /skills/{id}/edit`.
pub(super) async fn change(visitor: &Visitor<'_>) -> Outcome {
    let field = |name: &str| visitor.form.filled(name).unwrap_or_default().to_owned();
    let skill =
        Skill { title: field("title"), keywords: field("keywords"), ..find(visitor).await? };
    let body = json!({ "title": skill.title, "keywords": skill.keywords });
    match visitor.send("PUT", &place(&skill.id), Some(&body)).await {
        Ok(_) => {
            visitor.leave(Notice::Done(format!("{} is changed. The tools follow.", skill.title)));
            Ok(Page::see_other(HERE))
        }
        Err(trouble) => Ok(page(visitor, trouble.status, &skill, Some(&told(&trouble)))),
    }
}

/// `GET /skills/{id}/remove`: is it to be removed?
pub(super) async fn confirm(visitor: &Visitor<'_>) -> Outcome {
    let skill = find(visitor).await?;
    let title = format!("Remove {}?", skill.title);
    let shell = Shell { title: &title, here: HERE, trail: &TRAIL, ..Shell::default() };
    let content = html! {
        div.card.form {
            p {
                "No tool has it any more, whoever gave it to them: now there are "
                (plural(skill.tools, "tool")) " with it."
                @if skill.is_builtin { " It can be added again, under the id " code { (skill.id) } "." }
            }
            form method="post" action={ "/skills/" (encode(&skill.id)) "/remove" } {
                (layout::hidden(visitor))
                div.buttons {
                    button.danger type="submit" { "Remove " (skill.title) }
                    a.button href=(HERE) { "Keep it" }
                }
            }
        }
    };
    Ok(layout::page(visitor, &shell, &content))
}

/// `POST /skills/{id}/remove`.
pub(super) async fn remove(visitor: &Visitor<'_>) -> Outcome {
    visitor.leave(match visitor.send("DELETE", &place(visitor.id()), None).await {
        Ok(_) => Notice::Done("The skill is removed.".to_owned()),
        Err(trouble) => Notice::Failed(trouble.sentence()),
    });
    Ok(Page::see_other(HERE))
}

async fn find(visitor: &Visitor<'_>) -> Result<Skill, Trouble> {
    let found = Taxonomy::ask(visitor).await?.take(visitor.id());
    let (detail, hint) = ("There is no skill of this id.", "It may have been removed.");
    found.ok_or_else(|| Trouble::new(404, "No such skill", detail, hint))
}

fn page(visitor: &Visitor<'_>, status: u16, skill: &Skill, mistake: Option<&str>) -> Page {
    let title = format!("Change {}", skill.id);
    let shell = Shell { title: &title, here: HERE, trail: &TRAIL, ..Shell::default() };
    layout::framed(visitor, status, &shell, &form(visitor, skill, mistake))
}

fn form(visitor: &Visitor<'_>, skill: &Skill, mistake: Option<&str>) -> Markup {
    let place = format!("/skills/{}", encode(&skill.id));
    html! {
        div.card {
            form.form method="post" action={ (place) "/edit" } {
                (layout::hidden(visitor))
                @if let Some(mistake) = mistake { p.notice.bad role="alert" { (mistake) } }
                div.field {
                    label for="title" { "Title" }
                    p.help { "What people read." }
                    input #title name="title" required maxlength="100" autocomplete="off" value=(skill.title);
                }
                div.field {
                    label for="keywords" { "Words that are typical of it" }
                    p.help { "Tools are given it by these. Those whose skills a person has set keep them." }
                    textarea #keywords name="keywords" rows="4" maxlength="1000" autocomplete="off" { "\n" (skill.keywords) }
                }
                div.buttons {
                    button.primary type="submit" { "Save" }
                    a.button href=(HERE) { "Leave it as it is" }
                    a.button.danger href={ (place) "/remove" } { "Remove" }
                }
            }
        }
    }
}

fn place(id: &str) -> String {
    format!("/api/v1/skills/{}", encode(id))
}

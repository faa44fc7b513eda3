//! One skill: changed, and removed.

use maud::{Markup, html};
use serde_json::json;

use super::skills::{HERE, told};
use super::taxonomy::{Skill, Taxonomy};
use crate::api_client::ApiError;
use crate::form::encode;
use crate::format::plural;
use crate::layout::{self, Shell};
use crate::page::{Page, PageResult};
use crate::page_request::PageRequest;
use crate::session::Notice;

const TRAIL: [(&str, &str); 1] = [(HERE, "Skills")];

/// `GET /skills/{id}/edit`.
pub(super) async fn show(request: &PageRequest<'_>) -> PageResult {
    let skill = find(request).await?;
    Ok(page(request, 200, &skill, None))
}

/// `POST /skills/{id}/edit`.
pub(super) async fn change(request: &PageRequest<'_>) -> PageResult {
    let field = |name: &str| request.form.filled(name).unwrap_or_default().to_owned();
    let skill =
        Skill { title: field("title"), keywords: field("keywords"), ..find(request).await? };
    let body = json!({ "title": skill.title, "keywords": skill.keywords });
    match request.send("PUT", &place(&skill.id), Some(&body)).await {
        Ok(_) => {
            request.leave(Notice::Done(format!(
                "Skill {} saved. Tools are being reclassified.",
                skill.title
            )));
            Ok(Page::see_other(HERE))
        }
        Err(trouble) => Ok(page(request, trouble.status, &skill, Some(&told(&trouble)))),
    }
}

/// `GET /skills/{id}/remove`: is it to be removed?
pub(super) async fn confirm(request: &PageRequest<'_>) -> PageResult {
    let skill = find(request).await?;
    let title = format!("Remove {}?", skill.title);
    let shell = Shell { title: &title, here: HERE, trail: &TRAIL, ..Shell::default() };
    let content = html! {
        div.card.form {
            p {
                "The skill is removed from every tool, including manual assignments. Tools with it now: "
                (plural(skill.tools, "tool")) "."
                @if skill.is_builtin { " You can add it again with the id " code { (skill.id) } "." }
            }
            form method="post" action={ "/skills/" (encode(&skill.id)) "/remove" } {
                (layout::hidden(request))
                div.buttons {
                    button.danger type="submit" { "Remove " (skill.title) }
                    a.button href=(HERE) { "Cancel" }
                }
            }
        }
    };
    Ok(layout::page(request, &shell, &content))
}

/// `POST /skills/{id}/remove`.
pub(super) async fn remove(request: &PageRequest<'_>) -> PageResult {
    request.leave(match request.send("DELETE", &place(request.id()), None).await {
        Ok(_) => Notice::Done("Skill removed.".to_owned()),
        Err(trouble) => Notice::Failed(trouble.sentence()),
    });
    Ok(Page::see_other(HERE))
}

async fn find(request: &PageRequest<'_>) -> Result<Skill, ApiError> {
    let found = Taxonomy::ask(request).await?.take(request.id());
    let (detail, hint) = ("No skill has this id.", "It may have been removed.");
    found.ok_or_else(|| ApiError::new(404, "Skill not found", detail, hint))
}

fn page(request: &PageRequest<'_>, status: u16, skill: &Skill, mistake: Option<&str>) -> Page {
    let title = format!("Change {}", skill.id);
    let shell = Shell { title: &title, here: HERE, trail: &TRAIL, ..Shell::default() };
    layout::framed(request, status, &shell, &form(request, skill, mistake))
}

fn form(request: &PageRequest<'_>, skill: &Skill, mistake: Option<&str>) -> Markup {
    let place = format!("/skills/{}", encode(&skill.id));
    html! {
        div.card {
            form.form method="post" action={ (place) "/edit" } {
                (layout::hidden(request))
                @if let Some(mistake) = mistake { p.notice.bad role="alert" { (mistake) } }
                div.field {
                    label for="title" { "Title" }
                    p.help { "Display name." }
                    input #title name="title" required maxlength="100" autocomplete="off" value=(skill.title);
                }
                div.field {
                    label for="keywords" { "Keywords" }
                    p.help { "Tools are classified by these keywords. Skills set by a person are kept." }
                    textarea #keywords name="keywords" rows="4" maxlength="1000" autocomplete="off" { "\n" (skill.keywords) }
                }
                div.buttons {
                    button.primary type="submit" { "Save" }
                    a.button href=(HERE) { "Cancel" }
                    a.button.danger href={ (place) "/remove" } { "Remove" }
                }
            }
        }
    }
}

fn place(id: &str) -> String {
    format!("/api/v1/skills/{}", encode(id))
}

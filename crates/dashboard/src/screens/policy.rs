//! One text with policies: added, shown, changed and removed.

use maud::{Markup, html};
use serde_json::{Value, json};
use trunkline_control::access::Action;

use super::policies::{API, HERE, TRAIL, effects, name, place};
use super::servers::word;
use crate::api_client::ApiError;
use crate::form::encode;
use crate::layout::{self, Shell};
use crate::page::{Page, PageResult};
use crate::page_request::PageRequest;
use crate::session::Notice;

/// What a new one begins with: a set that permits nothing refuses everything.
const BEGINNING: &str = "permit(principal, action, resource);\n";

/// What somebody writes, and the tag of what they have read: if it was changed since, nothing is done.
struct PolicyDraft<'a> {
    id: &'a str,
    text: &'a str,
    tag: Option<&'a str>,
}

/// `GET /policies/new`.
pub(super) fn empty(request: &PageRequest<'_>) -> Page {
    adding(request, &PolicyDraft { id: "", text: BEGINNING, tag: None }, None)
}

/// `POST /policies/new`.
pub(super) async fn add(request: &PageRequest<'_>) -> PageResult {
    let id = request.form.filled("id").unwrap_or_default();
    let draft = PolicyDraft { id, text: request.form.get("text").unwrap_or_default(), tag: None };
    // What is there is changed on its own page, where it is seen first.
    let is_taken = !id.is_empty() && request.get(&path(id)).await.is_ok();
    let sent = match (id, is_taken) {
        ("", _) => Err(ApiError::new(422, "Not saved", "The policy needs an id.", "")),
        (_, true) => {
            let detail = "There is a policy with this id.";
            Err(ApiError::new(409, "Not saved", detail, "Choose another id, or change that one."))
        }
        (id, false) => request.send("PUT", &path(id), Some(&json!({ "text": draft.text }))).await,
    };
    match sent {
        Ok(_) => {
            request.leave(Notice::Done(format!("Policy {id} added. It holds from now on.")));
            Ok(Page::see_other(HERE))
        }
        Err(trouble) => Ok(adding(request, &draft, Some(&trouble))),
    }
}

/// `GET /policies/{id}/text`.
pub(super) async fn show(request: &PageRequest<'_>) -> PageResult {
    let told = request.ask("GET", &path(request.id()), None, &[]).await?;
    let (text, tag) = (word(&told.value, "text"), told.etag.as_deref());
    let draft = PolicyDraft { id: request.id(), text, tag };
    Ok(page(request, &told.value, &draft, None))
}

/// `POST /policies/{id}/text`.
pub(super) async fn change(request: &PageRequest<'_>) -> PageResult {
    let (id, form) = (request.id(), &request.form);
    let draft =
        PolicyDraft { id, text: form.get("text").unwrap_or_default(), tag: form.get("tag") };
    let body = json!({ "text": draft.text });
    let tag = [("If-Match", draft.tag.unwrap_or_default())];
    match request.ask("PUT", &path(id), Some(&body), &tag).await {
        Ok(_) => {
            request.leave(Notice::Done(format!("Policy {id} saved. It holds from now on.")));
            Ok(Page::see_other(place(id)))
        }
        Err(trouble) => {
            // Somebody may have removed it: then what was written is still here.
            let policy = request.get(&path(id)).await.unwrap_or_default();
            Ok(page(request, &policy, &draft, Some(&trouble)))
        }
    }
}

/// `GET /policies/{id}/remove`: is it to be removed?
pub(super) async fn confirm(request: &PageRequest<'_>) -> PageResult {
    let told = request.ask("GET", &path(request.id()), None, &[]).await?;
    let title = format!("Remove {}?", name(request.id()));
    let shell = Shell { title: &title, here: HERE, trail: &TRAIL, ..Shell::default() };
    let policy = &told.value;
    let rules = policy["policies"].as_array().map(Vec::as_slice).unwrap_or_default();
    let content = html! {
        div.card.form {
            p { "These rules stop holding at once, also for open sessions:" }
            (effects(rules))
            p.dim { "If no policy is left at all, policies refuse nothing any more." }
            form method="post" action={ (HERE) "/" (encode(request.id())) "/remove" } {
                (layout::hidden(request))
                input type="hidden" name="tag" value=(told.etag.as_deref().unwrap_or("*"));
                div.buttons {
                    button.danger type="submit" { "Remove " (name(request.id())) }
                    a.button href=(place(request.id())) { "Cancel" }
                }
            }
        }
    };
    Ok(layout::page(request, &shell, &content))
}

/// `POST /policies/{id}/remove`.
pub(super) async fn remove(request: &PageRequest<'_>) -> PageResult {
    let tag = [("If-Match", request.form.get("tag").unwrap_or_default())];
    match request.ask("DELETE", &path(request.id()), None, &tag).await {
        Ok(_) => {
            request.leave(Notice::Done(format!("Policy {} removed.", request.id())));
            Ok(Page::see_other(HERE))
        }
        Err(trouble) => {
            request.leave(Notice::Failed(trouble.sentence()));
            Ok(Page::see_other(HERE))
        }
    }
}

fn adding(request: &PageRequest<'_>, draft: &PolicyDraft<'_>, trouble: Option<&ApiError>) -> Page {
    let shell = Shell { title: "Add a policy", here: HERE, trail: &TRAIL, ..Shell::default() };
    let content = html! {
        form.card.form method="post" action="/policies/new" {
            (layout::hidden(request))
            (summary(trouble))
            div.field {
                label for="id" { "Id" }
                p.help { "Letters, digits, -, _ and . It cannot be changed later." }
                input #id name="id" value=(draft.id) maxlength="100" autocomplete="off" spellcheck="false";
                @for mistake in trouble.into_iter().flat_map(|it| it.at("id")) { p.mistake { "The id " (mistake.message) } }
            }
            (text_field(draft, trouble))
            div.buttons {
                button.primary type="submit" { "Add" }
                (try_button())
                a.button href=(HERE) { "Cancel" }
            }
        }
    };
    layout::framed(request, trouble.map_or(200, |it| it.status), &shell, &content)
}

fn page(
    request: &PageRequest<'_>,
    policy: &Value,
    draft: &PolicyDraft<'_>,
    trouble: Option<&ApiError>,
) -> Page {
    let is_file = policy["source"] == "file";
    let may_change = request.may(Action::ManagePolicies) && !is_file;
    let shell = Shell { title: name(draft.id), here: HERE, trail: &TRAIL, ..Shell::default() };
    let rules = policy["policies"].as_array().map(Vec::as_slice).unwrap_or_default();
    let content = html! {
        @if let Some(problem) = policy["problem"].as_str() {
            div.notice.bad role="alert" { p { strong { "Not in force." } } pre { (problem) } }
        }
        @if may_change { (editing(request, draft, trouble)) }
        @else {
            section.card {
                pre tabindex="0" { (draft.text) }
                @if is_file { p.dim { "This text is a file. Edit it there; Trunkline reads it again when it changes." } }
            }
        }
        @if !rules.is_empty() { section.card { h2 { "Rules in force" } (effects(rules)) } }
    };
    layout::framed(request, trouble.map_or(200, |it| it.status), &shell, &content)
}

fn editing(
    request: &PageRequest<'_>,
    draft: &PolicyDraft<'_>,
    trouble: Option<&ApiError>,
) -> Markup {
    html! {
        form.card.form method="post" action=(place(draft.id)) {
            (layout::hidden(request))
            input type="hidden" name="id" value=(draft.id);
            input type="hidden" name="tag" value=(draft.tag.unwrap_or("*"));
            (summary(trouble))
            (text_field(draft, trouble))
            div.buttons {
                button.primary type="submit" { "Save" }
                (try_button())
                a.button href=(HERE) { "Cancel" }
                a.button.danger href={ (HERE) "/" (encode(draft.id)) "/remove" } { "Remove" }
            }
        }
    }
}

/// What was written goes along, and nothing is stored.
fn try_button() -> Markup {
    html! { button type="submit" formaction="/policies/test" { "Try before saving" } }
}

fn text_field(draft: &PolicyDraft<'_>, trouble: Option<&ApiError>) -> Markup {
    let mistakes: Vec<_> = trouble.into_iter().flat_map(|trouble| trouble.at("/text")).collect();
    let is_wrong = (!mistakes.is_empty()).then_some("true");
    html! {
        div.field {
            label for="text" { "Text" }
            p.help { "Policies in Cedar. A change holds at once, also for open sessions." }
            textarea #text name="text" rows="14" spellcheck="false" autocomplete="off" aria-invalid=[is_wrong] { "\n" (draft.text) }
            @for mistake in mistakes { p.mistake { "The text " (mistake.message) } }
        }
    }
}

/// What is wrong with the whole.
fn summary(trouble: Option<&ApiError>) -> Markup {
    let Some(trouble) = trouble else { return html! {} };
    html! {
        div.notice.bad role="alert" {
            p {
                @if trouble.mistakes.is_empty() { strong { (trouble.title) "." } " " (trouble.detail) }
                @else { strong { "Not saved." } " Fix the highlighted fields." }
            }
            @if let Some(advice) = trouble.advice() { p { (advice) } }
        }
    }
}

fn path(id: &str) -> String {
    format!("{API}/{}", encode(id))
}

//! The screen of skills: those to decide on, and all there are with their tools.

use maud::{Markup, html};
use serde_json::{Value, json};
use trunkline_control::access::Action;
use trunkline_control::clock::now;

use super::taxonomy::{Skill, Taxonomy};
use super::tools::text;
use crate::api_client::ApiError;
use crate::form::{Form, encode};
use crate::format::{ago, count, plural, short};
use crate::layout::{self, Shell};
use crate::page::{Page, PageResult};
use crate::page_request::PageRequest;
use crate::session::Notice;

/// Suggestions that are shown at once; the next come when these are decided on.
const MOST: usize = 50;
pub(super) const HERE: &str = "/skills";

pub(super) async fn show(request: &PageRequest<'_>) -> PageResult {
    frame(request, 200, &SkillDraft::default()).await
}

/// A skill that somebody is about to add, and what is wrong with it.
#[derive(Default)]
struct SkillDraft {
    id: String,
    title: String,
    keywords: String,
    mistake: Option<String>,
}

async fn frame(request: &PageRequest<'_>, status: u16, draft: &SkillDraft) -> PageResult {
    let taxonomy = Taxonomy::ask(request).await?;
    let may_edit = request.may(Action::EditSkills);
    let content = html! {
        @if may_edit { (queue(request).await) }
        (all(&taxonomy, may_edit))
        @if may_edit { (adding(request, draft)) }
    };
    let topics = &["server", "tools"];
    let shell = Shell { title: "Skills", here: HERE, live: topics, ..Shell::default() };
    Ok(layout::framed(request, status, &shell, &content))
}

async fn queue(request: &PageRequest<'_>) -> Markup {
    let path = format!("/api/v1/skills/suggestions?state=pending&limit={MOST}");
    let told = request.get(&path).await;
    html! {
        section.card #queue data-live {
            h2 { "Pending suggestions" }
            @match &told {
                Err(trouble) => p.dim { (trouble.sentence()) },
                Ok(told) => {
                    @let waiting = told["suggestions"].as_array().map(Vec::as_slice).unwrap_or_default();
                    @if waiting.is_empty() {
                        p.dim { "No suggestions. When a language model classifies tools, it suggests missing skills here." }
                    } @else {
                        ul.plain.queue { @for one in waiting { (suggestion(request, one)) } }
                    }
                    @if told["next_cursor"].is_string() { p.dim { "There are more behind these." } }
                },
            }
        }
    }
}

fn suggestion(request: &PageRequest<'_>, one: &Value) -> Markup {
    let id = encode(&text(one, "id"));
    let tool = text(one, "tool_id");
    html! {
        li data-key=(id) {
            div {
                strong { (short(&text(one, "title"), 80)) } " " code.dim { (text(one, "skill_id")) }
                p { (short(&text(one, "reason"), 300)) }
                p.dim.small {
                    "For " a href={ "/tools/" (encode(&tool)) } { (short(tool.split_once('/').map_or(&*tool, |(_, name)| name), 60)) }
                    ", " (ago(&text(one, "created_at"), now()))
                    ". Words: " (short(&text(one, "keywords"), 160))
                }
            }
            div.buttons {
                (layout::act(request, &format!("/skills/suggestions/{id}/approve"), "Approve", "primary"))
                (layout::act(request, &format!("/skills/suggestions/{id}/reject"), "Reject", ""))
            }
        }
    }
}

fn all(taxonomy: &Taxonomy, may_edit: bool) -> Markup {
    // Those that say something about the tools there are come first.
    let mut skills: Vec<&Skill> = taxonomy.skills().iter().collect();
    skills.sort_by_key(|skill| std::cmp::Reverse(skill.tools));
    let used = skills.iter().filter(|skill| skill.tools > 0).count() as u64;
    html! {
        div.card.flush #skills data-live {
            div.wrap {
                table {
                    caption { (plural(skills.len() as u64, "skill")) ", " (count(used)) " of them with tools" }
                    thead { tr {
                        th scope="col" { "Skill" }
                        th.number scope="col" { "Tools" }
                        th.number.wide scope="col" { "Primary" }
                        th.wide scope="col" { "Keywords" }
                        @if may_edit { th scope="col" { span.visually-hidden { "What to do" } } }
                    } }
                    tbody { @for skill in skills { (row(skill, may_edit)) } }
                }
            }
        }
    }
}

fn row(skill: &Skill, may_edit: bool) -> Markup {
    html! {
        tr data-key=(skill.id) {
            th scope="row" {
                @if skill.tools > 0 { a href={ "/tools?skill=" (encode(&skill.id)) } { (skill.title) } } @else { (skill.title) }
                @if !skill.is_builtin { " " span.badge { "added" } }
                span.sub { code { (skill.id) } }
            }
            td.number { (count(skill.tools)) }
            td.number.wide { (count(skill.primary)) }
            td.wide { span.dim.small { (short(&skill.keywords, 140)) } }
            @if may_edit {
                td.number { a href={ "/skills/" (encode(&skill.id)) "/edit" } aria-label={ "Change " (skill.title) } { "Change" } }
            }
        }
    }
}

fn adding(request: &PageRequest<'_>, draft: &SkillDraft) -> Markup {
    html! {
        section.card {
            details open[draft.mistake.is_some()] {
                summary { "Add a skill" }
                form.form method="post" action="/skills" {
                    (layout::hidden(request))
                    @if let Some(mistake) = &draft.mistake { p.notice.bad role="alert" { (mistake) } }
                    div.pair {
                        div.field {
                            label for="new-id" { "Id" }
                            p.help { "Lower case letters, digits and _; a letter first." }
                            input #new-id name="id" required maxlength="64" pattern="[a-z][a-z0-9_]*" autocomplete="off" value=(draft.id);
                        }
                        div.field {
                            label for="new-title" { "Title" }
                            p.help { "Display name." }
                            input #new-title name="title" required maxlength="100" autocomplete="off" value=(draft.title);
                        }
                    }
                    div.field {
                        label for="new-keywords" { "Keywords" }
                        input #new-keywords name="keywords" maxlength="1000" autocomplete="off" value=(draft.keywords);
                    }
                    div.buttons { button.primary type="submit" { "Add skill" } }
                }
            }
        }
    }
}

/// `POST /skills`. One that is there already is not replaced by mistake: it has a page to change it on.
pub(super) async fn add(request: &PageRequest<'_>) -> PageResult {
    let draft = SkillDraft::read(&request.form);
    if Taxonomy::ask(request).await?.take(&draft.id).is_some() {
        let mistake = Some(format!("A skill with the id {} already exists.", draft.id));
        return frame(request, 409, &SkillDraft { mistake, ..draft }).await;
    }
    let mut body = json!({ "title": draft.title });
    if let (false, Some(body)) = (draft.keywords.is_empty(), body.as_object_mut()) {
        body.insert("keywords".to_owned(), draft.keywords.clone().into());
    }
    let path = format!("/api/v1/skills/{}", encode(&draft.id));
    match request.send("PUT", &path, Some(&body)).await {
        Ok(_) => {
            request.leave(Notice::Done(format!(
                "Skill {} added. Tools are being classified.",
                draft.title
            )));
            Ok(Page::see_other(HERE))
        }
        Err(trouble) => {
            let mistake = Some(told(&trouble));
            frame(request, trouble.status, &SkillDraft { mistake, ..draft }).await
        }
    }
}

/// What is wrong with a skill, in one line.
pub(super) fn told(trouble: &ApiError) -> String {
    let words = trouble.mistakes.iter().map(|it| format!("{} {}", it.pointer, it.message));
    let words: Vec<String> = [trouble.sentence()].into_iter().chain(words).collect();
    words.join("; ")
}

impl SkillDraft {
    fn read(form: &Form) -> Self {
        let field = |name: &str| form.filled(name).unwrap_or_default().to_owned();
        Self { id: field("id"), title: field("title"), keywords: field("keywords"), mistake: None }
    }
}

/// `POST /skills/suggestions/{id}/approve` and `…/reject`.
pub(super) async fn decide(request: &PageRequest<'_>, verb: &str) -> PageResult {
    let path = format!("/api/v1/skills/suggestions/{}/{verb}", encode(request.id()));
    request.leave(match request.send("POST", &path, None).await {
        Ok(told) => {
            let (title, state) = (text(&told, "title"), text(&told, "state"));
            Notice::Done(format!("{title} is {state}."))
        }
        Err(trouble) => Notice::Failed(trouble.sentence()),
    });
    Ok(Page::see_other(HERE))
}

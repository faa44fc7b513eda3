//! The screen of all tools: searched by what they do, or listed by server; filtered by server and skill.

use maud::{Markup, html};
use serde_json::{Value, json};

use super::state::hints;
use super::taxonomy::{Taxonomy, skill_badges};
use crate::api_client::ApiError;
use crate::form::{Form, encode};
use crate::format::{count, plural, short};
use crate::layout::{self, Shell};
use crate::page::PageResult;
use crate::page_request::PageRequest;

/// Tools on a page: a screen of them weighs little and is read by nobody to its end.
const MOST: usize = 100;
/// Pages of the API that are looked through for one skill.
const MOST_PAGES: usize = 200;
const LONGEST: usize = 180;

/// What is looked for.
struct ToolFilter {
    query: Option<String>,
    server: Option<String>,
    skill: Option<String>,
    cursor: Option<String>,
}

/// What is shown of a tool.
struct Row {
    id: String,
    name: String,
    server: String,
    description: String,
    skills: Vec<String>,
    hints: Markup,
    score: Option<f64>,
}

struct ToolMatches {
    rows: Vec<Row>,
    /// Of how many.
    total: u64,
    next: Option<String>,
}

pub(super) async fn show(request: &PageRequest<'_>) -> PageResult {
    let wish = ToolFilter::read(&request.query);
    let servers = request.get("/api/v1/aggregator/servers?limit=1000").await?;
    let taxonomy = Taxonomy::ask(request).await?;
    let found = match &wish.query {
        Some(query) => search(request, query, &wish).await,
        None => list(request, &wish).await,
    };
    let content = html! {
        (filters(&wish, &servers, &taxonomy))
        div #tools data-live {
            @match &found {
                Ok(found) => (table(found, &wish, &taxonomy)),
                Err(trouble) => p.notice.bad role="alert" { (trouble.sentence()) },
            }
        }
    };
    let topics = &["server", "status", "tools"];
    let shell = Shell { title: "Tools", here: "/tools", live: topics, ..Shell::default() };
    Ok(layout::page(request, &shell, &content))
}

impl ToolFilter {
    fn read(query: &Form) -> Self {
        let text = |name: &str| query.filled(name).map(str::to_owned);
        Self {
            query: text("q"),
            server: text("server"),
            skill: text("skill"),
            cursor: text("cursor"),
        }
    }

    fn is_anything(&self) -> bool {
        self.query.is_some() || self.server.is_some() || self.skill.is_some()
    }

    /// Fits the skill that is asked for.
    fn fits(&self, row: &Row) -> bool {
        self.skill.as_ref().is_none_or(|skill| row.skills.contains(skill))
    }

    fn address(&self, cursor: &str) -> String {
        let parts = [("server", &self.server), ("skill", &self.skill)];
        let parts = parts.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?)));
        let parts = parts.chain([("cursor", cursor)]);
        let parts: Vec<String> =
            parts.map(|(name, value)| format!("{name}={}", encode(value))).collect();
        format!("/tools?{}", parts.join("&"))
    }
}

async fn search(
    request: &PageRequest<'_>,
    query: &str,
    wish: &ToolFilter,
) -> Result<ToolMatches, ApiError> {
    let mut body = json!({ "query": query, "limit": MOST });
    if let (Some(server), Some(body)) = (&wish.server, body.as_object_mut()) {
        body.insert("server_filter".to_owned(), json!([server]));
    }
    let told = &request.send("POST", "/api/v1/search", Some(&body)).await?;
    let rows = told["tools"].as_array().into_iter().flatten();
    let rows = rows.map(|tool| Row::read(tool, text(&tool["source_server"], "name")));
    let rows: Vec<Row> = rows.filter(|row| wish.fits(row)).collect();
    let total = told.pointer("/metadata/total_tools_searched").and_then(Value::as_u64);
    let total = total.unwrap_or_default();
    Ok(ToolMatches { rows, total, next: None })
}

/// A page of the list; with a skill, as many of the API's pages as it takes to fill one.
async fn list(request: &PageRequest<'_>, wish: &ToolFilter) -> Result<ToolMatches, ApiError> {
    let mut found = ToolMatches { rows: Vec::new(), total: 0, next: wish.cursor.clone() };
    for _ in 0..MOST_PAGES {
        let mut path = format!("/api/v1/tools?limit={MOST}");
        for (name, value) in [("server", &wish.server), ("cursor", &found.next)] {
            if let Some(value) = value {
                path.push_str(&format!("&{name}={}", encode(value)));
            }
        }
        let told = &request.get(&path).await?;
        for group in told["servers"].as_array().into_iter().flatten() {
            let tools = group["tools"].as_array().into_iter().flatten();
            let rows = tools.map(|tool| Row::read(tool, text(group, "name")));
            found.rows.extend(rows.filter(|row| wish.fits(row)));
        }
        found.total = told["total"].as_u64().unwrap_or_default();
        found.next = told["next_cursor"].as_str().map(str::to_owned);
        if found.next.is_none() || found.rows.len() >= MOST {
            break;
        }
    }
    Ok(found)
}

impl Row {
    fn read(tool: &Value, server: String) -> Self {
        let skills = tool["skill_ids"].as_array().into_iter().flatten();
        Self {
            id: text(tool, "id"),
            name: text(tool, "name"),
            server,
            description: text(tool, "description"),
            skills: skills.filter_map(|skill| skill.as_str().map(str::to_owned)).collect(),
            hints: hints(&tool["annotations"]),
            score: tool["score"].as_f64(),
        }
    }
}

fn filters(wish: &ToolFilter, servers: &Value, taxonomy: &Taxonomy) -> Markup {
    let names = servers["servers"].as_array().into_iter().flatten();
    let mut names: Vec<&str> = names.filter_map(|server| server["name"].as_str()).collect();
    names.sort_unstable();
    let asked = wish.query.as_deref().unwrap_or_default();
    html! {
        form.card.filters method="get" action="/tools" role="search" {
            div.field.grow {
                label for="q" { "Search tools" }
                input #q name="q" type="search" value=(asked) maxlength="2000" autocomplete="off"
                    placeholder="create an issue, read a file, …";
            }
            div.field {
                label for="server" { "Server" }
                select #server name="server" {
                    option value="" { "All servers" }
                    @for name in names {
                        option value=(name) selected[wish.server.as_deref() == Some(name)] { (name) }
                    }
                }
            }
            div.field {
                label for="skill" { "Skill" }
                select #skill name="skill" {
                    option value="" { "All skills" }
                    @for skill in taxonomy.skills() {
                        option value=(skill.id) selected[wish.skill.as_deref() == Some(&skill.id)] {
                            (skill.title) " (" (count(skill.tools)) ")"
                        }
                    }
                }
            }
            div.field.buttons {
                button.primary type="submit" { "Search" }
                @if wish.is_anything() { a href="/tools" { "Clear" } }
            }
        }
    }
}

fn table(found: &ToolMatches, wish: &ToolFilter, taxonomy: &Taxonomy) -> Markup {
    if found.rows.is_empty() {
        return nothing(wish);
    }
    let scored = wish.query.is_some();
    let summary = match scored {
        true => format!("{}, best match first, of {}", shown(found), plural(found.total, "tool")),
        false => format!("{} of {}", count(found.rows.len() as u64), plural(found.total, "tool")),
    };
    html! {
        div.card.flush {
            div.wrap {
                table {
                    caption { (summary) }
                    thead { tr {
                        th scope="col" { "Tool" }
                        th.wide scope="col" { "Server" }
                        th.wide scope="col" { "Skills" }
                        @if scored { th.number scope="col" { "Score" } }
                    } }
                    tbody { @for row in &found.rows { (line(row, taxonomy, scored)) } }
                }
            }
        }
        @if let Some(next) = &found.next {
            p.buttons { a.button href=(wish.address(next)) { "More tools" } }
        }
    }
}

fn shown(found: &ToolMatches) -> String {
    format!("{} found", count(found.rows.len() as u64))
}

fn line(row: &Row, taxonomy: &Taxonomy, scored: bool) -> Markup {
    html! {
        tr data-key=(row.id) {
            th scope="row" {
                a href={ "/tools/" (encode(&row.id)) } { (short(&row.name, 100)) }
                span.sub { (short(&row.description, LONGEST)) }
                span.sub.narrow { (skill_badges(&row.skills, taxonomy)) }
                @if !row.hints.0.is_empty() { span.sub { (row.hints) } }
            }
            td.wide { a href={ "/tools?server=" (encode(&row.server)) } { (short(&row.server, 60)) } }
            td.wide { (skill_badges(&row.skills, taxonomy)) }
            @if scored {
                td.number {
                    @if let Some(score) = row.score {
                        meter min="0" max="1" value=(score) aria-hidden="true" {} " " (format!("{score:.2}"))
                    }
                }
            }
        }
    }
}

fn nothing(wish: &ToolFilter) -> Markup {
    match wish.is_anything() || wish.cursor.is_some() {
        true => layout::empty(
            "No results",
            &html! { "No tool of a connected server matches. " a href="/tools" { "Show all tools" } },
        ),
        false => layout::empty(
            "No tools yet",
            &html! {
                "Tools appear here when a server is connected. " a href="/servers" { "View servers" }
                " or " a href="/servers/new" { "add one" } "."
            },
        ),
    }
}

pub(super) fn text(value: &Value, member: &str) -> String {
    value[member].as_str().unwrap_or_default().to_owned()
}

//! Adding a server, and changing one: a form, with the API's problems at the fields they are about.

mod draft;
mod mistakes;

use maud::{Markup, html};
use serde_json::Value;
use trunkline_catalog::config::{CALL_SETTINGS, CallSetting, OnChange, SettingUnit};
use trunkline_control::access::Action;
use trunkline_http::encode;

use self::draft::ServerDraft;
use self::mistakes::{complaint, in_words};
use super::servers::{API, place, word};
use crate::api_client::{ApiError, Mistake, is_for_people};
use crate::layout::{self, Shell};
use crate::page::{Page, PageResult};
use crate::page_request::PageRequest;
use crate::session::Notice;

/// A server that is new, or one that is there.
enum FormTarget<'a> {
    Add,
    /// With the tag of what was read: if somebody else has changed it since, nothing is done.
    Change(&'a Value, &'a str),
}

impl FormTarget<'_> {
    /// Are fields of servers that are reached this way shown? Which way is chosen once, when one is added.
    fn shows(&self, is_command: bool, draft: &ServerDraft) -> bool {
        matches!(self, Self::Add) || draft.is_command() == is_command
    }
}

pub(super) fn empty(request: &PageRequest<'_>) -> Page {
    page(request, &FormTarget::Add, &ServerDraft::empty(), None)
}

pub(super) async fn add(request: &PageRequest<'_>) -> PageResult {
    let draft = ServerDraft::read(&request.form);
    let sent = match ready(request, &draft, draft.registration()).await {
        Ok(body) => request.send("POST", API, Some(&body)).await,
        Err(trouble) => Err(trouble),
    };
    match sent {
        Ok(server) => {
            request.leave(Notice::Done(format!("{} is added.", word(&server, "name"))));
            Ok(Page::see_other(place(&server)))
        }
        Err(trouble) => Ok(page(request, &FormTarget::Add, &draft, Some(&in_words(trouble)))),
    }
}

pub(super) async fn filled(request: &PageRequest<'_>) -> PageResult {
    let path = format!("{API}/{}", encode(request.id()));
    let told = request.ask("GET", &path, None, &[]).await?;
    let aim = FormTarget::Change(&told.value, told.etag.as_deref().unwrap_or("*"));
    Ok(page(request, &aim, &ServerDraft::of(&told.value), None))
}

pub(super) async fn change(request: &PageRequest<'_>) -> PageResult {
    let path = format!("{API}/{}", encode(request.id()));
    let before = request.get(&path).await?;
    let mut draft = ServerDraft::read(&request.form);
    // It is chosen once: what a server is reached by is what it is.
    draft.transport = word(&before, "transport_type").to_owned();
    let tag = request.form.get("tag").unwrap_or_default();
    let body = match may_command(request, &draft) {
        true => ready(request, &draft, draft.change(&before)).await,
        // The form has no fields of the command then, and what has none stays as it is.
        false => Ok(draft.change_of_rest(&before)),
    };
    let sent = match body {
        Ok(body) => request.ask("PATCH", &path, Some(&body), &[("If-Match", tag)]).await,
        Err(trouble) => Err(trouble),
    };
    match sent {
        Ok(_) => {
            request.leave(Notice::Done("Server saved.".to_owned()));
            Ok(Page::see_other(place(&before)))
        }
        Err(trouble) => {
            Ok(page(request, &FormTarget::Change(&before, tag), &draft, Some(&in_words(trouble))))
        }
    }
}

/// May the request choose what it is reached by? A command takes the right to run one.
fn may_command(request: &PageRequest<'_>, draft: &ServerDraft) -> bool {
    !draft.is_command() || request.may(Action::RegisterStdio)
}

/// What can be sent. A command is run on this machine: whoever wants one shows their token again, so
/// that a session that somebody has got hold of is not enough.
async fn ready(
    request: &PageRequest<'_>,
    draft: &ServerDraft,
    body: Result<Value, Vec<Mistake>>,
) -> Result<Value, ApiError> {
    let mut mistakes = body.as_ref().err().cloned().unwrap_or_default();
    if draft.is_command() && !shows_token(request).await {
        let message = "this is not the token you signed in with".to_owned();
        mistakes.push(Mistake { pointer: TOKEN.to_owned(), message, hint: None });
    }
    match body {
        Ok(body) if mistakes.is_empty() => Ok(body),
        _ => Err(ApiError { mistakes, ..ApiError::new(422, FIX, "", "") }),
    }
}

const TOKEN: &str = "token";
const FIX: &str = "Fix the highlighted fields";

async fn shows_token(request: &PageRequest<'_>) -> bool {
    let Some(token) = request.form.filled(TOKEN) else { return false };
    let shown = request.state.api.recognise(token, request.visit.peer).await;
    shown.is_ok_and(|shown| shown.credential() == request.principal().credential())
}

fn page(
    request: &PageRequest<'_>,
    aim: &FormTarget<'_>,
    draft: &ServerDraft,
    trouble: Option<&ApiError>,
) -> Page {
    let (title, back) = match aim {
        FormTarget::Add => ("Add a server".to_owned(), "/servers".to_owned()),
        FormTarget::Change(server, _) => (format!("Edit {}", word(server, "name")), place(server)),
    };
    let shell = Shell {
        title: &title,
        here: "/servers",
        trail: &[("/servers", "Servers")],
        ..Shell::default()
    };
    if let FormTarget::Change(server, _) = aim
        && server["source"] == "file"
    {
        let content = html! {
            div.card.form {
                p { "This server is defined in the config file. Edit it there; Trunkline reloads the file when it changes." }
                p { a.button href=(back) { "Back" } }
            }
        };
        return layout::framed(request, 409, &shell, &content);
    }
    let status = trouble.map_or(200, |trouble| trouble.status);
    layout::framed(request, status, &shell, &form(request, aim, draft, trouble, &back))
}

fn form(
    request: &PageRequest<'_>,
    aim: &FormTarget<'_>,
    draft: &ServerDraft,
    trouble: Option<&ApiError>,
    back: &str,
) -> Markup {
    let fields = Fields(trouble);
    let action = match aim {
        FormTarget::Add => "/servers/new".to_owned(),
        FormTarget::Change(server, _) => format!("{}/edit", place(server)),
    };
    html! {
        form.card.form method="post" action=(action) novalidate {
            (layout::hidden(request))
            @if let FormTarget::Change(_, tag) = aim { input type="hidden" name="tag" value=(tag); }
            (fields.summary())
            (fields.line("/name", "name", "Name", &draft.name, "Letters, digits, -, _ and . Its tools are called name.tool."))
            (fields.line("/description", "description", "Description", &draft.description, "Optional. Improves tool search."))
            (transport(request, aim, draft))
            @if aim.shows(false, draft) { (network(&fields, draft)) }
            @if aim.shows(true, draft) {
                @if request.may(Action::RegisterStdio) { (command(&fields, draft)) }
                @else if draft.is_command() { p.help { "This server runs a command on this machine. Only an admin can change its command, arguments and variables." } }
            }
            div.field {
                label { input type="checkbox" name="auto_connect" value="on" checked[draft.connects]; "Connect now and on every start" }
            }
            details open[draft.calls().any(|(_, text)| !text.is_empty()) || !draft.health_check_url.is_empty()] {
                summary { "More" }
                div.pair {
                    @for (setting, text) in draft.calls() { (fields.setting(setting, text)) }
                }
                (fields.on_change(&draft.on_change))
                (fields.line("/health_check_url", "health_check_url", "Health check URL", &draft.health_check_url, "Leave empty to derive health from MCP traffic."))
            }
            div.buttons {
                button.primary type="submit" { @if matches!(aim, FormTarget::Add) { "Add" } @else { "Save" } }
                a.button href=(back) { "Cancel" }
            }
        }
    }
}

/// What it is reached by is chosen when it is added, and stays.
fn transport(request: &PageRequest<'_>, aim: &FormTarget<'_>, draft: &ServerDraft) -> Markup {
    let kinds = [
        ("HTTP", "Streamable HTTP"),
        ("SSE", "HTTP+SSE (legacy)"),
        ("STDIO", "Command on this machine (stdio)"),
    ];
    let may = |kind: &str| kind != "STDIO" || request.may(Action::RegisterStdio);
    html! {
        @if matches!(aim, FormTarget::Add) {
            fieldset {
                legend { "How it is reached" }
                div.choice {
                    @for (kind, word) in kinds.iter().filter(|(kind, _)| may(kind)) {
                        label { input type="radio" name="transport_type" value=(kind) checked[draft.transport == *kind]; (word) }
                    }
                }
            }
        } @else {
            input type="hidden" name="transport_type" value=(draft.transport);
        }
    }
}

fn network(fields: &Fields<'_>, draft: &ServerDraft) -> Markup {
    html! {
        div data-for="transport_type:HTTP|SSE" {
            (fields.line("/connection_config/url", "url", "URL", &draft.url, "http:// or https://"))
            (fields.lines("/connection_config/headers", "headers", "Headers", &draft.headers, "One per line: Name: value. Values are encrypted and never shown again. ${secret:NAME} refers to a secret; *** keeps the current value."))
        }
    }
}

/// `page.js` shows the part that is chosen; without it, both are there.
fn command(fields: &Fields<'_>, draft: &ServerDraft) -> Markup {
    html! {
        div data-for="transport_type:STDIO" {
            (fields.line("/connection_config/command", "command", "Command", &draft.command, "The program to run (no shell)."))
            (fields.lines("/connection_config/args", "args", "Arguments", &draft.args, "One per line."))
            (fields.lines("/connection_config/env", "env", "Variables", &draft.env, "One per line: NAME=value. Values are encrypted and never shown again. *** keeps the current value."))
            (fields.line("/connection_config/cwd", "cwd", "Directory", &draft.cwd, "Leave empty for Trunkline's working directory."))
            (fields.line("/sandbox", "sandbox", "Sandbox", &draft.sandbox, "Leave empty for the platform's default. off, standard, strict, or an object: {\"write\": [\"/srv/notes\"]}."))
            (fields.secret(TOKEN, "Confirm your token", "Commands run with the permissions of Trunkline, so confirm your token."))
        }
    }
}

/// Fields with what is wrong with them.
struct Fields<'a>(Option<&'a ApiError>);

impl Fields<'_> {
    /// What is wrong with the whole, or with what has no field.
    fn summary(&self) -> Markup {
        let Some(trouble) = self.0 else { return html! {} };
        let has_field = |mistake: &Mistake| {
            let is_setting = CALL_SETTINGS.iter().any(|it| mistake.is_at(&format!("/{}", it.name)));
            is_setting || PLACES.iter().any(|place| mistake.is_at(place))
        };
        let others = trouble.mistakes.iter().filter(|mistake| !has_field(mistake));
        let is_marked = trouble.mistakes.iter().any(has_field);
        html! {
            div.notice.bad role="alert" {
                p {
                    @if is_marked { strong { (FIX) "." } }
                    // What is wrong follows, one by one.
                    @else if !trouble.mistakes.is_empty() { strong { "Not saved." } }
                    @else { strong { (trouble.title) "." } " " (trouble.detail) }
                }
                @for mistake in others { p { (mistake.sentence()) } }
                @if let Some(advice) = trouble.advice() { p { (advice) } }
            }
        }
    }

    fn line(&self, at: &str, name: &str, label: &str, value: &str, help: &str) -> Markup {
        let wrong = self.is_wrong(at);
        self.around(
            at,
            name,
            label,
            help,
            &html! {
                input id=(name) name=(name) value=(value) autocomplete="off" spellcheck="false"
                    aria-invalid=[wrong] aria-describedby={ (name) "-help" };
            },
        )
    }

    fn setting(&self, setting: &CallSetting, text: &str) -> Markup {
        let label = match setting.unit {
            SettingUnit::Seconds => format!("{} (seconds)", setting.label),
            _ => setting.label.to_owned(),
        };
        let help = format!("Leave empty for {}.", setting.default);
        self.line(&format!("/{}", setting.name), setting.name, &label, text, &help)
    }

    fn on_change(&self, chosen: &str) -> Markup {
        let chosen = OnChange::of_word(chosen).unwrap_or_default();
        let meaning = |it: OnChange| match it {
            OnChange::Allow => "callers are shown it",
            OnChange::Warn => "callers are shown it, and it waits under Review",
            OnChange::Hold => "callers keep what was approved until it is approved",
        };
        self.around(
            "/on_change",
            "on_change",
            "When a definition changes",
            "What happens when the server changes a tool or adds one.",
            &html! {
                select #on_change name="on_change" aria-describedby="on_change-help" {
                    @for it in OnChange::ALL {
                        option value=(it.word()) selected[it == chosen] { (it.word()) " – " (meaning(it)) }
                    }
                }
            },
        )
    }

    fn lines(&self, at: &str, name: &str, label: &str, value: &str, help: &str) -> Markup {
        let wrong = self.is_wrong(at);
        self.around(
            at,
            name,
            label,
            help,
            &html! {
                textarea id=(name) name=(name) autocomplete="off" spellcheck="false" rows="3"
                    aria-invalid=[wrong] aria-describedby={ (name) "-help" } { "\n" (value) }
            },
        )
    }

    fn secret(&self, name: &str, label: &str, help: &str) -> Markup {
        let wrong = self.is_wrong(name);
        self.around(
            name,
            name,
            label,
            help,
            &html! {
                input id=(name) name=(name) type="password" autocomplete="current-password"
                    aria-invalid=[wrong] aria-describedby={ (name) "-help" };
            },
        )
    }

    fn around(&self, at: &str, name: &str, label: &str, help: &str, input: &Markup) -> Markup {
        let mistakes = self.0.into_iter().flat_map(|trouble| trouble.at(at));
        html! {
            div.field {
                label for=(name) { (label) }
                p.help id={ (name) "-help" } { (help) }
                (input)
                @for mistake in mistakes {
                    p.mistake {
                        (complaint(label, mistake.pointer.strip_prefix(at).unwrap_or_default(), &mistake.message))
                        @if let Some(hint) = mistake.hint.as_deref().filter(|hint| is_for_people(hint)) { " – " (hint) }
                    }
                }
            }
        }
    }

    fn is_wrong(&self, at: &str) -> Option<&'static str> {
        let is_wrong = self.0.is_some_and(|trouble| trouble.at(at).next().is_some());
        is_wrong.then_some("true")
    }
}

const PLACES: [&str; 12] = [
    "/name",
    "/description",
    "/connection_config/url",
    "/connection_config/headers",
    "/connection_config/command",
    "/connection_config/args",
    "/connection_config/env",
    "/connection_config/cwd",
    "/health_check_url",
    "/on_change",
    "/sandbox",
    TOKEN,
];

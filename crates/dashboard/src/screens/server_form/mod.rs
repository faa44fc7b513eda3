//! Adding a server, and changing one: a form, with the API's problems at the fields they are about.

mod draft;
mod mistakes;

use maud::{Markup, html};
use serde_json::Value;
use trunkline_control::access::Action;
use trunkline_http::encode;

use self::draft::Draft;
use self::mistakes::{complaint, in_words};
use super::servers::{API, place, word};
use crate::ask::{Mistake, Trouble, is_for_people};
use crate::layout::{self, Shell};
use crate::page::{Outcome, Page};
use crate::session::Notice;
use crate::visitor::Visitor;

/// A server that is new, or one that is there.
enum Aim<'a> {
    Add,
    /// With the tag of what was read: if somebody else has changed it since, nothing is done.
    Change(&'a Value, &'a str),
}

impl Aim<'_> {
    /// Are fields of servers that are reached this way shown? Which way is chosen once, when one is added.
    fn shows(&self, is_command: bool, draft: &Draft) -> bool {
        matches!(self, Self::Add) || draft.is_command() == is_command
    }
}

pub(super) fn empty(visitor: &Visitor<'_>) -> Page {
    page(visitor, &Aim::Add, &Draft::empty(), None)
}

pub(super) async fn add(visitor: &Visitor<'_>) -> Outcome {
    let draft = Draft::read(&visitor.form);
    let sent = match ready(visitor, &draft, draft.registration()).await {
        Ok(body) => visitor.send("POST", API, Some(&body)).await,
        Err(trouble) => Err(trouble),
    };
    match sent {
        Ok(server) => {
            visitor.leave(Notice::Done(format!("{} is added.", word(&server, "name"))));
            Ok(Page::see_other(place(&server)))
        }
        Err(trouble) => Ok(page(visitor, &Aim::Add, &draft, Some(&in_words(trouble)))),
    }
}

pub(super) async fn filled(visitor: &Visitor<'_>) -> Outcome {
    let path = format!("{API}/{}", encode(visitor.id()));
    let told = visitor.ask("GET", &path, None, &[]).await?;
    let aim = Aim::Change(&told.value, told.etag.as_deref().unwrap_or("*"));
    Ok(page(visitor, &aim, &Draft::of(&told.value), None))
}

pub(super) async fn change(visitor: &Visitor<'_>) -> Outcome {
    let path = format!("{API}/{}", encode(visitor.id()));
    let before = visitor.get(&path).await?;
    let mut draft = Draft::read(&visitor.form);
    // It is chosen once: what a server is reached by is what it is.
    draft.transport = word(&before, "transport_type").to_owned();
    let tag = visitor.form.get("tag").unwrap_or_default();
    let body = match may_command(visitor, &draft) {
        true => ready(visitor, &draft, draft.change(&before)).await,
        // The form has no fields of the command then, and what has none stays as it is.
        false => Ok(draft.change_of_rest(&before)),
    };
    let sent = match body {
        Ok(body) => visitor.ask("PATCH", &path, Some(&body), &[("If-Match", tag)]).await,
        Err(trouble) => Err(trouble),
    };
    match sent {
        Ok(_) => {
            visitor.leave(Notice::Done("The server is changed.".to_owned()));
            Ok(Page::see_other(place(&before)))
        }
        Err(trouble) => {
            Ok(page(visitor, &Aim::Change(&before, tag), &draft, Some(&in_words(trouble))))
        }
    }
}

/// May the visitor choose what it is reached by? A command takes the right to run one.
fn may_command(visitor: &Visitor<'_>, draft: &Draft) -> bool {
    !draft.is_command() || visitor.may(Action::RegisterStdio)
}

/// What can be sent. A command is run on this machine: whoever wants one shows their token again, so
/// that a session that somebody has got hold of is not enough.
async fn ready(
    visitor: &Visitor<'_>,
    draft: &Draft,
    body: Result<Value, Vec<Mistake>>,
) -> Result<Value, Trouble> {
    let mut mistakes = body.as_ref().err().cloned().unwrap_or_default();
    if draft.is_command() && !shows_token(visitor).await {
        let message = "this is not the token that you have signed in with".to_owned();
        mistakes.push(Mistake { pointer: TOKEN.to_owned(), message, hint: None });
    }
    match body {
        Ok(body) if mistakes.is_empty() => Ok(body),
        _ => Err(Trouble { mistakes, ..Trouble::new(422, FIX, "", "") }),
    }
}

const TOKEN: &str = "token";
const FIX: &str = "Fix the highlighted fields";

async fn shows_token(visitor: &Visitor<'_>) -> bool {
    let Some(token) = visitor.form.filled(TOKEN) else { return false };
    let shown = visitor.house.api.recognise(token, visitor.visit.peer).await;
    shown.is_ok_and(|shown| shown.credential() == visitor.principal().credential())
}

fn page(visitor: &Visitor<'_>, aim: &Aim<'_>, draft: &Draft, trouble: Option<&Trouble>) -> Page {
    let (title, back) = match aim {
        Aim::Add => ("Add a server".to_owned(), "/servers".to_owned()),
        Aim::Change(server, _) => (format!("Edit {}", word(server, "name")), place(server)),
    };
    let shell = Shell {
        title: &title,
        here: "/servers",
        trail: &[("/servers", "Servers")],
        ..Shell::default()
    };
    if let Aim::Change(server, _) = aim
        && server["source"] == "file"
    {
        let content = html! {
            div.card.form {
                p { "This server comes from the config file. Change it there: the file is read again when it changes." }
                p { a.button href=(back) { "Back" } }
            }
        };
        return layout::framed(visitor, 409, &shell, &content);
    }
    let status = trouble.map_or(200, |trouble| trouble.status);
    layout::framed(visitor, status, &shell, &form(visitor, aim, draft, trouble, &back))
}

fn form(
    visitor: &Visitor<'_>,
    aim: &Aim<'_>,
    draft: &Draft,
    trouble: Option<&Trouble>,
    back: &str,
) -> Markup {
    let fields = Fields(trouble);
    let action = match aim {
        Aim::Add => "/servers/new".to_owned(),
        Aim::Change(server, _) => format!("{}/edit", place(server)),
    };
    html! {
        form.card.form method="post" action=(action) novalidate {
            (layout::hidden(visitor))
            @if let Aim::Change(_, tag) = aim { input type="hidden" name="tag" value=(tag); }
            (fields.summary())
            (fields.line("/name", "name", "Name", &draft.name, "Letters, digits, - _ and . – its tools are called by it: name.tool."))
            (fields.line("/description", "description", "What it is for", &draft.description, "Helps finding its tools. May be empty."))
            (transport(visitor, aim, draft))
            @if aim.shows(false, draft) { (network(&fields, draft)) }
            @if aim.shows(true, draft) {
                @if visitor.may(Action::RegisterStdio) { (command(&fields, draft)) }
                @else if draft.is_command() { p.help { "It is a command on this machine. An admin can change the command, its arguments and its variables." } }
            }
            div.field {
                label { input type="checkbox" name="auto_connect" value="on" checked[draft.connects]; "Connect now, and whenever Trunkline starts" }
            }
            details open[!draft.call_timeout.is_empty() || !draft.max_concurrency.is_empty() || !draft.health_check_url.is_empty()] {
                summary { "More" }
                div.pair {
                    (fields.line("/call_timeout", "call_timeout", "Seconds a call may take", &draft.call_timeout, "Empty: as Trunkline was started."))
                    (fields.line("/max_concurrency", "max_concurrency", "Calls at a time", &draft.max_concurrency, "Empty: as many as come."))
                }
                (fields.line("/health_check_url", "health_check_url", "Where its health is asked for", &draft.health_check_url, "Empty: health is what its messages say."))
            }
            div.buttons {
                button.primary type="submit" { @if matches!(aim, Aim::Add) { "Add" } @else { "Save" } }
                a.button href=(back) { "Cancel" }
            }
        }
    }
}

/// What it is reached by is chosen when it is added, and stays.
fn transport(visitor: &Visitor<'_>, aim: &Aim<'_>, draft: &Draft) -> Markup {
    let kinds = [
        ("HTTP", "Streamable HTTP"),
        ("SSE", "HTTP with events (the old way)"),
        ("STDIO", "A command on this machine"),
    ];
    let may = |kind: &str| kind != "STDIO" || visitor.may(Action::RegisterStdio);
    html! {
        @if matches!(aim, Aim::Add) {
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

fn network(fields: &Fields<'_>, draft: &Draft) -> Markup {
    html! {
        div data-for="transport_type:HTTP|SSE" {
            (fields.line("/connection_config/url", "url", "URL", &draft.url, "http:// or https://"))
            (fields.lines("/connection_config/headers", "headers", "Headers", &draft.headers, "One in each line: Name: value. Values are sealed and never shown again; ${secret:NAME} refers to a secret. *** leaves a value as it is."))
        }
    }
}

/// `page.js` shows the part that is chosen; without it, both are there.
fn command(fields: &Fields<'_>, draft: &Draft) -> Markup {
    html! {
        div data-for="transport_type:STDIO" {
            (fields.line("/connection_config/command", "command", "Command", &draft.command, "The program; no shell reads it."))
            (fields.lines("/connection_config/args", "args", "Arguments", &draft.args, "One in each line."))
            (fields.lines("/connection_config/env", "env", "Variables", &draft.env, "One in each line: NAME=value. Values are sealed and never shown again. *** leaves a value as it is."))
            (fields.line("/connection_config/cwd", "cwd", "Directory", &draft.cwd, "Empty: where Trunkline runs."))
            (fields.secret(TOKEN, "Your token, once more", "A command runs with the rights of Trunkline. That is why it is asked for again."))
        }
    }
}

/// Fields with what is wrong with them.
struct Fields<'a>(Option<&'a Trouble>);

impl Fields<'_> {
    /// What is wrong with the whole, or with what has no field.
    fn summary(&self) -> Markup {
        let Some(trouble) = self.0 else { return html! {} };
        let has_field = |mistake: &Mistake| PLACES.iter().any(|place| mistake.is_at(place));
        let others = trouble.mistakes.iter().filter(|mistake| !has_field(mistake));
        let is_marked = trouble.mistakes.iter().any(has_field);
        html! {
            div.notice.bad role="alert" {
                p {
                    @if is_marked { strong { (FIX) "." } }
                    // What is wrong follows, one by one.
                    @else if !trouble.mistakes.is_empty() { strong { "It is not saved." } }
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
    "/call_timeout",
    "/max_concurrency",
    "/health_check_url",
    TOKEN,
];

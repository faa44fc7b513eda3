//! What all pages have in common: the head, the menu, notices, and the parts that screens are built of.

use maud::{DOCTYPE, Markup, html};
use trunkline_control::access::Action;
use trunkline_gateway::WebRequest;

use crate::api_client::ApiError;
use crate::assets;
use crate::page::Page;
use crate::page_request::{PageRequest, Theme, theme};
use crate::session::Notice;

/// The frame of a screen.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shell<'a> {
    pub(crate) title: &'a str,
    /// Which entry of the menu it belongs to, by its path.
    pub(crate) here: &'static str,
    /// What it wants to hear of, as `live` calls it; nothing: it stays as it is.
    pub(crate) live: &'static [&'static str],
    /// Where it hangs, from the menu's entry down to its parent.
    pub(crate) trail: &'a [(&'a str, &'a str)],
    /// Scripts of its own, besides those of all pages.
    pub(crate) scripts: &'static [&'static str],
    /// What can be done here: links and forms beside the title.
    pub(crate) actions: Option<Markup>,
}

struct MenuEntry {
    path: &'static str,
    word: &'static str,
    needs: Action,
}

const MENU: [MenuEntry; 9] = [
    MenuEntry { path: "/", word: "Overview", needs: Action::ReadMetrics },
    MenuEntry { path: "/servers", word: "Servers", needs: Action::ReadServers },
    MenuEntry { path: "/tools", word: "Tools", needs: Action::ReadTools },
    MenuEntry { path: "/skills", word: "Skills", needs: Action::ReadSkills },
    MenuEntry { path: "/review", word: "Review", needs: Action::ReviewDefinitions },
    MenuEntry { path: "/policies", word: "Policies", needs: Action::ReadPolicies },
    MenuEntry { path: "/activity", word: "Activity", needs: Action::ReadAudit },
    MenuEntry { path: "/clients", word: "Clients & keys", needs: Action::ReadSelf },
    MenuEntry { path: "/settings", word: "Settings", needs: Action::ReadSelf },
];

/// A screen in its frame.
pub(crate) fn page(request: &PageRequest<'_>, shell: &Shell<'_>, content: &Markup) -> Page {
    framed(request, 200, shell, content)
}

/// A screen in its frame with a status of its own: a form with mistakes is no 200.
pub(crate) fn framed(
    request: &PageRequest<'_>,
    status: u16,
    shell: &Shell<'_>,
    content: &Markup,
) -> Page {
    // Who only keeps a page up to date must not take away what a person has not read.
    let notice = if request.is_live() { None } else { request.session.take_notice() };
    let body = html! {
        a.skip href="#main" { "Skip to the content" }
        header.bar {
            a.brand href="/" { img src=(assets::place("icon.svg")) alt="" width="22" height="22"; "Trunkline" }
            nav.menu aria-label="Main" { ul {
                @for entry in MENU.iter().filter(|entry| request.may(entry.needs)) {
                    li { a href=(entry.path) aria-current=[(entry.path == shell.here).then_some("page")] { (entry.word) } }
                }
            } }
            div.side {
                @if !shell.live.is_empty() {
                    span.pulse #pulse data-state="still" role="status" { "Not live" }
                }
                (theme_switch(request))
                span.who {
                    span.who-name { (request.principal().name()) }
                    @if request.principal().name() != request.principal().role().name() {
                        span.role { (request.principal().role()) }
                    }
                }
                form method="post" action="/sign-out" {
                    (hidden(request))
                    button.quiet type="submit" { "Sign out" }
                }
            }
        }
        main #main tabindex="-1" {
            @if !shell.trail.is_empty() {
                nav.trail aria-label="Where you are" { ol {
                    @for (path, word) in shell.trail { li { a href=(path) { (word) } } }
                } }
            }
            div.heading {
                h1 { (shell.title) }
                @if let Some(actions) = &shell.actions { div.actions { (actions) } }
            }
            div #notices aria-live="polite" { @if let Some(notice) = &notice { (said(notice)) } }
            (content)
        }
    };
    let attributes = Attributes {
        live: shell.live.join(" "),
        csrf: &request.session.csrf,
        theme: request.theme(),
        scripts: shell.scripts,
        to: None,
    };
    Page::html(status, document(shell.title, &attributes, &body))
}

/// A page for somebody who has not signed in.
pub(crate) fn bare(visit: &WebRequest, status: u16, title: &str, content: &Markup) -> Page {
    let body = html! {
        main.alone #main { (content) }
    };
    let theme = theme(visit);
    let attributes = Attributes { live: String::new(), csrf: "", theme, scripts: &[], to: None };
    Page::html(status, document(title, &attributes, &body))
}

/// A page that leads on by itself, to an address of ours or the issuer's.
pub(crate) fn leading(visit: &WebRequest, title: &str, to: &str, content: &Markup) -> Page {
    let body = html! { main.alone #main { (content) } };
    let (theme, to) = (theme(visit), Some(to));
    let attributes = Attributes { live: String::new(), csrf: "", theme, scripts: &[], to };
    Page::html(200, document(title, &attributes, &body))
}

pub(crate) fn trouble(request: &PageRequest<'_>, trouble: &ApiError) -> Page {
    let shell = Shell { title: &trouble.title, ..Shell::default() };
    let content = html! {
        div.card {
            p { (trouble.detail) }
            @if let Some(advice) = trouble.advice() { p.dim { (advice) } }
            p { a href="/" { "Go to the overview" } }
        }
    };
    framed(request, trouble.status, &shell, &content)
}

pub(crate) fn bare_trouble(visit: &WebRequest, trouble: &ApiError) -> Page {
    let content = html! {
        div.card {
            h1 { (trouble.title) }
            p { (trouble.detail) }
            @if let Some(advice) = trouble.advice() { p.dim { (advice) } }
            p { a href="/" { "Go to the dashboard" } }
        }
    };
    bare(visit, trouble.status, &trouble.title, &content)
}

/// The field that every form of a request carries.
pub(crate) fn hidden(request: &PageRequest<'_>) -> Markup {
    html! { input type="hidden" name="csrf" value=(request.session.csrf); }
}

/// A form that is one button.
pub(crate) fn act(request: &PageRequest<'_>, place: &str, word: &str, class: &str) -> Markup {
    html! {
        form method="post" action=(place) {
            (hidden(request))
            button class=(class) type="submit" { (word) }
        }
    }
}

/// Where there is nothing yet: what would be here, and how it gets here.
pub(crate) fn empty(title: &str, words: &Markup) -> Markup {
    html! { div.empty { h2 { (title) } p { (words) } } }
}

struct Attributes<'a> {
    live: String,
    csrf: &'a str,
    theme: Option<Theme>,
    scripts: &'a [&'a str],
    /// Where the browser goes next, without being asked.
    to: Option<&'a str>,
}

fn document(title: &str, attributes: &Attributes<'_>, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" data-theme=[attributes.theme.map(Theme::word)] {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content=(attributes.theme.map_or("light dark", Theme::word));
                @if !attributes.csrf.is_empty() { meta name="csrf" content=(attributes.csrf); }
                @if let Some(to) = attributes.to {
                    meta http-equiv="refresh" content={ "0;url=" (to) };
                    // The address of this page may hold a code.
                    meta name="referrer" content="no-referrer";
                }
                title { (title) " · Trunkline" }
                link rel="icon" type="image/svg+xml" href=(assets::place("icon.svg"));
                link rel="stylesheet" href=(assets::place("style.css"));
                script type="module" src=(assets::place("page.js")) {}
                @if !attributes.live.is_empty() {
                    script type="module" src=(assets::place("live.js")) {}
                }
                @for script in attributes.scripts {
                    script type="module" src=(assets::place(script)) {}
                }
            }
            body data-topics=[(!attributes.live.is_empty()).then_some(&attributes.live)] { (body) }
        }
    }
}

fn theme_switch(request: &PageRequest<'_>) -> Markup {
    // Three states in a circle: as the system has it, light, dark.
    let (next, word) = match request.theme() {
        None => ("light", "Auto"),
        Some(Theme::Light) => ("dark", "Light"),
        Some(Theme::Dark) => ("auto", "Dark"),
    };
    html! {
        form method="post" action="/ui/theme" {
            (hidden(request))
            input type="hidden" name="back" value=(request.visit.target);
            button.quiet type="submit" name="theme" value=(next) title={ "Change to " (next) } {
                "Colours: " (word)
            }
        }
    }
}

fn said(notice: &Notice) -> Markup {
    match notice {
        Notice::Done(words) => html! { p.notice.good role="status" { (words) } },
        Notice::Failed(words) => html! { p.notice.bad role="alert" { (words) } },
        Notice::Key { name, key } => html! {
            div.notice.good role="status" {
                p { "The key " strong { (name) } " is made. It is shown this once: copy it now." }
                p { code.secret #new-key { (key) } button.quiet type="button" data-copy="#new-key" hidden { "Copy" } }
            }
        },
    }
}

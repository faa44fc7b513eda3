//! Logging in at a server that wants it (OAuth), and out again.

use maud::{Markup, html};
use serde_json::Value;
use trunkline_control::access::Action;
use trunkline_control::api::handle::login_cookie;
use trunkline_http::encode;

use super::servers::{API, place, word};

use crate::layout::{self, Shell};
use crate::page::{Page, PageResult};
use crate::page_request::PageRequest;
use crate::session::Notice;
use crate::signed_in::is_secure;

/// Begins a login. Where it goes on is another site: nobody is led there without having seen where.
pub(super) async fn begin(request: &PageRequest<'_>) -> PageResult {
    let path = format!("{API}/{}", encode(request.id()));
    let server = request.get(&path).await?;
    let login = &request.send("POST", &format!("{path}/login"), None).await?;
    let (name, back) = (word(&server, "name"), place(&server));
    let title = format!("Log in at {name}");
    let trail = [("/servers", "Servers"), (&*back, name)];
    let shell = Shell { title: &title, here: "/servers", trail: &trail, ..Shell::default() };
    let url = word(login, "authorization_url");
    let is_web = url.starts_with("https://") || url.starts_with("http://");
    let content = html! {
        div.card.form {
            dl.facts {
                dt { "Asked is" } dd { code { (word(login, "issuer")) } }
                @if let Some(scope) = login["scope"].as_str() { dt { "For" } dd { code { (scope) } } }
                dt { "Good until" } dd { (word(login, "expires_at")) }
            }
            @if let Some(before) = login["previous_issuer"].as_str() {
                p.notice.warn { "Before, " code { (before) } " granted access. Think twice before you go on." }
            }
            p { "Whoever logs in there grants Trunkline access to " (name) ", for everybody who may use it here." }
            div.buttons {
                @if is_web { a.button.primary href=(url) rel="noreferrer" { "Go there" } }
                a.button href=(back) { "Not now" }
            }
        }
    };
    let page = layout::page(request, &shell, &content);
    // The browser that comes back is this one: it need not be asked who began the login.
    Ok(match login_cookie(url, is_secure(request.state, request.visit)) {
        Some(cookie) => page.header("Set-Cookie", cookie),
        None => page,
    })
}

pub(super) async fn end(request: &PageRequest<'_>) -> PageResult {
    let id = encode(request.id());
    request.leave(match request.send("DELETE", &format!("{API}/{id}/login"), None).await {
        Ok(_) => Notice::Done("Logged out there.".to_owned()),
        Err(trouble) => Notice::Failed(trouble.sentence()),
    });
    Ok(Page::see_other(format!("/servers/{id}")))
}

/// What there is to do about the login at a server; nothing where that does not matter.
pub(super) fn switch(request: &PageRequest<'_>, server: &Value) -> Markup {
    let place = place(server);
    match server.pointer("/auth/state").and_then(Value::as_str) {
        Some("needs-auth") if request.may(Action::Login) => {
            layout::act(request, &format!("{place}/login"), "Log in", "primary")
        }
        Some("logged-in") if request.may(Action::Logout) => {
            layout::act(request, &format!("{place}/logout"), "Log out", "")
        }
        _ => html! {},
    }
}

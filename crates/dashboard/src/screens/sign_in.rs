//! Signing in with the admin token or a key, and out again.

use maud::html;
use trunkline_control::access::{Action, NoRandom, Principal, Refusal};
use trunkline_control::api::handle::NotRecognised;
use trunkline_gateway::WebRequest;

use super::single_sign_on;
use crate::form::{Form, encode};
use crate::guard::{self, SiteRule};
use crate::layout;
use crate::page::Page;
use crate::page_request::{DashboardState, PageRequest};
use crate::signed_in;

/// The form, with what was wrong the last time.
pub(crate) fn page(
    state: &DashboardState,
    visit: &WebRequest,
    status: u16,
    wrong: Option<&str>,
) -> Page {
    let entrance = single_sign_on::entrance(state, &next(visit));
    let content = html! {
        div.card {
            h1 { "Sign in to Trunkline" }
            @if let Some(entrance) = &entrance { (entrance) } @else {
                p.dim { "Use the admin token printed at the first start, or an API key." }
            }
            @if let Some(wrong) = wrong { p.notice.bad #wrong role="alert" { (wrong) } }
            form method="post" action="/sign-in" {
                input type="hidden" name="next" value=(next(visit));
                // Managers of passwords ask for both.
                input.visually-hidden type="text" name="user" value="trunkline" autocomplete="username" tabindex="-1" aria-hidden="true";
                div.field {
                    label for="token" { "Token or API key" }
                    input #token type="password" name="token" required autofocus spellcheck="false"
                        autocomplete="current-password" aria-invalid=[wrong.map(|_| "true")]
                        aria-describedby=[wrong.map(|_| "wrong")];
                }
                button.primary type="submit" { "Sign in" }
            }
        }
        p.dim.small {
            "Lost the token? It is in the file " code { "admin-token" } " of the data directory (readable by its owner only), unless it was set with " code { "TRUNKLINE_ADMIN_TOKEN" } "."
        }
    };
    layout::bare(visit, status, "Sign in", &content)
}

/// Somebody has sent it.
pub(crate) async fn now(state: &DashboardState, visit: &WebRequest) -> Page {
    if let Some(place) = signed_in::secure_place(state, visit) {
        let words = format!(
            "This page came without TLS, and your browser would not keep you signed in. Sign in at {place}."
        );
        return page(state, visit, 400, Some(&words));
    }
    let form = Form::read_body(&visit.body);
    let token = form.filled("token").unwrap_or_default();
    let known = match state.api.recognise(token, visit.peer).await {
        Ok(known) => known,
        Err(NotRecognised { wait: Some(seconds), .. }) => {
            let words = format!(
                "Too many wrong tokens came from your address. A right one is taken at once; wait {seconds} s \
                 before you guess again."
            );
            return page(state, visit, 429, Some(&words))
                .header("Retry-After", seconds.to_string());
        }
        Err(NotRecognised { refusal, .. }) => return page(state, visit, 401, Some(words(refusal))),
    };
    match known.require(Action::ReadSelf) {
        Ok(()) => begin(state, visit, known, &place_of(form.get("next"))).await,
        Err(refusal) => page(state, visit, 401, Some(words(refusal))),
    }
}

pub(crate) async fn out(request: &PageRequest<'_>) -> Page {
    let (state, visit) = (request.state, request.visit);
    if let Some(id) = signed_in::cookie_id(state, visit) {
        signed_in::end(state, id).await;
    }
    let name = signed_in::cookie_name(state, visit);
    let is_secure = signed_in::is_secure(state, visit);
    let cookie = guard::set_cookie(&name, "", SiteRule::OwnPages, "; Max-Age=0", is_secure);
    let page = match state.api.plane().people() {
        Some(people) => match people.sign_out(request.principal(), visit.peer).await {
            Some(url) => single_sign_on::out_there(visit, people, &url),
            None => Page::see_other("/sign-in"),
        },
        None => Page::see_other("/sign-in"),
    };
    page.header("Set-Cookie", cookie)
}

/// Where to sign in, and what to show then.
pub(crate) fn place(target: &str) -> String {
    match target {
        "/" => "/sign-in".to_owned(),
        target => format!("/sign-in?next={}", encode(target)),
    }
}

/// What is to be shown after signing in.
pub(crate) fn next(visit: &WebRequest) -> String {
    let (body, query) = (Form::read_body(&visit.body), visit.query().unwrap_or_default());
    let query = Form::read(query);
    place_of(body.get("next").or_else(|| query.get("next")))
}

/// One of our own pages, whatever was asked for: never another site.
pub(crate) fn place_of(wanted: Option<&str>) -> String {
    let wanted = wanted.unwrap_or_default();
    let path = wanted.split(['?', '#']).next().unwrap_or_default();
    let is_ours = wanted.starts_with('/')
        && !wanted.starts_with("//")
        && wanted.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\')
        && crate::routes::owns(path)
        && !path.starts_with("/sign-");
    if is_ours { wanted.to_owned() } else { "/".to_owned() }
}

async fn begin(
    state: &DashboardState,
    visit: &WebRequest,
    principal: Principal,
    next: &str,
) -> Page {
    match begin_session(state, visit, principal).await {
        Ok(cookie) => Page::see_other(next).header("Set-Cookie", cookie),
        Err(error) => page(state, visit, 500, Some(&format!("Sign-in failed: {error}."))),
    }
}

/// The cookie of a new session.
pub(super) async fn begin_session(
    state: &DashboardState,
    visit: &WebRequest,
    principal: Principal,
) -> Result<String, NoRandom> {
    // A session that was there before ends: nobody goes on with what another has known.
    if let Some(id) = signed_in::cookie_id(state, visit) {
        signed_in::end(state, id).await;
    }
    let id = signed_in::begin(state, principal).await?;
    let (name, is_secure) =
        (signed_in::cookie_name(state, visit), signed_in::is_secure(state, visit));
    Ok(guard::set_cookie(&name, &id, SiteRule::OwnPages, "", is_secure))
}

fn words(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::Missing | Refusal::Malformed => "This is not a valid token.",
        Refusal::Key(trunkline_control::access::KeyFault::Revoked) => "This key has been revoked.",
        Refusal::Key(trunkline_control::access::KeyFault::Expired) => "This key has expired.",
        Refusal::NoScope
        | Refusal::NoRole
        | Refusal::ReservedSubject
        | Refusal::Stale
        | Refusal::ShutOut
        | Refusal::NotAllowed { .. } => "This token has no access to the dashboard.",
        Refusal::CertificateEnded => "The certificate of this browser has ended.",
        Refusal::Unknown | Refusal::Key(_) | Refusal::Jwt(_) | Refusal::NeedsKeys => {
            "Unknown token."
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signing_in_leads_to_our_own_pages_only() {
        for (wanted, expected) in [
            (None, "/"),
            (Some(""), "/"),
            (Some("/servers"), "/servers"),
            (Some("/servers/x?a=b#c"), "/servers/x?a=b#c"),
            (Some("//evil.example"), "/"),
            (Some("/\\evil.example"), "/"),
            (Some("https://evil.example/"), "/"),
            (Some("/servers\r\nSet-Cookie: a=b"), "/"),
            (Some("/mcp"), "/"),
            (Some("/sign-out"), "/"),
        ] {
            assert_eq!(place_of(wanted), expected, "{wanted:?}");
        }
        assert_eq!(place("/servers?a=b"), "/sign-in?next=%2Fservers%3Fa%3Db");
    }
}

//! Signing in with the admin token or a key, and out again.

use maud::html;
use trunkline_control::access::{Action, Principal, Refusal};
use trunkline_gateway::WebVisit;

use crate::form::{Form, encode};
use crate::guard;
use crate::layout;
use crate::page::Page;
use crate::visitor::{House, Visitor};

/// The form, with what was wrong the last time.
pub(crate) fn page(visit: &WebVisit, status: u16, wrong: Option<&str>) -> Page {
    let content = html! {
        div.card {
            h1 { "Sign in to Trunkline" }
            p.dim { "With the admin token that was shown at the first start, or with an API key." }
            @if let Some(wrong) = wrong { p.notice.bad #wrong role="alert" { (wrong) } }
            form method="post" action="/sign-in" {
                input type="hidden" name="next" value=(next(visit));
                // Managers of passwords ask for both.
                input.visually-hidden type="text" name="user" value="trunkline" autocomplete="username" tabindex="-1" aria-hidden="true";
                div.field {
                    label for="token" { "Token or key" }
                    input #token type="password" name="token" required autofocus spellcheck="false"
                        autocomplete="current-password" aria-invalid=[wrong.map(|_| "true")]
                        aria-describedby=[wrong.map(|_| "wrong")];
                }
                button.primary type="submit" { "Sign in" }
            }
        }
        p.dim.small {
            "Is it lost? It is in the file " code { "admin-token" } " of the data directory, which only its owner can read, unless it was chosen with " code { "TRUNKLINE_ADMIN_TOKEN" } "."
        }
    };
    layout::bare(visit, status, "Sign in", &content)
}

/// Somebody has sent it.
pub(crate) async fn now(house: &House, visit: &WebVisit) -> Page {
    let source = visit.peer.ip();
    let waiting = house.doorman.lock().wait(source, house.now());
    if let Some(wait) = waiting {
        let seconds = wait.as_secs() + 1;
        let words = format!("Too many wrong tokens. Try again in {seconds} s.");
        return page(visit, 429, Some(&words)).header("Retry-After", seconds.to_string());
    }
    let form = Form::read_body(&visit.body);
    let token = form.filled("token").unwrap_or_default();
    let known = house.api.recognise(token, visit.peer).await;
    match known.and_then(|known| known.require(Action::ReadSelf).map(|()| known)) {
        Ok(principal) => {
            house.doorman.lock().was_right(source);
            begin(house, visit, principal, &place_of(form.get("next")))
        }
        Err(refusal) => {
            house.doorman.lock().was_wrong(source, house.now());
            page(visit, 401, Some(words(refusal)))
        }
    }
}

pub(crate) fn out(visitor: &Visitor<'_>) -> Page {
    let headers = &visitor.visit.headers;
    let name = guard::session_cookie(headers);
    if let Some(id) = guard::cookie(headers, &name) {
        visitor.house.sessions.end(id);
    }
    let cookie =
        guard::set_cookie(&name, "", "; Max-Age=0", is_secure(visitor.house, visitor.visit));
    Page::see_other("/sign-in").header("Set-Cookie", cookie)
}

/// Where to sign in, and what to show then.
pub(crate) fn place(target: &str) -> String {
    match target {
        "/" => "/sign-in".to_owned(),
        target => format!("/sign-in?next={}", encode(target)),
    }
}

/// What is to be shown after signing in.
pub(crate) fn next(visit: &WebVisit) -> String {
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

pub(crate) fn is_secure(house: &House, visit: &WebVisit) -> bool {
    guard::is_secure(&visit.headers, house.api.plane().settings().public_url.as_deref())
}

fn begin(house: &House, visit: &WebVisit, principal: Principal, next: &str) -> Page {
    // A session that was there before ends: nobody goes on with what another has known.
    let name = guard::session_cookie(&visit.headers);
    if let Some(id) = guard::cookie(&visit.headers, &name) {
        house.sessions.end(id);
    }
    match house.sessions.begin(principal, house.now()) {
        Ok(id) => {
            let cookie = guard::set_cookie(&name, &id, "", is_secure(house, visit));
            Page::see_other(next).header("Set-Cookie", cookie)
        }
        Err(error) => page(visit, 500, Some(&format!("It did not work: {error}."))),
    }
}

fn words(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::Missing | Refusal::Malformed => "That is no token.",
        Refusal::Key(trunkline_control::access::KeyFault::Revoked) => "This key is revoked.",
        Refusal::Key(trunkline_control::access::KeyFault::Expired) => "This key is expired.",
        Refusal::NoScope | Refusal::NotAllowed { .. } => {
            "This token is not good for the dashboard."
        }
        Refusal::Unknown | Refusal::Key(_) | Refusal::Jwt(_) | Refusal::NeedsKeys => {
            "This token is not known here."
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

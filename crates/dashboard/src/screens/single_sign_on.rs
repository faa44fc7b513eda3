//! Signing in at the issuer of the operator's people: away, back, and out again there.

use maud::{Markup, html};
use trunkline_control::access::{NoPerson, Principal};
use trunkline_control::people::{Account, SignInFault, SignInSeed};
use trunkline_control::services::PeopleService;
use trunkline_gateway::WebRequest;

use super::sign_in;
use crate::form::{Form, encode};
use crate::guard::{self, SiteRule};
use crate::layout;
use crate::page::Page;
use crate::page_request::DashboardState;
use crate::signed_in::{self, is_secure};

pub(crate) const BEGIN: &str = "/sign-in/oidc";
/// How long a person may take, in seconds.
const PATIENCE: u32 = 600;
/// Characters of the place to go to then; whoever wants to go further begins at the overview.
const MOST_NEXT: usize = 2_000;
/// Groups that are shown to somebody who has no role.
const MOST_GROUPS: usize = 20;

/// The way to the issuer, for the page with the form; nothing where there is no issuer.
pub(super) fn entrance(state: &DashboardState, next: &str) -> Option<Markup> {
    let people = state.api.plane().people()?;
    Some(html! {
        p { a.button.primary href=(begin_at(next, Account::Any)) { "Sign in with " (people.host()) } }
        p.dim { "Or use the admin token printed at the first start, or an API key." }
    })
}

/// To the issuer.
pub(crate) async fn begin(state: &DashboardState, visit: &WebRequest) -> Page {
    let query = Form::read(visit.query().unwrap_or_default());
    let next = sign_in::place_of(query.get("next"));
    let Some(people) = state.api.plane().people() else { return nobody(state, visit) };
    // Another site must not sign a browser in: its person decides that, on our page.
    if guard::is_from_elsewhere(&visit.headers) {
        return Page::see_other(sign_in::place(&next));
    }
    let account = match query.get("account") {
        Some("another") => Account::Another,
        _ => Account::Any,
    };
    match people.begin(account).await {
        Ok(begun) => {
            // Browsers drop cookies of more than 4 KiB.
            let next = Some(encode(&next)).filter(|next| next.len() <= MOST_NEXT);
            // Its session's cookie does not come along when the issuer leads back.
            let before = signed_in::name(state, visit).unwrap_or_default();
            let kept = format!("{}.{before}.{}", begun.seed.to_text(), next.unwrap_or_default());
            Page::see_other(begun.url).header("Set-Cookie", cookie(state, visit, &kept, PATIENCE))
        }
        Err(fault) => failed(visit, people, &fault),
    }
}

/// Back from the issuer.
pub(crate) async fn came_back(state: &DashboardState, visit: &WebRequest) -> Page {
    let Some(people) = state.api.plane().people() else { return nobody(state, visit) };
    let name = guard::sign_in_cookie(&visit.headers, is_secure(state, visit));
    let mut kept = guard::cookie(&visit.headers, &name).unwrap_or_default().splitn(3, '.');
    let seed = kept.next().and_then(SignInSeed::read);
    let (before, next) = (kept.next(), kept.next());
    let query = visit.query().unwrap_or_default();
    let page = match people.finish(seed.as_ref(), query, visit.peer).await {
        Ok(principal) => {
            // As with every sign-in: nobody goes on with what another has known.
            if let Some(before) = before {
                signed_in::end_named(state, before).await;
            }
            let next = Form::read(&format!("next={}", next.unwrap_or_default()));
            enter(state, visit, principal, &sign_in::place_of(next.get("next"))).await
        }
        // Another page may have made this up: a sign-in that is under way goes on. So does one that found no place.
        Err(
            fault @ (SignInFault::NotBegunHere | SignInFault::Unreadable(_) | SignInFault::Busy),
        ) => {
            return failed(visit, people, &fault);
        }
        Err(fault) => failed(visit, people, &fault),
    };
    // The cookie has done its work, whatever came of it.
    page.header("Set-Cookie", cookie(state, visit, "", 0))
}

/// A session begins. The page leads on by itself: a redirect would be of the issuer's making for the browser, which
/// then keeps the session's cookie (`SameSite=Strict`) to itself.
async fn enter(
    state: &DashboardState,
    visit: &WebRequest,
    principal: Principal,
    next: &str,
) -> Page {
    match sign_in::begin_session(state, visit, principal).await {
        Ok(cookie) => {
            let words = html! {
                div.card {
                    h1 { "Signed in" }
                    p { a href=(next) { "Go on to the dashboard" } }
                }
            };
            layout::leading(visit, "Signed in", next, &words).header("Set-Cookie", cookie)
        }
        Err(error) => sign_in::page(state, visit, 500, Some(&format!("Sign-in failed: {error}."))),
    }
}

/// Signed out here; and there, too.
pub(super) fn out_there(visit: &WebRequest, people: &PeopleService, url: &str) -> Page {
    // A page and not a redirect: browsers hold the form that was sent to `form-action` wherever it leads.
    let words = html! {
        div.card {
            h1 { "Signed out" }
            p { "You are signed out of Trunkline, and are led to " (people.host()) " to sign out there." }
            p { a href=(url) { "Sign out of " (people.host()) } }
            p { a href="/sign-in" { "Sign in again" } }
        }
    };
    layout::leading(visit, "Signed out", url, &words)
}

fn begin_at(next: &str, account: Account) -> String {
    let account = match account {
        Account::Any => "",
        Account::Another => "&account=another",
    };
    format!("{BEGIN}?next={}{account}", encode(next))
}

fn cookie(state: &DashboardState, visit: &WebRequest, value: &str, seconds: u32) -> String {
    let is_secure = is_secure(state, visit);
    let name = guard::sign_in_cookie(&visit.headers, is_secure);
    // `Lax`: it has to come along when the issuer leads back.
    let more = format!("; Max-Age={seconds}");
    guard::set_cookie(&name, value, SiteRule::Links, &more, is_secure)
}

fn nobody(state: &DashboardState, visit: &WebRequest) -> Page {
    sign_in::page(state, visit, 404, Some("Nobody signs in at an issuer here. Use a key."))
}

fn failed(visit: &WebRequest, people: &PeopleService, fault: &SignInFault) -> Page {
    let (status, title) = match fault {
        SignInFault::NoPerson(_) => (403, "No access"),
        SignInFault::Away(_) | SignInFault::Busy | SignInFault::Random(_) => (503, "Not signed in"),
        SignInFault::NotBegunHere
        | SignInFault::Unreadable(_)
        | SignInFault::Callback(_)
        | SignInFault::Token(_)
        | SignInFault::IdToken(_) => (400, "Not signed in"),
    };
    let host = people.host();
    let content = html! {
        div.card {
            h1 { (title) }
            @match fault {
                SignInFault::NoPerson(no) => (no_role(host, no)),
                fault => { p role="alert" { "The sign-in did not work: " (fault) "." } p { (remedy(fault)) } }
            }
            div.buttons {
                @match fault {
                    SignInFault::NoPerson(_) => a.button.primary href=(begin_at("/", Account::Another)) { "Sign in as somebody else" },
                    _ => a.button.primary href=(begin_at("/", Account::Any)) { "Try again" },
                }
                a.button href="/sign-in" { "Use a key" }
            }
        }
    };
    let page = layout::bare(visit, status, title, &content);
    match fault {
        SignInFault::Busy => page.header("Retry-After", "1".to_owned()),
        _ => page,
    }
}

fn remedy(fault: &SignInFault) -> &'static str {
    match fault {
        SignInFault::NotBegunHere | SignInFault::Unreadable(_) => {
            "Begin it again, in this browser, at the address that you are led back to; cookies have to be allowed."
        }
        SignInFault::Away(_) => {
            "Try again in a minute. Whoever runs this Trunkline finds the reason in its log; keys sign in meanwhile."
        }
        SignInFault::Token(_) => {
            "Whoever runs this Trunkline has to compare --oidc-client-id, its secret and the redirect URI with what is \
             registered at the issuer."
        }
        SignInFault::IdToken(_) => {
            "Try again. If it stays so, the clocks may be apart, or the issuer signs for this client in a way that is not \
             accepted (RS256, ES256, EdDSA and PS256 are)."
        }
        SignInFault::Busy => "Reload this page to try again; keys sign in meanwhile.",
        SignInFault::Callback(_) | SignInFault::Random(_) | SignInFault::NoPerson(_) => {
            "Try again."
        }
    }
}

/// For somebody whom the issuer knows, and what they can ask for.
fn no_role(host: &str, no: &NoPerson) -> Markup {
    html! {
        p role="alert" { "You are signed in at " (host) " as " strong { (no.name()) } ", but you have no role in this Trunkline." }
        @match no {
            NoPerson::NoRole { groups, .. } => {
                p { "None of your groups has a role here:" }
                ul { @for group in groups.iter().take(MOST_GROUPS) { li { code { (group) } } } }
                @if groups.len() > MOST_GROUPS { p.dim { "… and " (groups.len() - MOST_GROUPS) " more." } }
                p { "Ask whoever runs this Trunkline to give one of them a role (" code { "--oidc-role GROUP=ROLE" } "), or whoever runs " (host) " to take you into one that has." }
            }
            NoPerson::NoGroups { path, .. } => {
                p { (host) " names no groups of yours in the claim " code { (path) } "." }
                p { "Ask whoever runs it to take you into a group that has a role here. Whoever runs this Trunkline may have to have the groups put into ID tokens, or to name another claim (" code { "--oidc-groups-claim" } ")." }
            }
            NoPerson::TooManyGroups { path, .. } => {
                p { "You are in so many groups that " (host) " leaves them out of the claim " code { (path) } "." }
                p { "Whoever runs this Trunkline can map app roles instead (" code { "--oidc-groups-claim roles" } "), or have only the groups that are assigned to the application put into tokens." }
            }
            NoPerson::Reserved { .. } => {
                p { "Your subject there begins with " code { "cert:" } ", as the names of certificates do here. Use a key." }
            }
        }
    }
}

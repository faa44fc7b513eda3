//! Logins: begun and ended over REST; and what browsers and authorization servers ask for meanwhile,
//! who come without a token. What a browser brings is bound by its `state`, which is good once, and to the browser
//! by a cookie: one that does not have it is asked first.
use crate::access::Action;
use crate::api::answer::ApiResponse;
use crate::api::parameters::SERVER_ID;
use crate::api::problem::{Kind, Problem};
use crate::api::render;
use crate::api::request::ApiRequest;
use crate::api::route::{Access, Handler, Method, Response, Route};
use crate::api::view::LoginView;
use crate::oauth;
use crate::services::{
    CALLBACK, CLIENT_NAME, CameBack, ConsentQuestion, ControlPlane, DOCUMENT, LoggedIn,
    browser_proof,
};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest as _, Sha256};
use trunkline_gateway::WebRequest;
use trunkline_http::{encode, read_form};

const TAG: &str = "Logins";

pub(in crate::api) const ROUTES: &[Route] = &[
    Route::new(
        "loginServer",
        (Method::Post, "/api/v1/aggregator/servers/{id}/login"),
        Access::Needs(Action::Login),
        Handler::Async(|asked| Box::pin(begin(asked))),
    )
    .about(
        TAG,
        "Log in at a server",
        "For servers that want OAuth. The answer says where to go with a browser; when it has come \
         back, the server is connected. Whoever logs in there grants this Trunkline, and all who \
         may use it, access in their name.",
    )
    .parameters(&[SERVER_ID])
    .answers(&[Response::json(200, "Where to go.", LoginView::SCHEMA)])
    .fails(&[Kind::NoSuchServer, Kind::NoLogin, Kind::LoginFailed, Kind::StoreUnavailable]),
    Route::new(
        "logoutServer",
        (Method::Delete, "/api/v1/aggregator/servers/{id}/login"),
        Access::Needs(Action::Logout),
        Handler::Async(|asked| Box::pin(end(asked))),
    )
    .about(
        TAG,
        "Log out from a server",
        "What was granted is forgotten, and the authorization server is told if it can be.",
    )
    .parameters(&[SERVER_ID])
    .answers(&[Response::empty(204, "It is forgotten.")])
    .fails(&[Kind::NoSuchServer, Kind::StoreUnavailable]),
];

async fn begin(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    asked.no_query()?;
    let started = asked.plane.logins().begin(asked.id(), asked.by()).await?;
    Ok(ApiResponse::json(200, &render::started_login(&started)))
}

async fn end(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    asked.no_query()?;
    asked.plane.logins().log_out(asked.id(), asked.by()).await?;
    Ok(ApiResponse::empty(204))
}

pub(super) fn owns(plane: &ControlPlane, path: &str) -> bool {
    path == CALLBACK || (path == DOCUMENT && plane.logins().client_document().is_some())
}

pub(super) async fn answer(plane: &ControlPlane, visit: &WebRequest, path: &str) -> ApiResponse {
    let document = plane.logins().client_document().filter(|_| path == DOCUMENT);
    match (visit.method.as_str(), document) {
        ("GET", Some((id, redirect))) => {
            ApiResponse::json(200, &oauth::document(&id, CLIENT_NAME, &redirect))
        }
        ("GET", None) => came_back(plane, visit).await,
        ("POST", None) => {
            let form = String::from_utf8_lossy(&visit.body);
            logged_in(plane.logins().agreed(&form, proof(visit)).await)
        }
        (method, _) => {
            let why = format!("{method} is not for this");
            let problem = Problem::new(Kind::WrongMethod, why).instance(path);
            ApiResponse::problem(&problem).header("Allow", "GET, POST".to_owned())
        }
    }
}

async fn came_back(plane: &ControlPlane, visit: &WebRequest) -> ApiResponse {
    let query = visit.query().unwrap_or_default();
    match plane.logins().came_back(query, proof(visit)).await {
        Ok(CameBack::LoggedIn(server)) => logged_in(Ok(server)),
        Ok(CameBack::Asks(question)) => {
            let public = plane.settings().public_url.as_deref().unwrap_or_default();
            let is_secure = public.starts_with("https://");
            let cookie = cookie(&question.ticket, CookieReach::OwnPages, is_secure);
            consent_page(&question).header("Set-Cookie", cookie)
        }
        Err(why) => logged_in(Err(why)),
    }
}

const COOKIE: &str = "trunkline_login";

/// Which requests carry the cookie.
#[derive(Clone, Copy)]
enum CookieReach {
    /// Also those that an authorization server leads to.
    Links,
    OwnPages,
}

/// For the page that sends somebody to this authorization URL: binds the login to the browser.
pub fn login_cookie(authorization_url: &str, is_secure: bool) -> Option<String> {
    let fields = read_form(authorization_url.split_once('?')?.1).ok()?;
    let (_, state) = fields.into_iter().find(|(name, _)| name == "state")?;
    Some(cookie(&state, CookieReach::Links, is_secure))
}

fn cookie(state: &str, reach: CookieReach, is_secure: bool) -> String {
    let proof = browser_proof(state);
    let site = match reach {
        CookieReach::Links => "Lax",
        CookieReach::OwnPages => "Strict",
    };
    let secure = if is_secure { "; Secure" } else { "" };
    // As long as the login waits.
    format!("{COOKIE}={proof}; Path={CALLBACK}; Max-Age=600; HttpOnly; SameSite={site}{secure}")
}

/// What the browser shows of where the login was begun.
fn proof(visit: &WebRequest) -> Option<&str> {
    let texts = visit.headers.all("cookie").filter_map(|value| std::str::from_utf8(value).ok());
    let mut pairs = texts.flat_map(|text| text.split(';')).filter_map(|pair| pair.split_once('='));
    pairs.find(|(name, _)| name.trim() == COOKIE).map(|(_, value)| value.trim())
}

fn logged_in(done: Result<LoggedIn, String>) -> ApiResponse {
    match done {
        Ok(server) => {
            let words = format!("Trunkline is logged in at {}.", server.name);
            let back = format!("/servers/{}", encode(&server.id));
            page(200, "Logged in", &words, (&back, &format!("Back to {}", server.name)))
        }
        Err(why) => {
            let words = format!("The login did not work: {why}.");
            page(400, "Not logged in", &words, ("/servers", "Back to the servers"))
        }
    }
}

/// The address of this page holds the code: `no-referrer` keeps it from the page that the link leads to.
fn page(status: u16, title: &str, words: &str, (place, back): (&str, &str)) -> ApiResponse {
    let [title, words, place, back] = [title, words, place, back].map(escaped);
    let content = format!(
        "<p>{words}</p><p><a href=\"{place}\">{back}</a></p>\
         <p class=\"dim\">Or close this window.</p>"
    );
    html_document(status, &title, &content)
        .header("Content-Security-Policy", policy("'none'"))
        .header("Referrer-Policy", "no-referrer".to_owned())
}

/// Asks the person whose browser has come back from a login that was begun elsewhere.
fn consent_page(question: &ConsentQuestion) -> ApiResponse {
    let [server, principal, issuer] =
        [&question.server, &question.principal, &question.issuer].map(|text| escaped(text));
    let hidden = |name: &str, value: &str| {
        format!("<input type=\"hidden\" name=\"{name}\" value=\"{}\">", escaped(value))
    };
    let code = question.callback.code.as_ref().map(|code| hidden("code", code.reveal()));
    let iss = question.callback.iss.as_ref().map(|iss| hidden("iss", iss));
    let fields: String =
        [Some(hidden("state", &question.ticket)), code, iss].into_iter().flatten().collect();
    let content = format!(
        "<p><strong>{principal}</strong> began a login at the server <strong>{server}</strong>, and \
         you have agreed to it at <code>{issuer}</code>.</p>\
         <p>If you go on, everybody who may use {server} in this Trunkline uses it with your access. \
         If you did not expect this, close this window: nothing is kept.</p>\
         <form method=\"post\" action=\"{CALLBACK}\">{fields}<button type=\"submit\">Grant access</button></form>"
    );
    html_document(200, "Grant access?", &content)
        .header("Content-Security-Policy", policy("'self'"))
        // With `no-referrer` browsers say `Origin: null` when a form is sent.
        .header("Referrer-Policy", "same-origin".to_owned())
}

fn html_document(status: u16, title: &str, content: &str) -> ApiResponse {
    let body = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{title} · Trunkline</title><style>{STYLE}</style></head><body><main>\
         <h1>{title}</h1>{content}</main></body></html>\n"
    );
    ApiResponse::text(status, "text/html; charset=utf-8", body.into_bytes())
        .header("X-Frame-Options", "DENY".to_owned())
}

/// In the colours of the dashboard, without a file of its: this page needs nothing else.
const STYLE: &str = "html{color-scheme:light dark;font:15px/1.5 system-ui,sans-serif;\
    background:light-dark(#f5f6f8,#0f141a);color:light-dark(#17202b,#e5eaf1)}\
    main{max-width:27rem;margin:12vh auto 0;padding:1rem 1.5rem;border-radius:8px;\
    background:light-dark(#fff,#171e27);border:1px solid light-dark(#dbe0e7,#2b3644);\
    overflow-wrap:anywhere}h1{font-size:1.45rem;line-height:1.25;margin:.5rem 0}\
    a{color:light-dark(#1d5bb8,#82b4ff)}button{font:inherit;padding:.4rem .9rem;border-radius:6px;border:0;\
    background:light-dark(#1d5bb8,#82b4ff);color:light-dark(#fff,#0f141a)}.dim{color:light-dark(#535f6e,#a3afbd);font-size:.87rem}";

/// Nothing but this style, by its hash.
fn policy(form_action: &str) -> String {
    let hash = BASE64_STANDARD.encode(Sha256::digest(STYLE.as_bytes()));
    format!(
        "default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'; form-action {form_action}; \
         frame-ancestors 'none'"
    )
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;").replace('\'', "&#39;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_have_written_is_no_html() {
        assert_eq!(escaped("<a b='c\">&"), "&lt;a b=&#39;c&quot;&gt;&amp;");
    }
}

//! Logins: begun and ended over REST; and what browsers and authorization servers ask for meanwhile,
//! who come without a token. What a browser brings is bound by its `state`, which is good once.

use sha2::{Digest as _, Sha256};
use trunkline_gateway::WebVisit;
use trunkline_http::encode;

use super::Asked;
use super::answer::Answer;
use crate::api::problem::{Kind, Problem};
use crate::api::render;
use crate::oauth::{self, base64};
use crate::services::{CALLBACK, CLIENT_NAME, ControlPlane, DOCUMENT};

pub(super) async fn begin(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    let started = asked.plane.logins().begin(asked.id(), asked.by()).await?;
    Ok(Answer::json(200, &render::started_login(&started)))
}

pub(super) async fn end(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    asked.plane.logins().log_out(asked.id(), asked.by()).await?;
    Ok(Answer::empty(204))
}

pub(super) fn owns(plane: &ControlPlane, path: &str) -> bool {
    path == CALLBACK || (path == DOCUMENT && plane.logins().client_document().is_some())
}

pub(super) async fn answer(plane: &ControlPlane, visit: &WebVisit, path: &str) -> Answer {
    let document = plane.logins().client_document().filter(|_| path == DOCUMENT);
    match (visit.method.as_str(), document) {
        ("GET", Some((id, redirect))) => {
            Answer::json(200, &oauth::document(&id, CLIENT_NAME, &redirect))
        }
        ("GET", None) => came_back(plane, visit.query().unwrap_or_default()).await,
        (method, _) => {
            let why = format!("{method} is not for this");
            let problem = Problem::new(Kind::WrongMethod, why).instance(path);
            Answer::problem(&problem).header("Allow", "GET".to_owned())
        }
    }
}

async fn came_back(plane: &ControlPlane, query: &str) -> Answer {
    match plane.logins().finish(query).await {
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

/// The address of this page holds a code: the browser tells nobody where it was when it follows the link.
fn page(status: u16, title: &str, words: &str, (place, back): (&str, &str)) -> Answer {
    let [title, words, place, back] = [title, words, place, back].map(escaped);
    let body = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{title} · Trunkline</title><style>{STYLE}</style></head><body><main>\
         <h1>{title}</h1><p>{words}</p><p><a href=\"{place}\">{back}</a></p>\
         <p class=\"dim\">Or close this window.</p></main></body></html>\n"
    );
    Answer::text(status, "text/html; charset=utf-8", body.into_bytes())
        .header("Content-Security-Policy", policy())
        .header("Referrer-Policy", "no-referrer".to_owned())
        .header("X-Frame-Options", "DENY".to_owned())
}

/// In the colours of the dashboard, without a file of its: this page needs nothing else.
const STYLE: &str = "html{color-scheme:light dark;font:15px/1.5 system-ui,sans-serif;\
    background:light-dark(#f5f6f8,#0f141a);color:light-dark(#17202b,#e5eaf1)}\
    main{max-width:27rem;margin:12vh auto 0;padding:1rem 1.5rem;border-radius:8px;\
    background:light-dark(#fff,#171e27);border:1px solid light-dark(#dbe0e7,#2b3644);\
    overflow-wrap:anywhere}h1{font-size:1.45rem;line-height:1.25;margin:.5rem 0}\
    a{color:light-dark(#1d5bb8,#82b4ff)}.dim{color:light-dark(#535f6e,#a3afbd);font-size:.87rem}";

/// Nothing but this style, by its hash.
fn policy() -> String {
    let hash = base64(&Sha256::digest(STYLE.as_bytes()));
    format!(
        "default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'; \
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

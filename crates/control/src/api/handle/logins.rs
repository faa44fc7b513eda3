//! Logins: begun and ended over REST; and what browsers and authorization servers ask for meanwhile,
//! who come without a token. What a browser brings is bound by its `state`, which is good once.

use trunkline_gateway::WebVisit;

use super::Asked;
use super::answer::Answer;
use crate::api::problem::{Kind, Problem};
use crate::platform::{CALLBACK, DOCUMENT, Platform};

pub(super) async fn begin(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    Ok(Answer::json(200, &asked.platform.login(asked.id(), asked.by()).await?))
}

pub(super) async fn end(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    asked.platform.logout(asked.id(), asked.by()).await?;
    Ok(Answer::empty(204))
}

pub(super) fn owns(platform: &Platform, path: &str) -> bool {
    path == CALLBACK || (path == DOCUMENT && platform.client_document().is_some())
}

pub(super) async fn answer(platform: &Platform, visit: &WebVisit, path: &str) -> Answer {
    let document = platform.client_document().filter(|_| path == DOCUMENT);
    match (visit.method.as_str(), document) {
        ("GET", Some(document)) => Answer::json(200, &document),
        ("GET", None) => came_back(platform, visit.query().unwrap_or_default()).await,
        (method, _) => {
            let why = format!("{method} is not for this");
            let problem = Problem::new(Kind::WrongMethod, why).instance(path);
            Answer::problem(&problem).header("Allow", "GET".to_owned())
        }
    }
}

async fn came_back(platform: &Platform, query: &str) -> Answer {
    match platform.logged_in(query).await {
        Ok(server) => page(200, &format!("Trunkline is logged in at {server}.")),
        Err(why) => page(400, &format!("The login did not work: {why}.")),
    }
}

/// The address of this page holds a code: nothing on it leads anywhere.
fn page(status: u16, words: &str) -> Answer {
    let body = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Trunkline</title>\
         <p>{}</p><p>You can close this window.</p></html>\n",
        escaped(words)
    );
    Answer::text(status, "text/html; charset=utf-8", body.into_bytes())
        .header("Content-Security-Policy", POLICY.to_owned())
        .header("Referrer-Policy", "no-referrer".to_owned())
        .header("X-Frame-Options", "DENY".to_owned())
}

const POLICY: &str =
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

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

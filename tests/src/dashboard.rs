//! Somebody at the dashboard whose browser knows no scripts: it keeps cookies, sends forms and follows
//! where it is led.

use std::net::SocketAddr;

use crate::LIMIT;
use crate::http::{Ask, Connection, Response};
use crate::platform::{Platform, percent};

/// One browser. Each request goes over a connection of its own.
#[derive(Debug, Clone)]
pub struct Person {
    address: SocketAddr,
    cookie: Option<String>,
}

impl Person {
    /// Who has not signed in.
    pub fn stranger(address: SocketAddr) -> Self {
        Self { address, cookie: None }
    }

    /// Who has, with this token.
    #[track_caller]
    pub fn signed_in(platform: &Platform, token: &str) -> Self {
        let mut person = Self::stranger(platform.serve().address());
        let answer = person.sign_in(token);
        assert_eq!(answer.status(), 303, "{}", answer.text());
        person
    }

    /// Fills in the form; a cookie that comes back is kept.
    #[track_caller]
    pub fn sign_in(&mut self, token: &str) -> Response {
        let answer = self.send(&self.form("/sign-in", &[("token", token)]));
        self.keep_cookie(&answer);
        answer
    }

    fn keep_cookie(&mut self, answer: &Response) {
        if let Some(set) = answer.head.header("set-cookie") {
            self.cookie = set.split(';').next().map(str::to_owned);
        }
    }

    /// As it is sent along.
    pub fn cookie(&self) -> Option<&str> {
        self.cookie.as_deref()
    }

    #[track_caller]
    pub fn get(&self, path: &str) -> Response {
        self.send(&Ask::get(path).header("Accept", "text/html"))
    }

    /// A page that has to be there.
    #[track_caller]
    pub fn page(&self, path: &str) -> String {
        let answer = self.get(path);
        assert_eq!(answer.status(), 200, "{path}: {}\n{}", answer.head.raw, answer.text());
        answer.text()
    }

    /// Sends a form that stands on a page, with that page's token.
    #[track_caller]
    pub fn submit(&self, page: &str, action: &str, fields: &[(&str, &str)]) -> Response {
        let text = self.page(page);
        assert!(text.contains(&format!("action=\"{action}\"")), "no form to {action} on {page}");
        let mut all = vec![("csrf", csrf(&text))];
        all.extend_from_slice(fields);
        self.send(&self.form(action, &all))
    }

    /// A form as a browser sends it, with nothing but these fields.
    pub fn form(&self, action: &str, fields: &[(&str, &str)]) -> Ask {
        let pairs = fields.iter().map(|(name, value)| format!("{name}={}", percent(value)));
        let body = pairs.collect::<Vec<_>>().join("&");
        Ask::new("POST", action)
            .header("Content-Type", "application/x-www-form-urlencoded")
            .header("Origin", &format!("http://{}", self.address))
            .header("Sec-Fetch-Site", "same-origin")
            .body(body)
    }

    #[track_caller]
    pub fn send(&self, ask: &Ask) -> Response {
        self.begin(ask).response(LIMIT)
    }

    /// What comes back is still to be read.
    #[track_caller]
    pub fn begin(&self, ask: &Ask) -> Connection {
        let ask = match &self.cookie {
            Some(cookie) => ask.clone().header("Cookie", cookie),
            None => ask.clone(),
        };
        let mut connection = Connection::open(self.address);
        connection.begin(&ask);
        connection
    }
}

/// The token that a page's forms carry.
#[track_caller]
pub fn csrf(page: &str) -> &str {
    between(page, "name=\"csrf\" value=\"", "\"").expect("a page with a form")
}

/// What stands between the first `from` and the `to` behind it.
pub fn between<'a>(text: &'a str, from: &str, to: &str) -> Option<&'a str> {
    text.split_once(from)?.1.split_once(to).map(|(inner, _)| inner)
}

/// The addresses of everything a page fetches by itself.
pub fn fetched(page: &str) -> Vec<String> {
    let tags = page
        .split('<')
        .filter(|tag| ["link ", "script ", "img "].iter().any(|kind| tag.starts_with(kind)));
    let address = |tag: &str| {
        between(tag, " href=\"", "\"").or_else(|| between(tag, " src=\"", "\"")).map(str::to_owned)
    };
    tags.filter_map(address).collect()
}

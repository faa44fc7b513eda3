//! `Dashboard`: requests of browsers, from the listener to a screen and back. Who visits is known, and
//! that one of our own pages has sent it, before a screen hears of it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use trunkline_control::api::handle::Api;
use trunkline_control::services::ControlPlane;
use trunkline_gateway::{Attachment, WebReply, WebVisit};

use crate::ask::Trouble;
use crate::doorman::Doorman;
use crate::form::Form;
use crate::guard::{self, Foreign};
use crate::page::Page;
use crate::routes::{self, Access, Found, Method, Route, Screen};
use crate::screens::{self, sign_in};
use crate::session::{Session, Sessions};
use crate::trials::Trials;
use crate::visitor::{House, LIVE, Visitor};
use crate::{assets, layout, live};

/// Forms of people; arguments of a tool are the longest of them.
const MOST_BODY: usize = 4 * 1024 * 1024;

#[derive(Debug, Clone)]
pub struct Dashboard(Arc<House>);

impl Dashboard {
    pub fn new(plane: ControlPlane) -> Self {
        Self(Arc::new(House {
            api: Api::new(plane),
            sessions: Sessions::default(),
            trials: Trials::default(),
            doorman: Mutex::new(Doorman::default()),
            start: Instant::now(),
        }))
    }

    /// Does a browser ask for a page about the API? Its session lets it in there; a program shows a token.
    pub fn takes(&self, visit: &WebVisit) -> bool {
        let is_page = matches!(visit.method.as_str(), "GET" | "HEAD")
            && routes::API_PAGES.contains(&visit.path())
            && visit.headers.get("authorization").is_none();
        is_page && (wants_html(visit) || session_of(&self.0, visit).is_some())
    }
}

fn wants_html(visit: &WebVisit) -> bool {
    visit.headers.all("accept").any(|accept| accept.windows(9).any(|part| part == b"text/html"))
}

impl Attachment for Dashboard {
    fn owns(&self, path: &str) -> bool {
        routes::owns(path)
    }

    fn body_limit(&self, _path: &str) -> usize {
        MOST_BODY
    }

    fn visit(&self, visit: WebVisit, reply: WebReply) {
        let house = Arc::clone(&self.0);
        let background = self.0.api.plane().background();
        background.tasks().spawn(async move { serve(&house, &visit, reply).await });
    }
}

async fn serve(house: &House, visit: &WebVisit, reply: WebReply) {
    let (route, params) = match routes::find(&visit.method, visit.path()) {
        Found::Route(route, params) => (route, params),
        Found::WrongMethod(allowed) => {
            let page = layout::bare_trouble(visit, &wrong_method(allowed));
            return page.header("Allow", allowed).send(reply);
        }
        Found::Nothing => return missing(house, visit).send(reply),
    };
    match route.access {
        Access::Open => open(house, visit, route, &params).await.send(reply),
        Access::Needs(_) => match enter(house, visit, route, params) {
            Ok(visitor) if route.screen == Screen::Live => live::stream(&visitor, reply).await,
            Ok(visitor) => show(&visitor, route).await.send(reply),
            Err(page) => page.send(reply),
        },
    }
}

/// What is there before anybody has signed in.
async fn open(house: &House, visit: &WebVisit, route: Route, params: &[String]) -> Page {
    if route.method == Method::Post
        && let Err(foreign) =
            guard::is_own_page(&visit.headers, house.api.plane().settings().public_url.as_deref())
    {
        return layout::bare_trouble(visit, &refused(foreign));
    }
    match route.screen {
        Screen::Asset => {
            let asset = params.first().and_then(|name| assets::find(name));
            asset.map_or_else(
                || layout::bare_trouble(visit, &Trouble::nothing_here()),
                |asset| Page::for_ever(asset.kind, asset.body.as_bytes().to_vec()),
            )
        }
        Screen::SignInNow => sign_in::now(house, visit).await,
        _ if session_of(house, visit).is_some() => Page::see_other(sign_in::next(visit)),
        _ => sign_in::page(visit, 200, None),
    }
}

/// Who visits, if they may and a page of ours has sent this.
fn enter<'a>(
    house: &'a House,
    visit: &'a WebVisit,
    route: Route,
    params: Vec<String>,
) -> Result<Visitor<'a>, Page> {
    let session = session_of(house, visit).ok_or_else(|| to_sign_in(visit, route))?;
    let form = match route.method {
        Method::Get => Form::default(),
        Method::Post => Form::read_body(&visit.body),
    };
    if route.method == Method::Post {
        let shown = form.get("csrf").or_else(|| visit.headers.text("x-csrf"));
        let own =
            guard::is_own_page(&visit.headers, house.api.plane().settings().public_url.as_deref())
                .and_then(|()| guard::has_token(shown, &session.csrf));
        own.map_err(|foreign| layout::bare_trouble(visit, &refused(foreign)))?;
    }
    if visit.headers.get(LIVE).is_none() {
        session.touch(house.now());
    }
    let query = Form::read(visit.query().unwrap_or_default());
    Ok(Visitor { house, visit, session, params, form, query })
}

async fn show(visitor: &Visitor<'_>, route: Route) -> Page {
    let Access::Needs(action) = route.access else {
        return layout::trouble(visitor, &Trouble::nothing_here());
    };
    if let Err(refusal) = visitor.principal().require(action) {
        let trouble = Trouble::new(
            403,
            "Not for this role",
            &format!("{refusal}."),
            "Sign in with a key of a higher role, or with the admin token.",
        );
        return layout::trouble(visitor, &trouble);
    }
    match screens::show(route.screen, visitor).await {
        Ok(page) => page,
        Err(trouble) => layout::trouble(visitor, &trouble),
    }
}

/// The session of the request's cookie, if whoever began it would still be let in.
pub(crate) fn session_of(house: &House, visit: &WebVisit) -> Option<Arc<Session>> {
    let name = guard::session_cookie(&visit.headers);
    let id = guard::cookie(&visit.headers, &name)?;
    let session = house.sessions.find(id, house.now())?;
    if house.api.still_knows(&session.principal) {
        return Some(session);
    }
    house.sessions.end(id);
    None
}

impl House {
    pub(crate) fn now(&self) -> Duration {
        self.start.elapsed()
    }
}

/// A form that was open for too long is not lost without a word; a page is shown after signing in.
fn to_sign_in(visit: &WebVisit, route: Route) -> Page {
    let is_page = route.method == Method::Get && route.screen != Screen::Live;
    match is_page && visit.headers.get(LIVE).is_none() {
        true => Page::see_other(sign_in::place(&visit.target)),
        false => sign_in::page(visit, 401, Some("Your session is over. Sign in to go on.")),
    }
}

fn missing(house: &House, visit: &WebVisit) -> Page {
    match session_of(house, visit) {
        Some(session) => {
            let (form, query) = (Form::default(), Form::default());
            let visitor = Visitor { house, visit, session, params: Vec::new(), form, query };
            layout::trouble(&visitor, &Trouble::nothing_here())
        }
        None => layout::bare_trouble(visit, &Trouble::nothing_here()),
    }
}

fn refused(foreign: Foreign) -> Trouble {
    Trouble::new(403, "Refused", foreign.words(), "")
}

fn wrong_method(allowed: &str) -> Trouble {
    Trouble::new(405, "Not this way", &format!("This address takes {allowed}."), "")
}

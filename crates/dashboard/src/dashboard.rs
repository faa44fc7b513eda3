//! `Dashboard`: requests of browsers, from the listener to a screen and back. Who visits is known, and
//! that one of our own pages has sent it, before a screen hears of it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use trunkline_control::api::handle::Api;
use trunkline_control::services::ControlPlane;
use trunkline_gateway::{Attachment, BodyRule, WebReply, WebRequest};

use crate::api_client::ApiError;
use crate::form::Form;
use crate::guard::{self, CrossSite};
use crate::page::Page;
use crate::page_request::{DashboardState, LIVE, PageRequest};
use crate::routes::{self, Access, Method, Route, RouteMatch, Screen};
use crate::screens::{self, sign_in, single_sign_on};
use crate::session::{LONGEST, Sessions};
use crate::trials::Trials;
use crate::{assets, layout, live, signed_in};

/// Forms of people; arguments of a tool are the longest of them.
const MOST_BODY: usize = 4 * 1024 * 1024;
/// Forms of whoever has not signed in: a token, and where to go then.
const MOST_OF_STRANGERS: usize = 64 * 1024;

#[derive(Debug, Clone)]
pub struct Dashboard(Arc<DashboardState>);

impl Dashboard {
    pub fn new(plane: ControlPlane) -> Self {
        Self(Arc::new(DashboardState {
            api: Api::new(plane),
            sessions: Sessions::default(),
            trials: Trials::default(),
            looks: Semaphore::new(1),
            start: Instant::now(),
        }))
    }

    /// Does a browser ask for a page about the API? Its session lets it in there; a program shows a token.
    pub fn takes(&self, visit: &WebRequest) -> bool {
        let is_page = matches!(visit.method.as_str(), "GET" | "HEAD")
            && routes::API_PAGES.contains(&visit.path())
            // A program that shows a token gets JSON, whatever it says that it accepts.
            && visit.headers.get("authorization").is_none();
        is_page && (wants_html(visit) || signed_in::cookie_id(&self.0, visit).is_some())
    }
}

fn wants_html(visit: &WebRequest) -> bool {
    visit.headers.all("accept").any(|accept| accept.windows(9).any(|part| part == b"text/html"))
}

impl Attachment for Dashboard {
    fn owns(&self, path: &str) -> bool {
        routes::owns(path)
    }

    fn body_rule(&self, head: &WebRequest) -> BodyRule {
        match routes::find(&head.method, head.path()) {
            RouteMatch::Route(Route { method: Method::Post, access: Access::Open, .. }, _) => {
                BodyRule::Stranger(MOST_OF_STRANGERS)
            }
            RouteMatch::Route(Route { method: Method::Post, .. }, _) => {
                match (signed_in::known(&self.0, head), signed_in::cookie_id(&self.0, head)) {
                    (Some(_), _) => BodyRule::Caller(MOST_BODY),
                    // The store may know it.
                    (None, Some(_)) => BodyRule::Stranger(MOST_BODY),
                    (None, None) => BodyRule::Unread,
                }
            }
            _ => BodyRule::Unread,
        }
    }

    fn handle(&self, visit: WebRequest, reply: WebReply) {
        let state = Arc::clone(&self.0);
        let background = self.0.api.plane().background();
        // In the control plane's tasks: shutdown waits for a page that is being made.
        background.tasks().spawn(async move { serve(&state, &visit, reply).await });
    }
}

async fn serve(state: &DashboardState, visit: &WebRequest, reply: WebReply) {
    let (route, params) = match routes::find(&visit.method, visit.path()) {
        RouteMatch::Route(route, params) => (route, params),
        RouteMatch::WrongMethod(allowed) => {
            let page = layout::bare_trouble(visit, &wrong_method(allowed));
            return page.header("Allow", allowed).send(reply);
        }
        RouteMatch::Nothing => return missing(state, visit).await.send(reply),
    };
    match route.access {
        Access::Open => open(state, visit, route, &params).await.send(reply),
        Access::Needs(_) => match enter(state, visit, route, params).await {
            Ok(request) if route.screen == Screen::Live => live::stream(&request, reply).await,
            Ok(request) => show(&request, route).await.send(reply),
            Err(page) => page.send(reply),
        },
    }
}

/// What is there before anybody has signed in.
async fn open(state: &DashboardState, visit: &WebRequest, route: Route, params: &[String]) -> Page {
    // Also before anybody has signed in: another site must not sign a browser in as somebody else.
    if route.method == Method::Post
        && let Err(foreign) =
            guard::is_own_page(&visit.headers, state.api.plane().settings().public_url.as_deref())
    {
        return layout::bare_trouble(visit, &refused(foreign));
    }
    match route.screen {
        Screen::Asset => {
            let asset = params.first().and_then(|name| assets::find(name));
            asset.map_or_else(
                || layout::bare_trouble(visit, &ApiError::nothing_here()),
                |asset| Page::for_ever(asset.kind, asset.body.as_bytes().to_vec()),
            )
        }
        Screen::SignInNow => sign_in::now(state, visit).await,
        Screen::BeginSingleSignOn => single_sign_on::begin(state, visit).await,
        Screen::CameBackFromIssuer => single_sign_on::came_back(state, visit).await,
        // Who is signed in already does not need the form.
        _ if signed_in::find(state, visit).await.is_some() => Page::see_other(sign_in::next(visit)),
        _ => sign_in::page(state, visit, 200, None),
    }
}

/// Who visits, if they may and a page of ours has sent this.
async fn enter<'a>(
    state: &'a DashboardState,
    visit: &'a WebRequest,
    route: Route,
    params: Vec<String>,
) -> Result<PageRequest<'a>, Page> {
    let session =
        signed_in::find(state, visit).await.ok_or_else(|| to_sign_in(state, visit, route))?;
    let form = match route.method {
        Method::Get => Form::default(),
        Method::Post => Form::read_body(&visit.body),
    };
    if route.method == Method::Post {
        // A header as well as a field: scripts of our own send JSON without a form.
        let shown = form.get("csrf").or_else(|| visit.headers.text("x-csrf"));
        let own =
            guard::is_own_page(&visit.headers, state.api.plane().settings().public_url.as_deref())
                // Both: the headers stop other sites, the token stops other pages of this site.
                .and_then(|()| guard::has_token(shown, &session.csrf));
        own.map_err(|foreign| layout::bare_trouble(visit, &refused(foreign)))?;
    }
    // A page that refreshes itself is no visit: a forgotten tab must not keep a session for ever.
    if visit.headers.get(LIVE).is_none()
        && let Some(id) = signed_in::cookie_id(state, visit)
    {
        signed_in::touch(state, id, &session);
    }
    let query = Form::read(visit.query().unwrap_or_default());
    Ok(PageRequest { state, visit, session, params, form, query })
}

async fn show(request: &PageRequest<'_>, route: Route) -> Page {
    let Access::Needs(action) = route.access else {
        return layout::trouble(request, &ApiError::nothing_here());
    };
    // Asked again by the API for each request of the page; here it decides what page is shown.
    if let Err(refusal) = request.principal().require(action) {
        let trouble = ApiError::new(
            403,
            "Not allowed for your role",
            &format!("{refusal}."),
            "Sign in with a key of a higher role, or with the admin token.",
        );
        return layout::trouble(request, &trouble);
    }
    match screens::show(route.screen, request).await {
        Ok(page) => page,
        Err(trouble) => layout::trouble(request, &trouble),
    }
}

impl DashboardState {
    /// Monotonic, and late enough that a session which this process did not begin has its times, too.
    pub(crate) fn now(&self) -> Duration {
        LONGEST + self.start.elapsed()
    }
}

/// A form that was open for too long is not lost without a word; a page is shown after signing in.
fn to_sign_in(state: &DashboardState, visit: &WebRequest, route: Route) -> Page {
    let is_page = route.method == Method::Get && route.screen != Screen::Live;
    match is_page && visit.headers.get(LIVE).is_none() {
        // A page is come back to after signing in. A form is not: its body would be lost.
        true => Page::see_other(sign_in::place(&visit.target)),
        false => sign_in::page(state, visit, 401, Some("Your session is over. Sign in to go on.")),
    }
}

async fn missing(state: &DashboardState, visit: &WebRequest) -> Page {
    match signed_in::find(state, visit).await {
        Some(session) => {
            let (form, query) = (Form::default(), Form::default());
            let request = PageRequest { state, visit, session, params: Vec::new(), form, query };
            layout::trouble(&request, &ApiError::nothing_here())
        }
        None => layout::bare_trouble(visit, &ApiError::nothing_here()),
    }
}

fn refused(foreign: CrossSite) -> ApiError {
    ApiError::new(403, "Refused", foreign.words(), "")
}

fn wrong_method(allowed: &str) -> ApiError {
    ApiError::new(405, "Not this way", &format!("This address takes {allowed}."), "")
}

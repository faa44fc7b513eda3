//! `PageRequest`: a request of somebody who has signed in, on its way to a screen.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::Semaphore;
use trunkline_control::access::Principal;
use trunkline_control::api::handle::Api;
use trunkline_gateway::WebRequest;

use crate::form::Form;
use crate::guard;
use crate::session::{Notice, Session, Sessions};
use crate::trials::Trials;

/// What all requests share.
#[derive(Debug)]
pub(crate) struct DashboardState {
    pub(crate) api: Api,
    pub(crate) sessions: Sessions,
    pub(crate) trials: Trials,
    /// Held while the store is asked for a session that is not known here.
    pub(crate) looks: Semaphore,
    /// When this process began.
    pub(crate) start: Instant,
}

#[derive(Debug)]
pub(crate) struct PageRequest<'a> {
    pub(crate) state: &'a DashboardState,
    pub(crate) visit: &'a WebRequest,
    pub(crate) session: Arc<Session>,
    /// What stood where the path has `{}`.
    pub(crate) params: Vec<String>,
    /// The fields of the body of a POST.
    pub(crate) form: Form,
    /// The fields of the query.
    pub(crate) query: Form,
}

/// Which colours somebody wants; `None`: as their system has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Theme {
    Light,
    Dark,
}

impl PageRequest<'_> {
    pub(crate) fn principal(&self) -> &Principal {
        &self.session.principal
    }

    /// The first `{}` of the path.
    pub(crate) fn id(&self) -> &str {
        self.params.first().map(String::as_str).unwrap_or_default()
    }

    /// Says something on the page that comes next.
    pub(crate) fn leave(&self, notice: Notice) {
        self.session.leave(notice);
    }

    /// A page that keeps itself up to date asks for itself.
    pub(crate) fn is_live(&self) -> bool {
        self.visit.headers.get(LIVE).is_some()
    }

    pub(crate) fn theme(&self) -> Option<Theme> {
        theme(self.visit)
    }
}

/// `live.js` says it with every request of its own.
pub(crate) const LIVE: &str = "x-trunkline-live";

pub(crate) fn theme(visit: &WebRequest) -> Option<Theme> {
    match guard::cookie(&visit.headers, guard::THEME_COOKIE) {
        Some("light") => Some(Theme::Light),
        Some("dark") => Some(Theme::Dark),
        _ => None,
    }
}

impl Theme {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }
}

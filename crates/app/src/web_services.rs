//! What hangs on the listener beside MCP: the API and the dashboard, each with paths of its own.

use trunkline_control::api::handle::Api;
use trunkline_dashboard::Dashboard;
use trunkline_gateway::{Attachment, WebReply, WebVisit};

#[derive(Debug)]
pub(crate) struct WebServices {
    pub(crate) api: Api,
    pub(crate) dashboard: Dashboard,
}

impl WebServices {
    /// Whose path it is. What is nobody's is the dashboard's: only browsers are sent here with it.
    fn owner(&self, path: &str) -> &dyn Attachment {
        if self.api.owns(path) { &self.api } else { &self.dashboard }
    }
}

impl Attachment for WebServices {
    fn owns(&self, path: &str) -> bool {
        self.owner(path).owns(path)
    }

    fn answers_browsers(&self) -> bool {
        true
    }

    fn body_limit(&self, path: &str) -> usize {
        self.owner(path).body_limit(path)
    }

    fn visit(&self, visit: WebVisit, reply: WebReply) {
        match self.dashboard.takes(&visit) {
            true => self.dashboard.visit(visit, reply),
            false => self.owner(visit.path()).visit(visit, reply),
        }
    }
}

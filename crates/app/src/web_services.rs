//! The services on the listener beside MCP: the API and the dashboard, each with its own paths.

use trunkline_control::api::handle::Api;
use trunkline_dashboard::Dashboard;
use trunkline_gateway::{Attachment, BodyRule, WebReply, WebRequest};

#[derive(Debug)]
pub(crate) struct WebServices {
    pub(crate) api: Api,
    pub(crate) dashboard: Dashboard,
}

impl WebServices {
    /// The service that owns a path. The dashboard answers unknown ones: only browsers ask for them.
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

    fn body_rule(&self, head: &WebRequest) -> BodyRule {
        self.owner(head.path()).body_rule(head)
    }

    fn handle(&self, visit: WebRequest, reply: WebReply) {
        match self.dashboard.takes(&visit) {
            true => self.dashboard.handle(visit, reply),
            false => self.owner(visit.path()).handle(visit, reply),
        }
    }
}

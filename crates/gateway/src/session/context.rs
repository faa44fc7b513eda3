//! `SessionContext`: what the sessions of a gateway share.

use std::sync::Arc;

use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use trunkline_catalog::client::Client as ClientKind;

use crate::call_keys::CallKeyHome;
use crate::events::EventSink;
use crate::gate::Grant;
use crate::gateway_info::GatewayInfo;
use crate::limiter::Limiter;
use crate::registry::{Registry, View, Views};
use crate::upstream::{Declared, Server, Supervisor};

/// What every session of a gateway shares.
#[derive(Clone, Debug)]
pub(crate) struct SessionContext {
    pub(crate) registry: Arc<Registry>,
    /// The servers, under the names that these clients can use.
    pub(crate) view: Arc<View>,
    /// Views of the same servers for every kind of client.
    pub(crate) views: Arc<Views>,
    pub(crate) gateway_info: GatewayInfo,
    /// Until when lists and calls wait for servers that are still starting.
    pub(crate) start_deadline: Instant,
    pub(crate) tasks: TaskTracker,
    /// Where tasks run: messages come on the pump's thread, which has no runtime.
    pub(crate) runtime: tokio::runtime::Handle,
    pub(crate) declared: Declared,
    /// For servers that are started for one client alone.
    pub(crate) supervisor: Supervisor,
    /// There is only ever one client, so every server is its own (stdio, local).
    pub(crate) exclusive: bool,
    /// Clients see different lists: shared caches must not keep them.
    pub(crate) private: bool,
    /// Requests are traced: the `traceparent` header is kept.
    pub(crate) traced: bool,
    /// Learns of requests that reach no server.
    pub(crate) events: Option<EventSink>,
    /// What callers and addresses may have.
    pub(crate) limiter: Arc<Limiter>,
    /// Calls that are not run again.
    pub(crate) call_keys: Arc<CallKeyHome>,
}

impl SessionContext {
    /// The client has said what it can do, which decides what servers are told and list.
    pub(crate) fn declare(&self, capabilities: &[u8]) {
        let is_first = self.declared.settle(capabilities);
        let is_by_client = |server: &Arc<Server>| server.is_listed_by_client();
        // Lists that were made before must not be answered any more.
        if is_first && self.registry.servers().iter().any(is_by_client) {
            self.registry.offers.bump();
        }
    }

    /// A context for clients of one kind, under the names that they can use.
    pub(crate) fn for_client(&self, client: ClientKind) -> Self {
        Self { view: self.views.of(Some(client)), ..self.clone() }
    }

    /// A context for a client that comes after the servers were told to start. Of those that have never listed
    /// anything and still start, it waits as long as the first client did: a download may take a minute, and
    /// clients come and go meanwhile.
    pub(crate) fn for_latecomer(&self) -> Self {
        let start_deadline = match self.registry.is_listed() {
            true => self.start_deadline,
            false => Instant::now() + self.supervisor.limits.start,
        };
        Self { start_deadline, ..self.clone() }
    }

    /// A context for authenticated callers: it shows what their grant allows.
    pub(crate) fn for_caller(&self, grant: Option<&Arc<dyn Grant>>) -> Self {
        let mut context = self.clone();
        context.private = true;
        if let Some(grant) = grant {
            context.view = Arc::new(self.view.narrowed(Arc::clone(grant)));
        }
        context
    }

    /// May a request still wait for servers that are starting?
    pub(super) fn may_wait(&self) -> bool {
        Instant::now() < self.start_deadline
    }

    /// Is there a server that is still starting and of which nothing is known, and may a request wait for
    /// it?
    pub(super) fn is_starting(&self) -> bool {
        self.may_wait() && !self.registry.is_listed()
    }

    /// Waits until every server is up or has failed, so that many starts lead to one notification.
    pub(super) async fn wait_while_starting(&self) {
        if self.may_wait() {
            self.registry.settled(self.start_deadline).await;
        }
    }
}

//! `ClientService`: the clients that are connected at this moment.

use std::cmp::Reverse;
use std::sync::Arc;

use tokio::time::Instant;
use trunkline_gateway::{ConnectedClient, ConnectedClients};

use crate::access::read_label;
use crate::clock;
use crate::keys::ApiKeys;
use crate::services::records::principal_of;

#[derive(Debug)]
pub struct ClientService {
    pub(in crate::services) connected: ConnectedClients,
    pub(in crate::services) keys: Arc<ApiKeys>,
}

/// Moments in milliseconds since 1970.
#[derive(Debug, Clone)]
pub(crate) struct ClientSummary {
    pub(crate) client: ConnectedClient,
    pub(crate) principal: String,
    pub(crate) credential: Option<String>,
    pub(crate) address: Option<String>,
    pub(crate) since: Option<i64>,
    pub(crate) last_heard: i64,
}

impl ClientService {
    /// The newest first.
    pub(crate) fn list(&self) -> Vec<ClientSummary> {
        let mut clients = self.connected.all();
        clients.sort_by_key(|client| Reverse((client.since, client.heard)));
        clients.into_iter().map(|client| self.summary(client)).collect()
    }

    /// Shows the clients of the listener that it is given to.
    pub fn connected(&self) -> ConnectedClients {
        self.connected.clone()
    }

    fn summary(&self, client: ConnectedClient) -> ClientSummary {
        let (credential, address) = match client.label.as_deref().map(read_label) {
            Some((credential, address)) => (Some(credential), address),
            None => (None, None),
        };
        let at = |moment| clock::at(Instant::from_std(moment));
        ClientSummary {
            principal: principal_of(&self.keys, credential),
            credential: credential.map(str::to_owned),
            address: address.map(str::to_owned),
            since: client.since.map(at),
            last_heard: at(client.heard),
            client,
        }
    }
}

//! The clients that are connected.

use serde_json::Value;
use trunkline_gateway::ClientTransport;

use crate::api::view::{ClientView, client_list};
use crate::services::ClientSummary;

pub(crate) fn clients(all: &[ClientSummary]) -> Value {
    client_list(all.iter().map(view))
}

fn view(summary: &ClientSummary) -> ClientView<'_> {
    let client = &summary.client;
    ClientView {
        name: client.name.as_deref(),
        version: client.version.as_deref(),
        way: match client.transport {
            ClientTransport::Session => "session",
            ClientTransport::Sse => "sse",
            ClientTransport::Stateless => "stateless",
        },
        revision: client.revision,
        who: &summary.principal,
        credential: summary.credential.as_deref(),
        address: summary.address.as_deref(),
        since: summary.since,
        last_heard: summary.last_heard,
        open_calls: client.open_calls,
    }
}

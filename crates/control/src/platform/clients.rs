//! Who is connected at this moment: `GET /clients`.

use std::cmp::Reverse;

use serde_json::Value;
use tokio::time::Instant;
use trunkline_gateway::{ClientTransport, ConnectedClient};

use super::{Platform, clock};
use crate::access::read_label;
use crate::api::view::{ClientView, client_list};

impl Platform {
    /// Those that came last first.
    pub fn clients(&self) -> Value {
        let mut guests = self.0.settings.guests.all();
        guests.sort_by_key(|guest| Reverse((guest.since, guest.heard)));
        let at = |moment| clock::at(Instant::from_std(moment));
        let names: Vec<_> = guests.iter().map(|guest| self.name_of(credential(guest).0)).collect();
        let views = guests.iter().zip(&names).map(|(guest, who)| ClientView {
            name: guest.name.as_deref(),
            version: guest.version.as_deref(),
            way: match guest.transport {
                ClientTransport::Session => "session",
                ClientTransport::Sse => "sse",
                ClientTransport::Stateless => "stateless",
            },
            revision: guest.revision,
            who,
            credential: credential(guest).0,
            address: credential(guest).1,
            since: guest.since.map(at),
            last_heard: at(guest.heard),
            open_calls: guest.open_calls,
        });
        client_list(views)
    }
}

fn credential(guest: &ConnectedClient) -> (Option<&str>, Option<&str>) {
    match guest.label.as_deref().map(read_label) {
        Some((credential, address)) => (Some(credential), address),
        None => (None, None),
    }
}

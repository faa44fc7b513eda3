//! Who is connected at this moment: `GET /clients`.

use serde_json::Value;
use trunkline_gateway::{Guest, Way};

use super::{Platform, clock};
use crate::access::read_label;
use crate::api::view::{ClientView, client_list};

impl Platform {
    /// Those that came last first.
    pub fn clients(&self) -> Value {
        let mut guests = self.0.settings.guests.all();
        guests.sort_by_key(|guest| (guest.age.unwrap_or(u32::MAX), guest.quiet));
        let now = clock::now();
        let ago = |seconds: u32| now - 1_000 * i64::from(seconds);
        let names: Vec<_> = guests.iter().map(|guest| self.name_of(credential(guest).0)).collect();
        let views = guests.iter().zip(&names).map(|(guest, who)| ClientView {
            name: guest.name.as_deref(),
            version: guest.version.as_deref(),
            way: match guest.way {
                Way::Session => "session",
                Way::Sse => "sse",
                Way::Stateless => "stateless",
            },
            revision: guest.revision,
            who,
            credential: credential(guest).0,
            address: credential(guest).1,
            since: guest.age.map(ago),
            last_heard: ago(guest.quiet),
            open_calls: guest.open_calls,
        });
        client_list(views)
    }
}

fn credential(guest: &Guest) -> (Option<&str>, Option<&str>) {
    match guest.label.as_deref().map(read_label) {
        Some((credential, address)) => (Some(credential), address),
        None => (None, None),
    }
}

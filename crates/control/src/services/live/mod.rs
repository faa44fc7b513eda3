//! What has become of the servers: their connections, their health, and what they offer.

mod diagnosis;
mod offers;
mod servers;

pub(crate) use diagnosis::Diagnosis;
pub(super) use servers::LiveServers;

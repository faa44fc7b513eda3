//! What the scanner found in the texts of servers, as one asker may see it.

use trunkline_catalog::scan::ItemKind;
use trunkline_gateway::ServerFindings;

use super::service::ServerService;
use crate::access::Principal;
use crate::services::grants::sees;

impl ServerService {
    /// Of every server that the asker sees. Of a tool that they may not call, nothing is told.
    pub(crate) fn findings(&self, asker: &Principal) -> Vec<ServerFindings> {
        let Some(fleet) = self.live.fleet() else { return Vec::new() };
        let found = fleet.findings();
        let seen = found.iter().filter(|server| sees(asker, &server.key));
        let allowed = |server: &ServerFindings| {
            let grants = asker.grants();
            let mut server = server.clone();
            server.findings.retain(|finding| match finding.kind {
                ItemKind::Tool => grants.allows(&server.key, &finding.item),
                _ => grants.all_of(&server.key),
            });
            server
        };
        seen.map(allowed).collect()
    }
}

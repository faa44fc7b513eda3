//! What the scanner found in the texts of servers, as one asker may see it, and what a language model thinks of it.

use std::time::Duration;

use tokio::time::sleep;
use trunkline_catalog::scan::{Finding, ItemKind};
use trunkline_gateway::ServerFindings;

use super::service::ServerService;
use crate::access::Principal;
use crate::llm::Opinion;
use crate::services::grants::sees;

/// Between two requests for second opinions, and between two looks at what is found: a hostile server must not
/// make many requests, nor dear ones.
const OPINION_EVERY: Duration = Duration::from_secs(1);

impl ServerService {
    /// Asks for a second opinion on what is found, for as long as the platform runs. Never where it is not wanted.
    pub(in crate::services) async fn ask_for_opinions(&self) {
        let Some(opinions) = &self.settings.second_opinions else { return };
        loop {
            tokio::select! {
                () = sleep(OPINION_EVERY) => {}
                () = self.background.end().cancelled() => return,
            }
            let Some(fleet) = self.live.fleet() else { continue };
            let all = fleet.findings();
            let findings: Vec<Finding> =
                all.iter().flat_map(|server| server.findings.iter().cloned()).collect();
            opinions.ask(&findings).await;
        }
    }

    /// What a language model thinks of a finding, if it was asked and has said something of use.
    pub(crate) fn opinion(&self, finding: &Finding) -> Option<Opinion> {
        self.settings.second_opinions.as_ref()?.of(finding)
    }

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

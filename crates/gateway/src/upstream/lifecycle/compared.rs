//! `ComparedLists`: what clients are shown of a server that is not shared, compared with what one client's own
//! process of it lists. Clients are shown the list of another process, or what was remembered.

use std::collections::BTreeMap;
use std::sync::Arc;

use trunkline_catalog::Listing;

use crate::error::CallError;
use crate::upstream::lifecycle::outdated::{OutdatedTools, ToolChange};

#[derive(Debug, Default)]
pub(in crate::upstream) struct ComparedLists {
    /// What was compared last, shown and own. Held, so that their addresses are nobody else's.
    compared: Option<(Arc<Listing>, Arc<Listing>)>,
    outdated: OutdatedTools,
    /// Changes that the client was told of.
    told: BTreeMap<String, ToolChange>,
}

impl ComparedLists {
    /// Why a call of this tool must not be sent. A change is told once: where the process goes on listing something
    /// else than clients are shown, its client knows that.
    pub(super) fn refusal(
        &mut self,
        (shown, own): (&Arc<Listing>, &Arc<Listing>),
        server: &str,
        tool: &str,
    ) -> Option<CallError> {
        let is_same = |(before, before_own): &(Arc<Listing>, Arc<Listing>)| {
            Arc::ptr_eq(before, shown) && Arc::ptr_eq(before_own, own)
        };
        if !self.compared.as_ref().is_some_and(is_same) {
            self.compared = Some((Arc::clone(shown), Arc::clone(own)));
            self.outdated = OutdatedTools::between(shown, own);
            let outdated = &self.outdated;
            self.told.retain(|tool, change| outdated.change(tool) == Some(change));
        }
        let change =
            self.outdated.change(tool).filter(|change| self.told.get(tool) != Some(change));
        self.told.insert(tool.to_owned(), change?.clone());
        self.outdated.refusal(server, tool)
    }
}

#[cfg(test)]
mod tests {
    use trunkline_catalog::ListKind;

    use super::*;

    fn listing(schema: &str) -> Arc<Listing> {
        let page = format!(r#"{{"tools":[{{"name":"t","inputSchema":{schema}}}]}}"#);
        let mut listing = Listing::default();
        listing.add_page(ListKind::Tools, page.as_bytes(), 9).unwrap();
        Arc::new(listing)
    }

    #[test]
    fn each_change_is_told_once() {
        let [old, new, newer] = ["{}", r#"{"type":"object"}"#, r#"{"type":"array"}"#].map(listing);
        let mut lists = ComparedLists::default();
        let mut is_refused = |shown, own| lists.refusal((shown, own), "s", "t").is_some();
        assert!(!is_refused(&old, &old));
        assert!(is_refused(&old, &new));
        assert!(!is_refused(&old, &new), "it was told");
        assert!(!is_refused(&new, &new), "the client is shown the new one");
        assert!(is_refused(&old, &newer), "another change");
        assert!(is_refused(&old, &listing(r#"{"required":["x"]}"#)));
    }
}

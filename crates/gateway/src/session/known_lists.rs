//! `KnownLists`: the lists that a client was given last, and the notifications that tell it of changes.

use bytes::Bytes;
use trunkline_catalog::ListKind;
use trunkline_wire::Edits;

use crate::call::Client;
use crate::pump::FlushSet;
use crate::registry::Snapshot;

#[derive(Clone, Debug, Default)]
pub(super) struct KnownLists([Option<Bytes>; ListKind::ALL.len()]);

impl KnownLists {
    pub(super) fn set(&mut self, kind: ListKind, list: &Bytes) {
        let place = ListKind::ALL.iter().position(|known| *known == kind);
        if let Some(held) = place.and_then(|place| self.0.get_mut(place)) {
            *held = Some(list.clone());
        }
    }

    /// Counts the lists of this moment as known, where the client has asked for none yet.
    pub(super) fn begin(&mut self, snapshot: &Snapshot) {
        for (kind, held) in ListKind::ALL.iter().zip(&mut self.0) {
            held.get_or_insert_with(|| snapshot.catalog.list(*kind).clone());
        }
    }

    /// The lists that differ from what the client knows.
    pub(super) fn outdated(&self, snapshot: &Snapshot) -> Vec<ListKind> {
        let known = ListKind::ALL.iter().zip(&self.0);
        let known = known.filter_map(|(kind, list)| Some((*kind, list.as_ref()?)));
        let outdated = known.filter(|(kind, list)| *list != snapshot.catalog.list(*kind));
        outdated.map(|(kind, _)| kind).collect()
    }
}

/// Tells a client which of its lists are out of date. False: the client cannot be reached.
pub(super) fn announce(client: &Client, outdated: &[ListKind]) -> bool {
    let mut words: Vec<&[u8]> = outdated.iter().map(|kind| word(*kind)).collect();
    words.dedup(); // one notification tells of resources and templates
    let mut touched = FlushSet::default();
    let told = words.iter().all(|word| client.say(word, &Edits::new(), &mut touched));
    touched.flush();
    told
}

fn word(kind: ListKind) -> &'static [u8] {
    match kind {
        ListKind::Tools => br#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
        ListKind::Resources | ListKind::Templates => {
            br#"{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}"#
        }
        ListKind::Prompts => br#"{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}"#,
    }
}

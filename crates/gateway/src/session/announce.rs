//! Tells clients when the lists they were given are out of date.

use std::sync::Arc;

use bytes::Bytes;
use tokio::time::{Instant, sleep};
use trunkline_catalog::ListKind;
use trunkline_wire::Edits;

use crate::call::Client;
use crate::limits::CHANGE_PAUSE;
use crate::pump::FlushSet;
use crate::registry::Snapshot;
use crate::session::Session;

/// The lists a client was given last.
#[derive(Clone, Debug, Default)]
pub(super) struct Told([Option<Bytes>; ListKind::ALL.len()]);

impl Told {
    pub(super) fn set(&mut self, kind: ListKind, list: &Bytes) {
        let place = ListKind::ALL.iter().position(|known| *known == kind);
        if let Some(held) = place.and_then(|place| self.0.get_mut(place)) {
            *held = Some(list.clone());
        }
    }

    /// What the client could have asked for until now counts as known to it.
    pub(super) fn begin(&mut self, snapshot: &Snapshot) {
        for (kind, held) in ListKind::ALL.iter().zip(&mut self.0) {
            held.get_or_insert_with(|| snapshot.catalog.list(*kind).clone());
        }
    }

    /// The lists it knows and that are different now.
    pub(super) fn outdated(&self, snapshot: &Snapshot) -> Vec<ListKind> {
        let known = ListKind::ALL.iter().zip(&self.0);
        let known = known.filter_map(|(kind, list)| Some((*kind, list.as_ref()?)));
        let outdated = known.filter(|(kind, list)| *list != snapshot.catalog.list(*kind));
        outdated.map(|(kind, _)| kind).collect()
    }
}

impl Session {
    /// Follows the changes for as long as the session lasts, at most one word a pause.
    pub(crate) async fn announce_changes(self: Arc<Self>) {
        if self.context.face.simple {
            return;
        }
        let registry = Arc::clone(&self.context.registry);
        let mut changes = registry.changes();
        registry.settled(self.context.start_deadline).await;
        self.told.lock().begin(&self.context.view.snapshot());
        loop {
            tokio::select! {
                changed = changes.changed() => if changed.is_err() { return },
                () = self.look_again.notified() => {}
                () = self.ended.cancelled() => return,
            }
            self.together().await;
            if self.announce() {
                sleep(CHANGE_PAUSE).await;
            }
        }
    }

    /// Servers that are still coming up lead to one word when they are up, not to one for each.
    pub(super) async fn together(&self) {
        let registry = &self.context.registry;
        if !registry.is_settled() && Instant::now() < self.context.start_deadline {
            registry.settled(self.context.start_deadline).await;
        }
    }

    /// Looks again whether the client has to be told something: it can be reached now.
    pub(crate) fn resume_telling(&self) {
        self.look_again.notify_one();
    }

    /// True if there was something to tell.
    fn announce(&self) -> bool {
        let snapshot = self.context.view.snapshot();
        if !self.has_joined() {
            // It has no session (yet), and is not spoken to unless it asks for that.
            let mut told = self.told.lock();
            *told = Told::default();
            told.begin(&snapshot);
            return false;
        }
        let outdated = self.told.lock().outdated(&snapshot);
        if announce(&self.client, &outdated) {
            for kind in &outdated {
                self.told.lock().set(*kind, snapshot.catalog.list(*kind));
            }
        }
        !outdated.is_empty()
    }
}

/// Tells a client which of its lists are out of date. False: it cannot be reached.
pub(super) fn announce(client: &Client, outdated: &[ListKind]) -> bool {
    let mut words: Vec<&[u8]> = outdated.iter().map(|kind| word(*kind)).collect();
    words.dedup(); // resources and their templates are one
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

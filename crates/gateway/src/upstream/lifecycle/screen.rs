//! What a server lists, as its scan policy lets it through: cleaned, or without what is withheld.

use std::sync::Arc;

use tokio::task::spawn_blocking;
use trunkline_catalog::Listing;
use trunkline_catalog::pins::Suspicion;
use trunkline_catalog::scan::{HeldItem, ItemKind, Screening};

use crate::upstream::lifecycle::handshake::ServerHello;
use crate::upstream::lifecycle::offer::AsWritten;
use crate::upstream::lifecycle::server::Server;
use crate::upstream::shown::shown;

/// A listing that was looked at.
pub(super) struct Screened {
    pub(super) listing: Listing,
    /// What is in it and is not to be shown, unless a person has approved it.
    pub(super) suspected: Vec<Suspicion>,
    /// What the server wrote, where something else may be shown.
    pub(super) written: Option<Arc<AsWritten>>,
}

impl Screened {
    fn unchanged(listing: Listing) -> Self {
        Self { listing, suspected: Vec::new(), written: None }
    }
}

/// Lets a listing through. Where the policy only reports, that is done later, and nobody waits for it.
pub(super) async fn screen(
    server: &Server,
    hello: &Arc<ServerHello>,
    listing: Listing,
) -> Screened {
    let policy = &server.definition.scan;
    if !policy.changes_listings() {
        return Screened::unchanged(listing);
    }
    let (policy, instructions) = (policy.clone(), hello.instructions.clone());
    let mut written = listing.clone();
    // A hostile list is long: the thread that everything else waits on does not read it.
    let scan = spawn_blocking(move || {
        let mut listing = listing;
        let screening = policy.screen(&mut listing, instructions.as_deref());
        (listing, screening)
    });
    let Ok((listing, screening)) = scan.await else {
        // Only a defect ends it. Nothing is shown that was not looked at.
        tracing::error!(server = %server.key, "its lists could not be scanned and are withheld");
        written.retain(|_, _| false);
        return Screened::unchanged(written);
    };
    if !screening.has_changed() {
        return Screened::unchanged(listing);
    }
    tell(server, &screening);
    let instructions = hello.instructions.clone();
    let written = Some(Arc::new(AsWritten { listing: written, instructions }));
    Screened { listing, suspected: Suspicion::of(&screening), written }
}

/// A hostile list must not fill the log.
const MOST_TOLD: usize = 20;

/// Each change is said once. Where pins are kept, what is withheld of them is said when it is noticed.
fn tell(server: &Server, screening: &Screening) {
    let pins_tell = server.offer.pins.has_home();
    let is_told = |it: &&HeldItem| !pins_tell || it.kind == ItemKind::Resource;
    let held: Vec<_> = screening.held.iter().filter(is_told).collect();
    let mut words = Vec::new();
    for HeldItem { kind, item, note } in held.iter().take(MOST_TOLD) {
        words.push(format!(
            "its {} \"{}\" is withheld by the scanner: {note}; `trunkline scan` shows it, scanAllow accepts it",
            kind.word(),
            trunkline_catalog::name::escaped(item),
        ));
    }
    if let Some(more @ 1..) = held.len().checked_sub(MOST_TOLD) {
        words.push(format!("{more} more of its items are withheld by the scanner"));
    }
    if screening.stripped > 0 {
        words.push(format!(
            "what nobody can see is taken out of {} definitions; `trunkline scan` shows what it was",
            screening.stripped
        ));
    }
    for word in server.offer.new_warnings(&words) {
        tracing::warn!(server = %server.key, "{}", shown(&word, &server.definition.secrets));
    }
}

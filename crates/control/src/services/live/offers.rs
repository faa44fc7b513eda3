//! `OfferDigests`: a digest of what each server offers, made once for each listing.

use std::collections::HashMap;

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use trunkline_gateway::{Offer, OfferMark};

/// By the servers' ids. A leaf lock: digests are made outside it.
#[derive(Debug, Default)]
pub(crate) struct OfferDigests(Mutex<HashMap<String, (OfferMark, [u8; 32])>>);

impl OfferDigests {
    pub(crate) fn digest_of(&self, id: &str, offer: &Offer) -> [u8; 32] {
        let digests = self.0.lock();
        let known = digests.get(id).filter(|(mark, _)| mark.is_of(offer));
        let known = known.map(|(_, digest)| *digest);
        drop(digests);
        known.unwrap_or_else(|| digest(offer))
    }

    /// Notes what a server offers now. True: it is something else than the last time.
    pub(crate) fn note(&self, id: &str, offer: &Offer) -> bool {
        let known = self.0.lock().get(id).cloned();
        // Of most servers nothing has changed, and there may be thousands of tools.
        if known.as_ref().is_some_and(|(mark, _)| mark.is_of(offer)) {
            return false;
        }
        let digest = digest(offer);
        self.0.lock().insert(id.to_owned(), (offer.mark(), digest));
        known.is_none_or(|(_, before)| before != digest)
    }

    pub(crate) fn forget(&self, id: &str) {
        self.0.lock().remove(id);
    }
}

pub(crate) fn digest(offer: &Offer) -> [u8; 32] {
    let mut sum = Sha256::new();
    for tool in offer.tools() {
        sum.update(tool.definition.len().to_le_bytes());
        sum.update(tool.definition);
    }
    sum.finalize().into()
}

//! `CachedListing`: one record as `trunkline cache` shows it.

use std::path::PathBuf;

use trunkline_catalog::ListKind;
use trunkline_wire::{elements, member, members};

use crate::known_listings::KnownListing;

#[derive(Clone, Debug)]
pub struct CachedListing {
    pub path: PathBuf,
    pub bytes: u64,
    /// `None`: the file is damaged, or another version of Trunkline has written it.
    pub record: Option<CachedRecord>,
}

/// What a record says of its server.
#[derive(Clone, Debug)]
pub struct CachedRecord {
    /// The server's key in its config.
    pub key: String,
    pub identity: Option<String>,
    pub protocol: String,
    /// The capabilities of clients that the server was told of when it listed this.
    pub client_capabilities: Vec<String>,
    /// How many tools, resources, templates and prompts; `None`: its lists are not remembered.
    pub counts: Option<[usize; ListKind::ALL.len()]>,
    /// Seconds since 1970.
    pub first_seen: u64,
    pub last_seen: u64,
}

impl CachedRecord {
    pub(super) fn of(known: KnownListing) -> Self {
        let count = |kind: ListKind, page: &Option<Vec<u8>>| {
            let page = page.as_deref().unwrap_or_default();
            elements(member(page, kind.member()).unwrap_or_default()).count()
        };
        let content = known.content;
        let counts = content.pages.map(|pages| {
            let mut counts = [0; ListKind::ALL.len()];
            for ((kind, page), slot) in ListKind::ALL.into_iter().zip(&pages).zip(&mut counts) {
                *slot = count(kind, page);
            }
            counts
        });
        let told = members(&content.told).map(|(name, _)| name.into_owned());
        let client_capabilities = told.collect();
        Self {
            key: known.key,
            identity: content.identity,
            protocol: content.protocol,
            client_capabilities,
            counts,
            first_seen: known.first_seen,
            last_seen: known.last_seen,
        }
    }
}

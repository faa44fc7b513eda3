//! `ServerOffer`: what a server offers: what it lists now, listed before it went, or listed when it last ran.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use trunkline_catalog::Listing;
use trunkline_catalog::config::ServerSpec;
use trunkline_catalog::pins::Suspicion;

use crate::lock::{Mutex, rank};
use crate::upstream::connection::Connection;
use crate::upstream::lifecycle::declared::Declared;
use crate::upstream::lifecycle::definition::Services;
use crate::upstream::lifecycle::handshake::ServerHello;
use crate::upstream::lifecycle::pinned::{ListedTexts, Offered, ServerPins};
use crate::upstream::lifecycle::remembered::Remembered;

/// What a running server can be asked through, and what it offers.
#[derive(Clone, Debug)]
pub(crate) struct Live {
    pub(crate) connection: Arc<Connection>,
    /// What callers are shown.
    pub(crate) listing: Arc<Listing>,
    /// What the server lists.
    pub(in crate::upstream) listed: Arc<Listing>,
    pub(crate) hello: Arc<ServerHello>,
    /// What it listed and said, where the scanner has changed that.
    pub(crate) written: Option<Arc<AsWritten>>,
}

/// What a server listed and said, before the scanner changed it.
#[derive(Debug)]
pub(crate) struct AsWritten {
    pub(crate) listing: Listing,
    pub(crate) instructions: Option<String>,
}

impl Live {
    pub(super) fn offered(&self) -> Offered {
        Offered { listing: Arc::clone(&self.listing), listed: Arc::clone(&self.listed) }
    }

    /// What it listed, whatever was done to that.
    pub(crate) fn as_written(&self) -> (&Listing, Option<&str>) {
        match &self.written {
            Some(written) => (&written.listing, written.instructions.as_deref()),
            None => (&self.listed, self.hello.instructions.as_deref()),
        }
    }
}

#[derive(Debug)]
pub(in crate::upstream) struct ServerOffer {
    pub(super) live: Mutex<Option<Live>, rank::ServerLive>,
    /// The connection before this one, for what clients had subscribed to.
    pub(super) before: Mutex<Option<Arc<Connection>>, rank::ServerBefore>,
    /// What it offered when it was last there, while it is expected.
    pub(super) kept: Mutex<Option<Offered>, rank::ServerKept>,
    /// What is kept was remembered, and the server was told these capabilities when it listed that.
    listed_for: Mutex<Option<Vec<u8>>, rank::ServerListedFor>,
    declared: Declared,
    /// What is kept is of a server that this one took the place of.
    was_handed_over: AtomicBool,
    /// What it said when it last ran; `None`: nothing is remembered.
    remembered: Option<Remembered>,
    /// What its listings were warned about, so that it is said once.
    warned: Mutex<HashSet<String>, rank::ServerWarnings>,
    /// What was approved of its definitions. Shared with its processes for single clients.
    pub(in crate::upstream) pins: Arc<ServerPins>,
}

/// After so many, a server's listings are not worth more words.
const MOST_WARNINGS: usize = 1000;

impl ServerOffer {
    /// What is remembered of the server, if anything is.
    pub(super) fn remembered(spec: &ServerSpec, services: &Services) -> Self {
        let new = Self::with(Arc::new(ServerPins::of(spec, services.pins.clone())));
        let Some(listings) = &services.listings else { return new };
        let (remembered, listing) = Remembered::read(listings, spec);
        let (listing, told) = listing.unzip();
        let offered = new.admit_remembered(spec, &remembered, listing);
        // Only where calls wait for their server: a tool is not listed that cannot be called.
        let is_kept = services.waits_for_restart;
        Self {
            kept: Mutex::new(offered.filter(|_| is_kept)),
            listed_for: Mutex::new(told.filter(|_| is_kept)),
            declared: services.declared.clone(),
            remembered: Some(remembered),
            ..new
        }
    }

    /// Nothing is known but what was approved.
    pub(super) fn with(pins: Arc<ServerPins>) -> Self {
        Self {
            live: Mutex::default(),
            before: Mutex::default(),
            kept: Mutex::default(),
            listed_for: Mutex::default(),
            declared: Declared::default(),
            was_handed_over: AtomicBool::new(false),
            remembered: None,
            warned: Mutex::default(),
            pins,
        }
    }

    /// What is remembered, as far as callers are shown it.
    fn admit_remembered(
        &self,
        spec: &ServerSpec,
        remembered: &Remembered,
        listing: Option<Listing>,
    ) -> Option<Offered> {
        let is_listed = listing.is_some();
        let hello = remembered.hello()?;
        let mut listing = listing.unwrap_or_default();
        let mut suspected = Vec::new();
        // What was remembered may be from before the config asked for it.
        let scan = &spec.texts.scan;
        if scan.changes_listings() {
            let screening = scan.screen(&mut listing, hello.instructions.as_deref());
            suspected = Suspicion::of(&screening);
        }
        let (listing, secrets) = (Arc::new(listing), &spec.secrets);
        let listed = ListedTexts { hello: &hello, listing, suspected, secrets };
        let Some(admitted) = self.pins.preview(&spec.key, listed) else {
            let mut bare = ServerHello::clone(&hello);
            bare.instructions = None; // nothing is known to be approved
            remembered.set_hello(Arc::new(bare));
            return None;
        };
        remembered.set_hello(admitted.hello);
        is_listed.then_some(admitted.offered)
    }

    /// Somebody has decided something about its definitions while it does not run: what is remembered is
    /// shown by that.
    pub(super) fn reconsider_remembered(&self, spec: &ServerSpec, services: &Services) {
        let Some(listings) = &services.listings else { return };
        if self.kept.lock().is_none() {
            return;
        }
        let (remembered, listing) = Remembered::read(listings, spec);
        let listing = listing.map(|(listing, _)| listing);
        if let Some(offered) = self.admit_remembered(spec, &remembered, listing) {
            if let (Some(memory), Some(hello)) = (&self.remembered, remembered.hello()) {
                memory.set_hello(hello);
            }
            let mut kept = self.kept.lock();
            if kept.is_some() {
                *kept = Some(offered);
            }
        }
    }

    /// What callers are shown of what it lists, or listed before it went and is expected back.
    pub(super) fn listing(&self) -> Option<Arc<Listing>> {
        let live = self.live.lock().as_ref().map(|live| Arc::clone(&live.listing));
        live.or_else(|| self.kept())
    }

    /// With what it lists itself.
    pub(super) fn offered(&self) -> Option<Offered> {
        let live = self.live.lock().as_ref().map(Live::offered);
        live.or_else(|| if self.is_of_others() { None } else { self.kept.lock().clone() })
    }

    /// What it offered when it was last there, if this client may be shown it: a server may list other tools
    /// to a client that can do something else.
    pub(super) fn kept(&self) -> Option<Arc<Listing>> {
        if self.is_of_others() {
            return None;
        }
        self.kept.lock().as_ref().map(|kept| Arc::clone(&kept.listing))
    }

    /// Was what is kept listed for a client that declares something else?
    pub(super) fn is_of_others(&self) -> bool {
        let told = self.listed_for.lock();
        let is_other = |told: &Vec<u8>| self.declared.now().is_some_and(|now| **told != *now);
        told.as_ref().is_some_and(is_other)
    }

    /// It is away, and what it listed to this gateway is kept.
    pub(super) fn keep(&self, offered: Offered) {
        *self.listed_for.lock() = None;
        *self.kept.lock() = Some(offered);
    }

    /// What it said of itself in its handshake, now or when it last ran.
    pub(super) fn hello(&self) -> Option<Arc<ServerHello>> {
        let live = self.live.lock().as_ref().map(|live| Arc::clone(&live.hello));
        live.or_else(|| self.remembered.as_ref()?.hello())
    }

    /// Of these warnings, those that were not given before.
    pub(super) fn new_warnings(&self, warnings: &[String]) -> Vec<String> {
        let mut warned = self.warned.lock();
        if warned.len() > MOST_WARNINGS {
            return Vec::new();
        }
        warnings.iter().filter(|warning| warned.insert((*warning).clone())).cloned().collect()
    }

    /// It offers this until it is up, as the server did whose place it takes.
    pub(super) fn take_over(&self, offered: Offered) {
        // Relaxed: read by the same thread, when the server is started.
        self.was_handed_over.store(true, Ordering::Relaxed);
        self.keep(offered);
    }

    pub(super) fn was_handed_over(&self) -> bool {
        self.was_handed_over.load(Ordering::Relaxed)
    }

    pub(super) fn memory(&self) -> Option<&Remembered> {
        self.remembered.as_ref()
    }
}

//! `ServerOffer`: what a server offers: what it lists now, listed before it went, or listed when it last ran.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use trunkline_catalog::Listing;
use trunkline_catalog::config::ServerSpec;
use trunkline_catalog::pins::Suspicion;

use crate::lock::{Mutex, rank};
use crate::upstream::connection::Connection;
use crate::upstream::lifecycle::compared::ComparedLists;
use crate::upstream::lifecycle::declared::Declared;
use crate::upstream::lifecycle::definition::Services;
use crate::upstream::lifecycle::handshake::ServerHello;
use crate::upstream::lifecycle::pinned::{ListedTexts, Offered, ServerPins};
use crate::upstream::lifecycle::remembered::{LastRecord, Recalled, Remembered};

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
    // Held for a copy. A connection that is replaced leaves it before it is dropped: its end takes
    // the locks of its calls.
    pub(super) live: Mutex<Option<Live>, rank::ServerLive>,
    /// The connection before this one, for what clients had subscribed to.
    pub(super) before: Mutex<Option<Arc<Connection>>, rank::ServerBefore>,
    /// What it offered when it was last there, while it is expected.
    // `listed_for` is locked before it and released: the two are never held together.
    pub(super) kept: Mutex<Option<Offered>, rank::ServerKept>,
    /// What it offered when it was given up: it is expected again when a person wants it tried.
    pub(super) given_up: Mutex<Option<Offered>, rank::ServerGivenUp>,
    /// What was listed for several kinds of clients, while the only client has not said what it can do.
    kinds: Mutex<Vec<RememberedKind>, rank::ServerKinds>,
    /// There were several of them.
    had_kinds: bool,
    /// What is kept was remembered, and the server was told these capabilities when it listed that.
    listed_for: Mutex<Option<Vec<u8>>, rank::ServerListedFor>,
    /// Of a process that one client has for itself: its list beside the one that clients are shown.
    pub(super) compared: Mutex<ComparedLists, rank::ServerCompared>,
    declared: Declared,
    /// What is kept is of a server that this one took the place of.
    was_handed_over: AtomicBool,
    /// What it said when it last ran; `None`: nothing is remembered.
    remembered: Option<Remembered>,
    /// What its listings were warned about, so that it is said once.
    // Held while a listing's warnings are compared; they are logged without it.
    warned: Mutex<HashSet<String>, rank::ServerWarnings>,
    /// What was approved of its definitions. Shared with its processes for single clients.
    pub(in crate::upstream) pins: Arc<ServerPins>,
}

/// What was remembered of a server, as callers are shown it.
#[derive(Clone, Debug)]
struct RememberedKind {
    record: LastRecord,
    /// What the server was told that clients can do.
    told: Vec<u8>,
    offered: Option<Offered>,
}

/// After so many, a server's listings are not worth more words.
const MOST_WARNINGS: usize = 1000;

impl ServerOffer {
    /// What is remembered of the server, if anything is.
    pub(super) fn remembered(spec: &ServerSpec, services: &Services) -> Self {
        let mut new = Self::with(Arc::new(ServerPins::of(spec, services.pins.clone())));
        let Some(listings) = &services.listings else { return new };
        new.declared = services.declared.clone();
        let memory = Remembered::new(listings, spec);
        let mut kinds = new.recall(&memory, spec);
        new.remembered = Some(memory);
        // Only where calls wait for their server: a tool is not listed that cannot be called.
        if !services.waits_for_restart {
            kinds.iter_mut().for_each(|kind| kind.offered = None);
        }
        new.had_kinds = kinds.len() > 1;
        let shown = kinds.iter().position(|kind| kind.offered.is_some()).unwrap_or_default();
        if let Some(kind) = kinds.get(shown).cloned() {
            new.show(kind);
        }
        *new.kinds.lock() = kinds;
        new
    }

    /// What is remembered, as far as callers are shown it: for clients that can do what is declared, or for all
    /// kinds of clients, the newest first.
    fn recall(&self, memory: &Remembered, spec: &ServerSpec) -> Vec<RememberedKind> {
        let recalled = memory.recall(self.declared.now().as_deref());
        recalled.into_iter().map(|recalled| self.admit_remembered(spec, recalled)).collect()
    }

    /// This is what the server said and listed when it last ran.
    fn show(&self, kind: RememberedKind) {
        if let Some(memory) = &self.remembered {
            memory.settle(kind.record);
        }
        *self.kept.lock() = kind.offered;
        *self.listed_for.lock() = Some(kind.told);
    }

    /// Once the only client has said what it can do, what was listed for such a client counts. Whoever asks what is
    /// offered comes here first: whichever thread that is, it sees the choice made.
    fn choose(&self) {
        if !self.had_kinds {
            return;
        }
        let mut kinds = self.kinds.lock();
        if kinds.is_empty() {
            return;
        }
        let Some(now) = self.declared.now() else { return };
        let known = std::mem::take(&mut *kinds);
        let kind = known.into_iter().find(|kind| *kind.told == *now);
        // One that has started for a client that said nothing has listed something already.
        if let Some(kind) = kind.filter(|_| self.live.lock().is_none()) {
            self.show(kind);
        }
    }

    /// Nothing is known but what was approved.
    pub(super) fn with(pins: Arc<ServerPins>) -> Self {
        Self {
            live: Mutex::default(),
            before: Mutex::default(),
            kept: Mutex::default(),
            given_up: Mutex::default(),
            kinds: Mutex::default(),
            had_kinds: false,
            listed_for: Mutex::default(),
            compared: Mutex::default(),
            declared: Declared::default(),
            was_handed_over: AtomicBool::new(false),
            remembered: None,
            warned: Mutex::default(),
            pins,
        }
    }

    /// A record, as far as callers are shown it.
    fn admit_remembered(&self, spec: &ServerSpec, recalled: Recalled) -> RememberedKind {
        let Recalled { mut record, told, listing } = recalled;
        let is_listed = listing.is_some();
        let mut listing = listing.unwrap_or_default();
        let mut suspected = Vec::new();
        // What was remembered may be from before the config asked for it.
        let scan = &spec.texts.scan;
        if scan.changes_listings() {
            let screening = scan.screen(&mut listing, record.hello.instructions.as_deref());
            suspected = Suspicion::of(&screening);
        }
        let (listing, secrets) = (Arc::new(listing), &spec.secrets);
        let listed = ListedTexts { hello: &record.hello, listing, suspected, secrets };
        let Some(admitted) = self.pins.preview(&spec.key, listed) else {
            let mut bare = ServerHello::clone(&record.hello);
            bare.instructions = None; // nothing is known to be approved
            record.hello = Arc::new(bare);
            return RememberedKind { record, told, offered: None };
        };
        record.hello = admitted.hello;
        RememberedKind { record, told, offered: is_listed.then_some(admitted.offered) }
    }

    /// Somebody has decided something about its definitions while it does not run: what is remembered is
    /// shown by that.
    pub(super) fn reconsider_remembered(&self, spec: &ServerSpec) {
        let Some(memory) = self.memory() else { return };
        if self.kept.lock().is_none() {
            return;
        }
        let recalled = self.recall(memory, spec);
        let mut kinds = self.kinds.lock();
        if !kinds.is_empty() {
            kinds.clone_from(&recalled);
        }
        drop(kinds);
        let told = self.declared.now();
        let is_meant =
            |kind: &RememberedKind| told.as_ref().is_none_or(|told| **told == *kind.told);
        let mut recalled = recalled.into_iter().filter(is_meant);
        if let Some(kind) = recalled.find(|kind| kind.offered.is_some()) {
            memory.set_hello(kind.record.hello);
            let mut kept = self.kept.lock();
            if kept.is_some() {
                *kept = kind.offered;
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
    fn is_of_others(&self) -> bool {
        self.choose();
        let told = self.listed_for.lock();
        let is_other = |told: &Vec<u8>| self.declared.now().is_some_and(|now| **told != *now);
        told.as_ref().is_some_and(is_other)
    }

    /// May what is kept be another list once the client has said what it can do, or none?
    pub(super) fn is_by_client(&self) -> bool {
        self.had_kinds || self.is_of_others()
    }

    /// It is away, and what it listed to this gateway is kept.
    pub(super) fn keep(&self, offered: Offered) {
        *self.listed_for.lock() = None;
        *self.kept.lock() = Some(offered);
    }

    /// What it said of itself in its handshake, now or when it last ran.
    pub(super) fn hello(&self) -> Option<Arc<ServerHello>> {
        let live = self.live.lock().as_ref().map(|live| Arc::clone(&live.hello));
        live.or_else(|| self.memory()?.hello())
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

    /// What it said when it last ran, to the client that there is.
    pub(super) fn memory(&self) -> Option<&Remembered> {
        self.choose();
        self.remembered.as_ref()
    }
}

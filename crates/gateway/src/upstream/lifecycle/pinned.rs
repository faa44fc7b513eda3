//! `ServerPins`: what a server lists, as far as callers are shown it: compared with what was approved before,
//! when a listing arrives.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::task::spawn_blocking;
use tokio::time::timeout;
use trunkline_catalog::Listing;
use trunkline_catalog::config::{OnChange, Secrets, ServerSpec};
use trunkline_catalog::name::escaped;
use trunkline_catalog::pins::{
    Comparison, Definition, DefinitionKind, Definitions, EffectiveListing, Handling, KnownPins,
    Noticed, PinRecord, Sighting, Suspicion, WaitingReason, compare, unapproved_pins,
};
use trunkline_catalog::scan::{ScanMode, ScanPolicy};

use crate::limits::{NOTICED_CHANGES, PINS_WAIT};
use crate::lock::{Mutex, rank};
use crate::login::Later;
use crate::pins::{LoadedPins, PinChange, PinHome, PinHomeError, PinnedEntry};
use crate::upstream::lifecycle::handshake::ServerHello;

#[derive(Debug)]
pub(in crate::upstream) struct ServerPins {
    /// `None`: nothing is pinned.
    home: Option<Arc<dyn PinHome>>,
    entry: PinnedEntry,
    /// What is done about texts that lie.
    scan: ScanPolicy,
    /// The place in `OnChange::ALL`, counted from 1; 0: the entry does not say.
    // Relaxed for these four: a setting, a sign and two marks of what was logged. Each is used
    // alone; the pins themselves are in `home` and `unkept`.
    policy: AtomicU8,
    /// What is pinned could not be read: it is tried again.
    is_undecided: AtomicBool,
    /// That pins cannot be kept was logged.
    complained: AtomicBool,
    /// How many changes were logged.
    told: AtomicUsize,
    /// What could not be kept: as good as kept, for as long as this process runs.
    // Held for a copy or a change, never while the home is asked.
    unkept: Mutex<Option<PinRecord>, rank::UnkeptPins>,
}

/// What a server lists, and what callers are shown of that.
#[derive(Clone, Debug)]
pub(crate) struct Offered {
    /// What callers are shown.
    pub(crate) listing: Arc<Listing>,
    /// What the server lists.
    pub(crate) listed: Arc<Listing>,
}

impl Offered {
    pub(crate) fn as_listed(listing: Arc<Listing>) -> Self {
        Self { listed: Arc::clone(&listing), listing }
    }
}

/// What a server has said and listed, after the scanner has looked at it.
pub(in crate::upstream) struct ListedTexts<'l> {
    pub(in crate::upstream) hello: &'l Arc<ServerHello>,
    pub(in crate::upstream) listing: Arc<Listing>,
    /// What is not shown unless a person has approved it.
    pub(in crate::upstream) suspected: Vec<Suspicion>,
    pub(in crate::upstream) secrets: &'l Secrets,
}

/// A listing after it was compared.
pub(in crate::upstream) struct Admitted {
    pub(in crate::upstream) offered: Offered,
    /// With the instructions that callers are told.
    pub(in crate::upstream) hello: Arc<ServerHello>,
    /// How many definitions wait for a person.
    pub(in crate::upstream) waiting: usize,
}

/// After so many, the changes of a server are not worth more words.
const MOST_TOLD: usize = 1000;
/// Somebody else may have written the record each time: then something is wrong with the home.
const MOST_TRIES: usize = 20;

impl ServerPins {
    pub(in crate::upstream) fn of(spec: &ServerSpec, home: Option<Arc<dyn PinHome>>) -> Self {
        let pins = Self {
            home,
            entry: PinnedEntry::of(spec),
            scan: spec.texts.scan.clone(),
            policy: AtomicU8::new(0),
            is_undecided: AtomicBool::new(false),
            complained: AtomicBool::new(false),
            told: AtomicUsize::new(0),
            unkept: Mutex::default(),
        };
        pins.set_policy(spec.texts.on_change);
        pins
    }

    /// Is there a place where it is kept what was approved?
    pub(in crate::upstream) fn has_home(&self) -> bool {
        self.home.is_some()
    }

    pub(in crate::upstream) fn entry(&self) -> &PinnedEntry {
        &self.entry
    }

    /// What the entry says.
    pub(in crate::upstream) fn on_change(&self) -> Option<OnChange> {
        let place = self.policy.load(Ordering::Relaxed).checked_sub(1)?;
        OnChange::ALL.get(usize::from(place)).copied()
    }

    /// False: it was that before.
    pub(in crate::upstream) fn set_policy(&self, on_change: Option<OnChange>) -> bool {
        let place = on_change.and_then(|it| OnChange::ALL.iter().position(|other| *other == it));
        let place = place.and_then(|place| u8::try_from(place + 1).ok()).unwrap_or(0);
        // Relaxed: a single number, and nothing else is read because of it.
        self.policy.swap(place, Ordering::Relaxed) != place
    }

    fn policy(&self) -> OnChange {
        self.on_change().unwrap_or_default()
    }

    /// Is it to be tried again, because what is pinned could not be read?
    pub(in crate::upstream) fn is_undecided(&self) -> bool {
        self.is_undecided.load(Ordering::Relaxed)
    }

    /// A server has listed this: what is new about it is kept and logged.
    pub(in crate::upstream) async fn admit(&self, key: &str, listed: ListedTexts<'_>) -> Admitted {
        let Some(home) = &self.home else {
            self.complain_homeless(key);
            return listed.without_suspected();
        };
        let definitions = listed.definitions();
        let mut last_error = PinHomeError::Stale;
        for _ in 0..MOST_TRIES {
            let loaded = match in_time(home.load(self.entry.clone())).await {
                Ok(loaded) => loaded,
                Err(error) => {
                    last_error = error;
                    break;
                }
            };
            let pins = self.suspected_pins(&loaded, &definitions).await;
            let comparison = self.compare(key, (&listed, &definitions), &loaded, &pins);
            match self.keep(home, &loaded, &comparison).await {
                Err(PinHomeError::Stale) => continue,
                Err(PinHomeError::Failed(why)) => {
                    *self.unkept.lock() = Some(comparison.record.clone());
                    self.complain_unkept(key, &why);
                }
                Ok(()) => *self.unkept.lock() = None,
            }
            self.is_undecided.store(false, Ordering::Relaxed);
            if let LoadedPins::Damaged(_, why) = &loaded {
                tracing::error!(
                    server = %key,
                    "what was approved of it is lost: {why}; everything that it lists waits to be approved: {}",
                    home.remedy(key)
                );
            }
            self.tell(key, &comparison.noticed, &**home);
            return listed.admitted(&comparison);
        }
        self.undecided(key, listed, &definitions, &last_error)
    }

    /// What was listed when the server last ran, as callers are shown it. `None`: what is pinned cannot be read,
    /// and the server has to be asked first.
    pub(in crate::upstream) fn preview(
        &self,
        key: &str,
        listed: ListedTexts<'_>,
    ) -> Option<Admitted> {
        let loaded = self.home.as_ref().and_then(|home| Some((home, home.load_now(&self.entry)?)));
        let Some((home, loaded)) = loaded else { return Some(listed.without_suspected()) };
        let loaded = loaded.ok().filter(|loaded| !matches!(loaded, LoadedPins::Damaged(..)))?;
        // Hashes are made of every definition: not where nothing can be withheld.
        let is_suspected = !listed.suspected.is_empty();
        if self.policy() != OnChange::Hold && !is_suspected && !withholds(&loaded) {
            return Some(listed.whole());
        }
        let definitions = listed.definitions();
        let pins = self.unapproved(&loaded, &definitions).map(UnapprovedPins::suspected);
        let pins = pins.unwrap_or_default();
        let comparison = self.compare(key, (&listed, &definitions), &loaded, &pins);
        let is_news = match &loaded {
            // What is remembered was listed before anything was pinned: that is what was first seen.
            LoadedPins::Nothing => true,
            // The server may not be started for long: what is withheld must be there to be reviewed.
            LoadedPins::Record(record, _) => is_suspected && *record != comparison.record,
            LoadedPins::Damaged(..) => false,
        };
        if is_news {
            home.save_soon(&self.entry, self.change(&loaded, &comparison));
            self.tell(key, &comparison.noticed, &**home);
        }
        Some(listed.admitted(&comparison))
    }

    /// Pins that may be shown in the place of what is held, and that nobody has approved; `None`: none is to be
    /// looked at.
    fn unapproved(&self, loaded: &LoadedPins, definitions: &Definitions) -> Option<UnapprovedPins> {
        let LoadedPins::Record(record, _) = loaded else { return None };
        let pins = match self.scan.mode() {
            ScanMode::Hold => unapproved_pins(record, definitions),
            _ => Vec::new(),
        };
        let (record, scan) = (record.clone(), self.scan.clone());
        (!pins.is_empty()).then_some(UnapprovedPins { pins, record, scan })
    }

    async fn suspected_pins(
        &self,
        loaded: &LoadedPins,
        definitions: &Definitions,
    ) -> Vec<Suspicion> {
        let Some(unapproved) = self.unapproved(loaded, definitions) else { return Vec::new() };
        let all = unapproved.all();
        // A hostile list is long: the thread that everything else waits on does not read it. Only a defect ends
        // the scan, and then nothing is shown that was not looked at.
        spawn_blocking(move || unapproved.suspected()).await.unwrap_or(all)
    }

    fn compare(
        &self,
        key: &str,
        (listed, definitions): (&ListedTexts<'_>, &Definitions),
        loaded: &LoadedPins,
        suspected_pins: &[Suspicion],
    ) -> Comparison {
        let unkept = self.unkept.lock().clone();
        let known = match loaded {
            LoadedPins::Nothing => unkept.as_ref().map_or(KnownPins::Nothing, KnownPins::Record),
            LoadedPins::Record(record, _) => KnownPins::Record(record),
            LoadedPins::Damaged(..) => KnownPins::Lost,
        };
        let sighting = Sighting {
            server: key,
            identity: listed.hello.identity.as_deref(),
            definitions,
            suspected: &listed.suspected,
            suspected_pins,
            policy: self.policy(),
            now: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
        };
        compare(known, &sighting)
    }

    async fn keep(
        &self,
        home: &Arc<dyn PinHome>,
        loaded: &LoadedPins,
        comparison: &Comparison,
    ) -> Result<(), PinHomeError> {
        let is_same = |record: &PinRecord| *record == comparison.record;
        if matches!(loaded, LoadedPins::Record(record, _) if is_same(record)) {
            return Ok(());
        }
        in_time(home.save(self.entry.clone(), self.change(loaded, comparison))).await
    }

    fn change(&self, loaded: &LoadedPins, comparison: &Comparison) -> PinChange {
        PinChange {
            record: comparison.record.clone(),
            expected: loaded.revision().cloned(),
            noticed: comparison.noticed.clone(),
            policy: self.policy(),
        }
    }

    /// What is pinned cannot be read now: where it would have to be obeyed, nothing is shown.
    fn undecided(
        &self,
        key: &str,
        listed: ListedTexts<'_>,
        definitions: &Definitions,
        error: &PinHomeError,
    ) -> Admitted {
        let was_undecided = self.is_undecided.swap(true, Ordering::Relaxed);
        if self.policy() != OnChange::Hold {
            if !was_undecided {
                tracing::warn!(
                    server = %key,
                    "what was approved of it cannot be read: {error}; changes of its definitions are not noticed"
                );
            }
            return listed.without_suspected();
        }
        if !was_undecided {
            tracing::error!(
                server = %key,
                "what was approved of it cannot be read: {error}; nothing of it is listed until it can (onChange is \
                 hold)"
            );
        }
        let lost = LoadedPins::Damaged(crate::pins::PinRevision(String::new()), String::new());
        let comparison = self.compare(key, (&listed, definitions), &lost, &[]);
        listed.admitted(&comparison)
    }

    /// One line for each change, up to a bound for a listing and one for all: a server that changes without end
    /// must not fill the log.
    fn tell(&self, key: &str, noticed: &[Noticed], home: &dyn PinHome) {
        if noticed.is_empty() {
            return;
        }
        let before = self.told.fetch_add(noticed.len(), Ordering::Relaxed);
        if before > MOST_TOLD {
            tracing::debug!(server = %key, "{} more of its definitions have changed", noticed.len());
            return;
        }
        for change in noticed.iter().take(NOTICED_CHANGES) {
            let what = in_words(change);
            match change.handling {
                Handling::Allowed => tracing::info!(server = %key, "{what}"),
                Handling::Shown | Handling::Held => {
                    tracing::warn!(server = %key, "{what}: {}", home.remedy(key));
                }
            }
        }
        if let Some(more) = noticed.len().checked_sub(NOTICED_CHANGES).filter(|more| *more > 0) {
            tracing::warn!(server = %key, "and {more} more of its definitions have changed or are new");
        }
        if before + noticed.len() > MOST_TOLD {
            tracing::warn!(
                server = %key,
                "its definitions change all the time: further changes are not logged; {}",
                home.remedy(key)
            );
        }
    }

    fn complain_unkept(&self, key: &str, why: &str) {
        if self.complained.swap(true, Ordering::Relaxed) {
            return;
        }
        match self.policy() {
            OnChange::Hold => tracing::error!(
                server = %key,
                "its definitions cannot be pinned: {why}; a change that comes with the next start is not noticed (onChange is hold)"
            ),
            OnChange::Warn | OnChange::Allow => {
                tracing::debug!(server = %key, "its definitions cannot be pinned: {why}");
            }
        }
    }

    fn complain_homeless(&self, key: &str) {
        if self.policy() == OnChange::Hold && !self.complained.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                server = %key,
                "onChange is hold, and there is no place to keep what was approved: set HOME or XDG_STATE_HOME"
            );
        }
    }
}

/// A home that does not answer must not keep a server from being used.
async fn in_time<T>(asked: Later<'_, Result<T, PinHomeError>>) -> Result<T, PinHomeError> {
    let late = |_| Err(PinHomeError::Failed("it does not answer".to_owned()));
    timeout(PINS_WAIT, asked).await.unwrap_or_else(late)
}

/// May something be withheld although the policy is not to hold, or is there something to be kept?
fn withholds(loaded: &LoadedPins) -> bool {
    let LoadedPins::Record(record, _) = loaded else { return true };
    let is_withheld = |reason: &WaitingReason| matches!(reason, WaitingReason::Finding(_));
    record.waiting.iter().any(|it| it.is_rejected || is_withheld(&it.reason))
}

/// Pins that nobody has approved, with what they are judged by.
struct UnapprovedPins {
    pins: Vec<Definition>,
    record: PinRecord,
    scan: ScanPolicy,
}

impl UnapprovedPins {
    fn all(&self) -> Vec<Suspicion> {
        let of = |it: &Definition| Suspicion {
            kind: it.kind,
            name: it.name.clone(),
            note: String::new(),
        };
        self.pins.iter().map(of).collect()
    }

    fn suspected(self) -> Vec<Suspicion> {
        Suspicion::of_pins(&self.pins, &self.record, &self.scan)
    }
}

impl ListedTexts<'_> {
    fn definitions(&self) -> Definitions {
        Definitions::of(&self.listing, self.hello.instructions.as_deref(), self.secrets)
    }

    fn whole(self) -> Admitted {
        let Self { hello, listing, .. } = self;
        Admitted { offered: Offered::as_listed(listing), hello: Arc::clone(hello), waiting: 0 }
    }

    /// Nobody knows what was approved: nothing that is suspected is shown.
    fn without_suspected(self) -> Admitted {
        let effective = EffectiveListing::without(&self.suspected);
        self.shown_as(&effective, 0)
    }

    fn admitted(self, comparison: &Comparison) -> Admitted {
        self.shown_as(&comparison.effective, comparison.record.undecided().count())
    }

    fn shown_as(self, effective: &EffectiveListing, waiting: usize) -> Admitted {
        if effective.is_as_listed() {
            return Admitted { waiting, ..self.whole() };
        }
        let Self { hello, listing: listed, .. } = self;
        let listing = Arc::new(effective.listing(&listed));
        let mut told = ServerHello::clone(hello);
        told.instructions = effective.instructions(hello.instructions.as_deref());
        Admitted { offered: Offered { listing, listed }, hello: Arc::new(told), waiting }
    }
}

/// `its tool "add" has changed [1a2b3c4d → 5e6f7a8b]; callers are shown the new definition`
fn in_words(change: &Noticed) -> String {
    let Noticed { kind, name, reason, before, after, handling } = change;
    let short = |hash: &str| hash.get(..8).unwrap_or(hash).to_owned();
    let (what, has, is) = match kind {
        DefinitionKind::Instructions => ("its instructions".to_owned(), "have", "are"),
        kind => (format!("its {} \"{}\"", kind.word(), escaped(name)), "has", "is"),
    };
    let hashes = match before {
        Some(before) => format!("{} \u{2192} {}", short(before), short(after)),
        None => short(after),
    };
    let how = match reason {
        WaitingReason::Changed => format!("{has} changed"),
        WaitingReason::New => format!("{is} new"),
        WaitingReason::Lost => format!("{is} not known to be approved any more"),
        WaitingReason::Finding(note) => format!("{is} withheld by the scanner: {note}"),
    };
    let done = match (handling, before) {
        (Handling::Allowed, _) => "it is approved by onChange",
        (Handling::Shown, Some(_)) => "callers are shown the new definition",
        (Handling::Shown, None) => "callers are shown it",
        (Handling::Held, None) if reason.note().is_some() => {
            "callers are not shown it until it is approved, or accepted by scanAllow"
        }
        (Handling::Held, Some(_)) => {
            "callers keep the approved definition until this one is approved"
        }
        (Handling::Held, None) => "callers are not shown it until it is approved",
    };
    format!("{what} {how} [{hashes}]; {done}")
}

//! The scanner of texts beside the data plane: looks at every list when one has changed, on a thread of its
//! own, tells each finding once, and keeps the latest for those who ask.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use trunkline_catalog::Listing;
use trunkline_catalog::scan::{Finding, ScanMode, ScannedServer, Severity, scan_catalog};

use crate::limits::CHANGE_PAUSE;
use crate::registry::Registry;

/// What was found in the texts of one server, and nobody has accepted.
#[derive(Clone, Debug)]
pub struct ServerFindings {
    /// The server's id.
    pub id: String,
    pub key: String,
    pub mode: ScanMode,
    /// The worst first.
    pub findings: Vec<Finding>,
}

impl ServerFindings {
    /// How many there are of each severity, in the order of `Severity::ALL`.
    pub fn counts(&self) -> [usize; Severity::ALL.len()] {
        Severity::ALL.map(|of| self.findings.iter().filter(|it| it.severity == of).count())
    }
}

/// After so many, a catalog is not worth more words.
const MOST_TOLD: usize = 10_000;

/// Reads every list as it is now. Takes its time: not for the threads that move messages.
pub(crate) fn scan(registry: &Registry) -> Vec<ServerFindings> {
    let servers = registry.servers();
    let none = Listing::default();
    let live: Vec<_> = servers.iter().map(|server| (server.live(), server.listing())).collect();
    let scanned: Vec<_> = servers.iter().map(|server| server.key.to_string()).zip(&live).collect();
    let scanned: Vec<_> = scanned
        .iter()
        .map(|(key, (live, kept))| {
            let said = live.as_ref().map(|live| live.as_written());
            let (listing, instructions) =
                said.unwrap_or_else(|| (kept.as_deref().unwrap_or(&none), None));
            ScannedServer { key, listing, instructions }
        })
        .collect();
    let found = scan_catalog(&scanned);
    let of = |(server, findings): (&Arc<crate::upstream::Server>, Vec<Finding>)| {
        let policy = &server.definition.scan;
        let mut findings = match policy.mode() {
            ScanMode::Off => Vec::new(),
            _ => policy.open(findings),
        };
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        ServerFindings {
            id: server.key.id().to_string(),
            key: server.key.to_string(),
            mode: policy.mode(),
            findings,
        }
    };
    servers.iter().zip(found).map(of).collect()
}

/// Looks again after each change, for as long as the gateway runs.
pub(crate) async fn follow(registry: Arc<Registry>, latest: watch::Sender<Arc<[ServerFindings]>>) {
    let mut changes = registry.changes();
    let mut told = HashSet::new();
    loop {
        changes.mark_unchanged();
        let read = Arc::clone(&registry);
        let Ok(found) = spawn_blocking(move || scan(&read)).await else { return };
        found.iter().for_each(|server| tell(server, &mut told));
        latest.send_replace(found.into());
        if changes.changed().await.is_err() {
            return;
        }
        // A server that changes its lists all the time is read once a pause.
        sleep(CHANGE_PAUSE).await;
    }
}

/// What is shown by `check` is logged, once for each text.
fn tell(server: &ServerFindings, told: &mut HashSet<u64>) {
    for finding in server.findings.iter().filter(|finding| finding.is_shown()) {
        let mut hash = DefaultHasher::new();
        let Finding { rule, item, pointer, excerpt, .. } = finding;
        (&server.id, &rule.id, item, pointer, excerpt).hash(&mut hash);
        if told.len() < MOST_TOLD && told.insert(hash.finish()) {
            tracing::warn!(server = %server.key, "scan: {}", finding.line());
        }
    }
}

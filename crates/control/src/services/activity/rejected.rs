//! `RejectedLogins`: tokens that are none. Each is counted, a source gets one audit record a minute, so
//! that guessing cannot fill the log, and it is slowed, whichever way it comes in by.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use parking_lot::Mutex;
use trunkline_gateway::{PeerNetwork, WrongTokens, retry_after};
use trunkline_store::NewAudit;

use crate::access::{Principal, Refusal};
use crate::audit::Audit;

/// Between two records of one source, in milliseconds.
const PAUSE: i64 = 60_000;
/// Sources that are told apart; what comes from further ones is told of as one.
// Whoever guesses may have many addresses: the table must not grow with them.
const SOURCES: usize = 1_024;

#[derive(Debug)]
pub(crate) struct RejectedLogins {
    audit: Audit,
    /// A leaf lock.
    // Released before the audit record is handed over, which takes a lock of its own.
    counts: Mutex<RejectionCounts>,
    /// Sign-ins at an issuer that failed; apart, so that strangers who make them keep nothing else out of the log.
    // A leaf lock, released like the other.
    sign_ins: Mutex<RejectionCounts>,
    wrong: WrongTokens,
}

impl RejectedLogins {
    pub(crate) fn new(audit: Audit) -> Self {
        Self {
            audit,
            counts: Mutex::default(),
            sign_ins: Mutex::default(),
            wrong: WrongTokens::default(),
        }
    }

    /// A caller was not let in. One that showed no token at all has not guessed. Returns the seconds that this
    /// address is to wait before its next wrong token, if it has shown too many.
    pub(crate) fn count_rejected(&self, refusal: Refusal, source: IpAddr, now: i64) -> Option<u64> {
        if refusal.status() != 401 || refusal == Refusal::Missing {
            return None;
        }
        self.record_rejected(refusal, source, now);
        // Whoever has had a good one learns that it is over, however many have guessed from there.
        refusal.is_guess().then(|| self.wrong.count(source)).flatten().map(retry_after)
    }

    fn record_rejected(&self, refusal: Refusal, source: IpAddr, now: i64) {
        let Some((from, count)) = self.counts.lock().count(source, now) else { return };
        let times = if count == 1 { "once".to_owned() } else { format!("{count} times") };
        self.audit.record(NewAudit {
            at: now,
            principal: "nobody".to_owned(),
            address: Some(from.map_or_else(|| "many".to_owned(), |from| from.to_string())),
            action: "show-token".to_owned(),
            outcome: "refused".to_owned(),
            detail: Some(format!("{refusal} ({times} since the last record of this address)")),
            ..NewAudit::default()
        });
    }

    /// Somebody has come back from an issuer, and could not sign in. Once a minute for each network: whoever has one
    /// IPv6 address has many.
    pub(crate) fn record_failed_sign_in(&self, why: &str, source: IpAddr, now: i64) {
        let network = PeerNetwork::of(source).address();
        let Some((from, count)) = self.sign_ins.lock().count(network, now) else { return };
        let detail = match count {
            1 => why.to_owned(),
            count => format!("{why} ({count} times since the last record of this address)"),
        };
        self.audit.record(NewAudit {
            at: now,
            principal: "nobody".to_owned(),
            address: Some(from.map_or_else(|| "many".to_owned(), |_| source.to_string())),
            action: "sign-in".to_owned(),
            outcome: "failed".to_owned(),
            detail: Some(detail),
            ..NewAudit::default()
        });
    }

    /// A known principal may not speak MCP. Once a minute for each key, too: clients try again.
    pub(crate) fn record_mcp_refusal(
        &self,
        principal: &Principal,
        why: &str,
        peer: SocketAddr,
        now: i64,
    ) {
        let credential = principal.credential().to_string();
        if !self.counts.lock().take_turn(&credential, now) {
            return;
        }
        self.audit.record(NewAudit {
            at: now,
            principal: principal.name().to_owned(),
            credential_id: Some(credential),
            address: Some(peer.ip().to_string()),
            action: "use-mcp".to_owned(),
            outcome: "refused".to_owned(),
            detail: Some(why.to_owned()),
            ..NewAudit::default()
        });
    }

    /// In all.
    pub(crate) fn total(&self) -> u64 {
        self.counts.lock().all
    }
}

#[derive(Debug, Default)]
struct RejectionCounts {
    all: u64,
    /// When a record last told of a source (`None`: of all that are not told apart), and how many came since.
    sources: HashMap<Option<IpAddr>, (i64, u64)>,
    known: HashMap<String, i64>,
}

impl RejectionCounts {
    /// How many came from there, if that is to be told now.
    fn count(&mut self, source: IpAddr, now: i64) -> Option<(Option<IpAddr>, u64)> {
        self.all += 1;
        if self.sources.len() >= SOURCES && !self.sources.contains_key(&Some(source)) {
            // Those that were told of and have been quiet since.
            self.sources.retain(|_, (told, count)| *count > 0 || now - *told < PAUSE);
        }
        // Bounded: an attacker with many addresses must not fill the memory.
        let is_known = self.sources.contains_key(&Some(source));
        let from = Some(source).filter(|_| is_known || self.sources.len() < SOURCES);
        let (told, count) = self.sources.entry(from).or_insert((now - PAUSE, 0));
        *count += 1;
        if now - *told < PAUSE {
            return None;
        }
        *told = now;
        Some((from, std::mem::take(count)))
    }

    fn take_turn(&mut self, credential: &str, now: i64) -> bool {
        self.known.retain(|_, told| now - *told < PAUSE);
        if self.known.contains_key(credential) || self.known.len() >= SOURCES {
            return false;
        }
        self.known.insert(credential.to_owned(), now);
        true
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use tokio::time::Instant;
    use tokio_util::task::TaskTracker;
    use trunkline_store::AuditFilter;

    use super::*;
    use crate::access::{Credentials, Pepper, WithoutToken, decide};
    use crate::audit::{AuditBounds, AuditPlaces};
    use crate::scratch::Folder;

    fn somebody() -> Principal {
        let known = Credentials {
            pepper: Arc::new(Pepper::new(&[0; 32])),
            static_token: None,
            admin_token: None,
            keys: HashMap::new(),
            is_stale: false,
            issuer: None,
            without_token: WithoutToken::MayUseMcp,
            certificates: Arc::default(),
            people: None,
        };
        decide(None, &known, 0).unwrap()
    }

    #[tokio::test]
    async fn failed_sign_ins_keep_no_other_refusal_out_of_the_log() {
        let folder = Folder::new();
        let (log, tasks) = (Arc::new(folder.store().await), TaskTracker::new());
        let places = AuditPlaces::default();
        let audit = Audit::start(log.clone(), AuditBounds::default(), places, &tasks);
        let seen = RejectedLogins::new(audit.clone());
        // One network, however many addresses come from it.
        for host in 0..5_u128 {
            let v6 = IpAddr::V6(((0x2001_0db8 << 96) + host).into());
            seen.record_failed_sign_in("no", v6, 0);
        }
        for number in 0..u32::try_from(SOURCES).unwrap() {
            seen.record_failed_sign_in("no", address(number), 0);
        }
        let peer = SocketAddr::from(([192, 0, 2, 1], 1));
        seen.record_mcp_refusal(&somebody(), "no", peer, 0);
        audit.close(Instant::now() + Duration::from_secs(60)).await;
        let told = async |action: &str, until: Option<i64>| {
            let action = Some(action.to_owned());
            let filter = AuditFilter { action, until_seq: until, ..AuditFilter::default() };
            log.audit(filter, 1_000).await.unwrap()
        };
        assert_eq!(told("use-mcp", None).await.len(), 1);
        let mut sign_ins = told("sign-in", None).await;
        let last = sign_ins.last().map(|record| record.seq - 1);
        sign_ins.extend(told("sign-in", last).await);
        assert_eq!(sign_ins.len(), SOURCES + 1, "further ones are told of as one");
        let of_many =
            sign_ins.iter().filter(|record| record.what.address.as_deref() == Some("many"));
        assert_eq!(of_many.count(), 1);
    }

    fn address(number: u32) -> IpAddr {
        IpAddr::from(number.to_be_bytes())
    }

    #[test]
    fn of_one_source_a_record_tells_once_a_minute_how_many_came() {
        let mut seen = RejectionCounts::default();
        let (one, other) = (address(1), address(2));
        for (source, at, expected) in [
            (one, 0, Some((Some(one), 1))),
            (one, 1, None),
            (other, 2, Some((Some(other), 1))),
            (one, PAUSE - 1, None),
            (one, PAUSE, Some((Some(one), 3))),
            (one, PAUSE + 1, None),
            (other, 10 * PAUSE, Some((Some(other), 1))),
        ] {
            assert_eq!(seen.count(source, at), expected, "{source} at {at}");
        }
        assert_eq!(seen.all, 7);
    }

    #[test]
    fn many_sources_are_told_of_as_one() {
        let mut seen = RejectionCounts::default();
        let all = u32::try_from(10 * SOURCES).unwrap();
        let told = (0..all).filter_map(|number| seen.count(address(number), 0));
        assert_eq!(told.count(), SOURCES + 1);
        assert_eq!(seen.sources.len(), SOURCES + 1);
        assert_eq!(seen.all, 10 * SOURCES as u64);
        let (from, count) = seen.count(address(u32::MAX), PAUSE).expect("a minute later");
        assert_eq!((from, count), (Some(address(u32::MAX)), 1), "there is room again");
    }

    #[test]
    fn of_a_key_that_may_not_speak_mcp_a_record_tells_once_a_minute() {
        let mut seen = RejectionCounts::default();
        for (who, at, expected) in
            [("a", 0, true), ("a", 1, false), ("b", 2, true), ("a", PAUSE, true)]
        {
            assert_eq!(seen.take_turn(who, at), expected, "{who} at {at}");
        }
    }
}

//! `Wards`: what is known of every server's health, fed by calls and checks.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

use super::check::Checkup;
use super::judge::{Phase, Reason, Rules, Signals, health, judge};
use super::window::{Ended, Piece, SPAN, Summary, Window, minutes, pieces, together};
use crate::api::view::{HealthView, Status, WindowView};

/// A busy server is judged this often between its checks.
const JUDGED_EVERY: Duration = Duration::from_secs(1);

/// A restart counts for so long.
const RESTART_SPAN: Duration = Duration::from_secs(600);
/// Restarts that are remembered of a server: more are not told apart.
const MOST_RESTARTS: usize = 1_000;

#[derive(Debug)]
pub struct Wards {
    rules: Rules,
    start: Instant,
    wards: Mutex<HashMap<String, Case>>,
    /// Counts changes of any server's status.
    changes: watch::Sender<u64>,
}

#[derive(Debug)]
struct Case {
    phase: Phase,
    window: Window,
    failures: u32,
    last_check: Option<i64>,
    /// What the last failed check and the last call that ended in an error said, and when.
    failed_check: Option<Trouble>,
    failed_call: Option<Trouble>,
    /// When it came back after it had gone, the oldest first.
    restarts: VecDeque<Instant>,
    /// All of them, also those that are not remembered any more.
    times_back: u32,
    status: Status,
    reason: Option<Reason>,
    judged: Instant,
}

/// Something that went wrong; `at` in milliseconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    pub at: i64,
    pub what: String,
}

/// What a check has made of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checked {
    pub before: Status,
    pub status: Status,
    /// Checks that have failed since the last good one.
    pub failures: u32,
}

/// How a server does.
#[derive(Debug, Clone, PartialEq)]
pub struct Ward {
    pub status: Status,
    pub health: HealthView,
    pub window: WindowView,
    pub p99: Option<f64>,
    /// Why it is connected and not well, with the last thing that went wrong.
    pub reason: Option<(Reason, Option<Trouble>)>,
    /// The last call that ended in an error.
    pub failed_call: Option<Trouble>,
    /// How often it came back after it had run and gone, since Trunkline knows it.
    pub times_back: u32,
}

/// What several servers did over the last minutes, together.
#[derive(Debug, Clone, PartialEq)]
pub struct Lately {
    pub summary: Summary,
    /// The oldest first, with how long ago each began.
    pub pieces: Vec<(Duration, Piece)>,
    /// Likewise, of the last hour: a minute each.
    pub minutes: Vec<(Duration, Piece)>,
}

impl Wards {
    pub fn new(rules: Rules) -> Self {
        let (changes, _) = watch::channel(0);
        Self { rules, start: Instant::now(), wards: Mutex::new(HashMap::new()), changes }
    }

    /// What has become of its connection. With a new connection old failures do not count.
    pub fn set_phase(&self, server_id: &str, phase: Phase) {
        self.with(server_id, |case, _| {
            if phase == Phase::Connected && case.phase != phase {
                case.failures = 0;
            }
            case.phase = phase;
        });
    }

    /// It has come back after it had gone, for no reason that anybody here has given.
    pub fn restarted(&self, server_id: &str) {
        let now = Instant::now();
        self.with(server_id, |case, _| {
            if case.restarts.len() == MOST_RESTARTS {
                case.restarts.pop_front();
            }
            case.restarts.push_back(now);
            case.times_back = case.times_back.saturating_add(1);
        });
    }

    /// A call has ended; `trouble` is asked for only if it ended in an error.
    pub fn call_ended(
        &self,
        server_id: &str,
        ended: Ended,
        took: Duration,
        trouble: impl FnOnce() -> Trouble,
    ) {
        let now = Instant::now();
        let mut wards = self.wards.lock();
        let Some(case) = wards.get_mut(server_id) else { return };
        case.window.call(now - self.start, ended, took);
        if ended != Ended::Well {
            case.failed_call = Some(trouble());
        }
        if now < case.judged + JUDGED_EVERY {
            return;
        }
        let changed = self.verdict(case, now);
        drop(wards);
        self.tell(changed);
    }

    /// `at` in milliseconds since 1970. Nothing becomes of a server that is forgotten.
    pub fn checked(&self, server_id: &str, checkup: &Checkup, at: i64) -> Option<Checked> {
        let now = Instant::now();
        let mut wards = self.wards.lock();
        let case = wards.get_mut(server_id)?;
        case.window.check(now - self.start, checkup.ok, checkup.took);
        case.failures = if checkup.ok { 0 } else { case.failures.saturating_add(1) };
        if let Some(detail) = checkup.detail.clone().filter(|_| !checkup.ok) {
            case.failed_check = Some(Trouble { at, what: detail });
        }
        case.last_check = Some(at);
        let before = case.status;
        let changed = self.verdict(case, now);
        let checked = Checked { before, status: case.status, failures: case.failures };
        drop(wards);
        self.tell(changed);
        Some(checked)
    }

    /// None of a server that was never heard of.
    pub fn ward(&self, server_id: &str) -> Option<Ward> {
        let now = Instant::now();
        let mut wards = self.wards.lock();
        let case = wards.get_mut(server_id)?;
        let changed = self.verdict(case, now);
        let summary = case.window.summary(now - self.start);
        let ward = self.shown(case, &summary);
        drop(wards);
        self.tell(changed);
        Some(ward)
    }

    /// What these servers did together.
    pub fn lately<'a>(&self, server_ids: impl IntoIterator<Item = &'a str>) -> Lately {
        let wards = self.wards.lock();
        let now = self.start.elapsed();
        let windows = server_ids.into_iter().filter_map(|id| wards.get(id));
        let windows: Vec<&Window> = windows.map(|case| &case.window).collect();
        let aged = |pieces: Vec<Piece>| {
            pieces.into_iter().map(|piece| (now.saturating_sub(piece.start), piece)).collect()
        };
        Lately {
            summary: together(&windows, now),
            pieces: aged(pieces(&windows, now)),
            minutes: aged(minutes(&windows, now)),
        }
    }

    /// How often a server came back after it had run and gone.
    pub fn times_back(&self, server_id: &str) -> u32 {
        self.wards.lock().get(server_id).map_or(0, |case| case.times_back)
    }

    pub fn status(&self, server_id: &str) -> Option<Status> {
        self.wards.lock().get(server_id).map(|case| case.status)
    }

    /// The server is removed.
    pub fn forget(&self, server_id: &str) {
        self.wards.lock().remove(server_id);
    }

    /// Wakes when a status changes; which one, has to be looked up.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn with(&self, server_id: &str, act: impl FnOnce(&mut Case, Duration)) {
        let now = Instant::now();
        let mut wards = self.wards.lock();
        let case = wards.entry(server_id.to_owned()).or_insert_with(|| Case {
            phase: Phase::Disconnected,
            window: Window::default(),
            failures: 0,
            last_check: None,
            failed_check: None,
            failed_call: None,
            restarts: VecDeque::new(),
            times_back: 0,
            status: Status::Disconnected,
            reason: None,
            judged: now,
        });
        act(case, now - self.start);
        let changed = self.verdict(case, now);
        drop(wards);
        self.tell(changed);
    }

    fn verdict(&self, case: &mut Case, now: Instant) -> bool {
        while case.restarts.front().is_some_and(|at| *at + RESTART_SPAN < now) {
            case.restarts.pop_front();
        }
        let signals = case.signals(&case.window.summary(now - self.start));
        let (status, reason) = judge(&signals, &self.rules);
        case.reason = reason;
        let before = std::mem::replace(&mut case.status, status);
        case.judged = now;
        before != case.status
    }

    /// Not under the lock: who wakes may look at once.
    fn tell(&self, changed: bool) {
        if changed {
            self.changes.send_modify(|count| *count += 1);
        }
    }

    fn shown(&self, case: &Case, summary: &Summary) -> Ward {
        let status = health(case.status, summary.checks, &case.signals(summary), &self.rules);
        Ward {
            status: case.status,
            health: HealthView {
                status,
                last_check: case.last_check,
                calls: summary.calls,
                failed_calls: summary.failed_calls,
                tool_errors: summary.tool_errors,
                p50: summary.p50,
                p95: summary.p95,
                check_p50: summary.check_p50,
                check_p95: summary.check_p95,
                error_rate: summary.error_rate(),
                consecutive_failures: case.failures,
                restarts: case.restarts.len(),
            },
            window: WindowView {
                seconds: u32::try_from(SPAN.as_secs()).unwrap_or(u32::MAX),
                checks: summary.checks,
                failed_checks: summary.failed_checks,
                calls: summary.calls,
                failed_calls: summary.failed_calls,
                tool_errors: summary.tool_errors,
                p50: summary.p50,
                p95: summary.p95,
                error_rate: summary.error_rate(),
            },
            p99: summary.p99,
            reason: case.reason.map(|reason| (reason, case.trouble(reason))),
            failed_call: case.failed_call.clone(),
            times_back: case.times_back,
        }
    }
}

impl Case {
    fn signals(&self, summary: &Summary) -> Signals {
        Signals {
            phase: self.phase,
            failures: self.failures,
            calls: summary.calls,
            failed_calls: summary.failed_calls,
            tool_errors: summary.tool_errors,
            p95: summary.p95,
            restarts: self.restarts.len(),
            was_degraded: matches!(self.reason, Some(Reason::Errors { .. })),
        }
    }

    /// The last thing that went wrong of what the reason counts.
    fn trouble(&self, reason: Reason) -> Option<Trouble> {
        match reason {
            Reason::Checks { .. } => self.failed_check.clone(),
            Reason::Errors { .. } => self.failed_call.clone(),
            Reason::Restarts { .. } | Reason::Slow { .. } => None,
        }
    }
}

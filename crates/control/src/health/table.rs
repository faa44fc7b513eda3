//! `HealthTable`: what is known of every server's health, fed by calls and checks.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

use super::check::Checkup;
use super::judge::{ConnectionPhase, DegradedReason, HealthRules, HealthSignals, health, judge};
use super::status::{HealthStatus, ServerStatus as Status};
use super::window::{
    CallQuality, SPAN, SlidingWindow, WindowSlice, WindowSummary, minutes, pieces, together,
};

// A verdict sums up the whole window: at a thousand calls a second that would cost more than the
// calls.
/// A busy server is judged this often between its checks.
const JUDGED_EVERY: Duration = Duration::from_secs(1);

// Ten minutes, as the message of `DegradedReason::Restarts` says.
/// A restart counts for so long.
const RESTART_SPAN: Duration = Duration::from_secs(600);
/// Restarts that are remembered of a server: more are not told apart.
const MOST_RESTARTS: usize = 1_000;

#[derive(Debug)]
pub struct HealthTable {
    rules: HealthRules,
    start: Instant,
    /// A leaf lock, taken for every call that ends: verdicts are quick, and listeners wake after it.
    servers: Mutex<HashMap<String, TrackedServer>>,
    /// Counts changes of any server's status.
    changes: watch::Sender<u64>,
}

#[derive(Debug)]
struct TrackedServer {
    phase: ConnectionPhase,
    window: SlidingWindow,
    failures: u32,
    last_check: Option<i64>,
    /// What the last failed check and the last call that ended in an error said, and when.
    failed_check: Option<Incident>,
    failed_call: Option<Incident>,
    /// When it came back after it had gone, the oldest first.
    restarts: VecDeque<Instant>,
    /// All of them, also those that are not remembered any more.
    times_back: u32,
    status: Status,
    reason: Option<DegradedReason>,
    judged: Instant,
}

/// Something that went wrong; `at` in milliseconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incident {
    pub at: i64,
    pub what: String,
}

/// What a check has made of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckOutcome {
    pub before: Status,
    pub status: Status,
    /// Checks that have failed since the last good one.
    pub failures: u32,
}

/// How a server does.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerHealth {
    pub status: Status,
    pub health: Health,
    pub window: WindowTotals,
    pub p99: Option<f64>,
    /// Why it is connected and not well, with the last thing that went wrong.
    pub reason: Option<(DegradedReason, Option<Incident>)>,
    /// The last call that ended in an error.
    pub failed_call: Option<Incident>,
    /// How often it came back after it had run and gone, since Trunkline knows it.
    pub times_back: u32,
}

/// How a server does, in short.
#[derive(Debug, Clone, PartialEq)]
pub struct Health {
    pub status: HealthStatus,
    pub last_check: Option<i64>,
    /// Of the last five minutes.
    pub calls: u64,
    pub failed_calls: u64,
    pub tool_errors: u64,
    /// Of calls, in milliseconds.
    pub p50: Option<f64>,
    pub p95: Option<f64>,
    /// Of checks, in milliseconds.
    pub check_p50: Option<f64>,
    pub check_p95: Option<f64>,
    /// From 0 to 1.
    pub error_rate: Option<f64>,
    pub consecutive_failures: u32,
    /// In the last ten minutes.
    pub restarts: usize,
}

impl Health {
    /// Of a server that nothing is known about.
    pub const UNKNOWN: Self = Self {
        status: HealthStatus::Unknown,
        last_check: None,
        calls: 0,
        failed_calls: 0,
        tool_errors: 0,
        p50: None,
        p95: None,
        check_p50: None,
        check_p95: None,
        error_rate: None,
        consecutive_failures: 0,
        restarts: 0,
    };
}

/// What a server did over the last minutes.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowTotals {
    pub seconds: u32,
    pub checks: u64,
    pub failed_checks: u64,
    pub calls: u64,
    pub failed_calls: u64,
    pub tool_errors: u64,
    pub p50: Option<f64>,
    pub p95: Option<f64>,
    pub error_rate: Option<f64>,
}

/// What several servers did over the last minutes, together.
#[derive(Debug, Clone, PartialEq)]
pub struct RecentActivity {
    pub summary: WindowSummary,
    /// The oldest first, with how long ago each began.
    pub slices: Vec<(Duration, WindowSlice)>,
    /// Likewise, of the last hour: a minute each.
    pub minutes: Vec<(Duration, WindowSlice)>,
}

impl HealthTable {
    pub fn new(rules: HealthRules) -> Self {
        // A counter and not the news itself: a listener that was slow looks at everything once.
        let (changes, _) = watch::channel(0);
        Self { rules, start: Instant::now(), servers: Mutex::new(HashMap::new()), changes }
    }

    /// What has become of its connection. With a new connection old failures do not count.
    pub fn set_phase(&self, server_id: &str, phase: ConnectionPhase) {
        self.with(server_id, |tracked, _| {
            // Checks of the connection before say nothing about this one.
            if phase == ConnectionPhase::Connected && tracked.phase != phase {
                // The first phase after a restart is the same server anew, so that old strikes
                // would condemn it at once.
                tracked.failures = 0;
            }
            tracked.phase = phase;
        });
    }

    /// It has come back after it had gone, and no request here has caused that.
    pub fn restarted(&self, server_id: &str) {
        let now = Instant::now();
        self.with(server_id, |tracked, _| {
            if tracked.restarts.len() == MOST_RESTARTS {
                tracked.restarts.pop_front();
            }
            tracked.restarts.push_back(now);
            tracked.times_back = tracked.times_back.saturating_add(1);
        });
    }

    /// A call has ended; `trouble` is asked for only if it ended in an error.
    pub fn call_ended(
        &self,
        server_id: &str,
        ended: CallQuality,
        took: Duration,
        trouble: impl FnOnce() -> Incident,
    ) {
        let now = Instant::now();
        let mut wards = self.servers.lock();
        // Not made here: a call that ends after its server was removed must not bring it back.
        let Some(tracked) = wards.get_mut(server_id) else { return };
        tracked.window.call(now - self.start, ended, took);
        if ended != CallQuality::Well {
            // Built only now: most calls end well, and the words cost an allocation.
            tracked.failed_call = Some(trouble());
        }
        // A busy server would be judged for every call otherwise.
        if now < tracked.judged + JUDGED_EVERY {
            return;
        }
        let changed = self.judge_again(tracked, now);
        drop(wards);
        self.wake(changed);
    }

    /// `at` in milliseconds since 1970. Nothing becomes of a server that is forgotten.
    pub fn checked(&self, server_id: &str, checkup: &Checkup, at: i64) -> Option<CheckOutcome> {
        let now = Instant::now();
        let mut wards = self.servers.lock();
        let tracked = wards.get_mut(server_id)?;
        tracked.window.check(now - self.start, checkup.ok, checkup.took);
        // Saturating: a server may fail for weeks.
        tracked.failures = if checkup.ok { 0 } else { tracked.failures.saturating_add(1) };
        if let Some(detail) = checkup.detail.clone().filter(|_| !checkup.ok) {
            tracked.failed_check = Some(Incident { at, what: detail });
        }
        tracked.last_check = Some(at);
        let before = tracked.status;
        let changed = self.judge_again(tracked, now);
        let checked = CheckOutcome { before, status: tracked.status, failures: tracked.failures };
        drop(wards);
        self.wake(changed);
        Some(checked)
    }

    /// None of a server that was never heard of.
    pub fn of_server(&self, server_id: &str) -> Option<ServerHealth> {
        let now = Instant::now();
        let mut wards = self.servers.lock();
        let tracked = wards.get_mut(server_id)?;
        // Judged again, for time alone changes a verdict: old failures leave the window.
        let changed = self.judge_again(tracked, now);
        let summary = tracked.window.summary(now - self.start);
        let ward = self.report(tracked, &summary);
        drop(wards);
        self.wake(changed);
        Some(ward)
    }

    /// What these servers did together.
    pub fn recent_activity<'a>(
        &self,
        server_ids: impl IntoIterator<Item = &'a str>,
    ) -> RecentActivity {
        // Held for all servers: their sums belong to one moment.
        let wards = self.servers.lock();
        let now = self.start.elapsed();
        let windows = server_ids.into_iter().filter_map(|id| wards.get(id));
        let windows: Vec<&SlidingWindow> = windows.map(|tracked| &tracked.window).collect();
        let aged = |pieces: Vec<WindowSlice>| {
            pieces.into_iter().map(|piece| (now.saturating_sub(piece.start), piece)).collect()
        };
        RecentActivity {
            summary: together(&windows, now),
            slices: aged(pieces(&windows, now)),
            minutes: aged(minutes(&windows, now)),
        }
    }

    /// How often a server came back after it had run and gone.
    pub fn restarts_total(&self, server_id: &str) -> u32 {
        self.servers.lock().get(server_id).map_or(0, |tracked| tracked.times_back)
    }

    pub fn status(&self, server_id: &str) -> Option<Status> {
        self.servers.lock().get(server_id).map(|tracked| tracked.status)
    }

    /// The server is removed.
    pub fn forget(&self, server_id: &str) {
        self.servers.lock().remove(server_id);
    }

    /// Wakes when a status changes; which one, has to be looked up.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn with(&self, server_id: &str, act: impl FnOnce(&mut TrackedServer, Duration)) {
        let now = Instant::now();
        let mut wards = self.servers.lock();
        let tracked = wards.entry(server_id.to_owned()).or_insert_with(|| TrackedServer {
            phase: ConnectionPhase::Disconnected,
            window: SlidingWindow::default(),
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
        act(tracked, now - self.start);
        let changed = self.judge_again(tracked, now);
        drop(wards);
        self.wake(changed);
    }

    fn judge_again(&self, tracked: &mut TrackedServer, now: Instant) -> bool {
        // The oldest stand in front, so that the first one within the span ends the search.
        while tracked.restarts.front().is_some_and(|at| *at + RESTART_SPAN < now) {
            tracked.restarts.pop_front();
        }
        let signals = tracked.signals(&tracked.window.summary(now - self.start));
        let (status, reason) = judge(&signals, &self.rules);
        tracked.reason = reason;
        // The reason is set before the comparison and not compared: other numbers are no change of
        // the status.
        let before = std::mem::replace(&mut tracked.status, status);
        tracked.judged = now;
        before != tracked.status
    }

    /// Not under the lock: a listener that wakes may take it at once.
    fn wake(&self, changed: bool) {
        if changed {
            self.changes.send_modify(|count| *count += 1);
        }
    }

    fn report(&self, tracked: &TrackedServer, summary: &WindowSummary) -> ServerHealth {
        let status = health(tracked.status, summary.checks, &tracked.signals(summary), &self.rules);
        ServerHealth {
            status: tracked.status,
            health: Health {
                status,
                last_check: tracked.last_check,
                calls: summary.calls,
                failed_calls: summary.failed_calls,
                tool_errors: summary.tool_errors,
                p50: summary.p50,
                p95: summary.p95,
                check_p50: summary.check_p50,
                check_p95: summary.check_p95,
                error_rate: summary.error_rate(),
                consecutive_failures: tracked.failures,
                restarts: tracked.restarts.len(),
            },
            window: WindowTotals {
                // The span is a constant of minutes; the bound is never reached.
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
            reason: tracked.reason.map(|reason| (reason, tracked.trouble(reason))),
            failed_call: tracked.failed_call.clone(),
            times_back: tracked.times_back,
        }
    }
}

impl TrackedServer {
    fn signals(&self, summary: &WindowSummary) -> HealthSignals {
        HealthSignals {
            phase: self.phase,
            failures: self.failures,
            calls: summary.calls,
            failed_calls: summary.failed_calls,
            tool_errors: summary.tool_errors,
            p95: summary.p95,
            restarts: self.restarts.len(),
            was_degraded: matches!(self.reason, Some(DegradedReason::Errors { .. })),
        }
    }

    /// The last thing that went wrong of what the reason counts.
    fn trouble(&self, reason: DegradedReason) -> Option<Incident> {
        match reason {
            DegradedReason::Checks { .. } => self.failed_check.clone(),
            DegradedReason::Errors { .. } => self.failed_call.clone(),
            DegradedReason::Restarts { .. } | DegradedReason::Slow { .. } => None,
        }
    }
}

//! One task per server: start it, make it known, notice its end, start it again if asked to.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use trunkline_catalog::ListKind;
use trunkline_catalog::config::Transport;
use trunkline_http::reach::Policy;
use trunkline_keeper::{Keeper, LaunchError};

use crate::deadlines::Deadlines;
use crate::limits::{
    BACKOFF_FIRST, BACKOFF_LONGEST, EXIT_WINDOW, EXITS_PER_WINDOW, Limits, ONE_SERVER,
    ShutdownGrace,
};
use crate::pump::Pump;
use crate::registry::Registry;
use crate::upstream::http::Remote;
use crate::upstream::inbound::shown::shown;
use crate::upstream::lifecycle::declared::Declared;
use crate::upstream::lifecycle::server::Server;
use crate::upstream::lifecycle::state::{Failure, Phase, Retry, State, Status};
use crate::upstream::stdio::launch::Inherited;
use crate::upstream::stdio::process::Life;

/// The target of events whose text the user is told in another way: for log files only.
pub const TOLD: &str = "told";

/// What every supervisor needs.
#[derive(Clone, Debug)]
pub(crate) struct Supervisor {
    /// Where servers may be whose address somebody else has named.
    pub(crate) reach: Arc<Policy>,
    pub(crate) keeper: Keeper,
    pub(crate) pump: Pump,
    pub(crate) registry: Arc<Registry>,
    pub(crate) inherited: Arc<Inherited>,
    pub(crate) limits: Limits,
    pub(crate) deadlines: Arc<Deadlines>,
    pub(crate) declared: Declared,
    pub(crate) restart: Restart,
    /// Whoever started the gateway tells its user why a server failed.
    pub(crate) caller_tells_failures: bool,
    /// The literal simple product: tools only.
    pub(crate) simple: bool,
    /// `Some` once the gateway ends.
    pub(crate) farewell: watch::Receiver<Option<ShutdownGrace>>,
}

/// What becomes of a server that has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// It stays down, wherever it runs: the gateway is there for one command only.
    OneShot,
    /// It stays down; a server in the network is connected to again.
    Never,
    /// It is started again, until it has failed too often in a short time.
    Limited,
    /// It is started again for as long as the gateway runs, with ever longer pauses.
    Always,
}

/// How a server's life ended.
pub(in crate::upstream) enum End {
    Failed(Failure),
    Stopped,
    /// It is to be started again at once, in another way: that is no failure.
    OtherWay,
}

/// Runs a server until it is stopped or stays down.
pub(crate) async fn supervise(server: Arc<Server>, supervisor: Supervisor) {
    keep_alive(&server, &supervisor).await;
    server.update(|status| status.retry = None);
    if server.give_up("is not running any more") {
        supervisor.registry.changed();
    }
    server.is_attended.store(false, Ordering::Relaxed);
}

async fn keep_alive(server: &Arc<Server>, supervisor: &Supervisor) {
    let mut exits: Vec<Instant> = Vec::new();
    loop {
        let version = server.bearer.as_ref().map_or(0, |bearer| bearer.version());
        let failure = match live(server, supervisor).await {
            End::Stopped => {
                server.update(|status| status.state = State::Stopped);
                return;
            }
            End::Failed(failure) => failure,
            End::OtherWay => continue,
        };
        if !failure.needs_login {
            exits.retain(|at| at.elapsed() < EXIT_WINDOW);
            exits.push(Instant::now());
        }
        let restart = supervisor.restart_of(server);
        if matches!(restart, Restart::OneShot | Restart::Never) || failure.permanent {
            return;
        }
        if failure.needs_login {
            if !logged_in(server, supervisor, version).await {
                return;
            }
            continue;
        }
        let too_often = exits.len() >= EXITS_PER_WINDOW;
        if too_often && restart == Restart::Limited {
            tracing::error!(
                server = %server.key,
                "failed {} times within {} s; it stays down until Trunkline is started again",
                exits.len(),
                EXIT_WINDOW.as_secs()
            );
            return;
        }
        let until = match server.status().retry {
            Some(retry) => retry.at,
            None => Instant::now() + backoff(exits.len()),
        };
        let pause = until.saturating_duration_since(Instant::now());
        // Where it is tried for as long as it takes, that was told with the failure.
        if restart != Restart::Always {
            tracing::warn!(server = %server.key, "is started again in {:.1} s", pause.as_secs_f64());
        }
        tokio::select! {
            () = sleep_until(until) => {}
            () = server.wake.notified() => {}
            _ = supervisor.ending(server) => return,
        }
        begin_again(server);
    }
}

fn begin_again(server: &Server) {
    server.update(|status| {
        status.state = State::Initializing;
        status.restarts += 1;
    });
}

/// Waits for a login: the server itself has nothing to come back from. False: it is to end.
async fn logged_in(server: &Arc<Server>, supervisor: &Supervisor, version: u64) -> bool {
    let Some(bearer) = &server.bearer else { return false };
    tokio::select! {
        () = bearer.changed(version) => {}
        () = server.insisted.notified() => {}
        _ = supervisor.ending(server) => return false,
    }
    begin_again(server);
    true
}

/// Doubles with each exit within the window, and varies by a quarter so that servers that fell
/// together do not rise together.
fn backoff(exits: usize) -> Duration {
    let doublings = u32::try_from(exits.saturating_sub(1)).unwrap_or(u32::MAX).min(16);
    varied(BACKOFF_FIRST.saturating_mul(1 << doublings).min(BACKOFF_LONGEST))
}

pub(in crate::upstream) fn varied(pause: Duration) -> Duration {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let noise = f64::from(now.unwrap_or_default().subsec_nanos() % 1000) / 1000.0;
    pause.mul_f64(0.75 + noise / 2.0)
}

/// Says that a server has failed, in the log and in its state, and whether it is expected back. To be
/// said while it is still known what it offered, and before its calls end.
pub(in crate::upstream) fn announce(server: &Server, supervisor: &Supervisor, failure: &Failure) {
    let retry = supervisor.retry(server, failure);
    let is_known = is_repeated(&server.status(), failure, retry);
    server.update(|status| {
        status.state = State::Failed(failure.clone());
        status.last_failure = Some(failure.clone());
        status.failed_at = Some(Instant::now());
        status.retry = retry;
    });
    // Whoever waits for a server that waits for a login is told what to do.
    let why = if failure.needs_login { failure.to_string() } else { failure.what.clone() };
    match retry {
        Some(Retry { is_open: false, .. }) => server.expect_back(),
        _ if server.give_up(&why) => supervisor.registry.changed(),
        _ => {}
    }
    let Failure { phase, what, advice, stderr, .. } = failure;
    let mut text = what.clone();
    if !advice.is_empty() {
        text = format!("{text}; {advice}");
    }
    for line in stderr {
        text.push_str("\n    ");
        text.push_str(line);
    }
    if let Some(retry) = retry {
        text.push_str(&format!("\n    {retry}"));
    }
    if is_known {
        tracing::debug!(server = %server.key, phase = %phase, "{text}");
    } else if supervisor.caller_tells_failures {
        tracing::error!(target: TOLD, server = %server.key, phase = %phase, "{text}");
    } else {
        tracing::error!(server = %server.key, phase = %phase, "{text}");
    }
}

/// Whether a server that has not run since fails as it did before: that was told. It is told again when
/// the circuit opens.
fn is_repeated(before: &Status, failure: &Failure, retry: Option<Retry>) -> bool {
    let is_same = |last: &Failure| last.what == failure.what && last.phase == failure.phase;
    let was_open = before.retry.is_some_and(|retry| retry.is_open);
    let opens = retry.is_none_or(|retry| retry.is_open) && !was_open;
    before.state != State::Running && before.last_failure.as_ref().is_some_and(is_same) && !opens
}

impl Supervisor {
    /// Waits until the gateway ends or this server is dismissed; says how.
    pub(crate) async fn ending(&self, server: &Server) -> ShutdownGrace {
        let mut farewell = self.farewell.clone();
        let farewell = async {
            match farewell.wait_for(Option::is_some).await {
                Ok(farewell) => farewell.unwrap_or(ONE_SERVER),
                Err(_) => ONE_SERVER, // the gateway is gone without a word: end the usual way
            }
        };
        tokio::select! {
            biased;
            farewell = farewell => farewell,
            () = server.dismissed.cancelled() => ONE_SERVER,
        }
    }

    /// When a server that has just failed is tried again, if that is for as long as it takes.
    fn retry(&self, server: &Server, failure: &Failure) -> Option<Retry> {
        let is_final = failure.permanent || failure.needs_login;
        if self.restart_of(server) != Restart::Always || is_final {
            return None;
        }
        let was_of_use = server.connection().is_some_and(|connection| connection.was_of_use());
        let step = server.breaker.lock().failed(was_of_use);
        let at = Instant::now() + varied(step.pause);
        Some(Retry { at, failures: step.failures, is_open: step.is_open })
    }

    /// What is asked of servers.
    pub(in crate::upstream) fn kinds(&self) -> &'static [ListKind] {
        if self.simple { &[ListKind::Tools] } else { &ListKind::ALL }
    }

    /// Is it started again when it fails?
    pub(crate) fn restarts(&self, server: &Server) -> bool {
        matches!(self.restart_of(server), Restart::Limited | Restart::Always)
    }

    /// A server in the network comes back by itself; nothing is started for it.
    fn restart_of(&self, server: &Server) -> Restart {
        self.restart.of(&server.transport)
    }
}

impl Restart {
    fn of(self, transport: &Transport) -> Self {
        match transport {
            Transport::Remote { .. } if self != Self::OneShot => Self::Always,
            _ => self,
        }
    }
}

async fn live(server: &Arc<Server>, supervisor: &Supervisor) -> End {
    let launch = match &server.transport {
        Transport::Remote { url, kind, headers } => {
            let place = Remote { url, kind: *kind, headers };
            return crate::upstream::http::live(server, supervisor, place).await;
        }
        Transport::Stdio { command, args, env, cwd } => {
            supervisor.inherited.launch(command, args, env, cwd.as_deref())
        }
    };
    let spawned = tokio::select! {
        spawned = supervisor.keeper.spawn(&launch) => spawned,
        _ = supervisor.ending(server) => return End::Stopped,
    };
    match spawned {
        Ok(custody) => Life::begin(server, supervisor, custody).await,
        Err(error) => never_started(
            server,
            supervisor,
            Failure {
                phase: Phase::Startup,
                what: shown(
                    &format!("could not be started: {}", with_cause(&error)),
                    &server.secrets,
                ),
                advice: String::new(),
                permanent: !error.may_retry(),
                needs_login: false,
                stderr: Vec::new(),
            },
        ),
    }
}

/// The error and what is behind it: "could not be started" alone helps nobody.
fn with_cause(error: &LaunchError) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

pub(in crate::upstream) fn never_started(
    server: &Server,
    supervisor: &Supervisor,
    failure: Failure,
) -> End {
    announce(server, supervisor, &failure);
    End::Failed(failure)
}

#[cfg(test)]
mod tests {
    use trunkline_catalog::config::RemoteKind;

    use super::*;

    #[test]
    fn only_a_command_lets_a_server_in_the_network_go() {
        let remote = Transport::Remote {
            url: "http://x/mcp".to_owned(),
            kind: RemoteKind::Detect,
            headers: Vec::new(),
        };
        let stdio = Transport::Stdio {
            command: "x".to_owned(),
            args: Vec::new(),
            env: Vec::new(),
            cwd: None,
        };
        for restart in [Restart::OneShot, Restart::Never, Restart::Limited, Restart::Always] {
            let expected = if restart == Restart::OneShot { restart } else { Restart::Always };
            assert_eq!(restart.of(&remote), expected);
            assert_eq!(restart.of(&stdio), restart);
        }
    }
}

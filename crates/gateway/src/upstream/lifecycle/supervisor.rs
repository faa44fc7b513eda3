//! `Supervisor`: what the task of a server needs, and what becomes of a server that has failed.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use trunkline_catalog::ListKind;
use trunkline_catalog::config::Transport;
use trunkline_keeper::Keeper;

use crate::deadlines::Deadlines;
use crate::instance::Instance;
use crate::limits::{BACKOFF_FIRST, BACKOFF_LONGEST, Limits, ONE_SERVER, ShutdownGrace};
use crate::network::Network;
use crate::pump::Pumps;
use crate::upstream::lifecycle::declared::Declared;
use crate::upstream::lifecycle::definition::Restart;
use crate::upstream::lifecycle::offer_changes::OfferChanges;
use crate::upstream::lifecycle::server::Server;
use crate::upstream::lifecycle::signals::RESTARTED;
use crate::upstream::lifecycle::start_gate::StartGate;
use crate::upstream::lifecycle::state::{Failure, Phase, Retry, State, Status};
use crate::upstream::questions::parking::Parking;
use crate::upstream::stdio::launch::Inherited;

/// The target of events whose text the user is told in another way: for log files only.
pub const TOLD: &str = "told";

/// What every supervisor needs.
#[derive(Clone, Debug)]
pub(crate) struct Supervisor {
    pub(crate) network: Arc<Network>,
    pub(crate) keeper: Keeper,
    pub(crate) pumps: Pumps,
    /// Rung when a server offers something else than before.
    pub(crate) offers: Arc<OfferChanges>,
    /// What is remembered between the requests of stateless clients.
    pub(crate) parking: Arc<Parking>,
    /// Who we are among those who may be connected in a circle.
    pub(crate) instance: Arc<Instance>,
    pub(crate) inherited: Arc<Inherited>,
    pub(crate) limits: Limits,
    pub(crate) deadlines: Arc<Deadlines>,
    pub(crate) declared: Declared,
    pub(crate) restart: Restart,
    /// How many servers start at a time.
    pub(crate) starts: StartGate,
    /// Whoever started the gateway tells its user why a server failed.
    pub(crate) caller_tells_failures: bool,
    /// The literal simple product: tools only.
    pub(crate) simple: bool,
    /// `Some` once the gateway ends.
    pub(crate) shutdown: watch::Receiver<Option<ShutdownGrace>>,
}

/// How a server's life ended.
pub(in crate::upstream) enum End {
    Failed(Failure),
    Stopped,
    /// It is to be started again at once, in another way: that is no failure.
    OtherWay,
    /// Nothing has used it for a while: it sleeps until it is needed.
    Idle,
    /// A person wants another life of it, at once: that is no failure.
    Restarted,
}

/// Doubles with each exit within the window, and varies by a quarter so that servers that fell
/// together do not rise together.
pub(in crate::upstream) fn backoff(exits: usize) -> Duration {
    let doublings = u32::try_from(exits.saturating_sub(1)).unwrap_or(u32::MAX).min(16);
    varied(BACKOFF_FIRST.saturating_mul(1 << doublings).min(BACKOFF_LONGEST))
}

pub(in crate::upstream) fn varied(pause: Duration) -> Duration {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    // The clock's last digits are random enough: the pauses only have to differ.
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
    // Whoever waits for a server that did not start, or waits for a login, is told what to do.
    let has_run = failure.phase == Phase::Runtime && !failure.needs_login;
    let why = match has_run {
        true => failure.what.clone().into(),
        false => failure.absence(Failure::to_string),
    };
    match retry {
        // While the circuit is closed, the server is expected soon: its tools stay listed and its
        // calls wait.
        Some(Retry { is_open: false, .. }) => server.expect_back(),
        _ if server.give_up(why) => supervisor.offers.bump(),
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

/// Says that a person restarts a server: it is expected back, however often it has failed before. To be said while
/// it is still known what it offered, and before its calls end.
pub(in crate::upstream) fn renew(server: &Server) {
    tracing::info!(server = %server.key, "{RESTARTED}");
    match server.services.waits_for_restart {
        true => server.expect_back(),
        false => drop(server.give_up(RESTARTED)),
    }
    server.starts_over();
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
        tokio::select! {
            // Biased: if both are true, the end of the gateway decides how long the server may
            // take.
            biased;
            farewell = self.gateway_ends() => farewell,
            () = server.signals.dismissed.cancelled() => ONE_SERVER,
        }
    }

    /// Waits until the gateway ends; says how.
    pub(in crate::upstream) async fn gateway_ends(&self) -> ShutdownGrace {
        let mut farewell = self.shutdown.clone();
        match farewell.wait_for(Option::is_some).await {
            Ok(farewell) => farewell.unwrap_or(ONE_SERVER),
            Err(_) => ONE_SERVER, // the gateway is gone without a word: end the usual way
        }
    }

    /// When a server that has just failed is tried again, if that is for as long as it takes.
    fn retry(&self, server: &Server, failure: &Failure) -> Option<Retry> {
        let is_final = failure.permanent || failure.needs_login;
        if self.restart_of(server) != Restart::Always || is_final {
            return None;
        }
        let was_of_use =
            server.connection().is_some_and(|connection| connection.health.was_of_use());
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
    pub(in crate::upstream) fn restart_of(&self, server: &Server) -> Restart {
        self.restart.of(&server.definition.transport)
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
            network: Default::default(),
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

//! One task per server: start it, notice its end, start it again if asked to.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::time::{Instant, sleep_until};
use trunkline_catalog::config::Transport;
use trunkline_keeper::LaunchError;

use crate::limits::{EXIT_WINDOW, EXITS_PER_WINDOW};
use crate::upstream::http::{self, Remote};
use crate::upstream::lifecycle::definition::Restart;
use crate::upstream::lifecycle::run_policy::{note_asleep, starts_lazily};
use crate::upstream::lifecycle::server::Server;
use crate::upstream::lifecycle::state::{Failure, Phase, State};
use crate::upstream::lifecycle::supervisor::{End, Supervisor, backoff, never_started};
use crate::upstream::shown::shown;
use crate::upstream::stdio::host_proxy::HostProxy;
use crate::upstream::stdio::process::{Life, Surroundings};

/// Runs a server until it is stopped or stays down.
pub(crate) async fn supervise(server: Arc<Server>, supervisor: Supervisor) {
    keep_alive(&server, &supervisor).await;
    server.update(|status| status.retry = None);
    if server.give_up("is not running any more") {
        supervisor.offers.bump();
    }
    // Relaxed: the swap in `reconnect` alone decides who starts the next supervisor.
    server.signals.is_attended.store(false, Ordering::Relaxed);
}

async fn keep_alive(server: &Arc<Server>, supervisor: &Supervisor) {
    let mut exits: Vec<Instant> = Vec::new();
    if starts_lazily(server) {
        // What is remembered may have been listed for a client that can do something else.
        supervisor.declared.get().await;
    }
    let mut sleeps = starts_lazily(server);
    loop {
        if sleeps && !woken(server, supervisor).await {
            server.update(|status| status.state = State::Stopped);
            return;
        }
        sleeps = false;
        // Before the life begins: a login during it is noticed behind it.
        let version = server.bearer.as_ref().map_or(0, |bearer| bearer.version());
        let failure = match start(server, supervisor).await {
            End::Stopped => {
                server.update(|status| status.state = State::Stopped);
                return;
            }
            End::Failed(failure) => failure,
            End::OtherWay | End::Restarted => continue,
            End::Idle => {
                sleeps = true;
                continue;
            }
        };
        // A missing login is no crash: it must not use up the restarts.
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
            () = server.signals.wake.notified() => {}
            _ = supervisor.ending(server) => return,
        }
        begin_again(server);
    }
}

/// Waits until the server is needed. False: it is to end.
async fn woken(server: &Arc<Server>, supervisor: &Supervisor) -> bool {
    note_asleep(server);
    tracing::debug!(server = %server.key, "sleeps until it is needed");
    while !server.demand.is_called() {
        tokio::select! {
            () = server.demand.changed() => {}
            _ = supervisor.ending(server) => return false,
        }
    }
    server.update(|status| status.state = State::Initializing);
    true
}

/// One life, which begins when there is a place for one more that starts.
async fn start(server: &Arc<Server>, supervisor: &Supervisor) -> End {
    let is_process = matches!(server.definition.transport, Transport::Stdio { .. });
    if !is_process {
        return live(server, supervisor).await; // nothing is started here
    }
    let place = tokio::select! {
        place = supervisor.starts.enter(&server.demand, || server.listing().is_some()) => place,
        _ = supervisor.ending(server) => return End::Stopped,
    };
    let starting = async {
        server.settled().await;
        drop(place);
        std::future::pending().await
    };
    tokio::select! {
        end = live(server, supervisor) => end,
        never = starting => never,
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
        () = server.signals.insisted.notified() => {}
        _ = supervisor.ending(server) => return false,
    }
    begin_again(server);
    true
}

async fn live(server: &Arc<Server>, supervisor: &Supervisor) -> End {
    let (mut launch, walls) = match &server.definition.transport {
        Transport::Remote { url, kind, headers, network } => {
            let place = Remote { url, kind: *kind, headers, network };
            return http::live(server, supervisor, place).await;
        }
        Transport::Stdio { command, args, env, cwd } => {
            let launch = supervisor.inherited.launch(command, args, env, cwd.as_deref());
            let rules = server.definition.sandbox.as_ref();
            supervisor.inherited.wall_in(launch, rules, server.key.id(), env)
        }
    };
    for note in walls.iter().flat_map(|walls| &walls.notes) {
        tracing::warn!(server = %server.key, "sandbox: {note}");
    }
    let proxy = match walls.as_ref().filter(|walls| walls.wants_proxy()) {
        None => None,
        Some(walls) => match HostProxy::bind().await {
            Ok(proxy) => {
                walls.through_proxy(&mut launch, proxy.port());
                Some(proxy)
            }
            Err(error) => {
                // Without it the server reaches nothing: its walls say so.
                tracing::warn!(server = %server.key, "sandbox: no proxy for its hosts: {error}");
                None
            }
        },
    };
    let spawned = tokio::select! {
        spawned = supervisor.keeper.spawn(&launch) => spawned,
        _ = supervisor.ending(server) => return End::Stopped,
    };
    match spawned {
        Ok(custody) => {
            Life::begin(server, supervisor, custody, Surroundings { walls, proxy }).await
        }
        Err(error) => never_started(
            server,
            supervisor,
            Failure {
                phase: Phase::Startup,
                what: shown(
                    &format!("could not be started: {}", with_cause(&error)),
                    &server.definition.secrets,
                ),
                advice: String::new(),
                permanent: !error.may_retry(),
                needs_login: false,
                is_private: false,
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

//! When a server runs: which one sleeps until it is needed, and which one is stopped when nothing uses it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use trunkline_catalog::config::{IdleStop, Share, Start, Transport};

use crate::era::Era;
use crate::limits::{LEAVING_LOOK, LONGEST_IDLE_LOOK, WAITING_TIME};
use crate::upstream::connection::Connection;
use crate::upstream::lifecycle::handshake::ServerHello;
use crate::upstream::lifecycle::remembered::Remembered;
use crate::upstream::lifecycle::server::Server;
use crate::upstream::lifecycle::state::State;
use crate::upstream::lifecycle::supervisor::Supervisor;

/// What holds for servers whose entry says nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunDefaults {
    pub start: Start,
    /// `None`: they run until the end.
    pub idle_stop: Option<Duration>,
}

/// That a server is needed, and what it may hold for those who needed it.
// Relaxed throughout: `needed` is rung after the flag is set, and who is woken looks again.
#[derive(Debug, Default)]
pub(in crate::upstream) struct Demand {
    is_called: AtomicBool,
    needed: Notify,
    /// A tool was called that says it changes something: its process may hold state for its caller.
    may_hold_state: AtomicBool,
}

impl Demand {
    pub(in crate::upstream) fn is_called(&self) -> bool {
        self.is_called.load(Ordering::Relaxed)
    }

    /// Resolves when somebody may need the server; to be asked again what is the case then.
    pub(in crate::upstream) async fn changed(&self) {
        self.needed.notified().await;
    }

    /// Before the server is taken out of sight: who calls it afterwards is not forgotten.
    fn begin_anew(&self) {
        self.is_called.store(false, Ordering::Relaxed);
        self.may_hold_state.store(false, Ordering::Relaxed);
    }
}

impl Server {
    /// Somebody needs it: if it sleeps, it is started, before others that nobody needs yet.
    pub(crate) fn wake(&self) {
        if !self.demand.is_called.swap(true, Ordering::Relaxed) {
            // Those who wait for its start have something to wait for from now on.
            if self.status().state == State::Idle {
                self.update(|status| {
                    if status.state == State::Idle {
                        status.state = State::Initializing;
                    }
                });
            }
            self.demand.needed.notify_one();
        }
    }

    /// A tool of it is called whose annotations say that it changes something.
    pub(crate) fn note_state(&self) {
        self.demand.may_hold_state.store(true, Ordering::Relaxed);
    }

    /// Does it sleep until it is needed, from the beginning? Only one whose lists are known can, and only
    /// where calls wait for it.
    pub(in crate::upstream) fn starts_lazily(&self) -> bool {
        let is_remote = matches!(self.definition.transport, Transport::Remote { .. });
        let default = if is_remote { Start::Eager } else { self.run_defaults().start };
        self.definition.run.start.unwrap_or(default) == Start::Lazy
            && self.listing().is_some()
            && self.offer.memory().is_some_and(Remembered::is_fresh)
            && !self.offer.was_handed_over()
    }

    /// Resolves when nothing has used this connection for as long as the server may be idle.
    pub(in crate::upstream) async fn idled(&self, connection: &Connection, hello: &ServerHello) {
        let Some(limit) = self.idle_limit() else { return std::future::pending().await };
        // Looked at now and then: a clock for each call would slow every call.
        let look = (limit / 8).min(LONGEST_IDLE_LOOK);
        let mut used_at = Instant::now();
        loop {
            sleep(look).await;
            if connection.health.take_use() || self.is_in_use(connection, hello) {
                used_at = Instant::now();
            } else if used_at.elapsed() >= limit {
                return;
            }
        }
    }

    /// How long it may be idle; `None`: for ever.
    fn idle_limit(&self) -> Option<Duration> {
        // Where calls do not wait for a server, one that is stopped would lose them.
        self.wait_queue.as_ref().filter(|room| room.rules.waits_for_restart)?;
        match (self.definition.run.idle_stop, &self.definition.transport) {
            (Some(IdleStop::Off), _) => None,
            (Some(IdleStop::After(limit)), _) => Some(limit),
            (None, Transport::Stdio { .. }) => self.run_defaults().idle_stop,
            // Nothing runs here for a server in the network.
            (None, Transport::Remote { .. }) => None,
        }
    }

    /// Would a client miss something if it were stopped now?
    fn is_in_use(&self, connection: &Connection, hello: &ServerHello) -> bool {
        !connection.link.is_free()
            || self.waiting_calls() > 0
            || !connection.subscriptions.uris().is_empty()
            || (self.definition.run.idle_stop.is_none() && self.may_be_missed(hello))
    }

    /// May it keep something, besides what can be seen, that a client counts on? Not asked where its entry
    /// says when it is stopped.
    fn may_be_missed(&self, hello: &ServerHello) -> bool {
        let is_listened_to =
            hello.era == Era::Legacy && hello.logs && self.audience.level().is_some();
        self.definition.share == Share::PerSession
            || hello.has_tasks()
            || is_listened_to
            || self.demand.may_hold_state.load(Ordering::Relaxed)
    }

    /// It goes to sleep: what it offers stays listed, and calls wait until it is awake again. Resolves when
    /// the last call that was made at this moment has ended.
    pub(in crate::upstream) async fn fall_asleep(
        &self,
        connection: &Connection,
        supervisor: &Supervisor,
    ) {
        self.demand.begin_anew();
        self.expect_back();
        self.set_live(None);
        supervisor.offers.bump();
        // A client may have seen the connection just before: its call is on the way, and is answered. One
        // that never is must not keep the server for ever.
        let until = Instant::now() + WAITING_TIME;
        let free = async {
            loop {
                sleep(LEAVING_LOOK).await;
                if connection.link.is_free() || Instant::now() > until {
                    return;
                }
            }
        };
        tokio::select! {
            () = free => {}
            _ = supervisor.ending(self) => {}
        }
    }

    /// It sleeps, and is known by what it said before.
    pub(in crate::upstream) fn note_asleep(&self) {
        let (hello, listing) = (self.hello(), self.listing());
        self.update(|status| {
            status.state = State::Idle;
            status.retry = None;
            status.tools = listing.map_or(0, |listing| listing.tools().len());
            if let Some(hello) = hello {
                status.protocol = Some(hello.protocol.clone());
                status.identity.clone_from(&hello.identity);
            }
        });
    }
}

//! `WebConnection`: the connection of a request to an attachment: whose it is, where it comes from, and whether
//! its client is still there.

use std::fmt;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::front::http::connection::{Conn, OpenReply};
use crate::limiter::{Allowance, CallerAddress, Limiter, Overrun};
use crate::pump::FlushSet;

/// The default is that of a request that was made inside this process: nothing of it is limited, and it never goes.
#[derive(Clone, Default)]
pub struct WebConnection(Option<OwnedConnection>);

#[derive(Clone)]
struct OwnedConnection {
    conn: Arc<Conn>,
    limiter: Arc<Limiter>,
}

/// A caller has as many connections as it may have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TooManyConnections {
    pub message: String,
    pub again: std::time::Duration,
}

impl fmt::Debug for WebConnection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("WebConnection")
    }
}

impl WebConnection {
    pub(crate) fn new(conn: &Arc<Conn>, limiter: &Arc<Limiter>) -> Self {
        Self(Some(OwnedConnection { conn: Arc::clone(conn), limiter: Arc::clone(limiter) }))
    }

    /// Counts the connection as this caller's from now on, if it may have one more; `None`: as nobody's.
    pub fn belong_to(
        &self,
        caller: Option<(&Arc<[u8]>, &Allowance)>,
    ) -> Result<(), TooManyConnections> {
        let Some(OwnedConnection { conn, limiter }) = &self.0 else { return Ok(()) };
        let account = caller.map(|(who, allowed)| limiter.caller(who, allowed));
        conn.accounts.belong_to(account.as_ref()).map_err(|overrun: Overrun| {
            limiter.count(overrun.scope, overrun.limit);
            TooManyConnections { message: overrun.to_string(), again: overrun.again }
        })
    }

    /// Where it comes from.
    pub fn address(&self) -> Option<CallerAddress> {
        self.0.as_ref()?.conn.accounts.address().cloned().map(CallerAddress)
    }

    /// Resolves when the client has closed its side: nobody waits for the answer. Asked before the answer is begun.
    pub async fn closed(&self) {
        let Some(OwnedConnection { conn, .. }) = &self.0 else {
            return std::future::pending().await;
        };
        let watch = Arc::new(ClientWatch(CancellationToken::new()));
        conn.watch(Arc::downgrade(&watch) as _);
        // An end that came before `watch` was reported to no one.
        if !conn.has_ended() {
            watch.0.cancelled().await;
        }
    }
}

#[derive(Debug)]
struct ClientWatch(CancellationToken);

impl OpenReply for ClientWatch {
    fn tick(&self, _: u32, _: &mut FlushSet) {}

    fn client_left(&self, _: &Arc<Conn>, _: &mut FlushSet) {
        self.0.cancel();
    }
}

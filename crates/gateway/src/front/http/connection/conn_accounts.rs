//! `ConnAccounts`: the address and the caller that a connection counts for.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::limiter::{AddressAccount, CallerAccount, ConnectionShare, Overrun};
use crate::lock::{Mutex, rank};

#[derive(Debug, Default)]
pub(crate) struct ConnAccounts {
    /// Where the client comes from.
    address: Option<Arc<AddressAccount>>,
    /// … and its exact address.
    peer: Option<IpAddr>,
    /// Whose connection it is, as far as that is limited.
    // Held while a place is given back and taken, which are counters: two requests of one
    // connection must not take two.
    share: Mutex<Option<ConnectionShare>, rank::CallerPlace>,
    /// Whether it, or a stream of it, has ever counted for a caller.
    was_known: Arc<AtomicBool>,
}

impl ConnAccounts {
    pub(crate) fn at(address: Arc<AddressAccount>, peer: IpAddr) -> Self {
        Self { address: Some(address), peer: Some(peer), ..Self::default() }
    }

    /// Of a stream of this connection, which nobody has made a request on yet.
    pub(super) fn of_stream(&self) -> Self {
        Self {
            address: self.address.clone(),
            peer: self.peer,
            share: Mutex::default(),
            was_known: Arc::clone(&self.was_known),
        }
    }

    pub(crate) fn peer(&self) -> Option<IpAddr> {
        self.peer
    }

    /// Where the client comes from, if that is limited.
    pub(crate) fn limited_address(&self) -> Option<&Arc<AddressAccount>> {
        self.address.as_ref().filter(|address| address.meter.is_on())
    }

    /// Where the client comes from, whether or not that is limited now.
    pub(crate) fn address(&self) -> Option<&Arc<AddressAccount>> {
        self.address.as_ref()
    }

    /// Whether it counts for a caller who is known and limited.
    pub(super) fn has_caller(&self) -> bool {
        self.share.lock().is_some()
    }

    /// Whether it, or a stream of it, has ever counted for a caller who is known and limited.
    pub(crate) fn was_known(&self) -> bool {
        // Relaxed: the sweeper may learn of it a second later.
        self.was_known.load(Ordering::Relaxed)
    }

    /// Counts the connection as this caller's, from now on.
    pub(crate) fn belong_to(&self, caller: Option<&Arc<CallerAccount>>) -> Result<(), Overrun> {
        let mut share = self.share.lock();
        if share.as_ref().is_some_and(|share| caller.is_some_and(|caller| share.is_of(caller))) {
            return Ok(());
        }
        // Given back first: a connection never counts twice.
        *share = None;
        *share = caller.map(CallerAccount::connect).transpose()?;
        if share.is_some() {
            self.was_known.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

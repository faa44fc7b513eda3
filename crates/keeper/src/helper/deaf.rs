//! Keeps the keeper alive through the signals by which Trunkline is told to end.
//!
//! systemd sends SIGTERM to every process of a service at once. Were the keeper to die of it, no
//! server would get its orderly stop, and one that ignores SIGTERM would outlive an owner that
//! does not.

use std::io;

use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

/// A handler that does nothing is better than ignoring the signals, because exec resets handlers:
/// the server starts with the default actions. Registering through tokio needs no unsafe code; the
/// handlers stay when the runtime, which has no threads, is dropped.
pub(super) fn to_signals_meant_for_the_owner() -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_io().build()?;
    // Inside the runtime for the registration only: nothing is ever polled.
    let _inside = runtime.enter();
    for kind in [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()] {
        let _never_polled = signal(kind)?;
    }
    Ok(())
}

//! `Clock`: the front's time in whole seconds, and the `Date` of its responses.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use trunkline_http::http_date;

/// The front's clock: whole seconds that the sweeper advances, so that a request reads the time without
/// a system call.
#[derive(Debug)]
pub(crate) struct Clock {
    start: Instant,
    // Relaxed where they are used: ages are whole seconds, and one that is a moment old is as good.
    now: AtomicU32,
    /// The current time in seconds since 1970.
    date: AtomicU64,
}

thread_local! {
    /// The last date and its header field: all responses of one second share them.
    static WRITTEN: RefCell<(u64, String)> = const { RefCell::new((0, String::new())) };
}

impl Clock {
    pub(crate) fn new() -> Self {
        Self {
            start: Instant::now(),
            now: AtomicU32::new(0),
            date: AtomicU64::new(seconds_since_1970()),
        }
    }

    /// Reads the real time.
    pub(crate) fn advance(&self) -> u32 {
        let now = u32::try_from(self.start.elapsed().as_secs()).unwrap_or(u32::MAX);
        self.now.store(now, Ordering::Relaxed);
        // Relaxed: no reader combines the two values.
        self.date.store(seconds_since_1970(), Ordering::Relaxed);
        now
    }

    /// Appends the `Date` field of a response (RFC 9110, 6.6.1), as of the last `advance`.
    pub(crate) fn write_date(&self, out: &mut Vec<u8>) {
        // Relaxed: a date that is a second old is as good.
        let date = self.date.load(Ordering::Relaxed);
        WRITTEN.with_borrow_mut(|(known, field)| {
            if *known != date {
                *known = date;
                *field = format!("Date: {}\r\n", http_date(date));
            }
            out.extend_from_slice(field.as_bytes());
        });
    }

    /// The moment so many seconds after the start.
    pub(crate) fn moment(&self, seconds: u32) -> Instant {
        let after = Duration::from_secs(u64::from(seconds));
        self.start.checked_add(after).unwrap_or(self.start)
    }

    /// Seconds since the start, as of the last `advance`.
    pub(crate) fn now(&self) -> u32 {
        // Relaxed: limits are whole seconds, and one second late is in time.
        self.now.load(Ordering::Relaxed)
    }
}

fn seconds_since_1970() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

//! The front's clock: whole seconds, moved on by the sweeper, so that reading it costs nothing.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use trunkline_http::http_date;

#[derive(Debug)]
pub(super) struct Clock {
    start: Instant,
    now: AtomicU32,
    /// The current time in seconds since 1970.
    date: AtomicU64,
}

thread_local! {
    /// The date that was written last, and how: it is the same for a second's responses.
    static WRITTEN: RefCell<(u64, String)> = const { RefCell::new((0, String::new())) };
}

impl Clock {
    pub(super) fn new() -> Self {
        Self {
            start: Instant::now(),
            now: AtomicU32::new(0),
            date: AtomicU64::new(seconds_since_1970()),
        }
    }

    /// Looks at the real time.
    pub(super) fn advance(&self) -> u32 {
        let now = u32::try_from(self.start.elapsed().as_secs()).unwrap_or(u32::MAX);
        self.now.store(now, Ordering::Relaxed);
        self.date.store(seconds_since_1970(), Ordering::Relaxed); // nobody needs both at once
        now
    }

    /// Appends the `Date` field of a response (RFC 9110, 6.6.1), as of the last look.
    pub(super) fn write_date(&self, out: &mut Vec<u8>) {
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
    pub(super) fn moment(&self, seconds: u32) -> Instant {
        let after = Duration::from_secs(u64::from(seconds));
        self.start.checked_add(after).unwrap_or(self.start)
    }

    /// Seconds since the start, as of the last look.
    pub(super) fn now(&self) -> u32 {
        self.now.load(Ordering::Relaxed)
    }
}

fn seconds_since_1970() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

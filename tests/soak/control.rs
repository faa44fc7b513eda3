//! One server that is called directly while others are killed and start: what the machine itself
//! does to a call that has nothing to do with any of it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kit::room::Room;
use kit::service::{Service, Wire};

use crate::crowd::{Call, Crowd, Newest, Until, Whom};
use crate::house::echoing;
use crate::report::{Report, ratio, row};

/// Calls a second.
pub const RATE: u64 = 100;
/// Between two starts: about what a server that is killed and comes back takes.
const PAUSE: Duration = Duration::from_millis(450);

pub struct Control {
    quiet: Vec<Call>,
    loud: Vec<Call>,
    alone: Vec<Call>,
    starts: Vec<Call>,
}

pub fn crowd(untouched: &Service) -> Crowd<'static> {
    let whom = Whom::Server(untouched.address());
    Crowd { whom, servers: &["untouched"], rate: RATE, callers: 8, first: 40_000_000 }
}

impl Control {
    /// `beside`: how it fared while nobody was killed, and meanwhile. Adds how it fares when nothing
    /// else runs, and when only a process starts now and then that nobody calls.
    pub fn with_bare_starts(
        room: &Room,
        untouched: &Service,
        beside: [Vec<Call>; 2],
        seconds: u64,
    ) -> Self {
        let [quiet, loud] = beside;
        let until = Until::Calls(RATE * seconds);
        let alone = crowd(untouched).run(until, &Newest::new());
        let mut bare = echoing(room, "bare").listen(Wire::Http);
        let over = AtomicBool::new(false);
        let starts = std::thread::scope(|scope| {
            let over = &over;
            scope.spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    bare.restart();
                    std::thread::sleep(PAUSE);
                }
            });
            let starts = crowd(untouched).run(until, &Newest::new());
            over.store(true, Ordering::Relaxed);
            starts
        });
        Self { quiet, loud, alone, starts }
    }

    pub fn rows(&self) -> [Vec<String>; 4] {
        [
            row("beside, nobody is killed", &self.quiet),
            row("beside, meanwhile", &self.loud),
            row("alone", &self.alone),
            row("alone, and a process starts now and then", &self.starts),
        ]
    }

    pub fn note(&self, report: &mut Report, label: &str) {
        let what = |what: &str| format!("restarts over {label}: {what}");
        let note = |ratio: f64| format!("{ratio:.2}×");
        report.note(
            &what("p99 of a server called directly meanwhile, ratio to quiet"),
            note(ratio(&self.quiet, &self.loud)),
        );
        report.note(
            &what("p99 of it when only a process starts, ratio to alone"),
            note(ratio(&self.alone, &self.starts)),
        );
    }

    pub fn all(&self) -> impl Iterator<Item = &Call> {
        [&self.quiet, &self.loud, &self.alone, &self.starts].into_iter().flatten()
    }
}

//! The shim: starts one server, adopts whatever that leaves behind, and ends only when all is gone.

use std::fs::File;
use std::io::{self, PipeReader, Read, Write, pipe};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{getpid, setsid};
use rustix::stdio::dup2_stdin;

use super::phase::{Blow, Event, Phase};
use super::{reaper, start};
use crate::message::{Order, RECORD_BYTES, Report};
use crate::{family, system};

/// If this returns an error, or never returns because the shim was killed, what it started is the
/// owner's to kill: the owner misses the last report.
pub(super) fn run(mut control: &UnixStream) -> io::Result<()> {
    leave_the_keeper()?;
    let server = match start::start(control) {
        Ok(server) => server,
        Err(start::Failure { step, errno }) => {
            // An owner that does not wait for the answer any more needs none.
            let _ = control.write_all(&Report::Failed { step, errno }.pack());
            return Ok(());
        }
    };
    // That the owner is dead is noticed again below, by the loop which knows what to do then.
    let _ = control.write_all(&Report::Started { server }.pack());
    let (news, reapers_end) = pipe()?;
    thread::scope(|scope| {
        let reaper = thread::Builder::new().name("tl-reaper".into());
        reaper.spawn_scoped(scope, move || reaper::run(server, control, reapers_end))?;
        watch(control, news);
        io::Result::Ok(())
    })?;
    let _ = control.write_all(&Report::Gone.pack());
    Ok(())
}

fn leave_the_keeper() -> io::Result<()> {
    dup2_stdin(File::open("/dev/null")?)?;
    // Also takes the terminal away: a server that asks it for a password fails, instead of being
    // stopped for it as any background process is. And see `family::groups`.
    setsid()?;
    system::adopt_orphans()
}

/// Does what the phases decide until the reaper has nobody left to wait for.
fn watch(control: &UnixStream, news: PipeReader) {
    let mut ears = Ears { control: Some(control), news };
    let mut phase = Phase::Serving;
    while let Some(event) = ears.next(phase.until()) {
        let (next, blow) = phase.after(event, Instant::now());
        phase = next;
        // The family is looked up anew for each blow, so that what was being forked during one is
        // found by the next.
        match blow {
            Some(Blow::Terminate) => family::terminate(&system::descendants(getpid())),
            Some(Blow::Kill) => family::kill(&system::descendants(getpid())),
            None => {}
        }
    }
}

/// All that can happen to a shim.
struct Ears<'a> {
    /// Until the owner has closed it.
    control: Option<&'a UnixStream>,
    news: PipeReader,
}

impl Ears<'_> {
    /// `None`: nothing is left of the tree.
    fn next(&mut self, until: Option<Instant>) -> Option<Event> {
        loop {
            let Some(ready) = self.wait(until) else {
                continue;
            };
            if ready.news {
                return (self.news.read(&mut [0]).ok()? > 0).then_some(Event::ServerEnded);
            }
            if ready.control {
                return Some(self.order());
            }
            return Some(Event::TimeUp);
        }
    }

    /// `None`: interrupted by a signal.
    fn wait(&self, until: Option<Instant>) -> Option<Ready> {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        let news = PollFd::new(&self.news, PollFlags::IN);
        let control = self.control.map(|control| PollFd::new(control, PollFlags::IN));
        let mut fds: Vec<PollFd<'_>> = [news].into_iter().chain(control).collect();
        poll(&mut fds, timeout.as_ref()).ok()?;
        let mut ready = fds.iter().map(|fd| !fd.revents().is_empty());
        Some(Ready { news: ready.next()?, control: ready.next().unwrap_or(false) })
    }

    /// Anything but a proper order means that nobody is there to give orders.
    fn order(&mut self) -> Event {
        let mut record = [0; RECORD_BYTES];
        let read = self.control.map(|mut control| control.read_exact(&mut record));
        match (read, Order::unpack(record)) {
            (Some(Ok(())), Some(order)) => Event::Ordered(order),
            _ => {
                self.control = None;
                Event::Orphaned
            }
        }
    }
}

struct Ready {
    news: bool,
    control: bool,
}

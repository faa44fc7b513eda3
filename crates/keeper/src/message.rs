//! What owner and keeper say to each other over the control socket of a tree, in records of one size.

use std::time::Duration;

use rustix::process::Pid;

use crate::exit::ProcessExit;
use crate::sandbox::Refusal;

/// One record. Far smaller than a socket buffer, so sending one never blocks.
pub(crate) type Record = [u8; RECORD_BYTES];
pub(crate) const RECORD_BYTES: usize = 12;

/// Keeper to owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeeperReport {
    /// The command was found and is executed now. From here on it may have run.
    Starting,
    Started {
        server: Pid,
    },
    /// Nothing was started.
    Failed {
        step: LaunchStep,
        errno: i32,
    },
    /// The walls around it have refused something for the first time.
    Refused(Refusal),
    /// The main process ended; others of its tree may be left.
    Exited(ProcessExit),
    /// Nothing is left of the tree. A socket that closes without this record belonged to a keeper
    /// that was killed.
    Gone,
}

/// Where a launch failed: the same errno means different things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LaunchStep {
    /// Its walls could not be made.
    Wall,
    /// It was started, but its end would not be noticed.
    Watch,
    Receive,
    EnterDirectory,
    FindCommand,
    Execute,
}

/// Owner to keeper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnerOrder {
    /// The server's stdin is closed: give it `wait` to end by itself, then SIGTERM, then after
    /// `term` SIGKILL.
    Stop {
        wait: Duration,
        term: Duration,
    },
    Kill,
}

impl KeeperReport {
    pub(crate) fn pack(self) -> Record {
        match self {
            KeeperReport::Starting => record(1, 0, 0),
            KeeperReport::Started { server } => record(2, raw(server), 0),
            KeeperReport::Failed { step, errno } => record(3, step.pack(), errno.cast_unsigned()),
            KeeperReport::Exited(ProcessExit::Code(code)) => record(4, code.cast_unsigned(), 0),
            KeeperReport::Exited(ProcessExit::Signal(signal)) => {
                record(5, signal.cast_unsigned(), 0)
            }
            KeeperReport::Exited(ProcessExit::Lost) => record(6, 0, 0),
            KeeperReport::Gone => record(7, 0, 0),
            KeeperReport::Refused(refusal) => record(8, refusal.pack(), 0),
        }
    }

    pub(crate) fn unpack(bytes: Record) -> Option<KeeperReport> {
        match fields(bytes) {
            (1, _, _) => Some(KeeperReport::Starting),
            (2, server, _) => Some(KeeperReport::Started { server: pid(server)? }),
            (3, step, errno) => Some(KeeperReport::Failed {
                step: LaunchStep::unpack(step)?,
                errno: errno.cast_signed(),
            }),
            (4, code, _) => Some(KeeperReport::Exited(ProcessExit::Code(code.cast_signed()))),
            (5, signal, _) => Some(KeeperReport::Exited(ProcessExit::Signal(signal.cast_signed()))),
            (6, _, _) => Some(KeeperReport::Exited(ProcessExit::Lost)),
            (7, _, _) => Some(KeeperReport::Gone),
            (8, refusal, _) => Some(KeeperReport::Refused(Refusal::unpack(refusal))),
            _ => None,
        }
    }
}

impl OwnerOrder {
    pub(crate) fn pack(self) -> Record {
        match self {
            OwnerOrder::Stop { wait, term } => record(1, millis(wait), millis(term)),
            OwnerOrder::Kill => record(2, 0, 0),
        }
    }

    pub(crate) fn unpack(bytes: Record) -> Option<OwnerOrder> {
        match fields(bytes) {
            (1, wait, term) => Some(OwnerOrder::Stop {
                wait: Duration::from_millis(wait.into()),
                term: Duration::from_millis(term.into()),
            }),
            (2, _, _) => Some(OwnerOrder::Kill),
            _ => None,
        }
    }
}

impl LaunchStep {
    const ALL: [LaunchStep; 6] = [
        LaunchStep::Wall,
        LaunchStep::Watch,
        LaunchStep::Receive,
        LaunchStep::EnterDirectory,
        LaunchStep::FindCommand,
        LaunchStep::Execute,
    ];

    fn pack(self) -> u32 {
        self as u32
    }

    fn unpack(number: u32) -> Option<LaunchStep> {
        LaunchStep::ALL.into_iter().find(|step| step.pack() == number)
    }
}

fn record(kind: u32, first: u32, second: u32) -> Record {
    let mut bytes = [0; RECORD_BYTES];
    for (field, value) in bytes.chunks_exact_mut(4).zip([kind, first, second]) {
        field.copy_from_slice(&value.to_le_bytes());
    }
    bytes
}

fn fields(bytes: Record) -> (u32, u32, u32) {
    let [a, b, c, d, e, f, g, h, i, j, k, l] = bytes;
    let number = u32::from_le_bytes;
    (number([a, b, c, d]), number([e, f, g, h]), number([i, j, k, l]))
}

fn raw(pid: Pid) -> u32 {
    pid.as_raw_nonzero().get().cast_unsigned()
}

fn pid(number: u32) -> Option<Pid> {
    Pid::from_raw(number.cast_signed())
}

/// A wait of more than 49 days is one of 49 days.
fn millis(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rustix::process::Pid;

    use super::{KeeperReport, LaunchStep, OwnerOrder};
    use crate::exit::ProcessExit;
    use crate::sandbox::Refusal;

    #[test]
    fn reports_arrive_as_sent() {
        let server = Pid::from_raw(i32::MAX).unwrap();
        let mut reports = vec![
            KeeperReport::Starting,
            KeeperReport::Started { server },
            KeeperReport::Exited(ProcessExit::Code(-1)),
            KeeperReport::Exited(ProcessExit::Signal(11)),
            KeeperReport::Exited(ProcessExit::Lost),
            KeeperReport::Gone,
            KeeperReport::Refused(Refusal::Call(101)),
            KeeperReport::Refused(Refusal::Process),
            KeeperReport::Refused(Refusal::Local),
        ];
        reports.extend(LaunchStep::ALL.map(|step| KeeperReport::Failed { step, errno: 2 }));
        for report in reports {
            assert_eq!(KeeperReport::unpack(report.pack()), Some(report));
        }
    }

    #[test]
    fn orders_arrive_as_sent() {
        let stop =
            OwnerOrder::Stop { wait: Duration::from_secs(2), term: Duration::from_millis(1) };
        for order in [stop, OwnerOrder::Kill] {
            assert_eq!(OwnerOrder::unpack(order.pack()), Some(order));
        }
        assert_eq!(OwnerOrder::unpack([0; 12]), None);
    }
}

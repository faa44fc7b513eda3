//! Pins the driver, and so everything it starts from then on, to one CPU, or frees it again.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io;

/// On how many CPUs a scenario runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Placement {
    /// Every process on one CPU.
    Pinned,
    /// The scheduler decides.
    Free,
}

pub(super) const BOTH: [Placement; 2] = [Placement::Pinned, Placement::Free];

impl Placement {
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Pinned => "one CPU",
            Self::Free => "all CPUs",
        }
    }
}

/// The CPUs we were given at the start.
#[derive(Debug)]
pub(super) struct Cpus(CpuSet);

impl Cpus {
    pub(super) fn given() -> io::Result<Self> {
        Ok(Self(sched_getaffinity(None)?))
    }

    pub(super) fn place(&self, placement: Placement) -> io::Result<()> {
        let mut set = self.0;
        if placement == Placement::Pinned {
            // The last one: interrupts tend to go to the first.
            let last = (0..CpuSet::MAX_CPU).rev().find(|&cpu| self.0.is_set(cpu)).unwrap_or(0);
            set.clear();
            set.set(last);
        }
        Ok(sched_setaffinity(None, &set)?)
    }
}

//! Which connections may carry the next call: over pipes always the same, over HTTP those without a call.

/// Connections in groups: direct has one group for each child, a middle has one.
#[derive(Debug)]
pub(super) enum Pool {
    /// Calls share a connection, whose index is the group's.
    Shared,
    /// The idle connections of each group, the last used one at the end.
    Exclusive(Vec<Vec<usize>>),
}

impl Pool {
    pub(super) fn exclusive(groups: usize) -> Self {
        Self::Exclusive(vec![Vec::new(); groups])
    }

    /// A connection for a call; `None` if all are busy.
    pub(super) fn take(&mut self, group: usize) -> Option<usize> {
        match self {
            Self::Shared => Some(group),
            Self::Exclusive(idle) => idle[group].pop(),
        }
    }

    /// A connection for a call that is over before the next begins.
    pub(super) fn last(&self, group: usize) -> Option<usize> {
        match self {
            Self::Shared => Some(group),
            Self::Exclusive(idle) => idle[group].last().copied(),
        }
    }

    /// The call on it has been answered.
    pub(super) fn release(&mut self, group: usize, connection: usize) {
        if let Self::Exclusive(idle) = self {
            idle[group].push(connection);
        }
    }
}

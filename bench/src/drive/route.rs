//! How a contender is reached, and how it reaches the children.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route {
    /// Pipes on both sides.
    Stdio,
    /// Streamable HTTP in front.
    Http(Http),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Http {
    pub(super) servers: Servers,
    /// Connections that the driver keeps open. One carries one call at a time.
    pub(super) connections: usize,
    pub(super) sessions: Sessions,
}

/// How a middle over HTTP reaches the children. Direct is over HTTP in both cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Servers {
    Http,
    Stdio,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sessions {
    /// All connections belong to one session.
    One,
    /// Every connection has its own.
    OneEach,
}

impl Route {
    /// This route with one connection.
    pub(super) fn narrow(self) -> Self {
        self.with(1, Sessions::One)
    }

    /// This route with so many connections; over stdio there is always one.
    pub(super) fn with(self, connections: usize, sessions: Sessions) -> Self {
        match self {
            Self::Stdio => self,
            Self::Http(http) => Self::Http(Http { connections, sessions, ..http }),
        }
    }

    /// What stands between server and tool in the names of floor and subject.
    pub(super) fn separator(self) -> &'static str {
        match self {
            Self::Stdio => ":",
            Self::Http(_) => ".",
        }
    }
}

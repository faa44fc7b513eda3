//! The state of a server, with the reason of its last change: the same words everywhere.

use std::fmt;
use std::time::Duration;

use tokio::time::Instant;

use crate::error::Absence;

/// `initializing → running | failed`, `running → failed | stopped | idle`, `idle → initializing`; where
/// servers are started again, a failed server goes back to `initializing`. One that waits for a login has failed, and is called
/// `needs-auth`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    Initializing,
    Running,
    Failed(Failure),
    Stopped,
    /// It does not run, because nothing needs it; it is started when something does.
    Idle,
}

impl State {
    pub fn word(&self) -> &'static str {
        match self {
            Self::Initializing => "initializing",
            Self::Running => "running",
            Self::Failed(failure) if failure.needs_login => "needs-auth",
            Self::Failed(_) => "failed",
            Self::Stopped => "stopped",
            Self::Idle => "idle",
        }
    }

    /// Why, if it has failed.
    pub fn why(&self) -> Option<String> {
        match self {
            Self::Failed(failure) => Some(failure.to_string()),
            _ => None,
        }
    }

    /// Nothing will change by waiting for the start any longer.
    pub fn is_settled(&self) -> bool {
        *self != Self::Initializing
    }
}

/// When a server failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Its process could not be started.
    Startup,
    /// It started and did not become ready.
    Initialization,
    /// It was running.
    Runtime,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Startup => "startup",
            Self::Initialization => "initialization",
            Self::Runtime => "runtime",
        })
    }
}

/// Why a server failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub phase: Phase,
    /// Completes "server X …".
    pub what: String,
    /// What the user can do about it; empty if nothing better than reading `stderr` is known.
    pub advice: String,
    /// Trying again cannot help: the command does not exist.
    pub permanent: bool,
    /// Somebody has to log in; it is tried again when that has happened.
    pub needs_login: bool,
    /// Its advice names files of this machine, and is for those who run the server.
    pub is_private: bool,
    /// The server's last lines on stderr; of one that did not start, its first ones before them.
    pub stderr: Vec<String>,
}

/// What callers read in the place of advice that is not for them.
const FOR_OPERATORS: &str =
    "its sandbox may be the reason; whoever runs Trunkline finds in the log what was refused";

impl Failure {
    /// The lines of its stderr that most likely say why, in one line: the last, and before it the first
    /// of a server that did not start (a usage text may follow the reason).
    pub fn quoted(&self) -> Option<String> {
        let (first, last) = (self.stderr.first()?, self.stderr.last()?);
        match self.phase {
            Phase::Startup | Phase::Initialization if self.stderr.len() > 1 => {
                Some(format!("first stderr line: {first}; last stderr line: {last}"))
            }
            _ => Some(format!("last stderr line: {last}")),
        }
    }

    /// Without what the server itself has written and what its walls refused, which is for those who run it.
    pub fn brief(&self) -> Self {
        let mut brief = self.clone().unquoted();
        if self.is_private {
            FOR_OPERATORS.clone_into(&mut brief.advice);
        }
        brief
    }

    fn unquoted(self) -> Self {
        Self { stderr: Vec::new(), ..self }
    }

    /// For whoever wanted something of the server; `words` puts what happened into a sentence.
    pub(crate) fn absence(&self, words: impl Fn(&Self) -> String) -> Absence {
        Absence {
            why: words(&self.clone().unquoted()),
            brief: Some(words(&self.brief())),
            quoted: self.quoted().map(|quoted| format!("; {quoted}")).unwrap_or_default(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if !self.advice.is_empty() {
            write!(f, " ({})", self.advice)?;
        }
        if let Some(quoted) = self.quoted() {
            write!(f, "; {quoted}")?;
        }
        Ok(())
    }
}

/// What is known about a server at one moment.
#[derive(Clone, Debug)]
pub struct Status {
    pub state: State,
    /// The protocol revision it answered with.
    pub protocol: Option<String>,
    /// The name and version it gave itself.
    pub identity: Option<String>,
    pub tools: usize,
    /// Definitions of it that have changed or are new, and that nobody has decided on.
    pub waiting: usize,
    pub pid: Option<u32>,
    /// From the start of its process until its tools were known.
    pub started_in: Option<Duration>,
    pub restarts: u32,
    /// The proxy it is reached through, and who has named that; without user name and password.
    pub proxy: Option<String>,
    /// Since when it has been in this state.
    pub since: Instant,
    /// It has failed and is going to be tried again.
    pub retry: Option<Retry>,
    /// Why it last failed, also when it has come back since.
    pub last_failure: Option<Failure>,
    /// And when.
    pub failed_at: Option<Instant>,
}

/// When a server that has failed is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    pub at: Instant,
    /// How often it has failed in a row.
    pub failures: u32,
    /// That is too often: nobody waits for it.
    pub is_open: bool,
}

impl fmt::Display for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_open {
            write!(f, "it failed {} times in a row and ", self.failures)?;
        } else {
            f.write_str("it ")?;
        }
        let left = self.at.saturating_duration_since(Instant::now());
        write!(f, "is tried again in {} s", left.as_secs() + 1)
    }
}

impl Default for Status {
    fn default() -> Self {
        Self {
            state: State::Initializing,
            protocol: None,
            identity: None,
            tools: 0,
            waiting: 0,
            pid: None,
            started_in: None,
            restarts: 0,
            proxy: None,
            since: Instant::now(),
            retry: None,
            last_failure: None,
            failed_at: None,
        }
    }
}

//! Servers over REST: registered, changed, removed, connected and disconnected, and shown as they run.

mod change;
mod checks;
mod details;
mod edits;
mod findings;
mod precondition;
mod report;
mod secret_binding;
mod service;

pub(crate) use change::{NewServer, ServerEdit};
pub(crate) use details::{HealthHistory, ListedName, ProcessInfo, ServerDetails, StderrLines};
pub(crate) use precondition::Precondition;
pub(crate) use report::{LoginState, ServerReport};
pub use service::ServerService;

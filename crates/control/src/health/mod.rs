//! How the servers do: what calls and checks say over the last minutes, and what follows from it.

mod check;
mod checker;
mod judge;
mod samples;
mod status;
mod table;
#[cfg(test)]
mod tests;
mod window;

pub use check::{Checkup, Inference, infer};
pub use checker::{BoxFuture, CheckPlan, CheckedServer, Checker};
pub use judge::{ConnectionPhase, DegradedReason, HealthRules, HealthSignals, judge};
pub use samples::{WAITING, keep};
pub use status::{HealthStatus, ServerStatus};
pub use table::{Health, HealthTable, Incident, RecentActivity, ServerHealth, WindowTotals};
pub use window::{CallQuality, SPAN, SlidingWindow, WindowSlice, WindowSummary};

//! `trunkline setup`: the servers of all clients move behind Trunkline in one step, and back again.

mod apply;
mod find;
mod plan;
mod processes;
mod record;
mod report;
mod savings;
mod undo;

pub(crate) use apply::{Applied, apply};
pub(crate) use find::{SetupRequest, find};
pub(crate) use plan::{SetupPlan, plan};
pub(crate) use processes::ProcessTree;
pub(crate) use report::{plan_json, plan_words};
pub(crate) use savings::{ListedTools, MeasuredServer, Savings, estimated, measured};
pub(crate) use undo::undo;

#[cfg(test)]
mod tests;

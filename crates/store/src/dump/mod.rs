//! Everything a store holds, row by row, and a new store made of it: what a backup is written from and read into.
//!
//! Both databases give the same rows, so that what one has written the other can read.

mod read;
mod write;

pub use read::DumpedTable;

pub(crate) use read::read;
pub(crate) use write::write;

use crate::value::Cell;

/// A part of what a store holds, in the order in which it can be put into another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dumped {
    /// The rows that follow are of this table.
    Table(DumpedTable),
    Row(Vec<Cell>),
}

/// In an order in which each refers to those before it only.
const TABLES: [&str; 18] = [
    "servers",
    "credentials",
    "tools",
    "health_samples",
    "api_keys",
    "settings",
    "grants",
    "audit",
    "audit_pruned",
    "skills",
    "tool_skills",
    "skill_suggestions",
    "pins",
    "policies",
    "policy_set",
    // What holds for a moment only is left out: who is signed in, logins that wait, and leases.
    "web_sessions",
    "pending_logins",
    "leases",
];
const PASSING: [&str; 3] = ["web_sessions", "pending_logins", "leases"];
/// Says which schema the others have; it is not a table of records.
const VERSION: &str = "schema_version";

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
const TABLES: [&str; 22] = [
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
    "known_listings",
    "call_keys",
    // What holds for a moment only is left out: who is signed in, logins that wait, leases, which replicas run, and
    // what a server still does for one of them.
    "web_sessions",
    "pending_logins",
    "leases",
    "replicas",
    "tasks",
];
const PASSING: [&str; 5] = ["web_sessions", "pending_logins", "leases", "replicas", "tasks"];
/// Says which schema the others have; it is not a table of records.
const VERSION: &str = "schema_version";

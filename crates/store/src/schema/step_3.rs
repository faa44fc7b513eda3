//! Version 3: leases, for what only one process may do at a time.

use super::Statement::{self, Both};

pub(super) const STATEMENTS: &[Statement] = &[Both(
    "CREATE TABLE leases (
        name   TEXT PRIMARY KEY,
        holder TEXT NOT NULL,
        until  INTEGER NOT NULL
    ) STRICT",
)];

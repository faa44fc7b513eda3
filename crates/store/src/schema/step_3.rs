//! Version 3: leases, for what only one process may do at a time; logins that wait for the browser.

use super::statement::Statement::{self, Both};

pub(super) const STATEMENTS: &[Statement] = &[
    Both(
        "CREATE TABLE leases (
            name   TEXT PRIMARY KEY,
            holder TEXT NOT NULL,
            until  INTEGER NOT NULL
        ) STRICT",
    ),
    // A server may be of the configuration file, so it cannot refer to a row of `servers`.
    Both(
        "CREATE TABLE pending_logins (
            id         TEXT PRIMARY KEY,
            server_id  TEXT NOT NULL,
            sealed     BLOB NOT NULL,
            expires_at INTEGER NOT NULL
        ) STRICT",
    ),
];

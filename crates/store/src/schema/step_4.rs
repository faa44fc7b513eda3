//! Version 4: skills: the taxonomy as it was changed, which tools have which, and new ones to decide on.

use super::statement::Statement::{self, Both};

pub(super) const STATEMENTS: &[Statement] = &[
    // Only what differs from the skills that come with the program.
    Both(
        "CREATE TABLE skills (
            id         TEXT PRIMARY KEY,
            title      TEXT NOT NULL,
            keywords   TEXT NOT NULL,
            removed    INTEGER NOT NULL,
            updated_at INTEGER NOT NULL
        ) STRICT",
    ),
    // A server may be of the configuration file, so it cannot refer to a row of `servers`.
    Both(
        "CREATE TABLE tool_skills (
            server_id     TEXT NOT NULL,
            original_name TEXT NOT NULL,
            fingerprint   TEXT NOT NULL,
            skills        TEXT NOT NULL,
            source        TEXT NOT NULL,
            updated_at    INTEGER NOT NULL,
            PRIMARY KEY (server_id, original_name)
        ) STRICT",
    ),
    Both("CREATE INDEX tool_skills_fingerprint ON tool_skills (fingerprint)"),
    Both(
        "CREATE TABLE skill_suggestions (
            id         TEXT PRIMARY KEY,
            skill      TEXT NOT NULL UNIQUE,
            title      TEXT NOT NULL,
            keywords   TEXT NOT NULL,
            reason     TEXT NOT NULL,
            server_id  TEXT NOT NULL,
            tool       TEXT NOT NULL,
            state      TEXT NOT NULL,
            created_at INTEGER NOT NULL,
            decided_at INTEGER,
            decided_by TEXT
        ) STRICT",
    ),
];

//! Version 2: who has put a credential there; samples of servers of the configuration file.

use super::statement::Statement::{self, Both, Postgres, Sqlite};

pub(super) const STATEMENTS: &[Statement] = &[
    Both("ALTER TABLE credentials ADD COLUMN updated_by TEXT"),
    // A server may be of the configuration file, so a sample cannot refer to a row of `servers`.
    Sqlite(
        "CREATE TABLE samples (
            server_id   TEXT NOT NULL,
            at          INTEGER NOT NULL,
            ok          INTEGER NOT NULL,
            status      TEXT NOT NULL,
            response_ms INTEGER,
            detail      TEXT,
            PRIMARY KEY (server_id, at)
        ) STRICT;
        INSERT INTO samples SELECT server_id, at, ok, status, response_ms, detail
            FROM health_samples;
        DROP TABLE health_samples;
        ALTER TABLE samples RENAME TO health_samples;
        CREATE INDEX health_samples_at ON health_samples (at);",
    ),
    Postgres("ALTER TABLE health_samples DROP CONSTRAINT health_samples_server_id_fkey"),
];

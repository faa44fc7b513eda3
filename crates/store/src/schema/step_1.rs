//! Version 1: the tables of the first release.

use super::statement::Statement::{self, Both, Postgres, Sqlite};

pub(super) const STATEMENTS: &[Statement] = &[
    Postgres("CREATE SCHEMA IF NOT EXISTS trunkline"),
    Both("CREATE TABLE schema_version (version INTEGER NOT NULL) STRICT"),
    Both("INSERT INTO schema_version (version) VALUES (0)"),
    Both(
        "CREATE TABLE servers (
            id               TEXT PRIMARY KEY,
            name             TEXT NOT NULL UNIQUE,
            description      TEXT NOT NULL,
            transport        TEXT NOT NULL,
            config           TEXT NOT NULL,
            auto_connect     INTEGER NOT NULL,
            wanted           TEXT NOT NULL,
            health_check_url TEXT,
            created_at       INTEGER NOT NULL,
            updated_at       INTEGER NOT NULL,
            revision         INTEGER NOT NULL
        ) STRICT",
    ),
    // The owner is a server or nobody, so it cannot refer to a row of `servers`.
    Both(
        "CREATE TABLE credentials (
            id          TEXT PRIMARY KEY,
            owner       TEXT NOT NULL,
            name        TEXT NOT NULL,
            kind        TEXT NOT NULL,
            sealed      BLOB NOT NULL,
            key_version INTEGER NOT NULL,
            updated_at  INTEGER NOT NULL,
            UNIQUE (owner, name)
        ) STRICT",
    ),
    Both(
        "CREATE TABLE tools (
            server_id       TEXT NOT NULL REFERENCES servers (id) ON DELETE CASCADE,
            original_name   TEXT NOT NULL,
            definition      TEXT NOT NULL,
            definition_hash TEXT NOT NULL,
            first_seen      INTEGER NOT NULL,
            last_seen       INTEGER NOT NULL,
            available       INTEGER NOT NULL,
            PRIMARY KEY (server_id, original_name)
        ) STRICT",
    ),
    Both(
        "CREATE TABLE health_samples (
            server_id   TEXT NOT NULL REFERENCES servers (id) ON DELETE CASCADE,
            at          INTEGER NOT NULL,
            ok          INTEGER NOT NULL,
            status      TEXT NOT NULL,
            response_ms INTEGER,
            detail      TEXT,
            PRIMARY KEY (server_id, at)
        ) STRICT",
    ),
    Both("CREATE INDEX health_samples_at ON health_samples (at)"),
    Both(
        "CREATE TABLE api_keys (
            id           TEXT PRIMARY KEY,
            prefix       TEXT NOT NULL UNIQUE,
            name         TEXT NOT NULL,
            role         TEXT NOT NULL,
            tools        TEXT,
            mac          BLOB NOT NULL,
            created_at   INTEGER NOT NULL,
            expires_at   INTEGER,
            last_used_at INTEGER,
            revoked_at   INTEGER
        ) STRICT",
    ),
    Both("CREATE TABLE settings (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT"),
    // A server may be of the configuration file, so it cannot refer to a row of `servers`.
    Both(
        "CREATE TABLE grants (
            server_id   TEXT NOT NULL,
            issuer      TEXT NOT NULL,
            principal   TEXT NOT NULL,
            sealed      BLOB NOT NULL,
            key_version INTEGER NOT NULL,
            expires_at  INTEGER,
            revision    INTEGER NOT NULL,
            PRIMARY KEY (server_id, issuer, principal)
        ) STRICT",
    ),
    Both(
        "CREATE TABLE audit (
            seq           INTEGER PRIMARY KEY,
            at            INTEGER NOT NULL,
            principal     TEXT NOT NULL,
            credential_id TEXT,
            address       TEXT,
            action        TEXT NOT NULL,
            server_id     TEXT,
            server_name   TEXT,
            tool          TEXT,
            argument_hash TEXT,
            outcome       TEXT NOT NULL,
            detail        TEXT,
            duration_us   INTEGER,
            request_id    TEXT,
            prev_hash     BLOB NOT NULL,
            hash          BLOB NOT NULL
        ) STRICT",
    ),
    Both("CREATE INDEX audit_at ON audit (at)"),
    Both("CREATE INDEX audit_server ON audit (server_id, seq)"),
    Both("CREATE INDEX audit_principal ON audit (principal, seq)"),
    Sqlite(
        "CREATE TRIGGER audit_keeps BEFORE UPDATE ON audit
         BEGIN SELECT RAISE(ABORT, 'records of the audit are never changed'); END;
         CREATE TRIGGER audit_stays BEFORE DELETE ON audit
         BEGIN SELECT RAISE(ABORT, 'records of the audit are never removed'); END;",
    ),
    Postgres(
        "CREATE FUNCTION trunkline.audit_stays() RETURNS trigger LANGUAGE plpgsql AS
         'BEGIN RAISE EXCEPTION ''records of the audit are never changed or removed''; END';
         CREATE TRIGGER audit_keeps BEFORE UPDATE OR DELETE ON audit
         FOR EACH ROW EXECUTE FUNCTION trunkline.audit_stays();
         CREATE TRIGGER audit_stays BEFORE TRUNCATE ON audit
         FOR EACH STATEMENT EXECUTE FUNCTION trunkline.audit_stays();",
    ),
];

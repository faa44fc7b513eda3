//! The steps from each version of the schema to the next. A step that was released never changes: a new
//! one follows it.

use self::Statement::{Both, Postgres, Sqlite};

/// The schema this version knows.
pub(super) const KNOWN: i64 = 13;

/// In the order in which they are taken: the first leads to version 1.
pub(super) const STEPS: &[&[Statement]] = &[
    STEP_1, STEP_2, STEP_3, STEP_4, STEP_5, STEP_6, STEP_7, STEP_8, STEP_9, STEP_10, STEP_11,
    STEP_12, STEP_13,
];

/// Part of a step. Both databases get the same tables, in their own words.
#[derive(Debug)]
pub(super) enum Statement {
    /// In `SQLite`'s words.
    Both(&'static str),
    Sqlite(&'static str),
    Postgres(&'static str),
}

/// Version 1: the tables of the first release.
const STEP_1: &[Statement] = &[
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

/// Version 2: who has put a credential there; samples of servers of the configuration file.
const STEP_2: &[Statement] = &[
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

/// Version 3: leases, for what only one process may do at a time; logins that wait for the browser.
const STEP_3: &[Statement] = &[
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

/// Version 4: skills: the taxonomy as it was changed, which tools have which, and new ones to decide on.
const STEP_4: &[Statement] = &[
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

/// Version 5: records of the audit that stand for several refusals; the oldest records can be removed, up to one
/// that is remembered.
const STEP_5: &[Statement] = &[
    Both("ALTER TABLE audit ADD COLUMN count INTEGER"),
    Both("CREATE TABLE audit_pruned (seq INTEGER NOT NULL) STRICT"),
    Both("INSERT INTO audit_pruned (seq) VALUES (0)"),
    Sqlite(
        "DROP TRIGGER audit_stays;
         CREATE TRIGGER audit_stays BEFORE DELETE ON audit
         WHEN OLD.seq > (SELECT max(seq) FROM audit_pruned)
         BEGIN SELECT RAISE(ABORT, 'records of the audit are never removed but by retention'); END;",
    ),
    Postgres(
        "CREATE FUNCTION trunkline.audit_goes() RETURNS trigger LANGUAGE plpgsql AS
         'BEGIN
            IF OLD.seq > (SELECT max(seq) FROM trunkline.audit_pruned) THEN
              RAISE EXCEPTION ''records of the audit are never removed but by retention'';
            END IF;
            RETURN OLD;
          END';
         DROP TRIGGER audit_keeps ON audit;
         CREATE TRIGGER audit_keeps BEFORE UPDATE ON audit
         FOR EACH ROW EXECUTE FUNCTION trunkline.audit_stays();
         CREATE TRIGGER audit_goes BEFORE DELETE ON audit
         FOR EACH ROW EXECUTE FUNCTION trunkline.audit_goes();",
    ),
];

/// Version 6: who is signed in at the dashboard.
const STEP_6: &[Statement] = &[Both(
    "CREATE TABLE web_sessions (
        id         TEXT PRIMARY KEY,
        credential TEXT NOT NULL,
        detail     TEXT NOT NULL,
        began_at   INTEGER NOT NULL,
        used_at    INTEGER NOT NULL
    ) STRICT",
)];

/// Version 7: what is pinned of servers' definitions.
const STEP_7: &[Statement] = &[
    // A server may be of the configuration file, so it cannot refer to a row of `servers`.
    Both(
        "CREATE TABLE pins (
            entry      TEXT PRIMARY KEY,
            server_id  TEXT NOT NULL,
            document   BLOB NOT NULL,
            waiting    INTEGER NOT NULL,
            revision   INTEGER NOT NULL,
            decided_at INTEGER NOT NULL,
            updated_at INTEGER NOT NULL
        ) STRICT",
    ),
    Both("CREATE INDEX pins_server ON pins (server_id)"),
];

/// Version 8: what each API key may have at most.
const STEP_8: &[Statement] = &[Both("ALTER TABLE api_keys ADD COLUMN limits TEXT")];

/// Version 9: policies, and a number that grows with each change of them.
const STEP_9: &[Statement] = &[
    Both(
        "CREATE TABLE policies (
            id         TEXT PRIMARY KEY,
            text       TEXT NOT NULL,
            created_at INTEGER NOT NULL,
            updated_at INTEGER NOT NULL,
            updated_by TEXT NOT NULL,
            revision   INTEGER NOT NULL
        ) STRICT",
    ),
    Both("CREATE TABLE policy_set (revision INTEGER NOT NULL) STRICT"),
    Both("INSERT INTO policy_set (revision) VALUES (0)"),
];

/// Version 10: the replicas that work with this store, and which of them has which task of a server.
const STEP_10: &[Statement] = &[
    Both(
        "CREATE TABLE replicas (
            id         TEXT PRIMARY KEY,
            address    TEXT NOT NULL,
            started_at INTEGER NOT NULL,
            seen_at    INTEGER NOT NULL
        ) STRICT",
    ),
    Both(
        "CREATE TABLE tasks (
            id      TEXT PRIMARY KEY,
            replica TEXT NOT NULL,
            made_at INTEGER NOT NULL
        ) STRICT",
    ),
    Both("CREATE INDEX tasks_made_at ON tasks (made_at)"),
];

/// Version 11: what servers listed last.
const STEP_11: &[Statement] = &[
    // A server may be of the configuration file, so it cannot refer to a row of `servers`.
    Both(
        "CREATE TABLE known_listings (
            entry      TEXT PRIMARY KEY,
            server_id  TEXT NOT NULL,
            document   BLOB NOT NULL,
            updated_at INTEGER NOT NULL
        ) STRICT",
    ),
    Both("CREATE INDEX known_listings_server ON known_listings (server_id)"),
];

/// Version 12: the audit log is found by each of its filters without reading it all.
const STEP_12: &[Statement] = &[
    Both("CREATE INDEX audit_server_name ON audit (server_name, seq)"),
    Both("CREATE INDEX audit_tool ON audit (tool, seq)"),
    Both("CREATE INDEX audit_action ON audit (action, seq)"),
    Both("CREATE INDEX audit_outcome ON audit (outcome, seq)"),
];

/// Version 13: idempotency keys, which call each stands for, and what it was answered.
const STEP_13: &[Statement] = &[
    Both(
        "CREATE TABLE call_keys (
            id      TEXT PRIMARY KEY,
            request TEXT NOT NULL,
            round   TEXT NOT NULL,
            state   TEXT NOT NULL,
            replica TEXT NOT NULL,
            taken   INTEGER NOT NULL,
            code    INTEGER NOT NULL,
            answer  BLOB,
            made_at INTEGER NOT NULL
        ) STRICT",
    ),
    Both("CREATE INDEX call_keys_made_at ON call_keys (made_at)"),
];

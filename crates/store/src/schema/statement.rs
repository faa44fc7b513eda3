//! One statement of a migration, for one database or for both.

/// Part of a step. Both databases get the same tables, in their own words.
#[derive(Debug)]
pub(super) enum Statement {
    /// In `SQLite`'s words.
    Both(&'static str),
    Sqlite(&'static str),
    Postgres(&'static str),
}

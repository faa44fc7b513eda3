//! Every bound of the store, with its reason.

use std::time::Duration;

/// Operations that wait for the `SQLite` thread. Callers beyond that wait to be let in.
// Bounds the memory that a disk which hangs costs.
pub(crate) const QUEUE: usize = 256;

/// An operation that has not begun by then does not begin: its caller hears that the store is busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// How long `SQLite` waits for another process that writes to the same file.
// Less than `PATIENCE`: what waits behind it in the queue still has its turn.
pub(crate) const BUSY: Duration = Duration::from_secs(5);

/// Connections to Postgres. The control plane does little at a time, and replicas share a server.
pub(crate) const CONNECTIONS: usize = 6;

/// Resolving, connecting, TLS and logging in together.
pub(crate) const CONNECT: Duration = Duration::from_secs(5);

/// One whole operation on Postgres; then its connection is given up.
pub(crate) const OPERATION: Duration = Duration::from_secs(20);

/// All steps to another schema together: an index of a log with many millions of records takes minutes.
pub(crate) const MIGRATION: Duration = Duration::from_secs(60 * 60);

/// How long one statement may run there, in its own words; below `OPERATION`, so that the server
/// gives up first and its answer is certain.
pub(crate) const STATEMENT: &str = "15s";

/// How long a transaction that holds a lock which others wait for may say nothing, in the words of Postgres: a
/// program that stands still delays the others so long. A multiple of the way to a distant server and back.
pub(crate) const LOCK_IDLE: &str = "2s";

/// Pauses between attempts to connect: doubled from the first to the last.
// The last bounds how long Postgres is taken to be away after it is back.
pub(crate) const FIRST_PAUSE: Duration = Duration::from_millis(50);
pub(crate) const LAST_PAUSE: Duration = Duration::from_secs(2);

/// Rows of a table that are read at once.
pub(crate) const FETCHED: usize = 1_000;

/// A backup, or what is made of one: a log with many millions of records takes minutes.
pub(crate) const DUMP: Duration = Duration::from_secs(6 * 60 * 60);

/// Rows in one INSERT to Postgres: it bounds the number of parameters, and fewer trips are faster.
pub(crate) const ROWS_PER_INSERT: usize = 200;

/// Records of the audit log that are removed in one transaction: others wait for it, for some tens of
/// milliseconds.
pub(crate) const PRUNED: i64 = 5_000;

/// The most a page holds, whatever is asked for.
// Bounds the memory of an answer, and how long others wait for the query.
pub(crate) const PAGE: usize = 1_000;

//! Bounds of idempotency keys, each with its reason.

use std::time::Duration;

/// Keys that are remembered where there is no store; the oldest go first.
// A digest and some bytes each: a few megabytes.
pub(super) const KEYS_IN_MEMORY: usize = 10_000;
/// Bytes of all answers that are kept there.
pub(super) const BYTES_IN_MEMORY: usize = 16 * 1024 * 1024;
/// Bytes of an answer that is kept for whoever makes the call again.
// An answer of megabytes for each call of a busy client would fill any store.
pub const KEPT_ANSWER: usize = 256 * 1024;
/// Bytes of all answers that wait to be written while the store is slow or away; of those beyond it is kept that their
/// calls have run.
pub const QUEUED_ANSWERS: usize = 32 * 1024 * 1024;
/// Rounds of one call that are remembered; the oldest go first.
// A digest each: two kilobytes for a call whose server asks again and again, which no person answers so often.
pub const ROUNDS_KEPT: usize = 64;
/// How long a key stands for its call.
// Clients that try again do so for minutes; people who look at what failed yesterday find it.
pub const KEYS_KEPT: Duration = Duration::from_secs(24 * 60 * 60);

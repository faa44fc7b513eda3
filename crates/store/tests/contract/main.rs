//! What a store promises, on `SQLite` and on Postgres alike; and what only one of them can promise.
//!
//! Postgres is the one `TRUNKLINE_TEST_POSTGRES` names: `cargo xtask test` sets it, and so does
//! `cargo xtask postgres cargo test -p trunkline-store`. Without it that half fails. The process
//! that is killed is `examples/writer.rs`; a plain `cargo test` builds it.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test")]
#![expect(clippy::indexing_slicing, reason = "a test")]

mod audit;
mod call_keys;
mod cluster;
mod credentials;
mod dump;
mod health;
mod keys;
mod known_listings;
mod leases;
mod pending;
mod pins;
mod place;
mod policies;
mod replicas;
mod schema;
mod servers;
mod skills;
mod tools;
mod web_sessions;

mod postgres;
mod proxy;
mod sqlite;
mod writer;

/// Each of these functions is two tests: on a new `SQLite` file, and on a new Postgres database.
macro_rules! on_both {
    ($room:ident: $($name:ident),* $(,)?) => {$(
        mod $name {
            #[test]
            fn on_sqlite() {
                crate::place::on_sqlite(async |place| crate::$room::$name(place).await);
            }

            #[test]
            fn on_postgres() {
                crate::place::on_postgres(async |place| crate::$room::$name(place).await);
            }
        }
    )*};
}
pub(crate) use on_both;

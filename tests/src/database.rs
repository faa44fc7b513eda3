//! A database of one test's own in the Postgres that the command has started.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::run;
use crate::way::Way;

/// Dropping it drops the database.
#[derive(Debug)]
pub struct Database {
    /// `postgres://user:password@host:port/postgres`
    server: String,
    name: String,
}

#[expect(clippy::new_without_default, reason = "it makes a database")]
impl Database {
    #[track_caller]
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let server = std::env::var("TRUNKLINE_TEST_POSTGRES").unwrap_or_else(|_| {
            panic!(
                "TRUNKLINE_TEST_POSTGRES is not set: run `cargo xtask test`, or \
                 `cargo xtask postgres cargo test -p trunkline-tests platform::postgres`"
            )
        });
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("trunkline_it_{}_{number}", std::process::id());
        let database = Self { server, name };
        database.say(&format!("CREATE DATABASE {} TEMPLATE template0", database.name));
        database
    }

    fn say(&self, sql: &str) {
        // The password is in the environment, where the process list does not show it.
        let user = self.server.trim_start_matches("postgres://").rsplit_once('@');
        let (user, password) = user.and_then(|(user, _)| user.split_once(':')).expect("a password");
        let behind = self.behind();
        let mut psql = Command::new("psql");
        psql.args(["--no-psqlrc", "--quiet", "--command", sql]);
        psql.env("PGUSER", user).env("PGPASSWORD", password).env("PGDATABASE", "postgres");
        psql.env("PGHOST", behind.ip().to_string()).env("PGPORT", behind.port().to_string());
        let done = run::run(psql, b"");
        assert_eq!(done.code, Some(0), "{done}");
    }

    /// Where its server is.
    pub fn behind(&self) -> SocketAddr {
        let host = self.server.rsplit('@').next().and_then(|rest| rest.split('/').next());
        host.and_then(|host| host.parse().ok()).expect("an address and a port")
    }

    /// Its address through this way.
    pub fn url(&self, way: &Way) -> String {
        self.at(way.address())
    }

    /// Its own address.
    pub fn direct_url(&self) -> String {
        self.at(self.behind())
    }

    fn at(&self, address: SocketAddr) -> String {
        let (user, _) = self.server.rsplit_once('@').expect("a user");
        format!("{user}@{address}/{}?sslmode=disable", self.name)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.say(&format!("DROP DATABASE {} WITH (FORCE)", self.name));
    }
}

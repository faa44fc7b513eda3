//! A new place for a store, for each test: a file in its own folder, or a database of its own.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{fs, process};

use tokio::runtime::Builder;
use tokio::task::JoinSet;
use trunkline_store::{
    AuditKey, DesiredState, ServerRecord, Store, StoreOptions, StoreUrl, Transport,
};

pub(crate) struct Place {
    pub(crate) url: StoreUrl,
    behind: Behind,
}

enum Behind {
    File(PathBuf),
    Database(String),
}

impl Place {
    pub(crate) async fn open(&self) -> Store {
        Store::open(&self.url, options()).await.unwrap()
    }

    /// Statements that the store would never make.
    pub(crate) async fn tamper(&self, sql: &str) -> Result<(), String> {
        match &self.behind {
            Behind::File(path) => {
                let connection = rusqlite::Connection::open(path).unwrap();
                connection.execute_batch(sql).map_err(|error| error.to_string())
            }
            Behind::Database(url) => {
                let sql = format!("SET search_path = trunkline; {sql}");
                ask(url, &sql).await.map(drop).map_err(|error| format!("{error:?}"))
            }
        }
    }

    pub(crate) fn is_file(&self) -> bool {
        matches!(self.behind, Behind::File(_))
    }

    /// The address of the Postgres database, with its password.
    pub(crate) fn database(&self) -> &str {
        match &self.behind {
            Behind::File(path) => panic!("{} is a file", path.display()),
            Behind::Database(url) => url,
        }
    }

    /// All that could be touched: the bytes of the file, or the tables and what they hold.
    pub(crate) async fn contents(&self) -> Vec<String> {
        match &self.behind {
            Behind::File(path) => {
                let bytes = fs::read(path).unwrap();
                vec![bytes.iter().map(|byte| format!("{byte:02x}")).collect()]
            }
            Behind::Database(url) => {
                let sql = "SELECT table_name || xpath('//row', query_to_xml( \
                           'SELECT * FROM trunkline.' || table_name, true, false, ''))::text \
                           FROM information_schema.tables WHERE table_schema = 'trunkline' \
                           ORDER BY table_name";
                ask(url, sql).await.unwrap()
            }
        }
    }

    /// As whoever may do everything would: what keeps the audit log from changes is off.
    pub(crate) async fn tamper_with_audit(&self, sql: &str) {
        let (off, on) = match &self.behind {
            Behind::File(_) => ("DROP TRIGGER audit_keeps; DROP TRIGGER audit_stays;", ""),
            Behind::Database(_) => {
                ("ALTER TABLE audit DISABLE TRIGGER ALL;", "; ALTER TABLE audit ENABLE TRIGGER ALL")
            }
        };
        self.tamper(&format!("{off} {sql} {on}")).await.unwrap();
    }
}

/// Every store of these tests has a key.
pub(crate) fn options() -> StoreOptions {
    StoreOptions { audit_keys: vec![AuditKey::new([9; 32])] }
}

pub(crate) fn on_sqlite(test: impl AsyncFnOnce(&Place)) {
    let folder = Folder::new();
    let path = folder.path().join("store.db");
    let place = Place { url: StoreUrl::sqlite(&path), behind: Behind::File(path) };
    on_a_runtime(async { test(&place).await });
}

pub(crate) fn on_postgres(test: impl AsyncFnOnce(&Place)) {
    on_a_runtime(async {
        let name = format!("trunkline_{}", unique());
        let server = server();
        ask(&server, &format!("CREATE DATABASE {name} TEMPLATE template0")).await.unwrap();
        let (base, _) = server.rsplit_once('/').unwrap();
        let database = format!("{base}/{name}");
        let url = StoreUrl::parse(&database).unwrap();
        test(&Place { url, behind: Behind::Database(database) }).await;
        ask(&server, &format!("DROP DATABASE {name} WITH (FORCE)")).await.unwrap();
    });
}

/// The address of a Postgres whose databases may be made and dropped.
#[expect(clippy::disallowed_methods, reason = "a test has no other way to be told")]
pub(crate) fn server() -> String {
    std::env::var("TRUNKLINE_TEST_POSTGRES").unwrap_or_else(|_| {
        panic!(
            "TRUNKLINE_TEST_POSTGRES is not set: run `cargo xtask test`, or \
             `cargo xtask postgres cargo test -p trunkline-store`"
        )
    })
}

/// Says something to Postgres on a connection of its own; the first column of every row.
pub(crate) async fn ask(url: &str, sql: &str) -> Result<Vec<String>, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await?;
    let mut tasks = JoinSet::new();
    tasks.spawn(connection);
    let answer = client.simple_query(sql).await?;
    let rows = answer.into_iter().filter_map(|message| match message {
        tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    });
    Ok(rows.collect())
}

/// The store has to do with one thread, as `trunkline serve` has.
pub(crate) fn on_a_runtime<T>(doing: impl Future<Output = T>) -> T {
    Builder::new_current_thread().enable_all().build().unwrap().block_on(doing)
}

/// A folder that goes when the test ends.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        let path = std::env::temp_dir().join(format!("trunkline-store-{}", unique()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn unique() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{}_{}", process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A server called after its id.
pub(crate) fn a_server(id: &str) -> ServerRecord {
    ServerRecord {
        id: id.to_owned(),
        name: format!("name-{id}"),
        description: "does things".to_owned(),
        transport: Transport::Http,
        config: r#"{"url":"https://example.com/mcp"}"#.to_owned(),
        auto_connect: true,
        wanted: DesiredState::Connected,
        health_check_url: None,
        created_at: 1,
        updated_at: 1,
        revision: 1,
    }
}

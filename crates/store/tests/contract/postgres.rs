//! What only a server can meet: broken connections, a server that is gone and comes back.

use std::path::Path;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use trunkline_store::{
    AuditVerdict, Change, CredentialRecord, NewAudit, Store, StoreError, StoreUrl,
};

use crate::cluster::Cluster;
use crate::place::{Place, a_server, ask, on_a_runtime, on_postgres, options};
use crate::proxy::{LOSE_ANSWER, LOSE_COMMIT, Proxy, STAND_STILL};

/// Long, because it is only reached when a test fails.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_connection_that_was_ended_is_replaced_by_the_next_call() {
    on_postgres(async |place| {
        let store = place.open().await;
        for round in 0..5 {
            // Several calls at once have several connections; all are ended.
            let (a, b, c) = tokio::join!(
                store.append_audit(vec![NewAudit::default()]),
                store.servers("", 10),
                store.setting("a")
            );
            a.unwrap();
            assert_eq!(b.unwrap().len(), round);
            c.unwrap();
            let ended = ask(
                place.database(),
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                 WHERE datname = current_database() AND pid <> pg_backend_pid()",
            );
            assert!(!ended.await.unwrap().is_empty());
            let server = a_server(&round.to_string());
            store.commit(vec![Change::InsertServer(server)], vec![]).await.unwrap();
        }
        assert!(matches!(
            store.verify_audit().await.unwrap(),
            AuditVerdict::Verified { records: 5, .. }
        ));
    });
}

#[test]
fn a_server_that_is_gone_is_unavailable_until_it_is_back() {
    on_postgres(async |place| {
        let (mut proxy, store) = through_proxy(place).await;
        store.put_setting("a", vec![1]).await.unwrap();
        for _ in 0..3 {
            proxy.stop().await;
            for _ in 0..10 {
                let error = store.put_setting("a", vec![2]).await.unwrap_err();
                assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
                assert!(error.may_retry());
            }
            proxy.start_again().await;
            assert_eq!(back(&store).await, Some(vec![1]));
        }
        store.put_setting("a", vec![3]).await.unwrap();
        assert_eq!(store.setting("a").await.unwrap(), Some(vec![3]));
    });
}

#[test]
fn what_was_acknowledged_is_there_when_a_stopped_server_is_back() {
    on_a_runtime(async {
        let mut cluster = Cluster::new().await;
        let url = StoreUrl::parse(&cluster.url()).unwrap();
        let gone = Store::open(&url, options()).await.unwrap_err();
        assert!(matches!(gone, StoreError::Unavailable { .. }), "{gone:?}");
        cluster.start();
        let store = opened(&url).await;
        for (round, signal) in (0..).zip(["INT", "QUIT", "INT"]) {
            store.put_setting("a", vec![round]).await.unwrap();
            store.append_audit(vec![NewAudit::default()]).await.unwrap();
            cluster.stop(signal);
            let error = store.put_setting("a", vec![99]).await.unwrap_err();
            assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
            cluster.start();
            assert_eq!(back(&store).await, Some(vec![round]));
        }
        let verdict = store.verify_audit().await.unwrap();
        assert!(matches!(verdict, AuditVerdict::Verified { records: 3, .. }), "{verdict:?}");
    });
}

#[test]
fn a_commit_without_an_answer_is_said_to_be_uncertain() {
    on_postgres(async |place| {
        let (proxy, store) = through_proxy(place).await;
        for (what, id, written) in [(LOSE_COMMIT, "a", false), (LOSE_ANSWER, "b", true)] {
            proxy.next(what);
            let insert = store.commit(vec![Change::InsertServer(a_server(id))], vec![]).await;
            let error = insert.unwrap_err();
            assert!(matches!(error, StoreError::Uncertain { .. }), "{error:?}");
            assert!(!error.may_retry());
            assert_eq!(store.server(id).await.is_ok(), written, "{id}");
        }
    });
}

/// Distance is what a change costs: the changes, the lock and the end of the log are asked for in one trip, and the
/// records are written and committed in another.
#[test]
fn a_registration_is_two_trips_to_the_server_and_a_reading_one() {
    on_postgres(async |place| {
        let (proxy, store) = through_proxy(place).await;
        store.append_audit(vec![NewAudit::default()]).await.unwrap();
        let before = proxy.trips();
        let credential = |name: &str| {
            Change::PutCredential(CredentialRecord {
                id: name.to_owned(),
                owner: "a".to_owned(),
                name: name.to_owned(),
                kind: "secret".to_owned(),
                sealed: vec![1],
                key_version: 1,
                updated_at: 1,
                updated_by: None,
            })
        };
        let changes = vec![Change::InsertServer(a_server("a")), credential("x"), credential("y")];
        store.commit(changes, vec![NewAudit::default()]).await.unwrap();
        assert_eq!(proxy.trips() - before, 2);
        let before = proxy.trips();
        assert_eq!(store.all_servers().await.unwrap().len(), 1);
        assert_eq!(proxy.trips() - before, 1);
    });
}

#[test]
fn a_writer_that_stands_still_with_the_lock_of_the_log_does_not_stop_the_others() {
    on_postgres(async |place| {
        let (proxy, still) = through_proxy(place).await;
        let other = place.open().await;
        still.append_audit(vec![NewAudit::default()]).await.unwrap();
        proxy.next(STAND_STILL);
        let others = async {
            while !proxy.stands_still() {
                sleep(Duration::from_millis(5)).await;
            }
            other.append_audit(vec![NewAudit::default()]).await
        };
        tokio::select! {
            stopped = still.append_audit(vec![NewAudit::default()]) => panic!("{stopped:?}"),
            appended = others => assert_eq!(appended, Ok(2)),
        }
        let verdict = other.verify_audit().await.unwrap();
        assert!(matches!(verdict, AuditVerdict::Verified { records: 2, .. }), "{verdict:?}");
    });
}

#[test]
fn a_store_that_cannot_be_opened_says_why_and_not_the_password() {
    on_postgres(async |place| {
        let url = place.database();
        let (base, _) = url.rsplit_once('/').unwrap();
        let (user, address) = url.rsplit_once('@').unwrap();
        let (user, _) = user.rsplit_once(':').unwrap();
        let table = [
            (format!("{base}/nowhere"), "does not exist"),
            (format!("{user}:hunter2@{address}"), "password authentication failed"),
            ("postgres://u:hunter2@127.0.0.1:1/t".to_owned(), "not available"),
        ];
        let (_, password) = url.split_once("://").unwrap().1.split_once(':').unwrap();
        let (password, _) = password.split_once('@').unwrap();
        for (url, reason) in table {
            let outcome = Store::open(&StoreUrl::parse(&url).unwrap(), options()).await;
            let error = outcome.unwrap_err();
            let said = format!("{error} {error:?}");
            assert!(said.contains(reason), "{said}");
            assert!(!said.contains("hunter2") && !said.contains(password), "{said}");
        }
    });
}

#[test]
fn a_connection_is_as_safe_as_sslmode_asks_for() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/testdata/tls");
    let [authority, stranger] = ["authority.pem", "stranger.pem"]
        .map(|file| format!("&sslrootcert={}", data.join(file).display()));
    let table = [
        ("localhost", "disable", "", Some("false")),
        ("localhost", "prefer", "", Some("true")),
        ("localhost", "require", "", Some("true")),
        ("localhost", "require", &authority, Some("true")),
        ("localhost", "require", &stranger, None),
        ("localhost", "verify-ca", &authority, Some("true")),
        ("localhost", "verify-ca", &stranger, None),
        ("localhost", "verify-ca", "", None),
        ("localhost", "verify-full", &authority, Some("true")),
        ("localhost", "verify-full", &stranger, None),
        ("localhost", "verify-full", "", None),
        // The certificate is not for this name.
        ("localhost.", "verify-ca", &authority, Some("true")),
        ("ip6-localhost", "verify-full", &authority, None),
    ];
    on_postgres(async |place| {
        for (host, mode, root, expected) in table {
            let url = place.database().replace("127.0.0.1", host);
            let url = format!("{url}?sslmode={mode}{root}&hostaddr=127.0.0.1");
            let opened = Store::open(&StoreUrl::parse(&url).unwrap(), options()).await;
            let encrypted = match &opened {
                Ok(_) => Some(with_tls(place).await),
                Err(StoreError::Unavailable { .. }) => None,
                Err(error) => panic!("{host} {mode} {root}: {error:?}"),
            };
            assert_eq!(encrypted.as_deref(), expected, "{host} {mode} {root} {opened:?}");
            if let Ok(store) = opened {
                store.close().await;
            }
        }
    });
}

/// Whether the store's connection is encrypted, as Postgres sees it.
async fn with_tls(place: &Place) -> String {
    let sql = "SELECT ssl::text FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
               WHERE datname = current_database() AND application_name = 'trunkline'";
    ask(place.database(), sql).await.unwrap().join(" ")
}

/// Without TLS, so that the proxy sees what is said.
async fn through_proxy(place: &Place) -> (Proxy, Store) {
    let url = place.database();
    let (user, rest) = url.rsplit_once('@').unwrap();
    let (server, database) = rest.split_once('/').unwrap();
    let proxy = Proxy::start(server.to_owned()).await;
    let url = format!("{user}@{}/{database}?sslmode=disable", proxy.address);
    let url = StoreUrl::parse(&url).unwrap();
    let store = Store::open(&url, options()).await.unwrap();
    (proxy, store)
}

async fn opened(url: &StoreUrl) -> Store {
    let late = Instant::now() + PATIENCE;
    loop {
        match Store::open(url, options()).await {
            Ok(store) => return store,
            Err(StoreError::Unavailable { .. }) if Instant::now() < late => {
                sleep(Duration::from_millis(20)).await;
            }
            Err(error) => panic!("{error}"),
        }
    }
}

async fn back(store: &Store) -> Option<Vec<u8>> {
    let late = Instant::now() + PATIENCE;
    loop {
        match store.setting("a").await {
            Ok(value) => return value,
            Err(StoreError::Unavailable { .. }) if Instant::now() < late => {
                sleep(Duration::from_millis(20)).await;
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// Waits for word of a change.
async fn told(changes: &mut trunkline_store::Changes) {
    tokio::time::timeout(PATIENCE, changes.next()).await.expect("word of a change");
}

#[test]
fn a_change_is_told_to_every_store_that_listens_also_after_the_connection_broke() {
    on_postgres(async |place| {
        let (here, there) = (place.open().await, place.open().await);
        let mut changes = there.changes();
        let listening = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() \
                         AND query LIKE 'LISTEN%'";
        for round in 0..3 {
            // That it listens again is word, too: something may have changed meanwhile.
            told(&mut changes).await;
            assert_eq!(ask(place.database(), listening).await.unwrap().len(), 1, "round {round}");
            for id in ["a", "b"] {
                let server = a_server(&format!("{round}{id}"));
                here.commit(vec![Change::InsertServer(server)], vec![]).await.unwrap();
                told(&mut changes).await;
                assert!(there.server(&format!("{round}{id}")).await.is_ok());
            }
            let end = listening.replace("SELECT pid", "SELECT pg_terminate_backend(pid)");
            assert_eq!(ask(place.database(), &end).await.unwrap().len(), 1);
        }
        there.close().await;
        let late = Instant::now() + PATIENCE;
        while !ask(place.database(), listening).await.unwrap().is_empty() {
            assert!(Instant::now() < late, "it listens after it was closed");
            sleep(Duration::from_millis(20)).await;
        }
    });
}

#[test]
fn what_was_not_committed_and_what_only_tells_of_calls_is_no_change() {
    on_postgres(async |place| {
        let store = place.open().await;
        let mut changes = store.changes();
        told(&mut changes).await;
        let twice = || vec![Change::InsertServer(a_server("a"))];
        store.commit(twice(), vec![]).await.unwrap();
        told(&mut changes).await;
        store.commit(twice(), vec![]).await.unwrap_err();
        store.append_audit(vec![NewAudit::default()]).await.unwrap();
        // Postgres tells in the order of the commits: the next word is of this one.
        store.commit(vec![Change::InsertServer(a_server("b"))], vec![]).await.unwrap();
        told(&mut changes).await;
        let more = tokio::time::timeout(Duration::from_millis(200), changes.next()).await;
        assert!(more.is_err(), "told of something else");
    });
}

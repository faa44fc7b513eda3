//! The schema: made by whoever comes first, and left alone when it is newer than we are.

use trunkline_store::{Change, CredentialRecord, HealthSample, Store, StoreError};

use crate::on_both;
use crate::place::{Place, a_server, options};

on_both! { schema:
    several_may_open_a_new_store_at_once,
    a_newer_store_is_refused_and_not_touched,
    a_store_of_the_first_version_is_taken_over_with_all_it_has,
}

async fn several_may_open_a_new_store_at_once(place: &Place) {
    let (a, b, c) = tokio::join!(place.open(), place.open(), place.open());
    a.commit(vec![Change::InsertServer(a_server("a"))], vec![]).await.unwrap();
    b.commit(vec![Change::InsertServer(a_server("b"))], vec![]).await.unwrap();
    assert_eq!(c.servers("", 10).await.unwrap().len(), 2);
}

async fn a_newer_store_is_refused_and_not_touched(place: &Place) {
    let store = place.open().await;
    store.commit(vec![Change::InsertServer(a_server("a"))], vec![]).await.unwrap();
    store.close().await;
    place.tamper("UPDATE schema_version SET version = 99").await.unwrap();
    let before = place.contents().await;
    let outcome = Store::open(&place.url, options()).await.map(drop);
    assert_eq!(outcome, Err(StoreError::Newer { found: 99, known: 13 }));
    assert_eq!(place.contents().await, before);
    place.tamper("UPDATE schema_version SET version = 13").await.unwrap();
    assert_eq!(place.open().await.server("a").await.unwrap(), a_server("a"));
}

async fn a_store_of_the_first_version_is_taken_over_with_all_it_has(place: &Place) {
    let (credential, sample) = (a_credential(), a_sample("a"));
    let store = place.open().await;
    let changes =
        vec![Change::InsertServer(a_server("a")), Change::PutCredential(credential.clone())];
    store.commit(changes, vec![]).await.unwrap();
    store.append_health(vec![sample.clone()]).await.unwrap();
    store.close().await;
    place.tamper(&first_version(place)).await.unwrap();
    let store = place.open().await;
    assert_eq!(store.server("a").await.unwrap(), a_server("a"));
    let unsigned = CredentialRecord { updated_by: None, ..credential.clone() };
    assert_eq!(store.credential("-", "token").await.unwrap(), unsigned);
    assert_eq!(store.health("a", 9).await.unwrap(), [sample]);
    the_second_version_works(&store, credential).await;
}

async fn the_second_version_works(store: &Store, credential: CredentialRecord) {
    store.commit(vec![Change::PutCredential(credential.clone())], vec![]).await.unwrap();
    assert_eq!(store.credential("-", "token").await.unwrap(), credential);
    store.append_health(vec![a_sample("file:f")]).await.unwrap();
    assert_eq!(store.health("file:f", 9).await.unwrap(), [a_sample("file:f")]);
    assert_eq!(store.prune_health(9).await.unwrap(), 2);
}

fn a_credential() -> CredentialRecord {
    CredentialRecord {
        id: "1".to_owned(),
        owner: "-".to_owned(),
        name: "token".to_owned(),
        kind: "secret".to_owned(),
        sealed: vec![1, 2, 3],
        key_version: 4,
        updated_at: 5,
        updated_by: Some("somebody".to_owned()),
    }
}

fn a_sample(server: &str) -> HealthSample {
    HealthSample {
        server_id: server.to_owned(),
        at: 7,
        ok: true,
        status: "CONNECTED".to_owned(),
        response_ms: Some(3),
        detail: None,
    }
}

/// What makes a store of now one of the first version.
pub(crate) fn first_version(place: &Place) -> String {
    let samples = match place.is_file() {
        true => {
            "CREATE TABLE old (
                server_id   TEXT NOT NULL REFERENCES servers (id) ON DELETE CASCADE,
                at          INTEGER NOT NULL,
                ok          INTEGER NOT NULL,
                status      TEXT NOT NULL,
                response_ms INTEGER,
                detail      TEXT,
                PRIMARY KEY (server_id, at)
            ) STRICT;
            INSERT INTO old SELECT * FROM health_samples;
            DROP TABLE health_samples;
            ALTER TABLE old RENAME TO health_samples;
            CREATE INDEX health_samples_at ON health_samples (at);"
        }
        false => {
            "ALTER TABLE health_samples ADD CONSTRAINT health_samples_server_id_fkey
             FOREIGN KEY (server_id) REFERENCES servers (id) ON DELETE CASCADE;"
        }
    };
    let triggers = match place.is_file() {
        true => {
            "DROP TRIGGER audit_stays;
             CREATE TRIGGER audit_stays BEFORE DELETE ON audit
             BEGIN SELECT RAISE(ABORT, 'records of the audit are never removed'); END;"
        }
        false => {
            "DROP TRIGGER audit_goes ON audit;
             DROP FUNCTION trunkline.audit_goes();
             DROP TRIGGER audit_keeps ON audit;
             CREATE TRIGGER audit_keeps BEFORE UPDATE OR DELETE ON audit
             FOR EACH ROW EXECUTE FUNCTION trunkline.audit_stays();"
        }
    };
    format!(
        "{samples} {triggers} DROP INDEX audit_server_name; DROP INDEX audit_tool; DROP INDEX audit_action;
         DROP INDEX audit_outcome; ALTER TABLE credentials DROP COLUMN updated_by;
         ALTER TABLE audit DROP COLUMN count; DROP TABLE audit_pruned;
         DROP TABLE leases; DROP TABLE pending_logins;
         DROP TABLE skills; DROP TABLE tool_skills; DROP TABLE skill_suggestions;
         DROP TABLE web_sessions; DROP TABLE pins; DROP TABLE policies; DROP TABLE policy_set;
         DROP TABLE replicas; DROP TABLE tasks; DROP TABLE known_listings; DROP TABLE call_keys;
         ALTER TABLE api_keys DROP COLUMN limits;
         UPDATE schema_version SET version = 1"
    )
}

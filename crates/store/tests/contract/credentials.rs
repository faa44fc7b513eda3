//! Secrets: kept sealed, replaced, brought under another key, never written over by a wrong one.

use trunkline_store::seal::{Keyring, Rewrapped, SealKey, Unlocked};
use trunkline_store::{Change, CredentialRecord, GrantRecord, Store, StoreError};

use crate::on_both;
use crate::place::{Place, a_server};

on_both! { credentials:
    a_credential_is_put_replaced_and_removed,
    a_removed_server_takes_its_secrets_along,
    a_grant_is_changed_only_by_who_knows_its_revision,
    a_wrong_key_is_noticed_and_changes_nothing,
    secrets_are_brought_under_another_key,
    a_rotation_that_was_interrupted_is_finished_by_the_next,
}

fn credential(keyring: &Keyring, id: &str, owner: &str, name: &str) -> CredentialRecord {
    let mut record = CredentialRecord {
        id: id.to_owned(),
        owner: owner.to_owned(),
        name: name.to_owned(),
        kind: "header".to_owned(),
        sealed: Vec::new(),
        key_version: keyring.current_id(),
        updated_at: 5,
        updated_by: None,
    };
    record.sealed = keyring.seal(&record.aad(), format!("secret of {id}").as_bytes()).unwrap();
    record
}

fn grant(keyring: &Keyring, server: &str, issuer: &str) -> GrantRecord {
    let mut record = GrantRecord {
        server_id: server.to_owned(),
        issuer: issuer.to_owned(),
        principal: "-".to_owned(),
        sealed: Vec::new(),
        key_version: keyring.current_id(),
        expires_at: Some(9),
        revision: 1,
    };
    record.sealed = keyring.seal(&record.aad(&record.row()), b"token").unwrap();
    record
}

fn keyring(byte: u8) -> Keyring {
    Keyring::new(SealKey::new([byte; 32]))
}

async fn put(store: &Store, record: CredentialRecord) {
    store.commit(vec![Change::PutCredential(record)], vec![]).await.unwrap();
}

async fn a_credential_is_put_replaced_and_removed(place: &Place) {
    let (store, keys) = (place.open().await, keyring(1));
    let [one, other, shared] = [("1", "s", "token"), ("2", "s", "another"), ("3", "-", "token")]
        .map(|(id, owner, name)| credential(&keys, id, owner, name));
    for record in [&one, &other, &shared] {
        put(&store, record.clone()).await;
    }
    assert_eq!(store.credential("s", "token").await.unwrap(), one);
    assert_eq!(store.credential("-", "token").await.unwrap(), shared);
    assert_eq!(store.credentials("s").await.unwrap(), [other.clone(), one]);
    let new = credential(&keys, "4", "s", "token");
    put(&store, new.clone()).await;
    assert_eq!(store.credentials("s").await.unwrap(), [other, new.clone()]);
    assert_eq!(keys.open(&new.aad(), &new.sealed).unwrap().as_slice(), b"secret of 4");
    let delete = || Change::DeleteCredential { owner: "s".to_owned(), name: "token".to_owned() };
    store.commit(vec![delete()], vec![]).await.unwrap();
    assert_eq!(store.credential("s", "token").await, Err(StoreError::NotFound));
    assert_eq!(store.commit(vec![delete()], vec![]).await, Err(StoreError::NotFound));
}

async fn a_removed_server_takes_its_secrets_along(place: &Place) {
    let (store, keys) = (place.open().await, keyring(1));
    for id in ["a", "b"] {
        store.commit(vec![Change::InsertServer(a_server(id))], vec![]).await.unwrap();
        put(&store, credential(&keys, id, id, "token")).await;
        let record = grant(&keys, id, "https://issuer");
        store.commit(vec![Change::PutGrant { record, expected: None }], vec![]).await.unwrap();
    }
    let delete = Change::DeleteServer { id: "a".to_owned(), expected: None };
    store.commit(vec![delete], vec![]).await.unwrap();
    assert_eq!(store.credentials("a").await.unwrap(), []);
    assert_eq!(store.grants("a").await.unwrap(), []);
    assert_eq!(store.credentials("b").await.unwrap().len(), 1);
    assert_eq!(store.grants("b").await.unwrap().len(), 1);
}

async fn a_grant_is_changed_only_by_who_knows_its_revision(place: &Place) {
    let (store, keys) = (place.open().await, keyring(1));
    let record = grant(&keys, "s", "https://issuer");
    let put = async |expected, sealed: &[u8]| {
        let record = GrantRecord { sealed: sealed.to_vec(), ..record.clone() };
        store.commit(vec![Change::PutGrant { record, expected }], vec![]).await.map(drop)
    };
    assert_eq!(put(Some(1), b"x").await, Err(StoreError::Stale));
    put(None, b"one").await.unwrap();
    assert_eq!(put(None, b"x").await, Err(StoreError::Stale));
    put(Some(1), b"two").await.unwrap();
    assert_eq!(put(Some(1), b"x").await, Err(StoreError::Stale));
    let found = store.grant("s", "https://issuer", "-").await.unwrap();
    assert_eq!((found.sealed.as_slice(), found.revision), (b"two".as_slice(), 2));
    assert_eq!(store.grant("s", "https://other", "-").await, Err(StoreError::NotFound));
    let [server_id, issuer, principal] = ["s", "https://issuer", "-"].map(str::to_owned);
    let delete = Change::DeleteGrant { server_id, issuer, principal };
    store.commit(vec![delete.clone()], vec![]).await.unwrap();
    assert_eq!(store.commit(vec![delete], vec![]).await, Err(StoreError::NotFound));
}

async fn a_wrong_key_is_noticed_and_changes_nothing(place: &Place) {
    let store = place.open().await;
    assert_eq!(store.unlock(&keyring(1)).await.unwrap(), Unlocked::Yes);
    assert_eq!(store.unlock(&keyring(2)).await.unwrap(), Unlocked::No);
    assert!(store.rewrap(&keyring(2)).await.is_err());
    assert_eq!(store.unlock(&keyring(1)).await.unwrap(), Unlocked::Yes);
}

/// A store with 25 credentials and a grant under the old key, and the keys to rotate with.
async fn before_rotation(place: &Place) -> (Store, Keyring) {
    let (store, old) = (place.open().await, keyring(1));
    assert_eq!(store.unlock(&old).await.unwrap(), Unlocked::Yes);
    for at in 0..25 {
        put(&store, credential(&old, &format!("{at:03}"), "-", &at.to_string())).await;
    }
    let record = grant(&old, "s", "https://issuer");
    store.commit(vec![Change::PutGrant { record, expected: None }], vec![]).await.unwrap();
    (store, keyring(2).with_older(SealKey::new([1; 32])))
}

async fn secrets_are_brought_under_another_key(place: &Place) {
    let (store, both) = before_rotation(place).await;
    let done = store.rewrap(&both).await.unwrap();
    assert_eq!(done, Rewrapped { credentials: 25, grants: 1 });
    // The old key is not needed any more, and is not enough.
    let new = keyring(2);
    assert_eq!(store.unlock(&new).await.unwrap(), Unlocked::Yes);
    assert_eq!(store.unlock(&keyring(1)).await.unwrap(), Unlocked::No);
    let records = store.credentials("-").await.unwrap();
    assert_eq!(records.len(), 25);
    for record in records {
        let secret = new.open(&record.aad(), &record.sealed).unwrap();
        assert_eq!(secret.as_slice(), format!("secret of {}", record.id).as_bytes());
        assert_eq!(record.key_version, new.current_id());
    }
    let grant = store.grant("s", "https://issuer", "-").await.unwrap();
    assert_eq!(new.open(&grant.aad(&grant.row()), &grant.sealed).unwrap().as_slice(), b"token");
}

async fn a_rotation_that_was_interrupted_is_finished_by_the_next(place: &Place) {
    let (store, both) = before_rotation(place).await;
    let some = store.credentials_under_other_keys(both.current_id(), "", 10).await.unwrap();
    assert_eq!(some.len(), 10);
    for record in &some {
        let sealed = both.rewrap(&record.aad(), &record.sealed).unwrap();
        store.reseal_credential(record.clone(), sealed, both.current_id()).await.unwrap();
    }
    // Until it is done, the store asks for the old key.
    assert_eq!(store.unlock(&keyring(2)).await.unwrap(), Unlocked::No);
    // What was changed meanwhile is not written over.
    let outcome = store.reseal_credential(some[0].clone(), vec![1], 1).await;
    assert_eq!(outcome, Err(StoreError::Stale));
    for (credentials, grants) in [(15, 1), (0, 0)] {
        let done = store.rewrap(&both).await.unwrap();
        assert_eq!(done, Rewrapped { credentials, grants });
    }
}

//! The wrong key, and another key in the place of the right one.

use trunkline_store::Change;
use trunkline_store::seal::Keyring;

use super::place::{key, record, remote, safe};
use crate::scratch::Folder;
use crate::secrets::{FileRotation, KeySource, RotationError, Safe, SecretError, rotate, shown};

#[tokio::test]
async fn with_the_wrong_key_everything_is_shown_and_nothing_opened_or_written() {
    let folder = Folder::new();
    let store = folder.store().await;
    let right = safe(&store, 1).await;
    let connection = remote("https://h", &[("Authorization", "canary")]);
    let kept = right.seal("1", &connection, 1).unwrap();
    let mut changes = vec![Change::InsertServer(record("1", &kept))];
    changes.extend(kept.changes(&[]));
    store.commit(changes, vec![]).await.unwrap();
    let pepper = right.pepper(&store).await.unwrap();

    let wrong = safe(&store, 2).await;
    assert!(wrong.is_locked());
    let server = store.server("1").await.unwrap();
    let credentials = store.credentials("1").await.unwrap();
    assert!(shown(&server).is_ok());
    assert_eq!(wrong.open(&server, &credentials).unwrap_err(), SecretError::Locked);
    assert_eq!(wrong.seal("2", &connection, 1).unwrap_err(), SecretError::Locked);
    assert_eq!(wrong.put_named("a", "b", "ci", 1).unwrap_err(), SecretError::Locked);
    assert_eq!(wrong.pepper(&store).await.unwrap_err(), SecretError::Locked);
    assert!(SecretError::Locked.to_string().contains("TRUNKLINE_KEY"));

    let right = safe(&store, 1).await;
    assert!(!right.is_locked());
    assert_eq!(right.open(&server, &credentials).unwrap(), connection);
    assert_eq!(*right.pepper(&store).await.unwrap(), *pepper);
}

#[tokio::test]
async fn a_rotation_takes_over_everything_and_can_be_repeated() {
    let folder = Folder::new();
    let store = folder.store().await;
    let old = safe(&store, 1).await;
    let put = old.put_named("db", "canary", "ci", 1).unwrap();
    store.commit(vec![put], vec![]).await.unwrap();
    let pepper = old.pepper(&store).await.unwrap();
    let refused = rotate(&store, key(8), key(9)).await.unwrap_err();
    assert!(matches!(refused, RotationError::WrongKey), "{refused}");

    assert_eq!(rotate(&store, key(1), key(2)).await.unwrap().credentials, 1);
    assert_eq!(rotate(&store, key(1), key(2)).await.unwrap().credentials, 0);
    assert!(safe(&store, 1).await.is_locked());
    let new = safe(&store, 2).await;
    assert_eq!(*new.pepper(&store).await.unwrap(), *pepper);
    let values = new.values_of(&store, &["db".to_owned()].into()).await.unwrap();
    assert_eq!(values["db"].as_str(), "canary");
}

/// Interrupted after the pepper: the check is still under the old key.
#[tokio::test]
async fn an_interrupted_rotation_goes_on() {
    let folder = Folder::new();
    let store = folder.store().await;
    let old = safe(&store, 1).await;
    let pepper = old.pepper(&store).await.unwrap();
    let put = old.put_named("db", "canary", "ci", 1).unwrap();
    store.commit(vec![put], vec![]).await.unwrap();
    let both = Keyring::new(key(2)).with_older(key(1));
    let aad = trunkline_store::seal::Aad {
        table: "settings",
        row: "keys.pepper",
        column: "value",
        owner: "-",
    };
    let sealed = store.setting("keys.pepper").await.unwrap().unwrap();
    store.put_setting("keys.pepper", both.rewrap(&aad, &sealed).unwrap()).await.unwrap();
    rotate(&store, key(1), key(2)).await.unwrap();
    let new = Safe::unlock(&store, Keyring::new(key(2))).await.unwrap();
    assert_eq!(*new.pepper(&store).await.unwrap(), *pepper);
}

#[tokio::test]
async fn the_key_file_is_replaced_when_all_is_done() {
    let folder = Folder::new();
    let path = folder.path().join("key");
    let first = trunkline_store::seal::create(&path).unwrap();
    let store = folder.store().await;
    Safe::unlock(&store, Keyring::new(first.clone())).await.unwrap();
    // As left by one that was interrupted before it could rename the file.
    let next = FileRotation::begin(&path).unwrap().new;
    rotate(&store, first.clone(), next.clone()).await.unwrap();
    assert_eq!(trunkline_store::seal::load(&path).unwrap().id(), first.id());
    let again = FileRotation::begin(&path).unwrap();
    assert_eq!((again.old.id(), again.new.id()), (first.id(), next.id()), "the same two");
    rotate(&store, again.old.clone(), again.new.clone()).await.unwrap();
    again.finish().unwrap();
    assert_eq!(trunkline_store::seal::load(&path).unwrap().id(), next.id());
    assert!(!folder.path().join("key.next").exists());
    let another = FileRotation::begin(&path).unwrap().new;
    assert!(another.id() != next.id() && another.id() != first.id());
}

/// Wherever a rotation is interrupted, both keys together open everything.
#[tokio::test]
async fn until_a_rotation_is_finished_the_file_stands_for_both_keys() {
    let folder = Folder::new();
    let path = folder.path().join("key");
    let source = KeySource::File(path.clone());
    let store = folder.store().await;
    let opened = async || {
        let found = source.resolve().unwrap();
        let is_interrupted = found.next.is_some();
        let safe = Safe::unlock(&store, found.keyring()).await.unwrap();
        let values = safe.values_of(&store, &["db".to_owned()].into()).await.unwrap();
        (is_interrupted, values["db"].to_string())
    };
    let old = Safe::unlock(&store, source.resolve().unwrap().keyring()).await.unwrap();
    let put = old.put_named("db", "canary", "ci", 1).unwrap();
    store.commit(vec![put], vec![]).await.unwrap();
    assert_eq!(opened().await, (false, "canary".to_owned()));
    let begun = FileRotation::begin(&path).unwrap();
    assert_eq!(opened().await, (true, "canary".to_owned()), "nothing is sealed anew yet");
    rotate(&store, begun.old.clone(), begun.new.clone()).await.unwrap();
    assert_eq!(opened().await, (true, "canary".to_owned()), "all is sealed anew");
    begun.finish().unwrap();
    assert_eq!(opened().await, (false, "canary".to_owned()));
}

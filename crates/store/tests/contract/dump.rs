//! All that a store holds, read in one state and put into another store.

use std::sync::Arc;

use parking_lot::Mutex;
use trunkline_store::{
    AuditVerdict, Change, CredentialRecord, Dumped, NewAudit, Store, StoreError, StoreUrl,
};

use crate::on_both;
use crate::place::{Folder, Place, a_server, options};
use crate::schema::first_version;

on_both! { dump:
    what_was_read_makes_a_store_with_the_same_records,
    a_store_of_the_first_version_is_read_as_it_is_and_restored_as_one_of_now,
    a_store_that_is_there_is_not_written_over,
    what_breaks_off_leaves_nothing,
}

async fn filled(place: &Place) -> Store {
    let store = place.open().await;
    let credential = CredentialRecord {
        id: "1".to_owned(),
        owner: "-".to_owned(),
        name: "token".to_owned(),
        kind: "secret".to_owned(),
        sealed: vec![0, 1, 255],
        key_version: -4,
        updated_at: 5,
        updated_by: None,
    };
    let changes = vec![Change::InsertServer(a_server("a")), Change::PutCredential(credential)];
    store.commit(changes, vec![NewAudit::default()]).await.unwrap();
    let odd = NewAudit { detail: Some("\"{\n名".to_owned()), ..NewAudit::default() };
    store.append_audit((0..2_500).map(|_| odd.clone()).collect()).await.unwrap();
    store
}

/// The version of its schema, and what was read.
async fn dumped(store: &Store) -> (i64, Vec<Dumped>) {
    let all = Arc::new(Mutex::new(Vec::new()));
    let taking = Arc::clone(&all);
    let take = move |dumped| {
        taking.lock().push(dumped);
        Ok(())
    };
    let version = store.dump(take).await.unwrap();
    let all = std::mem::take(&mut *all.lock());
    (version, all)
}

async fn restored(url: &StoreUrl, version: i64, all: Vec<Dumped>) -> Result<u64, StoreError> {
    let mut all = all.into_iter();
    Store::restore(url, version, move || Ok(all.next())).await
}

fn elsewhere(folder: &Folder) -> StoreUrl {
    StoreUrl::sqlite(&folder.path().join("restored.db"))
}

async fn check(url: &StoreUrl) {
    let store = Store::open(url, options()).await.unwrap();
    assert_eq!(store.server("a").await.unwrap(), a_server("a"));
    let credential = store.credential("-", "token").await.unwrap();
    assert_eq!((credential.sealed, credential.key_version), (vec![0, 1, 255], -4));
    let verdict = store.verify_audit().await.unwrap();
    assert!(matches!(verdict, AuditVerdict::Verified { records: 2_501, .. }), "{verdict:?}");
    store.append_audit(vec![NewAudit::default()]).await.unwrap();
    store.close().await;
}

async fn what_was_read_makes_a_store_with_the_same_records(place: &Place) {
    let store = filled(place).await;
    let (version, all) = dumped(&store).await;
    let rows = all.iter().filter(|part| matches!(part, Dumped::Row(_))).count();
    let folder = Folder::new();
    let url = elsewhere(&folder);
    assert_eq!(restored(&url, version, all.clone()).await, Ok(rows as u64));
    check(&url).await;
    // And back into a place of this kind.
    store.close().await;
    let wipe = match place.is_file() {
        true => return,
        false => "DROP SCHEMA trunkline CASCADE",
    };
    place.tamper(wipe).await.unwrap();
    assert_eq!(restored(&place.url, version, all).await, Ok(rows as u64));
    check(&place.url).await;
}

async fn a_store_of_the_first_version_is_read_as_it_is_and_restored_as_one_of_now(place: &Place) {
    filled(place).await.close().await;
    place.tamper(&first_version(place)).await.unwrap();
    let before = place.contents().await;
    let store = Store::open_as_it_is(&place.url, options()).await.unwrap();
    let (version, all) = dumped(&store).await;
    store.close().await;
    assert_eq!(version, 1);
    if !place.is_file() {
        assert_eq!(place.contents().await, before, "nothing of it was changed");
    }
    let folder = Folder::new();
    let url = elsewhere(&folder);
    restored(&url, version, all).await.unwrap();
    check(&url).await;
}

async fn a_store_that_is_there_is_not_written_over(place: &Place) {
    let store = filled(place).await;
    let (version, all) = dumped(&store).await;
    store.close().await;
    let refused = restored(&place.url, version, all.clone()).await;
    assert!(matches!(refused, Err(StoreError::Conflict { .. })), "{refused:?}");
    let folder = Folder::new();
    let newer = restored(&elsewhere(&folder), version + 1, all).await;
    assert!(matches!(newer, Err(StoreError::Newer { .. })), "{newer:?}");
}

async fn what_breaks_off_leaves_nothing(place: &Place) {
    let store = filled(place).await;
    let (version, mut all) = dumped(&store).await;
    store.close().await;
    let folder = Folder::new();
    let url = elsewhere(&folder);
    all.truncate(all.len() / 2);
    let mut half = all.clone().into_iter();
    let give = move || half.next().map(Some).ok_or_else(|| "gone".to_owned());
    assert!(Store::restore(&url, version, give).await.is_err());
    let Some(Dumped::Row(row)) = all.last_mut() else { panic!("a row") };
    row.pop();
    let odd = restored(&url, version, all).await;
    assert!(matches!(odd, Err(StoreError::Invalid { .. })), "{odd:?}");
    let empty = Store::open_as_it_is(&url, options()).await.map(drop);
    assert!(matches!(empty, Err(StoreError::Invalid { .. })), "{empty:?}");
}

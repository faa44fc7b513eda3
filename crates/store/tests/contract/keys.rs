//! API keys: found by their prefix, used, revoked for good.

use trunkline_store::{Change, KeyRecord, Store, StoreError};

use crate::on_both;
use crate::place::Place;

on_both! { keys:
    a_key_is_found_by_its_prefix,
    a_prefix_is_taken_once,
    the_last_use_of_a_key_is_kept,
    a_revoked_key_stays_revoked_since_then,
    the_limits_of_a_key_can_be_changed,
}

fn key(id: &str) -> KeyRecord {
    KeyRecord {
        id: id.to_owned(),
        prefix: format!("tk_{id}"),
        name: "same for all".to_owned(),
        role: "caller".to_owned(),
        tools: (id == "1").then(|| r#"["github.*"]"#.to_owned()),
        limits: (id == "2").then(|| "{}".to_owned()),
        mac: [7; 32],
        created_at: 1,
        expires_at: (id == "1").then_some(99),
        last_used_at: None,
        revoked_at: None,
    }
}

async fn with_keys(place: &Place) -> Store {
    let store = place.open().await;
    let keys = ["1", "2", "3"].map(|id| Change::InsertKey(key(id)));
    store.commit(keys.to_vec(), vec![]).await.unwrap();
    store
}

async fn a_key_is_found_by_its_prefix(place: &Place) {
    let store = with_keys(place).await;
    for id in ["1", "2", "3"] {
        assert_eq!(store.key(id).await.unwrap(), key(id));
        assert_eq!(store.key_by_prefix(&format!("tk_{id}")).await.unwrap(), key(id));
    }
    assert_eq!(store.key_by_prefix("tk_").await, Err(StoreError::NotFound));
    assert_eq!(store.keys("tk_1", 1).await.unwrap(), [key("2")]);
}

async fn a_prefix_is_taken_once(place: &Place) {
    let store = with_keys(place).await;
    let same_prefix = KeyRecord { prefix: "tk_1".to_owned(), ..key("4") };
    let outcome = store.commit(vec![Change::InsertKey(same_prefix)], vec![]).await;
    assert!(matches!(outcome, Err(StoreError::Conflict { .. })), "{outcome:?}");
    assert_eq!(store.key("4").await, Err(StoreError::NotFound));
}

async fn the_last_use_of_a_key_is_kept(place: &Place) {
    let store = with_keys(place).await;
    for at in [50, 40] {
        let uses = ["1", "gone", "2"].map(|id| (id.to_owned(), at));
        store.touch_keys(uses.to_vec()).await.unwrap();
    }
    assert_eq!(store.key("1").await.unwrap().last_used_at, Some(50));
    assert_eq!(store.key("3").await.unwrap().last_used_at, None);
}

async fn a_revoked_key_stays_revoked_since_then(place: &Place) {
    let store = with_keys(place).await;
    let revoke = async |id: &str, at| {
        let change = Change::RevokeKey { id: id.to_owned(), at };
        store.commit(vec![change], vec![]).await.map(drop)
    };
    revoke("1", 60).await.unwrap();
    revoke("1", 70).await.unwrap();
    assert_eq!(store.key("1").await.unwrap().revoked_at, Some(60));
    assert_eq!(store.key("2").await.unwrap().revoked_at, None);
    assert_eq!(revoke("gone", 1).await, Err(StoreError::NotFound));
}

async fn the_limits_of_a_key_can_be_changed(place: &Place) {
    let store = with_keys(place).await;
    let limit = |id: &str, limits: Option<&str>| {
        vec![Change::LimitKey { id: id.to_owned(), limits: limits.map(str::to_owned) }]
    };
    store.commit(limit("1", Some(r#"{"burst":5}"#)), vec![]).await.unwrap();
    store.commit(limit("2", None), vec![]).await.unwrap();
    assert_eq!(store.key("1").await.unwrap().limits.as_deref(), Some(r#"{"burst":5}"#));
    assert_eq!(store.key("2").await.unwrap().limits, None);
    assert_eq!(store.commit(limit("9", None), vec![]).await, Err(StoreError::NotFound));
}

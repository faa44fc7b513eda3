//! The schema: made by whoever comes first, and left alone when it is newer than we are.

use trunkline_store::{Change, Store, StoreError};

use crate::on_both;
use crate::place::{Place, a_server, options};

on_both! { schema:
    several_may_open_a_new_store_at_once,
    a_newer_store_is_refused_and_not_touched,
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
    assert_eq!(outcome, Err(StoreError::Newer { found: 99, known: 1 }));
    assert_eq!(place.contents().await, before);
    place.tamper("UPDATE schema_version SET version = 1").await.unwrap();
    assert_eq!(place.open().await.server("a").await.unwrap(), a_server("a"));
}

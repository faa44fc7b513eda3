//! Pins: replaced by who has read them, to the byte, and gone with their server.

use trunkline_store::{Change, PinsRecord, Store, StoreError};

use crate::on_both;
use crate::place::{Place, a_server};

on_both! { pins:
    a_document_is_kept_to_the_byte,
    who_has_not_read_the_last_document_does_not_replace_it,
    what_waits_is_found_and_a_decision_is_marked,
    a_removed_server_takes_its_pins_along,
    the_last_entries_of_a_server_are_kept,
}

fn pins(entry: &str, server: &str, document: &[u8]) -> PinsRecord {
    PinsRecord {
        entry: entry.to_owned(),
        server_id: server.to_owned(),
        document: document.to_vec(),
        waiting: 0,
        revision: 1,
        decided_at: 0,
        updated_at: 7,
    }
}

async fn put(store: &Store, record: PinsRecord, expected: Option<i64>) -> Result<(), StoreError> {
    store.commit(vec![Change::PutPins { record, expected }], vec![]).await.map(drop)
}

async fn a_document_is_kept_to_the_byte(place: &Place) {
    let store = place.open().await;
    assert_eq!(store.pins("e").await.unwrap(), None);
    let document: Vec<u8> = (0..=255).collect();
    put(&store, pins("e", "file:a", &document), None).await.unwrap();
    assert_eq!(store.pins("e").await.unwrap(), Some(pins("e", "file:a", &document)));
    assert_eq!(store.pins("other").await.unwrap(), None);
}

async fn who_has_not_read_the_last_document_does_not_replace_it(place: &Place) {
    let store = place.open().await;
    put(&store, pins("e", "file:a", b"1"), None).await.unwrap();
    let stale = put(&store, pins("e", "file:a", b"2"), None).await;
    assert!(matches!(stale, Err(StoreError::Stale)), "{stale:?}");
    put(&store, pins("e", "file:a", b"3"), Some(1)).await.unwrap();
    let stale = put(&store, pins("e", "file:a", b"4"), Some(1)).await;
    assert!(matches!(stale, Err(StoreError::Stale)), "{stale:?}");
    let expected = PinsRecord { revision: 2, ..pins("e", "file:a", b"3") };
    assert_eq!(store.pins("e").await.unwrap(), Some(expected));
}

async fn what_waits_is_found_and_a_decision_is_marked(place: &Place) {
    let store = place.open().await;
    let before = store.pins_mark().await.unwrap();
    put(&store, pins("e", "file:a", b"1"), None).await.unwrap();
    let waits = PinsRecord { waiting: 2, ..pins("f", "file:b", b"2") };
    put(&store, waits.clone(), None).await.unwrap();
    assert_eq!(store.waiting_pins().await.unwrap(), std::slice::from_ref(&waits));
    assert_eq!(store.pins_mark().await.unwrap(), before, "nobody has decided anything");
    put(&store, PinsRecord { waiting: 0, decided_at: 9, ..waits }, Some(1)).await.unwrap();
    assert_ne!(store.pins_mark().await.unwrap(), before);
    assert_eq!(store.waiting_pins().await.unwrap(), []);
}

async fn a_removed_server_takes_its_pins_along(place: &Place) {
    let store = place.open().await;
    let server = a_server("a");
    let id = server.id.clone();
    store.commit(vec![Change::InsertServer(server)], vec![]).await.unwrap();
    put(&store, pins("e", &id, b"1"), None).await.unwrap();
    put(&store, pins("f", "file:a", b"1"), None).await.unwrap();
    store.commit(vec![Change::DeleteServer { id, expected: None }], vec![]).await.unwrap();
    assert_eq!(store.pins("e").await.unwrap(), None);
    assert!(store.pins("f").await.unwrap().is_some());
}

async fn the_last_entries_of_a_server_are_kept(place: &Place) {
    let store = place.open().await;
    for number in 0..10 {
        let record = PinsRecord { updated_at: number, ..pins(&number.to_string(), "file:a", b"") };
        put(&store, record, None).await.unwrap();
    }
    put(&store, pins("b", "file:b", b""), None).await.unwrap();
    assert_eq!(store.pins("1").await.unwrap(), None);
    for kept in ["2", "9", "b"] {
        assert!(store.pins(kept).await.unwrap().is_some(), "{kept}");
    }
}

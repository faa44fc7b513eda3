//! What servers listed last: the last writer counts, and what belongs to a server goes with it.

use trunkline_store::{Change, KnownListingRecord, Store};

use crate::on_both;
use crate::place::{Place, a_server};

on_both! { known_listings:
    a_document_is_kept_to_the_byte_and_replaced,
    many_are_read_at_once,
    a_removed_server_takes_its_listings_along,
    the_last_entries_of_a_server_are_kept,
    what_is_old_can_be_removed,
}

fn listing(entry: &str, server: &str, document: &[u8]) -> KnownListingRecord {
    KnownListingRecord {
        entry: entry.to_owned(),
        server_id: server.to_owned(),
        document: document.to_vec(),
        updated_at: 7,
    }
}

async fn entries(store: &Store, wanted: &[&str]) -> Vec<String> {
    let wanted = wanted.iter().map(|entry| (*entry).to_owned()).collect();
    let mut found: Vec<_> =
        store.known_listings(wanted).await.unwrap().into_iter().map(|it| it.entry).collect();
    found.sort();
    found
}

async fn a_document_is_kept_to_the_byte_and_replaced(place: &Place) {
    let store = place.open().await;
    let wanted = || vec!["e".to_owned(), "other".to_owned()];
    assert_eq!(store.known_listings(wanted()).await.unwrap(), []);
    let document: Vec<u8> = (0..=255).collect();
    for record in [
        listing("e", "file:a", &document),
        KnownListingRecord { updated_at: 9, ..listing("e", "file:a", b"new") },
    ] {
        store.put_known_listing(record.clone()).await.unwrap();
        assert_eq!(store.known_listings(wanted()).await.unwrap(), [record]);
    }
}

async fn many_are_read_at_once(place: &Place) {
    let store = place.open().await;
    let names: Vec<String> = (0..450).map(|number| format!("e{number:03}")).collect();
    for name in &names {
        store.put_known_listing(listing(name, name, b"x")).await.unwrap();
    }
    let wanted: Vec<&str> = names.iter().map(String::as_str).collect();
    assert_eq!(entries(&store, &wanted).await, names);
    assert_eq!(entries(&store, &[]).await, Vec::<String>::new());
}

async fn a_removed_server_takes_its_listings_along(place: &Place) {
    let store = place.open().await;
    let server = a_server("a");
    let id = server.id.clone();
    store.commit(vec![Change::InsertServer(server)], vec![]).await.unwrap();
    store.put_known_listing(listing("e", &id, b"1")).await.unwrap();
    store.put_known_listing(listing("f", "file:a", b"1")).await.unwrap();
    store.commit(vec![Change::DeleteServer { id, expected: None }], vec![]).await.unwrap();
    assert_eq!(entries(&store, &["e", "f"]).await, ["f"]);
}

async fn the_last_entries_of_a_server_are_kept(place: &Place) {
    let store = place.open().await;
    for number in 0..6 {
        let record = listing(&number.to_string(), "file:a", b"");
        let record = KnownListingRecord { updated_at: number, ..record };
        store.put_known_listing(record).await.unwrap();
    }
    store.put_known_listing(listing("b", "file:b", b"")).await.unwrap();
    let all = ["0", "1", "2", "3", "4", "5", "b"];
    assert_eq!(entries(&store, &all).await, ["2", "3", "4", "5", "b"]);
}

async fn what_is_old_can_be_removed(place: &Place) {
    let store = place.open().await;
    store.put_known_listing(listing("old", "file:a", b"")).await.unwrap();
    let new = KnownListingRecord { updated_at: 8, ..listing("new", "file:b", b"") };
    store.put_known_listing(new).await.unwrap();
    assert_eq!(store.prune_known_listings(8).await.unwrap(), 1);
    assert_eq!(entries(&store, &["old", "new"]).await, ["new"]);
}

//! Samples of health: appended, read newest first, pruned.

use trunkline_store::{Change, HealthSample};

use crate::on_both;
use crate::place::{Place, a_server};

on_both! { health:
    samples_are_read_newest_first_and_pruned,
}

async fn samples_are_read_newest_first_and_pruned(place: &Place) {
    let store = place.open().await;
    for id in ["a", "b"] {
        store.commit(vec![Change::InsertServer(a_server(id))], vec![]).await.unwrap();
    }
    let sample = |server: &str, at| HealthSample {
        server_id: server.to_owned(),
        at,
        ok: at % 2 == 0,
        status: "CONNECTED".to_owned(),
        response_ms: (at > 1).then_some(at * 10),
        detail: (at > 2).then(|| format!("said\0{at}")),
    };
    // One of a server that is gone, and one twice.
    let batch: Vec<_> = (0..600)
        .flat_map(|at| [sample("a", at), sample("b", at), sample("gone", at)])
        .chain([sample("a", 7)])
        .collect();
    store.append_health(batch).await.unwrap();
    store.append_health(vec![]).await.unwrap();
    let found = store.health("a", 3).await.unwrap();
    let stored = |at| HealthSample { detail: Some(format!("said\u{fffd}{at}")), ..sample("a", at) };
    assert_eq!(found, [stored(599), stored(598), stored(597)]);
    assert_eq!(store.health("gone", 3).await.unwrap(), []);
    assert_eq!(store.prune_health(599).await.unwrap(), 2 * 599);
    assert_eq!(store.health("a", 10).await.unwrap().len(), 1);
    let delete = Change::DeleteServer { id: "a".to_owned(), expected: None };
    store.commit(vec![delete], vec![]).await.unwrap();
    assert_eq!(store.health("a", 10).await.unwrap(), []);
    assert_eq!(store.health("b", 10).await.unwrap().len(), 1);
}

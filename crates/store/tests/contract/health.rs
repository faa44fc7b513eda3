//! Samples of health: appended, read newest first, pruned.

use trunkline_store::{Change, HealthSample};

use crate::on_both;
use crate::place::{Place, a_server};

on_both! { health:
    samples_are_read_newest_first_and_pruned,
    samples_of_servers_of_the_configuration_file_are_kept,
}

async fn samples_are_read_newest_first_and_pruned(place: &Place) {
    let store = place.open().await;
    for id in ["a", "b"] {
        store.commit(vec![Change::InsertServer(a_server(id))], vec![]).await.unwrap();
    }
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

async fn samples_of_servers_of_the_configuration_file_are_kept(place: &Place) {
    let store = place.open().await;
    store.append_health(vec![sample("file:a", 1), sample("file:b", 2)]).await.unwrap();
    assert_eq!(store.health("file:a", 9).await.unwrap(), [sample("file:a", 1)]);
    assert_eq!(store.prune_health(2).await.unwrap(), 1);
    assert_eq!(store.health("file:b", 9).await.unwrap(), [sample("file:b", 2)]);
}

fn sample(server: &str, at: i64) -> HealthSample {
    HealthSample {
        server_id: server.to_owned(),
        at,
        ok: at % 2 == 0,
        status: "CONNECTED".to_owned(),
        response_ms: (at > 1).then_some(at * 10),
        detail: (at > 2).then(|| format!("said\0{at}")),
    }
}

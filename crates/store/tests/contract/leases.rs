//! Leases: one holder at a time, in all processes, and nobody for ever.

use std::time::Duration;

use crate::on_both;
use crate::place::Place;

on_both! { leases:
    a_lease_has_one_holder_until_it_is_given_back,
    a_lease_of_somebody_who_died_ends,
    of_many_who_ask_at_once_one_gets_it,
}

const LONG: Duration = Duration::from_secs(3600);

async fn a_lease_has_one_holder_until_it_is_given_back(place: &Place) {
    let (one, other) = (place.open().await, place.open().await);
    assert!(one.take_lease("a", "1", LONG).await.unwrap());
    assert!(!other.take_lease("a", "2", LONG).await.unwrap());
    assert!(other.take_lease("b", "2", LONG).await.unwrap());
    // Nobody gives back what is another's.
    other.end_lease("a", "2").await.unwrap();
    assert!(!other.take_lease("a", "2", LONG).await.unwrap());
    one.end_lease("a", "1").await.unwrap();
    assert!(other.take_lease("a", "2", LONG).await.unwrap());
}

async fn a_lease_of_somebody_who_died_ends(place: &Place) {
    let store = place.open().await;
    assert!(store.take_lease("a", "dead", Duration::ZERO).await.unwrap());
    assert!(store.take_lease("a", "1", LONG).await.unwrap());
    store.end_lease("a", "dead").await.unwrap();
    assert!(!store.take_lease("a", "2", LONG).await.unwrap(), "it is the next one's");
    // One that was taken before the clock was set back does not last until then.
    assert!(store.take_lease("a", "2", Duration::from_secs(1)).await.unwrap());
}

async fn of_many_who_ask_at_once_one_gets_it(place: &Place) {
    let stores = [place.open().await, place.open().await, place.open().await];
    let ask = |at: usize| {
        let (store, holder) = (stores[at % 3].clone(), at.to_string());
        async move { store.take_lease("a", &holder, LONG).await.unwrap() }
    };
    let mut asking = tokio::task::JoinSet::new();
    (0..12).for_each(|at| drop(asking.spawn(ask(at))));
    let taken = asking.join_all().await;
    assert_eq!(taken.into_iter().filter(|taken| *taken).count(), 1);
}

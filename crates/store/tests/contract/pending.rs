//! Logins under way: each is taken once, in time, by whoever comes first.

use trunkline_store::{Change, PendingLogin};

use crate::on_both;
use crate::place::{Place, a_server};

on_both! { pending:
    a_login_is_taken_once_and_in_time,
    of_too_many_the_oldest_go,
    of_many_who_come_back_at_once_one_is_let_in,
    a_removed_server_takes_its_logins_along,
}

fn login(id: &str, server: &str, expires_at: i64) -> PendingLogin {
    let (id, server_id) = (id.to_owned(), server.to_owned());
    PendingLogin { id, server_id, sealed: vec![1, 2], expires_at }
}

async fn a_login_is_taken_once_and_in_time(place: &Place) {
    let (one, other) = (place.open().await, place.open().await);
    for (id, expires_at) in [("a", 10), ("b", 10)] {
        one.put_pending_login(login(id, "s", expires_at), 1).await.unwrap();
    }
    assert_eq!(other.take_pending_login("x", 9).await.unwrap(), None);
    assert_eq!(other.take_pending_login("a", 9).await.unwrap(), Some(login("a", "s", 10)));
    assert_eq!(one.take_pending_login("a", 9).await.unwrap(), None, "it was taken");
    assert_eq!(one.take_pending_login("b", 10).await.unwrap(), None, "it is late");
}

async fn of_too_many_the_oldest_go(place: &Place) {
    let one = place.open().await;
    one.put_pending_login(login("c", "s", 20), 1).await.unwrap();
    for number in 0..300 {
        let (id, at) = (format!("n{number:03}"), 100 + number);
        one.put_pending_login(login(&id, "s", at), 2).await.unwrap();
    }
    assert_eq!(one.take_pending_login("c", 3).await.unwrap(), None, "there were too many");
    assert_eq!(one.take_pending_login("n000", 3).await.unwrap(), None);
    assert!(one.take_pending_login("n299", 3).await.unwrap().is_some());
}

async fn of_many_who_come_back_at_once_one_is_let_in(place: &Place) {
    let stores = [place.open().await, place.open().await];
    stores[0].put_pending_login(login("a", "s", 10), 1).await.unwrap();
    let mut taking = tokio::task::JoinSet::new();
    for at in 0..8 {
        let store = stores[at % 2].clone();
        taking.spawn(async move { store.take_pending_login("a", 2).await.unwrap() });
    }
    let taken = taking.join_all().await;
    assert_eq!(taken.into_iter().flatten().count(), 1);
}

async fn a_removed_server_takes_its_logins_along(place: &Place) {
    let store = place.open().await;
    store.commit(vec![Change::InsertServer(a_server("a"))], vec![]).await.unwrap();
    for (id, server) in [("1", "a"), ("2", "b"), ("3", "c")] {
        store.put_pending_login(login(id, server, 10), 1).await.unwrap();
    }
    let delete = Change::DeleteServer { id: "a".to_owned(), expected: None };
    store.commit(vec![delete], vec![]).await.unwrap();
    store.forget_pending_logins("b").await.unwrap();
    for (id, is_there) in [("1", false), ("2", false), ("3", true)] {
        assert_eq!(store.take_pending_login(id, 2).await.unwrap().is_some(), is_there, "{id}");
    }
}

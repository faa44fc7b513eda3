//! Which replicas there are, which of them has a task, and values that are replaced by one of several.

use trunkline_store::ReplicaRecord;

use crate::on_both;
use crate::place::Place;

on_both! { replicas:
    who_is_there_is_known_to_all_until_it_leaves_or_falls_silent,
    a_task_is_with_whoever_had_it_first,
    of_two_who_replace_a_value_one_does,
}

const LONG: i64 = 3_600_000;

fn replica(id: &str, address: &str) -> ReplicaRecord {
    ReplicaRecord { id: id.to_owned(), address: address.to_owned() }
}

async fn who_is_there_is_known_to_all_until_it_leaves_or_falls_silent(place: &Place) {
    let (one, other) = (place.open().await, place.open().await);
    let first = one.replica_beat("1", "http://a", LONG).await.unwrap();
    assert_eq!(first.replicas, [replica("1", "http://a")]);
    let both = other.replica_beat("2", "http://b", LONG).await.unwrap();
    assert_eq!(both.replicas, [replica("1", "http://a"), replica("2", "http://b")]);
    assert!(both.now >= first.now && first.now > 0);
    // It moved.
    one.replica_beat("1", "http://c", LONG).await.unwrap();
    let all = other.replicas(LONG).await.unwrap();
    assert_eq!(all.replicas, [replica("1", "http://c"), replica("2", "http://b")]);
    one.replica_leave("1").await.unwrap();
    assert_eq!(other.replicas(LONG).await.unwrap().replicas, [replica("2", "http://b")]);
    // Nobody is heard of after the present.
    assert_eq!(other.replicas(-LONG).await.unwrap().replicas, []);
}

async fn a_task_is_with_whoever_had_it_first(place: &Place) {
    let (one, other) = (place.open().await, place.open().await);
    let tasks = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    one.put_tasks("1", tasks(&["a", "b"])).await.unwrap();
    other.put_tasks("2", tasks(&["b", "c"])).await.unwrap();
    for (task, expected) in [("a", Some("1")), ("b", Some("1")), ("c", Some("2")), ("d", None)] {
        let found = other.replica_of_task(task).await.unwrap();
        assert_eq!(found.as_deref(), expected, "{task}");
    }
}

async fn of_two_who_replace_a_value_one_does(place: &Place) {
    let (one, other) = (place.open().await, place.open().await);
    one.put_setting("a", vec![1]).await.unwrap();
    assert!(one.replace_setting("a", vec![1], vec![2]).await.unwrap());
    assert!(!other.replace_setting("a", vec![1], vec![3]).await.unwrap());
    assert!(!other.replace_setting("b", vec![1], vec![3]).await.unwrap());
    assert_eq!(other.setting("a").await.unwrap(), Some(vec![2]));
}

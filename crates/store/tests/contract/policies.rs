//! Policies: kept to the letter, changed only by who has read the whole set, one transaction with their record.

use trunkline_store::{AuditFilter, Change, NewAudit, PolicyRecord, Store, StoreError};

use crate::on_both;
use crate::place::Place;

on_both! { policies:
    a_policy_is_kept_to_the_letter_and_replaced,
    who_has_not_read_the_last_set_changes_nothing,
    a_revision_never_comes_again,
    of_two_that_change_the_set_at_once_one_is_stale,
}

fn policy(id: &str, text: &str, at: i64) -> PolicyRecord {
    PolicyRecord {
        id: id.to_owned(),
        text: text.to_owned(),
        created_at: at,
        updated_at: at,
        updated_by: "admin".to_owned(),
        revision: 0,
    }
}

async fn put(store: &Store, record: PolicyRecord, expected: i64) -> Result<(), StoreError> {
    let audit = NewAudit { action: "put-policy".to_owned(), ..NewAudit::default() };
    store.commit(vec![Change::PutPolicy { record, expected }], vec![audit]).await.map(drop)
}

async fn delete(store: &Store, id: &str, expected: i64) -> Result<(), StoreError> {
    let change = Change::DeletePolicy { id: id.to_owned(), expected };
    store.commit(vec![change], vec![]).await.map(drop)
}

async fn a_policy_is_kept_to_the_letter_and_replaced(place: &Place) {
    let store = place.open().await;
    assert_eq!(store.policies().await.unwrap().policies, []);
    let text = "permit(principal, action, resource);\r\n\t// \u{1f600} 'x' \"y\" $1\n";
    put(&store, policy("b", text, 1), 0).await.unwrap();
    put(&store, policy("a", "1", 2), 1).await.unwrap();
    put(&store, policy("b", "2", 3), 2).await.unwrap();
    let set = store.policies().await.unwrap();
    assert_eq!((set.revision, store.policies_revision().await.unwrap()), (3, 3));
    // It keeps the time at which it was made.
    let second = PolicyRecord { created_at: 1, revision: 3, ..policy("b", "2", 3) };
    assert_eq!(set.policies, [PolicyRecord { revision: 2, ..policy("a", "1", 2) }, second]);
    put(&store, policy("c", text, 4), 3).await.unwrap();
    assert_eq!(store.policies().await.unwrap().policies[2].text, text);
}

async fn who_has_not_read_the_last_set_changes_nothing(place: &Place) {
    let store = place.open().await;
    put(&store, policy("a", "1", 1), 0).await.unwrap();
    let before = store.policies().await.unwrap();
    for stale in [put(&store, policy("b", "2", 2), 0).await, delete(&store, "a", 0).await] {
        assert!(matches!(stale, Err(StoreError::Stale)), "{stale:?}");
    }
    let missing = delete(&store, "x", 1).await;
    assert!(matches!(missing, Err(StoreError::NotFound)), "{missing:?}");
    assert_eq!(store.policies().await.unwrap(), before);
    let records = store.audit(AuditFilter::default(), 10).await.unwrap();
    assert_eq!(records.len(), 1, "what was refused has no record: {records:?}");
}

async fn a_revision_never_comes_again(place: &Place) {
    let store = place.open().await;
    put(&store, policy("a", "1", 1), 0).await.unwrap();
    delete(&store, "a", 1).await.unwrap();
    put(&store, policy("a", "1", 1), 2).await.unwrap();
    assert_eq!(store.policies().await.unwrap().policies[0].revision, 3);
}

async fn of_two_that_change_the_set_at_once_one_is_stale(place: &Place) {
    let (here, there) = (place.open().await, place.open().await);
    let (a, b) =
        tokio::join!(put(&here, policy("a", "1", 1), 0), put(&there, policy("b", "2", 1), 0));
    let stale = [&a, &b].into_iter().filter(|it| matches!(it, Err(StoreError::Stale))).count();
    assert!(stale == 1 && (a.is_ok() || b.is_ok()), "{a:?} {b:?}");
    assert_eq!(here.policies().await.unwrap().policies.len(), 1);
}

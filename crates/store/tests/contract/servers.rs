//! Servers: written, found, paged, changed by one at a time, removed with all that is theirs.

use trunkline_store::{
    AuditVerdict, Change, DesiredState, NewAudit, ServerRecord, StoreError, Transport,
};

use crate::on_both;
use crate::place::{Place, a_server};

on_both! { servers:
    a_server_is_read_as_it_was_written,
    a_name_is_taken_once,
    servers_are_paged_by_the_bytes_of_their_names,
    only_who_knows_the_revision_changes_a_server,
    of_two_who_know_the_revision_one_changes_the_server,
    a_change_and_its_audit_record_are_made_together_or_not_at_all,
    a_text_that_only_one_database_could_hold_is_refused,
    all_is_there_after_the_store_was_opened_again,
    settings_are_set_once_or_again,
}

async fn a_server_is_read_as_it_was_written(place: &Place) {
    let store = place.open().await;
    let servers = [
        a_server("a"),
        ServerRecord {
            transport: Transport::Stdio,
            wanted: DesiredState::Disconnected,
            auto_connect: false,
            description: String::new(),
            health_check_url: Some("https://example.com/health?a=$1".to_owned()),
            config: "{\"a\":\"\u{1f980} 'quoted' \\\"\"}".to_owned(),
            created_at: i64::MAX,
            updated_at: -5,
            ..a_server("b")
        },
        ServerRecord { transport: Transport::Sse, name: "ü 名".to_owned(), ..a_server("c") },
    ];
    for server in &servers {
        let given = ServerRecord { revision: 77, ..server.clone() };
        store.commit(vec![Change::InsertServer(given)], vec![]).await.unwrap();
        assert_eq!(store.server(&server.id).await.unwrap(), *server);
        assert_eq!(store.server_by_name(&server.name).await.unwrap(), *server);
    }
    assert_eq!(store.server("nobody").await, Err(StoreError::NotFound));
    assert_eq!(store.server_by_name("nobody").await, Err(StoreError::NotFound));
}

async fn a_name_is_taken_once(place: &Place) {
    let store = place.open().await;
    store.commit(vec![Change::InsertServer(a_server("a"))], vec![]).await.unwrap();
    store.commit(vec![Change::InsertServer(a_server("b"))], vec![]).await.unwrap();
    let same_name = ServerRecord { name: "name-a".to_owned(), ..a_server("c") };
    let outcome = store.commit(vec![Change::InsertServer(same_name)], vec![]).await;
    assert_eq!(outcome.unwrap_err().to_string(), "there is already a server with this name");
    let renamed = ServerRecord { name: "name-a".to_owned(), ..a_server("b") };
    let change = Change::UpdateServer { record: renamed, expected: 1 };
    let outcome = store.commit(vec![change], vec![]).await;
    assert!(matches!(outcome, Err(StoreError::Conflict { .. })), "{outcome:?}");
    assert_eq!(store.server("b").await.unwrap(), a_server("b"));
    assert_eq!(store.server("c").await, Err(StoreError::NotFound));
}

async fn servers_are_paged_by_the_bytes_of_their_names(place: &Place) {
    let store = place.open().await;
    let names = ["Zebra", "a-b", "a.b", "aB", "ab", "b", "ä", "名"];
    for (at, name) in names.iter().enumerate().rev() {
        let server = ServerRecord { name: (*name).to_owned(), ..a_server(&at.to_string()) };
        store.commit(vec![Change::InsertServer(server)], vec![]).await.unwrap();
    }
    let (mut found, mut after) = (Vec::new(), String::new());
    loop {
        let page = store.servers(&after, 3).await.unwrap();
        assert!(page.len() <= 3);
        let Some(last) = page.last() else { break };
        after.clone_from(&last.name);
        found.extend(page.into_iter().map(|server| server.name));
    }
    assert_eq!(found, names);
}

async fn only_who_knows_the_revision_changes_a_server(place: &Place) {
    let store = place.open().await;
    store.commit(vec![Change::InsertServer(a_server("a"))], vec![]).await.unwrap();
    let changed = ServerRecord { description: "new".to_owned(), created_at: 99, ..a_server("a") };
    let update = |expected| Change::UpdateServer { record: changed.clone(), expected };
    store.commit(vec![update(1)], vec![]).await.unwrap();
    let expected = ServerRecord { created_at: 1, revision: 2, ..changed.clone() };
    assert_eq!(store.server("a").await.unwrap(), expected);
    assert_eq!(store.commit(vec![update(1)], vec![]).await, Err(StoreError::Stale));
    let delete = |expected| Change::DeleteServer { id: "a".to_owned(), expected };
    assert_eq!(store.commit(vec![delete(Some(1))], vec![]).await, Err(StoreError::Stale));
    store.commit(vec![delete(Some(2))], vec![]).await.unwrap();
    assert_eq!(store.commit(vec![delete(None)], vec![]).await, Err(StoreError::NotFound));
    assert_eq!(store.commit(vec![update(2)], vec![]).await, Err(StoreError::NotFound));
}

async fn of_two_who_know_the_revision_one_changes_the_server(place: &Place) {
    let (store, other) = (place.open().await, place.open().await);
    store.commit(vec![Change::InsertServer(a_server("a"))], vec![]).await.unwrap();
    for expected in 1..10 {
        let update = || vec![Change::UpdateServer { record: a_server("a"), expected }];
        let (one, two) =
            tokio::join!(store.commit(update(), vec![]), other.commit(update(), vec![]));
        let outcomes = [one, two];
        assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
        assert!(outcomes.contains(&Err(StoreError::Stale)), "{outcomes:?}");
        assert_eq!(store.server("a").await.unwrap().revision, expected + 1);
    }
}

async fn a_change_and_its_audit_record_are_made_together_or_not_at_all(place: &Place) {
    let store = place.open().await;
    let audit = || NewAudit { action: "server.create".to_owned(), ..NewAudit::default() };
    let done = store.commit(vec![Change::InsertServer(a_server("a"))], vec![audit()]).await;
    assert_eq!(done.unwrap().last_audit, 1);
    let changes = vec![Change::InsertServer(a_server("b")), Change::InsertServer(a_server("a"))];
    let outcome = store.commit(changes, vec![audit()]).await;
    assert!(matches!(outcome, Err(StoreError::Conflict { .. })));
    assert_eq!(store.server("b").await, Err(StoreError::NotFound));
    let verdict = store.verify_audit().await.unwrap();
    assert!(matches!(verdict, AuditVerdict::Verified { records: 1, .. }), "{verdict:?}");

    // The other way round: what cannot be audited is not done.
    place.tamper("DELETE FROM settings WHERE name = 'audit.head'").await.unwrap();
    let outcome = store.commit(vec![Change::InsertServer(a_server("b"))], vec![audit()]).await;
    assert!(matches!(outcome, Err(StoreError::Corrupt { .. })), "{outcome:?}");
    assert_eq!(store.server("b").await, Err(StoreError::NotFound));
}

async fn a_text_that_only_one_database_could_hold_is_refused(place: &Place) {
    let store = place.open().await;
    let server = ServerRecord { description: "a\0b".to_owned(), ..a_server("a") };
    let outcome = store.commit(vec![Change::InsertServer(server)], vec![]).await;
    assert!(matches!(outcome, Err(StoreError::Invalid { .. })), "{outcome:?}");
    assert_eq!(store.servers("", 10).await.unwrap(), []);
}

async fn all_is_there_after_the_store_was_opened_again(place: &Place) {
    let store = place.open().await;
    store.commit(vec![Change::InsertServer(a_server("a"))], vec![]).await.unwrap();
    store.close().await;
    let outcome = store.server("a").await;
    assert!(matches!(outcome, Err(StoreError::Unavailable { .. })), "{outcome:?}");
    let again = place.open().await;
    assert_eq!(again.server("a").await.unwrap(), a_server("a"));
}

async fn settings_are_set_once_or_again(place: &Place) {
    let store = place.open().await;
    assert_eq!(store.setting("a").await.unwrap(), None);
    let first = store.put_setting_if_absent("a", vec![1]).await.unwrap();
    let second = store.put_setting_if_absent("a", vec![2]).await.unwrap();
    assert_eq!((first, second), (vec![1], vec![1]));
    store.put_setting("a", vec![]).await.unwrap();
    assert_eq!(store.setting("a").await.unwrap(), Some(vec![]));
    let other = place.open().await;
    let (one, two) = tokio::join!(
        store.put_setting_if_absent("b", vec![1]),
        other.put_setting_if_absent("b", vec![2])
    );
    assert_eq!(one.unwrap(), two.unwrap());
}

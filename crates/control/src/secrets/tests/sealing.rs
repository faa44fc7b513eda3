//! What is sealed and what is shown.

use trunkline_catalog::config::{CallRules, OnChange, SandboxProfile, Transport};
use trunkline_store::Change;

use super::place::{record, remote, safe, stdio};
use crate::scratch::Folder;
use crate::secrets::{Connection, SecretError, shown};

fn all_kinds() -> Vec<Connection> {
    vec![
        stdio(&["-y", "x"], &[("TOKEN", "canary-1"), ("EMPTY", ""), ("PEM", "canary\r\n6\n")]),
        remote("https://h/mcp", &[]),
        Connection { sandbox: Some(SandboxProfile::Strict.rules()), ..stdio(&[], &[]) },
        Connection {
            health_check_url: Some("https://h/health?key=canary-2".to_owned()),
            calls: CallRules::of(|_| Some(500)),
            on_change: Some(OnChange::Hold),
            ..remote(
                "https://h/mcp?key=canary-3&canary-4",
                &[("Authorization", "Bearer canary-5"), ("X-Ref", "a${SOME}b${secret:other}")],
            )
        },
    ]
}

#[tokio::test]
async fn nfr_sec1_values_are_in_no_file_and_come_back_as_they_were() {
    let folder = Folder::new();
    let store = folder.store().await;
    let safe = safe(&store, 1).await;
    for (number, connection) in all_kinds().into_iter().enumerate() {
        let id = number.to_string();
        let kept = safe.seal(&id, &connection, 1).unwrap();
        let server = record(&id, &kept);
        let mut changes = vec![Change::InsertServer(server)];
        changes.extend(kept.changes(&[]));
        store.commit(changes, vec![]).await.unwrap();
        let server = store.server(&id).await.unwrap();
        let credentials = store.credentials(&id).await.unwrap();
        assert_eq!(safe.open(&server, &credentials).unwrap(), connection);
        let shown = shown(&server).unwrap();
        assert_eq!(shown.calls, connection.calls);
        assert_eq!(shown.on_change, connection.on_change);
        let text = format!("{server:?} {kept:?} {connection:?}");
        assert!(!text.contains("canary") && !text.contains("SOME"), "{text}");
    }
    store.close().await;
    let bytes = folder.bytes();
    assert!(bytes.windows(13).any(|part| part == b"Authorization"), "names are kept in the open");
    assert!(!bytes.windows(6).any(|part| part == b"canary"));
}

#[tokio::test]
async fn what_is_shown_has_names_and_no_values() {
    let folder = Folder::new();
    let safe = safe(&folder.store().await, 1).await;
    let connection = remote("https://h/mcp?key=canary", &[("Authorization", "canary")]);
    let kept = safe.seal("1", &connection, 1).unwrap();
    let shown = shown(&record("1", &kept)).unwrap();
    let Transport::Remote { url, headers, .. } = &shown.transport else { panic!("{shown:?}") };
    assert_eq!(url, "https://h/mcp?key=***");
    assert_eq!(headers, &[("Authorization".to_owned(), "***".to_owned())]);
}

#[tokio::test]
async fn a_secret_opens_only_in_its_own_place() {
    let folder = Folder::new();
    let safe = safe(&folder.store().await, 1).await;
    let connection = remote("https://h/mcp", &[("Authorization", "one"), ("X-Public", "two")]);
    let kept = safe.seal("1", &connection, 1).unwrap();
    let server = record("1", &kept);
    let [one, two] = [&kept.credentials[0], &kept.credentials[1]];
    let mut renamed = one.clone();
    renamed.name.clone_from(&two.name);
    let mut moved = renamed.clone();
    moved.id.clone_from(&two.id);
    let mut foreign = one.clone();
    foreign.owner = "2".to_owned();
    for bad in [renamed, moved, foreign] {
        let error = safe.open(&server, &[bad, one.clone()]).unwrap_err();
        assert!(matches!(error, SecretError::Unusable { .. }), "{error}");
    }
    let gone = safe.open(&server, std::slice::from_ref(one)).unwrap_err().to_string();
    assert!(gone.contains("header `X-Public`") && gone.contains("gone"), "{gone}");
}

#[tokio::test]
async fn values_that_cannot_be_sent_are_refused_by_name_only() {
    let folder = Folder::new();
    let safe = safe(&folder.store().await, 1).await;
    for connection in [
        remote("https://h", &[("X-Key", "canary\r\nEvil: 1")]),
        remote("https://h", &[("X-Key", "canary\n")]),
        stdio(&[], &[("X-Key", "canary\0")]),
        remote("https://h", &[("X-Key", "canary\ncanary")]),
        remote("https://h", &[("X-Key", "***")]),
    ] {
        let error = safe.seal("1", &connection, 1).unwrap_err();
        assert!(error.is_the_callers(), "{error}");
        assert!(error.to_string().contains("`X-Key`"), "{error}");
        assert!(!error.to_string().contains("canary"), "{error}");
    }
    let masked = remote("https://h?key=***", &[]);
    assert!(safe.seal("1", &masked, 1).unwrap_err().is_the_callers());
}

#[tokio::test]
async fn credentials_go_with_what_they_were_for() {
    let folder = Folder::new();
    let store = folder.store().await;
    let safe = safe(&store, 1).await;
    let before = remote("https://h?a=b", &[("Authorization", "one"), ("X-Old", "two")]);
    let kept = safe.seal("1", &before, 1).unwrap();
    store.commit(kept.changes(&[]), vec![]).await.unwrap();
    let old = store.credentials("1").await.unwrap();
    let after = remote("https://h", &[("authorization", "three")]);
    let kept = safe.seal("1", &after, 2).unwrap();
    store.commit(kept.changes(&old), vec![]).await.unwrap();
    let left = store.credentials("1").await.unwrap();
    let names: Vec<_> = left.iter().map(|credential| credential.name.as_str()).collect();
    assert_eq!(names, ["header:authorization"]);
    assert_eq!(safe.open(&record("1", &kept), &left).unwrap(), after);
}

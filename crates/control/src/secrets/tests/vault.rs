//! Grants of authorization servers in the store.

use std::sync::Arc;

use super::place::safe;
use crate::oauth::{Grant, Vault as _, VaultError};
use crate::scratch::Folder;
use crate::secrets::StoredGrants;

fn grant(issuer: &str, granted_at: i64) -> Grant {
    let json = format!(
        r#"{{"issuer":"{issuer}","resource":"https://h","token_endpoint":"https://i/token",
        "client":{{"id":"c","auth":"none","redirect_uri":"http://127.0.0.1/cb"}},
        "access_token":"canary-{granted_at}","refresh_token":"canary","issued_at":1,
        "expires_at":5000,"granted_at":{granted_at}}}"#
    );
    Grant::from_json(json.as_bytes()).unwrap()
}

#[tokio::test]
async fn grants_are_kept_sealed_and_the_newest_counts() {
    let folder = Folder::new();
    let store = folder.store().await;
    let grants = StoredGrants::new(store.clone(), Arc::new(safe(&store, 1).await));
    assert_eq!(grants.load("s").await.unwrap(), None);
    assert_eq!(grants.save("s", &grant("https://i", 1), None).await, Ok(1));
    assert_eq!(grants.save("s", &grant("https://i", 2), Some(1)).await, Ok(2));
    assert_eq!(grants.save("s", &grant("https://other", 9), None).await, Ok(1));
    let stale = grants.save("s", &grant("https://i", 3), Some(1)).await;
    assert_eq!(stale, Err(VaultError::Conflict));
    let newest = grants.load("s").await.unwrap().unwrap();
    assert_eq!((newest.grant, newest.revision), (grant("https://other", 9), 1));
    assert_eq!(grants.load("t").await.unwrap(), None);
    grants.delete("s", "https://other").await.unwrap();
    grants.delete("s", "https://other").await.unwrap();
    let left = grants.load("s").await.unwrap().unwrap();
    assert_eq!((left.grant, left.revision), (grant("https://i", 2), 2));

    let locked = StoredGrants::new(store.clone(), Arc::new(safe(&store, 2).await));
    let error = locked.load("s").await.unwrap_err().to_string();
    assert!(error.contains("locked"), "{error}");
    assert!(locked.save("s", &grant("https://i", 3), Some(2)).await.is_err());
    store.close().await;
    assert!(!folder.bytes().windows(6).any(|part| part == b"canary"));
}

//! Keys against a real store: made, used, expired, revoked, and changed by somebody else.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use trunkline_catalog::config::LimitRules;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use trunkline_store::AuditFilter;

use super::NewKey;
use super::{Actor, ApiKeys, CreatedKey, FixedTokens, KeysError, admin_token};
use crate::access::{
    Credential, KeyFault, Pepper, Principal, Refusal, Role, Use, WithoutToken, decide, id_of,
};
use crate::scratch::Folder;

async fn opened(folder: &Folder) -> ApiKeys {
    ApiKeys::open(folder.store().await, fixed()).await.unwrap()
}

const ADMIN: &str = "an-admin-token-of-the-tests";
const NOW: i64 = 1_000_000;

fn pepper() -> Arc<Pepper> {
    Arc::new(Pepper::new(&[1; 32]))
}

fn fixed() -> FixedTokens {
    FixedTokens {
        pepper: pepper(),
        admin_token: Some(pepper().mac(Use::AdminToken, ADMIN)),
        static_token: None,
        without_token: WithoutToken::Refused,
        certificates: Arc::default(),
        people: None,
        max_stale: Duration::from_secs(30),
        is_locked: false,
    }
}

fn new_key(tools: Option<&[&str]>, expires_at: Option<i64>) -> NewKey {
    let tools = tools.map(|tools| tools.iter().map(|&tool| tool.to_owned()).collect());
    let limits = LimitRules::default();
    NewKey { name: "ci".to_owned(), role: Role::Caller, tools, limits, expires_at }
}

fn asks(holder: &ApiKeys, token: &str, now: i64) -> Result<Principal, Refusal> {
    decide(Some(token), &holder.known(), u64::try_from(now / 1_000).unwrap())
}

async fn create(holder: &ApiKeys, new: &NewKey) -> Result<CreatedKey, KeysError> {
    let admin = asks(holder, ADMIN, NOW).unwrap();
    let by = Actor { principal: &admin, address: Some("127.0.0.1"), request_id: None };
    holder.create(new, by, NOW).await
}

async fn revoke(holder: &ApiKeys, id: &str) -> Result<(), KeysError> {
    let admin = asks(holder, ADMIN, NOW).unwrap();
    let by = Actor { principal: &admin, address: None, request_id: None };
    holder.revoke(id, by, NOW + 1).await
}

#[tokio::test]
async fn a_key_lets_in_until_it_is_revoked_and_each_change_is_in_the_audit() {
    let folder = Folder::new();
    let holder = opened(&folder).await;
    let first = holder.version();
    let created = create(&holder, &new_key(Some(&["github.*"]), None)).await.unwrap();
    let second = holder.version();
    assert_ne!(first, second);
    let secret = created.secret.expose();
    let principal = asks(&holder, secret, NOW).unwrap();
    assert_eq!((principal.name(), principal.role()), ("ci", Role::Caller));
    assert!(principal.grants().allows("github", "x") && !principal.grants().allows("x", "x"));

    revoke(&holder, &created.info.id).await.unwrap();
    assert_ne!(holder.version(), second);
    assert_eq!(asks(&holder, secret, NOW).unwrap_err(), Refusal::Key(KeyFault::Revoked));
    assert!(revoke(&holder, "abcdefghij").await.unwrap_err().is_not_found());

    let (listed, total) = holder.list("", 10).await.unwrap();
    assert_eq!((listed.len(), total, listed[0].revoked_at), (1, 1, Some(NOW + 1)));
    let records = holder.store.audit(AuditFilter::default(), 10).await.unwrap();
    let said: Vec<_> = records
        .iter()
        .map(|record| (record.what.action.as_str(), record.what.principal.as_str()))
        .collect();
    assert_eq!(said, [("revoke-key", "admin"), ("create-key", "admin")]);
    let text = format!("{records:?} {listed:?} {holder:?} {created:?}");
    assert!(!text.contains(secret) && !text.contains(ADMIN), "{text}");
}

#[tokio::test]
async fn keys_are_known_after_a_restart() {
    let folder = Folder::new();
    let holder = opened(&folder).await;
    let kept = create(&holder, &new_key(None, None)).await.unwrap();
    let revoked = create(&holder, &new_key(None, None)).await.unwrap();
    revoke(&holder, &revoked.info.id).await.unwrap();
    holder.store.close().await;
    let again = opened(&folder).await;
    assert!(asks(&again, kept.secret.expose(), NOW).is_ok());
    assert!(asks(&again, revoked.secret.expose(), NOW).is_err());
}

#[tokio::test]
async fn a_locked_store_makes_no_keys_and_the_admin_still_gets_in() {
    let folder = Folder::new();
    let made = create(&opened(&folder).await, &new_key(None, None)).await.unwrap();
    let other = Pepper::new(&[2; 32]);
    let admin_token = Some(other.mac(Use::AdminToken, ADMIN));
    let fixed = FixedTokens { pepper: Arc::new(other), admin_token, is_locked: true, ..fixed() };
    let holder = ApiKeys::open(folder.store().await, fixed).await.unwrap();
    let refused = create(&holder, &new_key(None, None)).await.unwrap_err();
    assert_eq!(refused, KeysError::Locked);
    assert!(asks(&holder, made.secret.expose(), NOW).is_err());
}

#[tokio::test]
async fn patterns_that_cannot_be_read_make_no_key() {
    let folder = Folder::new();
    let holder = opened(&folder).await;
    let refused = create(&holder, &new_key(Some(&["a.*", "x"]), None)).await.unwrap_err();
    assert!(matches!(refused, KeysError::Pattern { at: 1, .. }), "{refused}");
    assert_eq!(holder.list("", 10).await.unwrap().1, 0);
}

/// Runs a holder until the condition holds. The clock of the runtime is not paused: `SQLite` has a
/// thread of its own.
async fn run_until(holder: &Arc<ApiKeys>, clock: Arc<AtomicI64>, holds: impl Fn() -> bool) {
    let end = CancellationToken::new();
    let mut tasks = JoinSet::new();
    let (own, token) = (Arc::clone(holder), end.clone());
    tasks.spawn(async move { own.run(|| clock.load(Ordering::SeqCst), token).await });
    let wait = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), wait).await.expect("in time");
    end.cancel();
    tasks.join_all().await;
}

#[tokio::test]
async fn what_another_replica_changes_is_seen() {
    let folder = Folder::new();
    let ours = Arc::new(opened(&folder).await);
    let theirs = opened(&folder).await;
    let created = create(&theirs, &new_key(None, None)).await.unwrap();
    let secret = created.secret.expose();
    assert!(asks(&ours, secret, NOW).is_err());
    let clock = Arc::new(AtomicI64::new(NOW));
    run_until(&ours, Arc::clone(&clock), || asks(&ours, secret, NOW).is_ok()).await;
    revoke(&theirs, &created.info.id).await.unwrap();
    let before = ours.version();
    run_until(&ours, clock, || asks(&ours, secret, NOW).is_err()).await;
    assert_ne!(ours.version(), before);
}

#[tokio::test]
async fn the_version_changes_when_a_key_expires() {
    let folder = Folder::new();
    let holder = Arc::new(opened(&folder).await);
    create(&holder, &new_key(None, Some(NOW + 5_000))).await.unwrap();
    let before = holder.version();
    let clock = Arc::new(AtomicI64::new(NOW));
    let (end, mut tasks) = (CancellationToken::new(), JoinSet::new());
    let (own, token, time) = (Arc::clone(&holder), end.clone(), Arc::clone(&clock));
    tasks.spawn(async move { own.run(|| time.load(Ordering::SeqCst), token).await });
    tokio::task::yield_now().await;
    assert_eq!(holder.version(), before);
    clock.store(NOW + 5_000, Ordering::SeqCst);
    let wait = async {
        while holder.version() == before {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), wait).await.expect("in time");
    end.cancel();
    tasks.join_all().await;
}

#[tokio::test]
async fn the_last_use_is_written_down_at_the_latest_at_the_end() {
    let folder = Folder::new();
    let holder = Arc::new(opened(&folder).await);
    let created = create(&holder, &new_key(None, None)).await.unwrap();
    let principal = asks(&holder, created.secret.expose(), NOW).unwrap();
    let Credential::Key(id) = principal.credential() else { panic!("{principal:?}") };
    assert_eq!(Some(id.clone()), id_of(created.secret.expose()));
    holder.used(id, NOW + 7);
    run_until(&holder, Arc::new(AtomicI64::new(NOW + 7)), || true).await;
    let (listed, _) = holder.list("", 10).await.unwrap();
    assert_eq!(listed[0].last_used_at, Some(NOW + 7));
}

#[test]
fn the_admin_token_is_made_once_and_is_its_owners_only() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let first = admin_token(folder.path(), None, &pepper()).unwrap();
    let path = first.file.clone().unwrap();
    let token = first.fresh.unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_to_string(&path).unwrap().trim(), token.expose());
    assert!(token.expose().starts_with("tla_"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no draft is left");
    let again = admin_token(folder.path(), None, &pepper()).unwrap();
    assert!(again.fresh.is_none(), "it is shown once");
    assert_eq!(again.mac, first.mac);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let error = admin_token(folder.path(), None, &pepper()).unwrap_err().to_string();
    assert!(error.contains("chmod 600") && !error.contains(token.expose()), "{error}");
    let given = admin_token(folder.path(), Some(ADMIN), &pepper()).unwrap();
    assert_eq!(given.mac, pepper().mac(Use::AdminToken, ADMIN));
    for weak in ["", "short", "has spaces in it, and more", "täst-täst-täst-täst"] {
        assert!(admin_token(folder.path(), Some(weak), &pepper()).is_err(), "{weak}");
    }
}

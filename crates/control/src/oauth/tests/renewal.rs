//! Renewals: before the end, once, and kept before they are used.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use tokio::task::JoinSet;

use super::world::{LIFE, SERVER, World, fields_of};
use crate::oauth::{NoToken, Reason, Secret};

#[tokio::test]
async fn a_token_is_renewed_before_its_end_and_each_refresh_token_is_used_once() {
    let world = World::new().await;
    world.log_in().await;
    world.pass(LIFE - 61);
    assert_eq!(world.token().await.unwrap(), "access-2");
    world.settle().await;
    assert!(world.refreshes().is_empty());

    world.pass(1);
    assert_eq!(world.token().await.unwrap(), "access-2", "nobody waits while it is valid");
    world.settle().await;
    assert_eq!(world.token().await.unwrap(), "access-3");

    world.pass(LIFE);
    assert_eq!(world.token().await.unwrap(), "access-4");
    assert_eq!(world.refreshes(), ["refresh-2", "refresh-3"]);
    for sent in world.asked("/token") {
        assert_eq!(fields_of(&sent)["resource"], world.url());
    }
}

#[tokio::test]
async fn a_hundred_callers_at_the_end_cause_one_request() {
    let world = Arc::new(World::new().await);
    world.log_in().await;
    world.pass(LIFE + 1);
    let mut callers = JoinSet::new();
    for _ in 0..100 {
        let world = Arc::clone(&world);
        callers.spawn(async move { world.token().await.unwrap() });
    }
    let tokens = callers.join_all().await;
    assert_eq!(tokens.len(), 100);
    assert!(tokens.iter().all(|token| token == "access-3"), "{tokens:?}");
    assert_eq!(world.refreshes(), ["refresh-2"]);
}

#[tokio::test]
async fn a_caller_who_hangs_up_does_not_take_the_new_tokens_along() {
    let world = World::new().await;
    world.log_in().await;
    world.pass(LIFE);
    {
        let token = world.token();
        tokio::pin!(token);
        // Once, so that it has started; then it is dropped.
        assert!(polled_once(token.as_mut()).await.is_none());
    }
    world.settle().await;
    assert_eq!(world.token().await.unwrap(), "access-3");
    assert_eq!(world.refreshes(), ["refresh-2"]);
}

async fn polled_once<F: Future>(mut future: Pin<&mut F>) -> Option<F::Output> {
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

#[tokio::test]
async fn what_cannot_be_kept_is_not_used_and_not_asked_for_again() {
    let world = World::new().await;
    world.log_in().await;
    world.pass(LIFE);
    *world.vault.refuses_to_save.lock() = true;
    for _ in 0..3 {
        let no = world.token().await.unwrap_err();
        assert!(
            matches!(&no, NoToken::Unavailable { why, .. } if why.contains("disk is full")),
            "{no}"
        );
    }
    assert_eq!(world.refreshes(), ["refresh-2"]);
    assert!(!world.vault.grants(SERVER)[0].grant.is_lost());

    *world.vault.refuses_to_save.lock() = false;
    assert_eq!(world.token().await.unwrap(), "access-3");
    assert_eq!(world.refreshes(), ["refresh-2"]);
    // And what is kept goes on from there.
    world.pass(LIFE);
    assert_eq!(world.token().await.unwrap(), "access-4");
}

#[tokio::test]
async fn the_old_token_does_while_it_is_valid_and_the_new_one_cannot_be_kept() {
    let world = World::new().await;
    world.log_in().await;
    world.pass(LIFE - 30);
    *world.vault.refuses_to_save.lock() = true;
    for _ in 0..3 {
        assert_eq!(world.token().await.unwrap(), "access-2");
        world.settle().await;
    }
    assert_eq!(world.refreshes(), ["refresh-2"]);
}

#[tokio::test]
async fn what_was_kept_is_there_after_a_crash() {
    let world = World::new().await;
    world.log_in().await;
    world.pass(LIFE);
    world.token().await.unwrap();
    let token = world.another().access_token(SERVER, &world.url()).await.unwrap();
    assert_eq!(token.value.reveal(), "access-3");
    assert_eq!(world.refreshes(), ["refresh-2"]);
}

#[tokio::test]
async fn what_another_process_has_renewed_is_used() {
    let world = World::new().await;
    world.log_in().await;
    let another = world.another();
    another.access_token(SERVER, &world.url()).await.unwrap();
    world.pass(LIFE);
    assert_eq!(world.token().await.unwrap(), "access-3");
    let token = another.access_token(SERVER, &world.url()).await.unwrap();
    assert_eq!(token.value.reveal(), "access-3");
    assert_eq!(world.refreshes(), ["refresh-2"]);
}

/// The issuer ends a grant whose refresh token comes twice.
#[tokio::test]
async fn processes_that_renew_at_the_same_moment_ask_once() {
    let world = World::new().await;
    world.log_in().await;
    for round in 1..=5 {
        world.pass(LIFE);
        let mut processes = JoinSet::new();
        for at in 0..8 {
            let (oauth, url) = (world.another(), world.url());
            processes.spawn(async move {
                match at % 2 {
                    0 => oauth.access_token(SERVER, &url).await,
                    _ => {
                        let token = oauth.fresh_token(SERVER, &url).await;
                        token.map(|(token, _)| token)
                    }
                }
            });
        }
        for token in processes.join_all().await {
            assert_eq!(token.unwrap().value.reveal(), format!("access-{}", round + 2));
        }
        assert_eq!(world.refreshes().len(), round);
    }
    assert!(world.vault.held.lock().is_empty(), "it was given back");
}

/// With two replicas and one refresh token, one of them is refused or too late.
#[tokio::test]
async fn what_another_process_renews_at_the_same_time_is_used() {
    for refused in [true, false] {
        let world = World::new().await;
        world.log_in().await;
        world.pass(LIFE);
        let vault = Arc::clone(&world.vault);
        world.issuer.lock().meanwhile = Some(Box::new(move || {
            vault.change(SERVER, |grant| {
                grant.held.access = Secret::new("access-of-the-other");
                grant.held.expires_at = None;
            });
        }));
        if refused {
            world.issuer.lock().revoke();
        }
        assert_eq!(world.token().await.unwrap(), "access-of-the-other", "{refused}");
        assert_eq!(world.token().await.unwrap(), "access-of-the-other");
        assert_eq!(world.refreshes().len(), 1);
    }
}

#[tokio::test]
async fn a_grant_that_was_taken_back_is_asked_for_once_until_somebody_logs_in() {
    let world = World::new().await;
    world.log_in().await;
    world.issuer.lock().revoke();
    world.pass(LIFE);
    let lost = || NoToken::NeedsAuth { reason: Reason::Lost("invalid_grant".to_owned()) };
    for _ in 0..5 {
        assert_eq!(world.token().await, Err(lost()));
    }
    // Nor does another process try.
    let another = world.another().access_token(SERVER, &world.url()).await;
    assert_eq!(another, Err(lost()));
    assert_eq!(world.refreshes().len(), 1);

    world.log_in().await;
    assert!(world.token().await.is_ok());
    assert_eq!(world.refreshes().len(), 1);
}

#[tokio::test]
async fn a_loss_that_cannot_be_written_down_is_remembered() {
    let world = World::new().await;
    world.log_in().await;
    world.issuer.lock().revoke();
    world.pass(LIFE);
    *world.vault.refuses_to_save.lock() = true;
    for _ in 0..5 {
        let no = world.token().await.unwrap_err();
        assert!(matches!(no, NoToken::NeedsAuth { reason: Reason::Lost(_) }), "{no}");
    }
    assert_eq!(world.refreshes().len(), 1);
}

#[tokio::test]
async fn a_login_elsewhere_is_noticed() {
    let world = World::new().await;
    assert!(world.token().await.is_err());
    let another = world.another();
    world.log_in().await;
    let token = another.access_token(SERVER, &world.url()).await.unwrap();
    assert_eq!(token.value.reveal(), "access-2");
}

#[tokio::test]
async fn a_rejected_token_is_renewed_once_and_a_server_that_rejects_that_too_is_not_believed() {
    let world = World::new().await;
    world.log_in().await;
    assert_eq!(world.rejected("access-2").await.unwrap(), "access-3");
    // A call that was under way with the old one gets the new one, for nothing.
    assert_eq!(world.rejected("access-2").await.unwrap(), "access-3");
    for _ in 0..3 {
        let no = world.rejected("access-3").await.unwrap_err();
        assert_eq!(no, NoToken::Rejected, "the grant is as good as before");
    }
    assert_eq!(world.refreshes(), ["refresh-2"]);
}

//! `Marks`: what is known of each login besides its grant, for as long as its server is there.

use std::collections::HashMap;

use parking_lot::Mutex;
use tokio::sync::watch;

use crate::oauth::Challenge;

// A leaf lock: held for one look or change, across no await.
#[derive(Default)]
pub(super) struct Marks(Mutex<HashMap<String, LoginMark>>);

struct LoginMark {
    version: watch::Sender<u64>,
    /// What the server said when it last refused a request.
    challenge: Option<Challenge>,
    /// It is known that the login is of no use any more.
    is_told: bool,
}

impl Marks {
    pub(super) fn challenge(&self, login: &str) -> Option<Challenge> {
        self.mark(login, |mark| mark.challenge.clone())
    }

    pub(super) fn set_challenge(&self, login: &str, challenge: Challenge) {
        self.mark(login, |mark| mark.challenge = Some(challenge));
    }

    pub(super) fn version(&self, login: &str) -> u64 {
        self.mark(login, |mark| *mark.version.borrow())
    }

    /// Until the version is another one, or nothing is known of the login any more.
    pub(super) async fn changed(&self, login: &str, since: u64) {
        let mut version = self.mark(login, |mark| mark.version.subscribe());
        // An error: its server was removed.
        drop(version.wait_for(|version| *version != since).await);
    }

    /// Somebody has logged in or out.
    pub(super) fn ring(&self, login: &str) {
        self.mark(login, |mark| {
            mark.is_told = false;
            mark.version.send_modify(|version| *version += 1);
        });
    }

    /// It is of no use any more. True if nobody was told yet.
    pub(super) fn take_news(&self, login: &str) -> bool {
        !self.mark(login, |mark| std::mem::replace(&mut mark.is_told, true))
    }

    /// Only these are there still.
    pub(super) fn keep_only(&self, is_there: impl Fn(&str) -> bool) {
        self.0.lock().retain(|login, _| is_there(login));
    }

    fn mark<T>(&self, login: &str, look: impl FnOnce(&mut LoginMark) -> T) -> T {
        let mut marks = self.0.lock();
        let fresh =
            || LoginMark { version: watch::Sender::new(1), challenge: None, is_told: false };
        look(marks.entry(login.to_owned()).or_insert_with(fresh))
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Waker};

    use super::*;

    #[test]
    fn what_was_told_is_told_again_only_after_a_login() {
        let marks = Marks::default();
        assert!(marks.take_news("a"));
        assert!(!marks.take_news("a"));
        assert!(marks.take_news("b"), "each has its own");
        marks.ring("a");
        assert_eq!((marks.version("a"), marks.version("b")), (2, 1));
        assert!(marks.take_news("a"));
    }

    #[test]
    fn of_a_server_that_was_removed_nothing_is_remembered_and_nobody_waits_for_its_login() {
        let marks = Marks::default();
        let mut context = Context::from_waker(Waker::noop());
        let mut gone = pin!(marks.changed("gone", 1));
        let mut stays = pin!(marks.changed("stays", 1));
        for _ in 0..2 {
            assert!(gone.as_mut().poll(&mut context).is_pending());
            assert!(stays.as_mut().poll(&mut context).is_pending());
            marks.keep_only(|_| true);
        }
        marks.keep_only(|login| login == "stays");
        assert_eq!(marks.0.lock().len(), 1);
        assert!(gone.as_mut().poll(&mut context).is_ready());
        assert!(stays.as_mut().poll(&mut context).is_pending());
        marks.ring("stays");
        assert!(stays.as_mut().poll(&mut context).is_ready());
    }
}

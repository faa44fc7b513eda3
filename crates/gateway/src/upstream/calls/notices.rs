//! What a server was told without being asked: whether an answer that names no request may be about it.

use crate::upstream::transport::UpstreamId;

/// Messages without an answer (notifications, and our answers to a server's questions). Many servers
/// answer them all the same, with `"id":null`: that is about no call.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    /// The last id given to a request before the latest notice. `None`: the server has answered a
    /// request that was sent later, so it has read them all.
    before: Option<UpstreamId>,
    /// How many it has not answered.
    unanswered: usize,
    /// It has answered one. Such a server may answer the next only after a request that was sent later:
    /// over several connections, or where it works on several messages at a time.
    answers: bool,
}

impl Notices {
    /// One is being sent; `last`: the last id given to a request.
    pub(crate) fn sent(&mut self, last: UpstreamId) {
        self.before = Some(last);
        self.unanswered = self.unanswered.saturating_add(1);
    }

    /// The server has answered this request.
    #[inline]
    pub(crate) fn passed(&mut self, id: UpstreamId) {
        if self.before.is_some_and(|before| id > before) {
            self.before = None;
        }
    }

    /// An answer without an id has come: takes it for the answer to a notice if it may be one.
    pub(crate) fn take_answer(&mut self) -> bool {
        let may_be = self.before.is_some() || (self.answers && self.unanswered > 0);
        if may_be {
            self.answers = true;
            self.unanswered = self.unanswered.saturating_sub(1);
        }
        may_be
    }

    /// Ids start anew: those to come are smaller, and later all the same.
    pub(crate) fn start_over(&mut self) {
        self.before = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_without_an_id_is_about_a_notice_until_a_later_request_is_answered() {
        let mut notices = Notices::default();
        assert!(!notices.take_answer(), "nothing was told");
        notices.sent(10);
        notices.passed(9);
        notices.passed(10);
        assert!(notices.take_answer(), "both were sent before");
        notices.passed(11);
        assert!(!notices.take_answer(), "it has read what it was told, and answered it");
    }

    #[test]
    fn a_server_that_answers_notices_may_do_so_late() {
        let mut notices = Notices::default();
        notices.sent(10);
        notices.passed(11);
        assert!(!notices.take_answer(), "it has never answered one");
        notices.sent(11);
        assert!(notices.take_answer());
        notices.passed(12);
        assert!(notices.take_answer(), "the first is still unanswered");
        notices.sent(12);
        notices.passed(13);
        assert!(notices.take_answer(), "as it does");
        assert!(!notices.take_answer(), "one answer for each");
    }
}

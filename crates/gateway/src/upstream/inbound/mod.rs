//! What servers send: messages, lines that are none, and answers that name no request.

pub(in crate::upstream) mod lines;
pub(in crate::upstream) mod notifications;
pub(in crate::upstream) mod task_work;
pub(in crate::upstream) mod tasks;
pub(in crate::upstream) mod unowned;

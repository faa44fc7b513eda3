//! What is wanted becomes what runs.

mod applied;
mod reconciler;

pub(super) use reconciler::Reconciler;

//! Secrets against a real store: nothing readable is kept, and everything comes back.

mod keys;
mod locked;
mod place;
mod resolving;
mod sealing;
mod vault;

//! `serve` as a platform: what its store, its log and its keys cost a call, how it takes servers in, and what a call notices of searches.

mod neighbours;
pub(super) mod register;
pub(super) mod scale;
pub(super) mod search;
pub(super) mod seq;
mod service;

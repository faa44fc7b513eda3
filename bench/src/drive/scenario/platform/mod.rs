//! `serve` as a platform: what its store, its log and its keys cost a call, and how it takes servers in.

pub(super) mod register;
pub(super) mod scale;
pub(super) mod seq;
mod service;

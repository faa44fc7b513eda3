//! What the program does when it is asked.

pub(crate) mod call;
pub(crate) mod check;
mod input;
pub(crate) mod install;
pub(crate) mod login;
pub(crate) mod maintain;
mod news;
mod output;
mod platform;
pub(crate) mod prompts;
mod reload;
pub(crate) mod resources;
mod runtime;
pub(crate) mod search;
pub(crate) mod secret;
pub(crate) mod serve;
pub(crate) mod stdio;
pub(crate) mod tools;
mod traces;
mod visit;

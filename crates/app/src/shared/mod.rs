//! One runtime per user and config: a thin front for each client, and the runtime that they share.
//!
//! `trunkline --config F` is the *front*: it finds or starts the *runtime* of this user for that config,
//! connects to its Unix socket and relays lines. The runtime is the gateway, as in `serve`. Imports go one
//! way: directory, `hello` ◄ identity, launch, process ◄ front ◄ control, runtime.

pub(crate) mod control;
mod directory;
mod front;
mod hello;
mod identity;
mod launch;
mod process;
pub(crate) mod runtime;

pub(crate) use front::{Fronted, attach};
pub(crate) use hello::Ask;
pub(crate) use identity::{RuntimeIdentity, depends_on_directory, is_of_the_seat};
pub(crate) use launch::launch_if_asked;

//! One client's session: what it may say when, and what it is answered.
//!
//! Imports go one way: context, `known_lists`, `private_servers`, `waiting_line` ◄ `client_session` ◄ request
//! ◄ `own_process`, waiting ◄ what requests lead to (subscribe, lists, listen, tasks, addressee, `meta_tools`,
//! `unknown_tool`) ◄ legacy, stateless ◄ dispatch.

mod addressee;
mod batch;
mod cancel;
mod client_session;
mod context;
mod dispatch;
mod filter;
mod keyed;
mod keyed_sink;
mod known_lists;
mod legacy;
mod limited;
mod listen;
mod lists;
mod meta_tools;
mod own_process;
mod policies;
mod private_servers;
mod request;
mod stateless;
mod subscribe;
mod tag;
mod tasks;
mod unknown_tool;
mod waiting;
mod waiting_line;

pub(crate) use cancel::{abandon, abandon_unflushed, end_calls, leave, leave_all, revoke_calls};
pub(crate) use client_session::Session;
pub(crate) use context::SessionContext;
pub(crate) use dispatch::{initialize, notify, receive, take, take_stateless};
pub(crate) use legacy::negotiate;
pub(crate) use request::refuse_oversize;

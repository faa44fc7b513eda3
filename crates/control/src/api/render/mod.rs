//! What the services return, as the shapes of the API: the only place that knows both.

mod clients;
mod events;
mod health;
mod instance;
mod key;
mod login;
mod overview;
mod secret;
mod server;
mod skill;
mod tools;

pub(super) use clients::clients;
pub(super) use events::event;
pub(super) use health::health_history;
pub(super) use instance::instance;
pub(super) use key::key_view;
pub(super) use login::started_login;
pub(super) use overview::overview;
pub(super) use secret::{secret, secrets};
pub(super) use server::{details, server, servers, stderr};
pub(super) use skill::{skill, skills, suggestions, tool_skills};
pub(super) use tools::{one_tool, server_tools, tool_page};

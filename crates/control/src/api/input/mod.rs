//! What comes in: JSON bodies, checked as a whole and read into types. Pure.

mod body;
mod call;
mod explain;
mod key;
mod members;
mod oauth;
mod patch;
mod register;
mod sandbox;
mod secret;
mod settings;
mod skill;

pub use body::{Declared, MOST_ARGUMENTS, MOST_BODY, RequestBody};
pub use call::{CALL_TOOL, CallTool};
pub use key::{KeyPatch, NewKey};
pub use members::Members;
pub use oauth::OAuthClient;
pub use patch::{
    CallRulesPatch, Change, ConfigPatch, PATCH_REMOTE, PATCH_STDIO, Pairs, PatchServer,
};
pub use register::{REGISTER, RegisterServer};
pub use sandbox::SANDBOXES;
pub use secret::PutSecret;
pub use settings::{ON_CHANGES, SECRET_SHOWN, TransportType, server_name_fault};
pub use skill::{PutSkill, SetSkills};

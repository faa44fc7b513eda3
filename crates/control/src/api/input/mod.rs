//! What comes in: JSON bodies, checked as a whole and read into types. Pure.

mod body;
mod call;
mod explain;
mod fields;
mod key;
mod oauth;
mod patch;
mod register;
mod search;
mod secret;
mod skill;

pub use body::{Declared, MOST_ARGUMENTS, MOST_BODY};
pub use call::{CALL_TOOL, CallTool};
pub use key::{NEW_KEY, NewKey, ROLES};
pub use oauth::OAuthClient;
pub use patch::{Change, ConfigPatch, PATCH_REMOTE, PATCH_STDIO, Pairs, PatchServer};
pub use register::{
    REGISTER, RegisterServer, SECRET_SHOWN, TRANSPORTS, TransportType, server_name_fault,
};
pub use search::{SEARCH, SearchTools};
pub use secret::{PUT_SECRET, PutSecret};
pub use skill::{PUT_SKILL, PutSkill, SET_SKILLS, SetSkills};

//! The records of the platform, and the statements that read and write them.

pub(crate) mod call_key;
pub(crate) mod credential;
pub(crate) mod grant;
pub(crate) mod health;
pub(crate) mod key;
pub(crate) mod known_listing;
pub(crate) mod lease;
pub(crate) mod pending;
pub(crate) mod pins;
pub(crate) mod policy;
pub(crate) mod replica;
pub(crate) mod server;
pub(crate) mod setting;
pub(crate) mod skill;
pub(crate) mod tool;
pub(crate) mod web_session;

pub use call_key::{CallKey, CallKeyOutcome, CallKeyState, EndedCall, KeyClaimant};
pub use credential::CredentialRecord;
pub use grant::GrantRecord;
pub use health::{HealthSample, OF_THE_FILE};
pub use key::KeyRecord;
pub use known_listing::KnownListingRecord;
pub use pending::PendingLogin;
pub use pins::PinsRecord;
pub use policy::{PolicyRecord, PolicySetRecord};
pub use replica::{ReplicaList, ReplicaRecord};
pub use server::{DesiredState, ServerRecord, Transport};
pub use skill::{BY_HAND, PENDING, SkillRecord, SuggestionRecord, ToolSkillsRecord};
pub use tool::{NewTool, ToolRecord};
pub use web_session::{WebSession, WebSessionEnds};

use crate::limits::PAGE;

/// How many rows a page has.
pub(crate) fn page(limit: usize) -> i64 {
    i64::try_from(limit.clamp(1, PAGE)).unwrap_or(1)
}

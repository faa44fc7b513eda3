//! What the definitions of a server are compared with: the ones that were approved before. Pure.
//!
//! A definition is pinned when it is first seen. A later listing is compared with the pins: what has changed, or
//! is new, waits for a person, and the policy of the server decides what callers are shown meanwhile.

mod canonical;
mod compare;
mod definition;
mod diff;
mod record;
mod review;
mod suspicion;

pub use canonical::{canonical, content_hash};
pub use compare::{Comparison, EffectiveListing, Handling, KnownPins, Noticed, Sighting, compare};
pub use definition::{Definition, DefinitionKind, Definitions};
pub use diff::{DiffLength, DiffLine, FieldDiff, LineChange, diff, visible};
pub use record::{DamagedPins, Pin, PinRecord, WaitingDefinition, WaitingReason};
pub use review::{Choice, Decided, Decision, UnknownChoice};
pub use suspicion::{Suspicion, findings, unapproved_pins};

//! Who may list, call, read and get what: policies in Cedar, decided and explained. Pure: no IO, no clock.
//!
//! `Policies` are read and validated as a whole. `for_caller` keeps those that can concern one caller; its
//! `verdict` answers about one target, and says whether the answer holds for every call. Where it does not, `prepare` makes
//! what answers each call.

mod caller;
mod condition;
mod decide;
mod looks;
mod read;
mod schema;
mod scope;
mod target;
mod uri;
mod value;

pub use caller::{CallerKind, PolicyCaller};
pub use decide::{CallerPolicies, CallerVerdict, Circumstances, PreparedDecision, RefusalCause};
pub use read::{Effect, Policies, PolicyFault, PolicyInfo, PolicySource};
pub use schema::{Action, SCHEMA};
pub use target::{Hints, RequestTarget};
pub use uri::{UriForm, other_forms};

//! Who may list, call, read and get what: policies in Cedar, decided and explained. Pure: no IO, no clock.
//!
//! `Policies` are read and validated as a whole. `for_caller` keeps those that can concern one caller; its
//! `decide` answers about one target, and says whether the answer holds for every call or has to be found anew.

mod caller;
mod decide;
mod read;
mod schema;
mod scope;
mod target;
mod value;

pub use caller::{CallerKind, PolicyCaller};
pub use decide::{CallerPolicies, CallerVerdict, Circumstances, RefusalCause};
pub use read::{Effect, Policies, PolicyFault, PolicyInfo, PolicySource};
pub use schema::{Action, SCHEMA};
pub use target::{Hints, RequestTarget};

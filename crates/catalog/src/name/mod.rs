//! What a tool is called: the naming rule, the names for each client, and which names are let in at all.

mod admissible;
mod advice;
mod assign;
mod naming;
mod spelling;

pub use admissible::{FaultKind, NameFault, admissible, escaped, is_hidden};
pub use advice::{Advice, refuses};
pub use assign::{Assigned, Assignment, NameWarning, assign};
pub use naming::{DEFAULT_SEPARATOR, Identity, Naming};

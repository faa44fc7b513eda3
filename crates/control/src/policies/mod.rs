//! Policies in Cedar: which there are, what they mean for a caller, and why.

mod caller;
mod explain;
mod facts;
mod holder;
mod named;
mod rules;
mod stored;

pub use caller::{GroupsClaim, caller_of, user_groups};
pub use explain::{DecisionStep, Explanation, Question, explain};
pub use facts::SkillsOf;
pub use holder::PolicyHolder;
pub use named::{BadName, CallerDetails, NamedCaller, NamedTarget};
pub use stored::{is_policy_id, policy_changes, stored_name};

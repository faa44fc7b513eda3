//! Skills: which there are, which tools have which, and who says so: the built-in model, a language model or
//! a person.

mod batch;
mod classification;
mod index;
mod llm_classification;
mod service;

pub(super) use index::SkillIndex;
pub use service::{SkillService, SuggestionDecision};
pub(crate) use service::{SkillSummary, ToolSkills};

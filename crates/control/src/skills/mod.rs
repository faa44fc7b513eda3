//! Skills: which there are, which a tool has, and where each of them points. Pure.

mod assigned;
mod embeddings;
mod judge;
mod taxonomy;

pub use assigned::{AssignedSkills, PRIMARY, SkillSource};
pub use embeddings::{Embedding, Embeddings};
pub use judge::{ServerDescription, fingerprint, judge};
pub use taxonomy::{Skill, Taxonomy, is_skill_id};

/// As many as a tool has at most.
pub const MOST_SKILLS: usize = 3;

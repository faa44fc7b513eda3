//! A language model that the operator has named: asked which skills tools have. What tools say is
//! other people's text, and so is what the model answers: neither is believed.

mod answer;
mod ask;
mod prompt;

pub use answer::{LlmVerdict, SuggestedSkill};
pub use ask::{Llm, TOGETHER};
pub use prompt::ToolDescription;

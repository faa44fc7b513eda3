//! A language model that the operator has named: asked which skills tools have, and for a second opinion on what the scanner found. What tools say is
//! other people's text, and so is what the model answers: neither is believed.

mod answer;
mod ask;
mod opinion;
mod prompt;

pub use answer::{LlmVerdict, SuggestedSkill};
pub use ask::{Llm, TOGETHER};
pub use opinion::{Opinion, SecondOpinions};
pub use prompt::ToolDescription;

//! `Assigned`: the skills of one tool, how sure that is, and who says so.

use serde_json::{Value, json};
use trunkline_store::BY_HAND;

/// From this confidence on a skill is what a tool is mostly about.
pub const PRIMARY: f32 = 0.5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkillSource {
    /// The model in the program.
    Head,
    /// The language model that the operator has named.
    Llm,
    /// A person; nothing but a person changes it.
    Manual,
}

impl SkillSource {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Head => "model",
            Self::Llm => "llm",
            Self::Manual => BY_HAND,
        }
    }

    pub fn named(text: &str) -> Option<Self> {
        [Self::Head, Self::Llm, Self::Manual].into_iter().find(|source| source.as_str() == text)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct AssignedSkills {
    /// With their confidences, the likeliest first.
    pub skills: Vec<(String, f32)>,
    pub source: SkillSource,
}

impl AssignedSkills {
    /// What the tool is mostly about, if that is likely enough.
    pub fn primary(&self) -> Option<&str> {
        self.skills.first().filter(|(_, sure)| *sure >= PRIMARY).map(|(id, _)| id.as_str())
    }

    /// Whether it has any skill. Without one, no classifier could say anything about it.
    pub fn is_classified(&self) -> bool {
        !self.skills.is_empty()
    }

    pub fn ids(&self) -> Vec<String> {
        self.skills.iter().map(|(id, _)| id.clone()).collect()
    }

    /// As it is kept and shown.
    pub fn json(&self) -> Value {
        let skill = |(id, sure): &(String, f32)| json!({ "id": id, "confidence": rounded(*sure) });
        self.skills.iter().map(skill).collect()
    }

    /// `None` if it is not what `json` writes.
    pub fn read(json: &str, source: &str) -> Option<Self> {
        let list: Value = serde_json::from_str(json).ok()?;
        let skill = |one: &Value| {
            let sure = one.get("confidence")?.as_f64()?;
            #[expect(clippy::cast_possible_truncation, reason = "a number from 0 to 1")]
            let sure = sure as f32;
            Some((one.get("id")?.as_str()?.to_owned(), sure))
        };
        let skills = list.as_array()?.iter().map(skill).collect::<Option<_>>()?;
        Some(Self { skills, source: SkillSource::named(source)? })
    }
}

fn rounded(sure: f32) -> f64 {
    (f64::from(sure) * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assigned(skills: &[(&str, f32)]) -> AssignedSkills {
        let skills = skills.iter().map(|(id, sure)| ((*id).to_owned(), *sure)).collect();
        AssignedSkills { skills, source: SkillSource::Head }
    }

    #[test]
    fn the_first_skill_is_primary_from_a_half_on() {
        for (skills, primary) in [
            (&[("a", 0.9), ("b", 0.6)][..], Some("a")),
            (&[("a", 0.5)], Some("a")),
            (&[("a", 0.49), ("b", 0.3)], None),
            (&[], None),
        ] {
            let assigned = assigned(skills);
            assert_eq!(assigned.primary(), primary, "{skills:?}");
            assert_eq!(assigned.is_classified(), !skills.is_empty(), "unsure is not unclassified");
        }
    }

    #[test]
    fn what_is_kept_comes_back() {
        let it = assigned(&[("a", 0.75), ("b", 0.25)]);
        assert_eq!(AssignedSkills::read(&it.json().to_string(), "model"), Some(it));
        for (json, source) in
            [("[]", "nobody"), ("{}", "llm"), (r#"[{"id":1}]"#, "llm"), ("", "llm")]
        {
            assert_eq!(AssignedSkills::read(json, source), None, "{json} {source}");
        }
    }
}

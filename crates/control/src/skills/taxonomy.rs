//! `Taxonomy`: the skills there are: those that come with the program, with the changes of people.

use sha2::{Digest as _, Sha256};
use trunkline_search::Classifier;
use trunkline_store::SkillRecord;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    pub id: String,
    pub title: String,
    /// Words that are typical of it.
    pub keywords: String,
    /// It does not come with the program: nothing was learnt about it.
    pub is_added: bool,
}

impl Skill {
    /// What it is about, in words.
    pub fn text(&self) -> String {
        format!("{} {}", self.title, self.keywords)
    }
}

/// By id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Taxonomy(Vec<Skill>);

impl Taxonomy {
    /// `records`: what was changed.
    pub fn new(records: &[SkillRecord]) -> Self {
        let own = Classifier::embedded().map(Classifier::skills).unwrap_or_default();
        let mut skills: Vec<Skill> = own
            .iter()
            .map(|skill| Skill {
                id: skill.id.to_owned(),
                title: skill.title.to_owned(),
                keywords: skill.keywords.to_owned(),
                is_added: false,
            })
            .collect();
        for record in records {
            let is_added = !own.iter().any(|skill| skill.id == record.id);
            skills.retain(|skill| skill.id != record.id);
            if !record.removed {
                skills.push(Skill {
                    id: record.id.clone(),
                    title: record.title.clone(),
                    keywords: record.keywords.clone(),
                    is_added,
                });
            }
        }
        skills.sort_by(|a, b| a.id.cmp(&b.id));
        Self(skills)
    }

    pub fn skills(&self) -> &[Skill] {
        &self.0
    }

    pub fn get(&self, id: &str) -> Option<&Skill> {
        self.0.iter().find(|skill| skill.id == id)
    }

    /// Another one if anything differs.
    pub fn digest(&self) -> [u8; 32] {
        let mut sum = Sha256::new();
        for skill in &self.0 {
            for text in [&skill.id, &skill.title, &skill.keywords] {
                sum.update(text.len().to_le_bytes());
                sum.update(text);
            }
        }
        sum.finalize().into()
    }
}

/// Lower case letters, digits and `_`, a letter first: what is safe in a path and in a prompt.
pub fn is_skill_id(text: &str) -> bool {
    let belongs = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let starts_well = text.starts_with(|first: char| first.is_ascii_lowercase());
    starts_well && text.len() <= 64 && text.bytes().all(belongs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(id: &str, removed: bool) -> SkillRecord {
        SkillRecord {
            id: id.to_owned(),
            title: "Robots".to_owned(),
            keywords: "arm".to_owned(),
            removed,
            updated_at: 0,
        }
    }

    #[test]
    fn what_was_changed_counts() {
        let plain = Taxonomy::new(&[]);
        assert_eq!(plain.skills().len(), 31);
        assert!(plain.skills().iter().all(|skill| !skill.is_added && is_skill_id(&skill.id)));
        let changed = Taxonomy::new(&[
            record("database", false),
            record("robots", false),
            record("weather_environment", true),
        ]);
        assert_eq!(changed.skills().len(), 31);
        let of = |id: &str| changed.get(id).map(|skill| (skill.title.as_str(), skill.is_added));
        assert_eq!(of("database"), Some(("Robots", false)));
        assert_eq!(of("robots"), Some(("Robots", true)));
        assert_eq!(of("weather_environment"), None);
        assert!(changed.skills().is_sorted_by(|a, b| a.id < b.id));
        assert_ne!(plain.digest(), changed.digest());
        assert_eq!(plain.digest(), Taxonomy::new(&[record("gone", true)]).digest());
    }

    #[test]
    fn ids_of_skills_are_plain() {
        for (id, fits) in [
            ("issue_tracking", true),
            ("a1", true),
            ("", false),
            ("1a", false),
            ("_a", false),
            ("Issue", false),
            ("a-b", false),
            ("a/b", false),
            ("é", false),
        ] {
            assert_eq!(is_skill_id(id), fits, "{id}");
        }
        assert!(!is_skill_id(&"a".repeat(65)));
    }
}

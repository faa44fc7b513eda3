//! Where each skill points: between its own words and the tools that have it.

use std::collections::BTreeMap;

use trunkline_search::{Model, Vector};

use super::{AssignedSkills, Taxonomy};

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Embedding {
    /// `None`: nothing is known about it.
    pub vector: Option<Vector>,
    /// How many tools it is made of.
    pub tools: usize,
}

/// By the skills' ids.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Embeddings(BTreeMap<String, Embedding>);

impl Embeddings {
    /// Made anew of all there is: nothing of a tool that is gone is left. `tools`: where each points,
    /// and which skills it has.
    pub fn new<'a>(
        taxonomy: &Taxonomy,
        tools: impl IntoIterator<Item = (&'a Vector, &'a AssignedSkills)>,
    ) -> Self {
        let Ok(model) = Model::embedded() else { return Self::default() };
        let label = |text: &str| model.embed(text).map(|it| it.numbers().collect::<Vec<f32>>());
        let mut sums: BTreeMap<&str, (Vec<f32>, usize)> = taxonomy
            .skills()
            .iter()
            .map(|skill| (skill.id.as_str(), (label(&skill.text()).unwrap_or_default(), 0)))
            .collect();
        for (vector, assigned) in tools {
            for (id, sure) in &assigned.skills {
                let Some((sum, count)) = sums.get_mut(id.as_str()) else { continue };
                *count += 1;
                add(sum, vector, *sure);
            }
        }
        let made = |(id, (sum, tools)): (&str, (Vec<f32>, usize))| {
            (id.to_owned(), Embedding { vector: Vector::new(&sum), tools })
        };
        Self(sums.into_iter().map(made).collect())
    }

    pub fn get(&self, id: &str) -> Option<&Embedding> {
        self.0.get(id)
    }
}

fn add(sum: &mut Vec<f32>, vector: &Vector, weight: f32) {
    if sum.is_empty() {
        sum.extend(vector.numbers().map(|number| number * weight));
        return;
    }
    for (sum, number) in sum.iter_mut().zip(vector.numbers()) {
        *sum += number * weight;
    }
}

#[cfg(test)]
mod tests {
    use super::super::SkillSource;
    use super::*;

    #[test]
    fn a_skill_moves_towards_its_tools_and_back_when_they_are_gone() {
        let taxonomy = Taxonomy::new(&[]);
        let model = Model::embedded().unwrap();
        let tool = model.embed("transpose the lute tablature to another tuning").unwrap();
        let has = |id: &str| AssignedSkills {
            skills: vec![(id.to_owned(), 0.9)],
            source: SkillSource::Head,
        };
        let before = Embeddings::new(&taxonomy, []);
        let assigned = has("media_creation");
        let with = Embeddings::new(&taxonomy, [(&tool, &assigned)]);
        let near = |all: &Embeddings, id: &str| {
            all.get(id).and_then(|it| it.vector.as_ref()).unwrap().cosine(&tool)
        };
        assert!(near(&with, "media_creation") > near(&before, "media_creation") + 0.1);
        assert!((near(&with, "database") - near(&before, "database")).abs() < 1e-6);
        assert_eq!(with.get("media_creation").map(|it| it.tools), Some(1));
        assert_eq!(Embeddings::new(&taxonomy, []), before);
        let stranger = has("no_such_skill");
        assert_eq!(Embeddings::new(&taxonomy, [(&tool, &stranger)]), before);
    }
}

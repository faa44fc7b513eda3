//! Which skills tools have, by the model in the program.

use sha2::{Digest as _, Sha256};
use trunkline_search::{Classifier, Definition, Model, Server, Tool};

use super::{AssignedSkills, MOST_SKILLS, SkillSource, Taxonomy};

/// A server, as far as its tools are judged by it.
#[derive(Debug, Clone, Copy)]
pub struct ServerDescription<'a> {
    pub name: &'a str,
    pub description: &'a str,
}

/// Of a skill that nothing was learnt about: nearer than that, a tool's words are about it. Not
/// calibrated; in plain words it is the cosine of the two.
const NEAR: f32 = 0.45;

/// The skills of a server's tools, in their order. Judged together: what a server is about is seen in
/// all of them. A tool that says nothing has none.
pub fn judge(
    taxonomy: &Taxonomy,
    server: ServerDescription<'_>,
    tools: &[Definition],
) -> Vec<AssignedSkills> {
    let none = || AssignedSkills { skills: Vec::new(), source: SkillSource::Head };
    let (Ok(model), Ok(classifier)) = (Model::embedded(), Classifier::embedded()) else {
        return tools.iter().map(|_| none()).collect();
    };
    let server = Server { name: server.name, description: server.description };
    let tools: Vec<Tool<'_>> = tools.iter().map(Definition::tool).collect();
    let added: Vec<_> = taxonomy
        .skills()
        .iter()
        .filter(|skill| skill.is_added)
        .filter_map(|skill| Some((skill, model.embed(&skill.text())?)))
        .collect();
    let judged = classifier.classify(model, &server, &tools);
    judged
        .into_iter()
        .zip(&tools)
        .map(|(judged, tool)| {
            let known = judged.into_iter().filter(|it| taxonomy.get(it.skill).is_some());
            let mut skills: Vec<(String, f32)> =
                known.map(|it| (it.skill.to_owned(), it.confidence)).collect();
            let place = if added.is_empty() { None } else { model.embed_tool(&server, tool) };
            let near = place.iter().flat_map(|place| {
                added.iter().map(|(skill, label)| (skill.id.clone(), label.cosine(place)))
            });
            skills.extend(near.filter(|(_, cosine)| *cosine >= NEAR));
            skills.sort_by(|a, b| b.1.total_cmp(&a.1));
            skills.truncate(MOST_SKILLS);
            AssignedSkills { skills, ..none() }
        })
        .collect()
}

/// What a tool's skills are made of: another one if they could come out differently.
pub fn fingerprint(judge: &str, server: ServerDescription<'_>, definition: &[u8]) -> String {
    let mut sum = Sha256::new();
    let parts =
        [judge.as_bytes(), server.name.as_bytes(), server.description.as_bytes(), definition];
    for part in parts {
        sum.update(part.len().to_le_bytes());
        sum.update(part);
    }
    sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use trunkline_store::SkillRecord;

    use super::*;

    fn tool(name: &str, description: &str) -> Definition {
        let (name, description) = (name.to_owned(), description.to_owned());
        Definition { name, description, ..Definition::default() }
    }

    fn record(id: &str, title: &str, keywords: &str, removed: bool) -> SkillRecord {
        let [id, title, keywords] = [id, title, keywords].map(str::to_owned);
        SkillRecord { id, title, keywords, removed, updated_at: 0 }
    }

    #[test]
    fn a_tool_has_one_to_three_skills_of_the_taxonomy() {
        let taxonomy = Taxonomy::new(&[]);
        let server = ServerDescription { name: "postgres", description: "" };
        let tools =
            [tool("run_query", "Run a SQL query on a database table"), tool("\u{1F980}", "")];
        let judged = judge(&taxonomy, server, &tools);
        assert_eq!(judged[0].primary(), Some("database"), "{judged:?}");
        assert!((1..=MOST_SKILLS).contains(&judged[0].skills.len()));
        assert!(judged[0].skills.iter().all(|(id, _)| taxonomy.get(id).is_some()));
        let said = ServerDescription { name: "\u{1F980}", description: "" };
        let silent = judge(&taxonomy, said, &[tool("\u{1F980}", "")]);
        assert_eq!(silent[0].skills, []);
    }

    #[test]
    fn what_was_removed_is_given_to_no_tool_and_what_was_added_is() {
        let removed = Taxonomy::new(&[record("database", "", "", true)]);
        let server = ServerDescription { name: "postgres", description: "" };
        let query = [tool("run_query", "Run a SQL query on a database table")];
        let judged = judge(&removed, server, &query);
        assert!(judged[0].skills.iter().all(|(id, _)| id != "database"), "{judged:?}");
        let keywords = "robot arm gripper joint move grasp";
        let added = Taxonomy::new(&[record("robotics", "Robot arms", keywords, false)]);
        let server = ServerDescription { name: "arm", description: "" };
        let grasp = [tool("grasp", "Move the robot arm and grasp with the gripper")];
        let judged = judge(&added, server, &grasp);
        assert!(judged[0].skills.iter().any(|(id, _)| id == "robotics"), "{judged:?}");
        assert!(judged[0].skills.is_sorted_by(|a, b| a.1 >= b.1));
    }

    #[test]
    fn a_fingerprint_tells_what_differs() {
        let server = ServerDescription { name: "a", description: "b" };
        let same = fingerprint("x", server, b"{}");
        assert_eq!(same, fingerprint("x", server, b"{}"));
        let moved = ServerDescription { name: "ab", description: "" };
        for other in [
            fingerprint("y", server, b"{}"),
            fingerprint("x", server, b"{ }"),
            fingerprint("x", moved, b"{}"),
        ] {
            assert_ne!(same, other);
        }
    }
}

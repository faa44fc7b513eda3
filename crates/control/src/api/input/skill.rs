//! Skills that are put, and the skills a person says a tool has.

use std::collections::HashSet;

use super::body::Declared;
use crate::api::fault::{Pointer, RequestFault};
use crate::api::problem::Problem;
use crate::api::schema::{Schema, TextFormat, request, text};
use crate::skills::MOST_SKILLS;

request! {
    /// A skill.
    #[derive(Debug)]
    #[refused("id": "is the last part of the path")]
    pub struct PutSkill as "PutSkill" {
        /// What people call it.
        #[example = "Robots"] pub title: String => text(1, 100, TextFormat::Line),
        /// Words that are typical of it: tools are given it by these.
        #[example = "robot arm gripper joint grasp"]
        pub keywords: String = String::new() => text(0, 1000, TextFormat::Prose),
    }
}

const ID: Schema = text(1, 64, TextFormat::Line);

request! {
    /// The skills a tool has, whatever Trunkline thinks.
    #[derive(Debug)]
    pub struct SetSkills as "SetSkills" {
        /// One to three.
        #[example = ["issue_tracking", "code_management"]]
        pub skill_ids: Vec<String> => Schema::List { of: &ID, least: 0, most: MOST_SKILLS },
        /// What it is mostly about; the first one, unless said otherwise.
        pub primary_skill_id?: String => Schema::Nullable(&ID),
    }
}

impl SetSkills {
    /// The primary one comes first in `skill_ids`.
    pub fn read(body: &Declared<'_>) -> Result<Self, Problem> {
        let mut read: Self = body.read_and_check(Self::check)?;
        if let Some(primary) = &read.primary_skill_id {
            // Stable: the others keep their order.
            read.skill_ids.sort_by_key(|id| id != primary);
        }
        Ok(read)
    }

    fn check(&self, faults: &mut Vec<RequestFault>) {
        let at = Pointer::root().key("skill_ids");
        let mut known = HashSet::new();
        if self.skill_ids.is_empty() && faults.is_empty() {
            let hint = "name one to three; DELETE leaves it to Trunkline again";
            faults.push(RequestFault::at(&at, "must not be empty").hint(hint));
        } else if !self.skill_ids.iter().all(|id| known.insert(id)) {
            faults.push(RequestFault::at(&at, "names a skill twice"));
        }
        if self.primary_skill_id.as_ref().is_some_and(|primary| !self.skill_ids.contains(primary)) {
            let at = Pointer::root().key("primary_skill_id");
            faults.push(RequestFault::at(&at, "is not among `skill_ids`"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(json: &str) -> Declared<'_> {
        Declared { content_type: Some(b"application/json"), bytes: json.as_bytes() }
    }

    #[test]
    fn the_primary_skill_comes_first() {
        for (json, expected) in [
            (r#"{"skill_ids":["a","b"]}"#, &["a", "b"][..]),
            (r#"{"skill_ids":["a","b"],"primary_skill_id":"b"}"#, &["b", "a"]),
            (r#"{"skill_ids":["a"],"primary_skill_id":null}"#, &["a"]),
        ] {
            assert_eq!(SetSkills::read(&declared(json)).unwrap().skill_ids, expected, "{json}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for (json, expected) in [
            ("{}", "/skill_ids is missing"),
            (r#"{"skill_ids":[]}"#, "/skill_ids must not be empty"),
            (r#"{"skill_ids":["a","a"]}"#, "/skill_ids names a skill twice"),
            (r#"{"skill_ids":["a","b","c","d"]}"#, "/skill_ids"),
            (r#"{"skill_ids":["a"],"primary_skill_id":"b"}"#, "/primary_skill_id is not among"),
        ] {
            let problem = SetSkills::read(&declared(json)).expect_err(json);
            assert_eq!(problem.status(), 422);
            assert!(problem.detail().contains(expected), "{json}: {}", problem.detail());
        }
        let named = declared(r#"{"id":"x","title":"X"}"#).read::<PutSkill>().unwrap_err();
        assert!(named.detail().contains("last part of the path"), "{}", named.detail());
        let put: PutSkill = declared(r#"{"title":"X"}"#).read().unwrap();
        assert_eq!(put, PutSkill { title: "X".to_owned(), keywords: String::new() });
    }
}

//! Skills that are put, and the skills a person says a tool has.

use std::collections::HashSet;

use super::body::{Declared, none};
use super::fields::Fields;
use crate::api::fault::{Fault, Pointer};
use crate::api::problem::Problem;
use crate::api::shape::{Form, Object, Shape, optional, required, text};
use crate::skills::MOST_SKILLS;

/// `PUT /skills/{id}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutSkill {
    pub title: String,
    pub keywords: String,
}

impl PutSkill {
    pub fn read(body: &Declared<'_>) -> Result<Self, Problem> {
        let (document, faults) = body.read(&Shape::Object(&PUT_SKILL))?;
        none(faults)?;
        let fields = Fields::of(&document.root);
        let text = |name| fields.text(name).unwrap_or_default().to_owned();
        Ok(Self { title: text("title"), keywords: text("keywords") })
    }
}

/// `PUT /tools/{id}/skills`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetSkills {
    /// The primary one first.
    pub skill_ids: Vec<String>,
}

impl SetSkills {
    pub fn read(body: &Declared<'_>) -> Result<Self, Problem> {
        let (document, mut faults) = body.read(&Shape::Object(&SET_SKILLS))?;
        let fields = Fields::of(&document.root);
        let mut skill_ids = fields.texts("skill_ids").unwrap_or_default();
        let at = Pointer::root().key("skill_ids");
        let mut known = HashSet::new();
        if skill_ids.is_empty() && faults.is_empty() {
            let hint = "name one to three; DELETE leaves it to Trunkline again";
            faults.push(Fault::at(&at, "names no skill").hint(hint));
        } else if !skill_ids.iter().all(|id| known.insert(id.clone())) {
            faults.push(Fault::at(&at, "names a skill twice"));
        }
        if let Some(primary) = fields.text("primary_skill_id") {
            match skill_ids.iter().position(|id| id == primary) {
                Some(place) => {
                    let first = skill_ids.remove(place);
                    skill_ids.insert(0, first);
                }
                None => {
                    let at = Pointer::root().key("primary_skill_id");
                    faults.push(Fault::at(&at, "is not among `skill_ids`"));
                }
            }
        }
        none(faults)?;
        Ok(Self { skill_ids })
    }
}

const ID: Shape = text(1, 64, Form::Line);

pub static PUT_SKILL: Object = Object {
    refused: &[("id", "is the last part of the path")],
    ..Object::request(
        "PutSkill",
        "A skill.",
        &[
            required("title", text(1, 100, Form::Line), "What people call it."),
            optional(
                "keywords",
                text(0, 1000, Form::Prose),
                "Words that are typical of it: tools are given it by these.",
            ),
        ],
    )
};

pub static SET_SKILLS: Object = Object::request(
    "SetSkills",
    "The skills a tool has, whatever Trunkline thinks.",
    &[
        required("skill_ids", Shape::List { of: &ID, most: MOST_SKILLS }, "One to three."),
        optional(
            "primary_skill_id",
            Shape::OrNull(&ID),
            "What it is mostly about; the first one, unless said otherwise.",
        ),
    ],
);

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
            (r#"{"skill_ids":[]}"#, "/skill_ids names no skill"),
            (r#"{"skill_ids":["a","a"]}"#, "/skill_ids names a skill twice"),
            (r#"{"skill_ids":["a","b","c","d"]}"#, "/skill_ids"),
            (r#"{"skill_ids":["a"],"primary_skill_id":"b"}"#, "/primary_skill_id is not among"),
        ] {
            let problem = SetSkills::read(&declared(json)).expect_err(json);
            assert_eq!(problem.status(), 422);
            assert!(problem.detail().contains(expected), "{json}: {}", problem.detail());
        }
        let named = PutSkill::read(&declared(r#"{"id":"x","title":"X"}"#)).unwrap_err();
        assert!(named.detail().contains("last part of the path"), "{}", named.detail());
        let put = PutSkill::read(&declared(r#"{"title":"X"}"#)).unwrap();
        assert_eq!(put, PutSkill { title: "X".to_owned(), keywords: String::new() });
    }
}

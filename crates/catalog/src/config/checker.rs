//! Collects the problems and notes of a file; the checks of its parts report here.

use std::collections::HashMap;

use super::expand::Environment;
use super::harmless::shown_key;
use super::path::Path;
use super::problem::Problem;
use super::spec::{ConfigNote, Rules};
use crate::jsonc::{JsonMember, Node};
use crate::place::{Lines, Span};

/// Collects what is found; a problem never stops the check.
pub(crate) struct ConfigChecker<'c> {
    pub(crate) rules: Rules,
    pub(crate) environment: Environment<'c>,
    lines: &'c Lines<'c>,
    problems: Vec<Problem>,
    notes: Vec<ConfigNote>,
}

impl<'c> ConfigChecker<'c> {
    pub(crate) fn new(rules: Rules, environment: Environment<'c>, lines: &'c Lines<'c>) -> Self {
        ConfigChecker { rules, environment, lines, problems: Vec::new(), notes: Vec::new() }
    }

    pub(crate) fn finish(self) -> (Vec<Problem>, Vec<ConfigNote>) {
        (self.problems, self.notes)
    }

    /// Reports a key that stands twice in one object: nothing says which one was meant.
    pub(crate) fn duplicates(&mut self, members: &[JsonMember], at: &Path) {
        let mut first: HashMap<&str, Span> = HashMap::new();
        for JsonMember { key, .. } in members {
            let Some(earlier) = first.get(key.value.as_str()) else {
                first.insert(&key.value, key.span);
                continue;
            };
            let place = self.lines.place(earlier.start);
            let message = format!(
                "`{}` is given twice: here and at line {}, column {}",
                shown_key(&key.value),
                place.line,
                place.column
            );
            self.report(Problem::schema(&at.key(&key.value), key.span, message));
        }
    }

    /// Two keys of which there may be one.
    pub(crate) fn exclusive(
        &mut self,
        whose: &str,
        one: &JsonMember,
        other: &JsonMember,
        at: &Path,
    ) {
        let later = if one.key.span.start < other.key.span.start { other } else { one };
        let (one, other) = (&one.key.value, &other.key.value);
        let message = format!("{whose} has either `{one}` or `{other}`, not both");
        let problem = Problem::schema(&at.key(&later.key.value), later.key.span, message);
        self.report(problem.help("remove one of them"));
    }

    pub(crate) fn wrong_type(&mut self, node: &Node, at: &Path, what: &str, expected: &str) {
        self.report(wrong_type(node, at, what, expected));
    }

    pub(crate) fn report(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    pub(crate) fn note(&mut self, at: &Path, span: Span) {
        let line = self.lines.place(span.start).line;
        self.notes.push(ConfigNote { path: at.as_str().to_owned(), line });
    }
}

pub(crate) fn wrong_type(node: &Node, at: &Path, what: &str, expected: &str) -> Problem {
    let message = format!("{what} must be {expected}, found {}", node.value.type_name());
    Problem::schema(at, node.span, message)
}

pub(crate) fn find<'n>(members: &'n [JsonMember], key: &str) -> Option<&'n JsonMember> {
    members.iter().find(|member| member.key.value == key)
}

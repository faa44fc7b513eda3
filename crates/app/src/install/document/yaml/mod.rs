//! A YAML file, edited by inserting and removing lines.
//!
//! Edited is what a program or a person writes as blocks. Every edit is read again and compared with
//! what it should be; whatever is written in another way is refused rather than spoilt.

mod outline;
mod value;
mod write;

use std::ops::Range;

use serde_json::{Map, Value};

use self::outline::{BlockMember, Body, Outline};
pub(in crate::install) use self::write::members as shown_in_yaml;
use super::{DocumentProblem, marked};

#[derive(Debug)]
pub(crate) struct YamlText {
    /// What stands before the first line.
    mark: &'static str,
    text: String,
    root: Value,
    newline: &'static str,
}

/// How far a member stands behind the one it belongs to.
const STEP: usize = 2;

impl YamlText {
    pub(super) fn parse(text: &str) -> Result<Self, DocumentProblem> {
        let (mark, text) = marked(text);
        let root = value::parse(text)?;
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        Ok(Self { mark, text: text.to_owned(), root, newline })
    }

    pub(super) fn get(&self, path: &[&str]) -> Option<Value> {
        path.iter().try_fold(&self.root, |value, key| value.get(key)).cloned()
    }

    pub(super) fn set(&mut self, path: &[&str], value: &Value) -> Result<(), DocumentProblem> {
        let Some((last, parents)) = path.split_last() else {
            return Ok(());
        };
        let mut wanted = self.root.clone();
        put(&mut wanted, path, value)?;
        // Of the objects on the way, those that are not there come with it.
        let outline = self.outline()?;
        let there = (0..=parents.len()).rev().find_map(|depth| {
            let (known, missing) = parents.split_at_checked(depth)?;
            Some((outline.find(known)?, missing))
        });
        let mut lines = self.lines();
        match (outline.find(path), there) {
            (Some(member), _) => {
                let new = write::member(last, value, member.indent, self.newline);
                lines.replace(member, &new);
            }
            (None, Some((parent, missing))) => {
                let (name, value) = nested(missing, last, value);
                lines.add(parent, &name, &value, self.newline)?;
            }
            (None, None) => {
                let (name, value) = nested(parents, last, value);
                lines.append(&write::member(&name, &value, 0, self.newline), self.newline);
            }
        }
        self.accept(lines.text(), &wanted)
    }

    pub(super) fn remove(&mut self, path: &[&str]) -> Result<(), DocumentProblem> {
        let Some((last, parents)) = path.split_last() else {
            return Ok(());
        };
        let mut wanted = self.root.clone();
        let at = parents.iter().try_fold(&mut wanted, |value, key| value.get_mut(*key));
        let members = match at {
            Some(Value::Object(members)) => members,
            Some(Value::Array(items)) => {
                let is_it = |item: &Value| item.get("name").and_then(Value::as_str) == Some(last);
                let Some(index) = items.iter().position(is_it) else { return Ok(()) };
                items.remove(index);
                let is_last = items.is_empty();
                return self.remove_item(parents, index, is_last, &wanted);
            }
            _ => return Ok(()),
        };
        if members.shift_remove(*last).is_none() {
            return Ok(());
        }
        let outline = self.outline()?;
        let member = outline.find(path).ok_or(DocumentProblem::Unusual)?;
        let mut lines = self.lines();
        lines.replace(member, "");
        if members.is_empty() && !parents.is_empty() {
            lines.mark_empty(outline.find(parents).ok_or(DocumentProblem::Unusual)?, " {}")?;
        }
        self.accept(lines.text(), &wanted)
    }

    /// Takes the item of this index out of the list under `parents`.
    fn remove_item(
        &mut self,
        parents: &[&str],
        index: usize,
        is_last: bool,
        wanted: &Value,
    ) -> Result<(), DocumentProblem> {
        let outline = self.outline()?;
        let list = outline.find(parents).ok_or(DocumentProblem::Unusual)?;
        let item = items(&self.text, list).into_iter().nth(index);
        let item = item.ok_or(DocumentProblem::Unusual)?;
        let mut lines = self.lines();
        lines.all.get_mut(item).ok_or(DocumentProblem::Unusual)?.fill(String::new());
        if is_last {
            lines.mark_empty(list, " []")?;
        }
        self.accept(lines.text(), wanted)
    }

    pub(super) fn holds_nothing(&self, path: &[&str]) -> bool {
        match self.get(path) {
            Some(Value::Object(members)) => members.is_empty(),
            Some(Value::Null) => true,
            _ => false,
        }
    }

    /// The member at `path` as `other` has it: one at the top to the byte.
    pub(super) fn adopt(&mut self, other: &Self, path: &[&str]) -> Result<(), DocumentProblem> {
        let Some(value) = other.get(path) else {
            return self.remove(path);
        };
        let &[key] = path else { return self.set(path, &value) };
        let (mine, theirs) = (self.outline()?, other.outline()?);
        let theirs = other.lines().of(theirs.find(&[key]).ok_or(DocumentProblem::Unusual)?);
        let mut wanted = self.root.clone();
        put(&mut wanted, &[key], &value)?;
        let mut lines = self.lines();
        match mine.find(&[key]) {
            Some(member) => lines.replace(member, &theirs),
            None => lines.append(&theirs, self.newline),
        }
        self.accept(lines.text(), &wanted)
    }

    pub(super) fn text(&self) -> String {
        format!("{}{}", self.mark, self.text)
    }

    fn outline(&self) -> Result<Outline, DocumentProblem> {
        Outline::read(&self.text).ok_or(DocumentProblem::Unusual)
    }

    fn lines(&self) -> YamlLines {
        YamlLines { all: self.text.split_inclusive('\n').map(str::to_owned).collect() }
    }

    /// The new text, if it says what it should and nothing else.
    fn accept(&mut self, text: String, wanted: &Value) -> Result<(), DocumentProblem> {
        match value::parse(&text) {
            Ok(root) if root == *wanted => {
                (self.text, self.root) = (text, root);
                Ok(())
            }
            _ => Err(DocumentProblem::Unusual),
        }
    }
}

/// The lines of the text, each with its end.
struct YamlLines {
    all: Vec<String>,
}

impl YamlLines {
    fn text(&self) -> String {
        self.all.concat()
    }

    fn of(&self, member: &BlockMember) -> String {
        self.all.get(member.lines.clone()).unwrap_or_default().concat()
    }

    /// Other lines in place of a member's.
    fn replace(&mut self, member: &BlockMember, new: &str) {
        if let Some(old) = self.all.get_mut(member.lines.clone()) {
            old.fill(String::new());
            if let Some(first) = old.first_mut() {
                new.clone_into(first);
            }
        }
    }

    /// A first member of `parent`: right behind its own line, so that comments further down stay where they
    /// belong.
    fn add(
        &mut self,
        parent: &BlockMember,
        name: &str,
        value: &Value,
        newline: &str,
    ) -> Result<(), DocumentProblem> {
        let indent = match parent.body {
            Body::Block { indent } => indent,
            Body::Nothing => parent.indent + STEP,
            Body::Other => return Err(DocumentProblem::Unusual),
        };
        let line = self.all.get_mut(parent.lines.start).ok_or(DocumentProblem::Unusual)?;
        if let (Body::Nothing, Some((before, after))) = (parent.body, line.split_once("{}")) {
            *line = format!("{}{after}", before.trim_end());
        }
        if !line.ends_with('\n') {
            line.push_str(newline);
        }
        line.push_str(&write::member(name, value, indent, newline));
        Ok(())
    }

    /// `key:` becomes `key: {}` or `key: []`: without members it would be nothing at all.
    fn mark_empty(&mut self, parent: &BlockMember, nothing: &str) -> Result<(), DocumentProblem> {
        let line = self.all.get_mut(parent.lines.start).ok_or(DocumentProblem::Unusual)?;
        let colon = line.find(':').ok_or(DocumentProblem::Unusual)?;
        line.insert_str(colon + 1, nothing);
        Ok(())
    }

    fn append(&mut self, new: &str, newline: &str) {
        match self.all.last_mut() {
            Some(last) if !last.ends_with('\n') => last.push_str(newline),
            _ => {}
        }
        self.all.push(new.to_owned());
    }
}

/// The lines of each item of a list that is written as a block: from its dash to the next one. Comments and
/// empty lines right before a dash belong to the item they stand above.
fn items(text: &str, list: &BlockMember) -> Vec<Range<usize>> {
    let lines: Vec<&str> = text.lines().collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let is_dash = |line: &str| line.trim_start().starts_with("- ") || line.trim() == "-";
    let inside = list.lines.start + 1..list.lines.end;
    let line = |at: usize| lines.get(at).copied().unwrap_or_default();
    let Some(first) = inside.clone().find(|at| is_dash(line(*at))) else { return Vec::new() };
    let left = indent(line(first));
    let is_item = |at: &usize| is_dash(line(*at)) && indent(line(*at)) == left;
    let above = |at: usize| {
        let is_note = |at: &usize| {
            let bare = line(*at).trim_start();
            bare.starts_with('#') && indent(line(*at)) <= left
        };
        (list.lines.start + 1..at).rev().take_while(is_note).last().unwrap_or(at)
    };
    let starts: Vec<usize> = inside.filter(is_item).map(above).collect();
    let ends = starts.iter().skip(1).copied().chain([list.lines.end]);
    starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect()
}

/// What has to be written to have `value` under these names: the first of them, and what is in it.
fn nested(parents: &[&str], last: &str, value: &Value) -> (String, Value) {
    let names = parents.iter().chain([&last]).rev();
    let (mut name, mut whole) = (last, value.clone());
    for (depth, key) in names.enumerate() {
        if depth > 0 {
            whole = Value::Object(Map::from_iter([(name.to_owned(), whole)]));
        }
        name = key;
    }
    (name.to_owned(), whole)
}

fn put(root: &mut Value, path: &[&str], value: &Value) -> Result<(), DocumentProblem> {
    let mut at = root;
    for (depth, key) in path.iter().enumerate() {
        if at.is_null() {
            *at = Value::Object(Map::new());
        }
        let Value::Object(members) = at else {
            let key = path.get(..depth).unwrap_or_default().join(".");
            return Err(DocumentProblem::NotAnObject { key });
        };
        at = members.entry(*key).or_insert(Value::Null);
    }
    *at = value.clone();
    Ok(())
}

#[cfg(test)]
mod tests;

//! A TOML file, edited by `toml_edit`, which keeps the user's order and comments.

use serde_json::Value;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike};
use trunkline_catalog::place::{LineColumn, Lines};

use super::{DocumentProblem, marked};

#[derive(Debug)]
pub(crate) struct TomlText {
    /// What stands before the first line.
    mark: &'static str,
    document: DocumentMut,
    newline: &'static str,
}

impl TomlText {
    pub(super) fn parse(text: &str) -> Result<Self, DocumentProblem> {
        let (mark, text) = marked(text);
        let document = text.parse::<DocumentMut>().map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let LineColumn { line, column } = Lines::new(text).place(at);
            DocumentProblem::Syntax { line, column, problem: error.message().to_owned() }
        })?;
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        Ok(Self { mark, document, newline })
    }

    pub(super) fn get(&self, path: &[&str]) -> Option<Value> {
        let root = self.document.as_item();
        path.iter().try_fold(root, |item, key| item.as_table_like()?.get(key)).map(to_json)
    }

    pub(super) fn set(&mut self, path: &[&str], value: &Value) -> Result<(), DocumentProblem> {
        let Some((last, parents)) = path.split_last() else {
            return Ok(());
        };
        let empty = self.document.is_empty();
        let table = self.parent(parents)?;
        let mut new = to_item(value);
        if let Item::Table(table) = &mut new {
            table.decor_mut().set_prefix(if empty { "" } else { "\n" });
        }
        match table.get_mut(last) {
            // keeps a comment behind the old value
            Some(Item::Value(old)) => replace_value(old, new),
            _ => drop(table.insert(last, new)),
        }
        Ok(())
    }

    /// The table at this path, made where it is missing.
    fn parent(&mut self, path: &[&str]) -> Result<&mut dyn TableLike, DocumentProblem> {
        let mut table: &mut dyn TableLike = self.document.as_table_mut();
        for (depth, key) in path.iter().enumerate() {
            let item = table.entry(key).or_insert_with(|| Item::Table(implicit()));
            let key = || path.get(..=depth).unwrap_or_default().join(".");
            table = item
                .as_table_like_mut()
                .ok_or_else(|| DocumentProblem::NotAnObject { key: key() })?;
        }
        Ok(table)
    }

    pub(super) fn remove(&mut self, path: &[&str]) {
        let Some((last, parents)) = path.split_last() else {
            return;
        };
        let mut table: &mut dyn TableLike = self.document.as_table_mut();
        for key in parents {
            match table.get_mut(key).and_then(Item::as_table_like_mut) {
                Some(inner) => table = inner,
                None => return,
            }
        }
        let removed = table.remove(last);
        if let Some(Item::Table(gone)) = removed {
            self.leave_comments_of(gone);
        }
    }

    /// A comment right above a table goes with it. What a blank line parts from it is about something else, and
    /// stays where it is.
    fn leave_comments_of(&mut self, mut gone: Table) {
        let above_gone = above(&gone);
        let (others, _) = with_own(&above_gone);
        let mut last = None;
        each_table(&mut gone, &mut |table| last = last.max(table.position()));
        // One that was put in just now has no place yet, and no comments.
        let Some(last) = last else { return };
        let mut next = None;
        each_table(self.document.as_table_mut(), &mut |table| {
            let place = table.position().filter(|place| *place > last && !table.is_implicit());
            next = next.into_iter().chain(place).min();
        });
        let Some(next) = next else {
            let end = joined(others, self.document.trailing().as_str().unwrap_or_default());
            return self.document.set_trailing(end);
        };
        each_table(self.document.as_table_mut(), &mut |table| {
            if table.position() == Some(next) {
                let kept = joined(others, &above(table));
                table.decor_mut().set_prefix(kept);
            }
        });
    }

    pub(super) fn holds_nothing(&self, path: &[&str]) -> bool {
        let root = self.document.as_item();
        let found = path.iter().try_fold(root, |item, key| item.as_table_like()?.get(key));
        found.and_then(Item::as_table_like).is_some_and(TableLike::is_empty)
    }

    /// What is at `path` as `other` has it, with its comments.
    pub(super) fn adopt(&mut self, other: &Self, path: &[&str]) -> Result<(), DocumentProblem> {
        let found = path
            .iter()
            .try_fold(other.document.as_item(), |item, key| item.as_table_like()?.get(key));
        let (Some(item), Some((last, parents))) = (found, path.split_last()) else {
            self.remove(path);
            return Ok(());
        };
        let mut item = item.clone();
        if let Item::Table(table) = &mut item {
            each_table(table, &mut |table| {
                // Comments that have stayed would be there twice.
                self.withdraw(with_own(&above(table)).0.trim());
                if !parents.is_empty() {
                    table.set_position(None);
                }
            });
        }
        self.parent(parents)?.insert(last, item);
        Ok(())
    }

    /// Takes these comments away from where they are.
    fn withdraw(&mut self, comments: &str) {
        if comments.is_empty() {
            return;
        }
        let without = |lines: &str| {
            let (before, after) = lines.split_once(comments)?;
            let after = after.trim_start_matches(['\r', '\n']);
            Some(match before.trim().is_empty() {
                true => format!("\n{after}"),
                false => joined(before, after),
            })
        };
        if let Some(end) = self.document.trailing().as_str().and_then(without) {
            self.document.set_trailing(end.trim_start_matches('\n'));
        }
        each_table(self.document.as_table_mut(), &mut |table| {
            if let Some(lines) = without(&above(table)) {
                table.decor_mut().set_prefix(lines);
            }
        });
    }

    pub(super) fn text(&self) -> String {
        // toml_edit writes every line end as `\n`
        format!("{}{}", self.mark, self.document.to_string().replace('\n', self.newline))
    }
}

/// The lines between a table's header and what stands before it.
fn above(table: &Table) -> String {
    let prefix = table.decor().prefix().and_then(|prefix| prefix.as_str());
    prefix.unwrap_or_default().to_owned()
}

/// The lines above a table: those that are not about it, and the comment that ends right above it.
fn with_own(above: &str) -> (&str, &str) {
    let lines = above.split_inclusive('\n').rev();
    let own = lines.take_while(|line| line.trim_start().starts_with('#'));
    above.split_at(above.len() - own.map(str::len).sum::<usize>())
}

/// Comments, a blank line, and what stands there.
fn joined(comments: &str, rest: &str) -> String {
    match comments.trim().is_empty() {
        true => rest.to_owned(),
        false => format!("{}\n\n{}", comments.trim_end(), rest.trim_start_matches(['\r', '\n'])),
    }
}

/// This table and those inside it.
fn each_table(table: &mut Table, look: &mut dyn FnMut(&mut Table)) {
    look(table);
    for (_, item) in table.iter_mut() {
        match item {
            Item::Table(inner) => each_table(inner, look),
            Item::ArrayOfTables(all) => all.iter_mut().for_each(|inner| each_table(inner, look)),
            Item::Value(_) | Item::None => {}
        }
    }
}

/// A value as the file would show it.
pub(in crate::install) fn shown(value: &Value) -> String {
    to_value(value).to_string()
}

/// A table that needs no header of its own: `[mcp_servers]` above `[mcp_servers.trunkline]`.
fn implicit() -> Table {
    let mut table = Table::new();
    table.set_implicit(true);
    table
}

fn replace_value(old: &mut toml_edit::Value, new: Item) {
    if let Ok(mut new) = new.into_value() {
        *new.decor_mut() = old.decor().clone();
        *old = new;
    }
}

fn to_item(value: &Value) -> Item {
    let Value::Object(members) = value else {
        return Item::Value(to_value(value));
    };
    let members = members.iter().map(|(key, value)| (key.as_str(), Item::Value(to_value(value))));
    Item::Table(members.collect())
}

fn to_value(value: &Value) -> toml_edit::Value {
    match value {
        Value::Bool(flag) => (*flag).into(),
        Value::String(text) => text.as_str().into(),
        Value::Array(items) => items.iter().map(to_value).collect::<Array>().into(),
        Value::Object(members) => {
            let members = members.iter().map(|(key, value)| (key.as_str(), to_value(value)));
            members.collect::<InlineTable>().into()
        }
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => whole.into(),
            (None, Some(number)) => number.into(),
            (None, None) => number.to_string().into(),
        },
        // TOML has none, and neither do our entries
        Value::Null => value.to_string().into(),
    }
}

fn to_json(item: &Item) -> Value {
    if let Some(table) = item.as_table_like() {
        return table.iter().map(|(key, item)| (key.to_owned(), to_json(item))).collect();
    }
    match item {
        Item::Value(value) => value_to_json(value),
        _ => Value::Null,
    }
}

fn value_to_json(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => text.value().as_str().into(),
        toml_edit::Value::Boolean(flag) => (*flag.value()).into(),
        toml_edit::Value::Integer(number) => (*number.value()).into(),
        toml_edit::Value::Float(number) => (*number.value()).into(),
        toml_edit::Value::InlineTable(table) => {
            table.iter().map(|(key, value)| (key.to_owned(), value_to_json(value))).collect()
        }
        toml_edit::Value::Array(items) => items.iter().map(value_to_json).collect(),
        other => other.to_string().trim().into(),
    }
}

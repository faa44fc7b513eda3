//! The arguments of the command line as a tree: `a.b=1` belongs below `a`.

use super::pair::{Pair, PairValue};
use super::problem::ArgumentProblem;
use crate::client::schema::Schema;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum ArgumentTree {
    /// A key, as often as it was said.
    Values(Vec<PairValue>),
    Branch(Branch),
}

/// In the order of the command line.
pub(super) type Branch = Vec<(String, ArgumentTree)>;

/// Sorts the pairs into a tree. A property whose own name has dots is found as it is spelt.
pub(super) fn tree(pairs: Vec<Pair>, schema: Schema<'_>) -> Result<Branch, ArgumentProblem> {
    let mut root = Branch::new();
    for pair in pairs {
        let path = split(&pair.key, schema);
        insert(&mut root, &path, pair.value).map_err(|()| {
            ArgumentProblem::new(&pair.key, "is given both as a whole and in parts")
        })?;
    }
    Ok(root)
}

fn split(key: &str, schema: Schema<'_>) -> Vec<String> {
    if schema.property(key).is_some() {
        return vec![key.to_owned()];
    }
    let Some((first, rest)) = key.split_once('.') else {
        return vec![key.to_owned()];
    };
    let below = match first.parse() {
        Ok(index) if schema.property(first).is_none() => schema.item(index),
        _ => schema.property(first).unwrap_or_else(Schema::anything),
    };
    let mut path = vec![first.to_owned()];
    path.extend(split(rest, below));
    path
}

fn insert(branch: &mut Branch, path: &[String], value: PairValue) -> Result<(), ()> {
    let Some((name, rest)) = path.split_first() else {
        return Ok(());
    };
    let at = branch.iter().position(|(known, _)| known == name);
    let at = at.unwrap_or_else(|| {
        let empty = if rest.is_empty() {
            ArgumentTree::Values(Vec::new())
        } else {
            ArgumentTree::Branch(Vec::new())
        };
        branch.push((name.clone(), empty));
        branch.len() - 1
    });
    match branch.get_mut(at) {
        Some((_, ArgumentTree::Values(values))) if rest.is_empty() => {
            values.push(value);
            Ok(())
        }
        Some((_, ArgumentTree::Branch(below))) if !rest.is_empty() => insert(below, rest, value),
        _ => Err(()),
    }
}

//! Makes the arguments of a call from `key=value …` and the tool's JSON Schema.

mod convert;
mod json;
mod pair;
mod problem;
mod tree;

use trunkline_wire::members;

pub(crate) use convert::convert;
pub(crate) use json::Json;
pub(crate) use pair::{Pair, PairValue};
pub(crate) use problem::ArgumentProblem;

use convert::checked;
use tree::{ArgumentTree, Branch, tree};

use super::near::question;
use super::schema::{Schema, ValueKind, type_words};

/// Puts the arguments of a call together, or says everything that is wrong with them.
///
/// `whole` is the JSON object given with `--args`: its members go as they are, and nothing is
/// missed because of it, because JSON is sent as it was written. Pairs take precedence over it.
pub(crate) fn build(
    whole: Option<&[u8]>,
    pairs: Vec<Pair>,
    schema: Schema<'_>,
) -> Result<Vec<u8>, Vec<ArgumentProblem>> {
    if let (Some(whole), []) = (whole, pairs.as_slice()) {
        return Ok(whole.to_vec());
    }
    let given = tree(pairs, schema).map_err(|problem| vec![problem])?;
    let mut builder = Builder { problems: Vec::new(), complete: whole.is_none() };
    let own = builder.object(given, schema, "");
    if !builder.problems.is_empty() {
        return Err(builder.problems);
    }
    let mut all: Vec<(String, Json)> = Vec::new();
    for (name, span) in members(whole.unwrap_or(b"{}")) {
        if !own.iter().any(|(replaced, _)| *replaced == name) {
            let token = span.of(whole.unwrap_or_default()).to_vec();
            all.push((name.into_owned(), Json::Token(token)));
        }
    }
    all.extend(own);
    Ok(Json::Object(all).bytes())
}

struct Builder {
    problems: Vec<ArgumentProblem>,
    /// Whether a required member that was not given is missing.
    complete: bool,
}

impl Builder {
    fn object(&mut self, branch: Branch, schema: Schema<'_>, at: &str) -> Vec<(String, Json)> {
        let mut unknown = Vec::new();
        let mut built = Vec::new();
        let given: Vec<String> = branch.iter().map(|(name, _)| name.clone()).collect();
        for (name, value) in branch {
            let key = join(at, &name);
            let known = schema.property(&name);
            // `key:=json` is the way to send what the schema does not know.
            let forced = matches!(&value, ArgumentTree::Values(said) if said.iter().all(is_json));
            let open = || schema.further().or_else(|| forced.then(Schema::anything));
            match known.or_else(open) {
                Some(below) => built.push((name, self.value(value, below, &key))),
                None => unknown.push((name, key)),
            }
        }
        let declared: Vec<&str> = schema.properties().iter().map(|(name, _)| *name).collect();
        for (name, key) in &unknown {
            let near = question(name, declared.iter().copied());
            self.report(key, format!("is not an argument here{near}"));
        }
        for name in schema.required() {
            if self.complete && !given.iter().any(|given| given == name) {
                let what = schema.property(name).map_or("anything".to_owned(), type_words);
                self.report(&join(at, name), format!("is missing ({what})"));
            }
        }
        built
    }

    fn value(&mut self, given: ArgumentTree, schema: Schema<'_>, key: &str) -> Json {
        match given {
            ArgumentTree::Values(said) => self.values(said, schema, key),
            ArgumentTree::Branch(branch) if is_list(&branch, schema) => {
                self.list(branch, schema, key)
            }
            ArgumentTree::Branch(branch) if !schema.kinds().has(ValueKind::Object) => {
                self.no_parts(&branch, schema, key)
            }
            ArgumentTree::Branch(branch) => Json::Object(self.object(branch, schema, key)),
        }
    }

    fn values(&mut self, said: Vec<PairValue>, schema: Schema<'_>, key: &str) -> Json {
        let kinds = schema.kinds();
        let is_array = kinds.has(ValueKind::Array) && !schema.leaves().is_empty();
        match <[PairValue; 1]>::try_from(said) {
            Ok([PairValue::Json(text)]) => self.kept(checked(&text), key),
            Ok([PairValue::Text(text)]) if is_array && !kinds.has(ValueKind::String) => {
                self.one_for_a_list(&text, schema, key)
            }
            Ok([PairValue::Text(text)]) => self.kept(convert(&text, schema), key),
            Err(several) if is_array || schema.leaves().is_empty() => {
                let items = several.into_iter().enumerate();
                let items = items.map(|(index, one)| self.item(one, schema.item(index), key));
                Json::Array(items.collect())
            }
            Err(several) => {
                let times = several.len();
                self.report(key, format!("is given {times} times, but it is not an array"));
                Json::token("null")
            }
        }
    }

    /// A key that is an array, said once: the whole array as JSON, or its only element.
    fn one_for_a_list(&mut self, text: &str, schema: Schema<'_>, key: &str) -> Json {
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return Json::Array(Vec::new());
        }
        if trimmed.starts_with('[') || trimmed == "null" && schema.kinds().has(ValueKind::Null) {
            return self.kept(checked(trimmed), key);
        }
        let item = self.item(PairValue::Text(text.to_owned()), schema.item(0), key);
        Json::Array(vec![item])
    }

    fn item(&mut self, said: PairValue, schema: Schema<'_>, key: &str) -> Json {
        match said {
            PairValue::Json(text) => self.kept(checked(&text), key),
            PairValue::Text(text) => self.kept(convert(&text, schema), key),
        }
    }

    /// `key.0=… key.1=…`
    fn list(&mut self, branch: Branch, schema: Schema<'_>, key: &str) -> Json {
        let mut items = Vec::new();
        for (index, (name, given)) in branch.into_iter().enumerate() {
            let key = join(key, &name);
            if name != index.to_string() {
                self.report(&key, "comes out of order: elements are counted from 0");
            }
            items.push(self.value(given, schema.item(index), &key));
        }
        Json::Array(items)
    }

    /// `key.part=…` where the schema has no such part.
    fn no_parts(&mut self, branch: &Branch, schema: Schema<'_>, key: &str) -> Json {
        let what = type_words(schema);
        let is_word = |name: &str| name.bytes().any(|c| !c.is_ascii_digit());
        let words = branch.iter().map(|(name, _)| name.as_str());
        let part = words.clone().find(|name| is_word(name)).or(words.clone().next());
        let part = part.unwrap_or_default();
        let advice = if schema.kinds().has(ValueKind::Array) {
            format!(": count its elements (`{key}.0.{part}=…`), or say `{key}:=JSON`")
        } else {
            String::new()
        };
        self.report(key, format!("is {what} and has no part `{part}`{advice}"));
        Json::token("null")
    }

    fn kept(&mut self, value: Result<Json, String>, key: &str) -> Json {
        value.unwrap_or_else(|what| {
            self.report(key, what);
            Json::token("null")
        })
    }

    fn report(&mut self, key: &str, what: impl Into<String>) {
        self.problems.push(ArgumentProblem::new(key, what));
    }
}

fn is_json(said: &PairValue) -> bool {
    matches!(said, PairValue::Json(_))
}

/// Are these the elements of an array, by number?
fn is_list(branch: &Branch, schema: Schema<'_>) -> bool {
    let numbered = branch.iter().all(|(name, _)| name.bytes().all(|c| c.is_ascii_digit()));
    numbered && schema.kinds().has(ValueKind::Array) && !schema.leaves().is_empty()
}

fn join(at: &str, name: &str) -> String {
    if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") }
}

#[cfg(test)]
mod tests;

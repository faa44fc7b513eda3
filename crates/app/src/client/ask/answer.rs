//! Reads one line of the user as the value of a form field.

use serde_json::Value;

use super::question::Field;
use crate::client::arguments::{Json, convert};
use crate::client::schema::{Schema, spelling};

/// The value a line means: `None` leaves the field out. `Err` says what is wrong with the line.
pub(super) fn answer(field: &Field, line: &str) -> Result<Option<Json>, String> {
    let line = line.trim();
    if line.is_empty() {
        return match field.schema.get("default") {
            Some(value) => Ok(Some(Json::token(&value.to_string()))),
            None if field.required => Err("is required".to_owned()),
            None => Ok(None),
        };
    }
    if field.several {
        return several(field, line).map(Some);
    }
    if field.options.is_empty() {
        let schema = Schema::new(&field.schema);
        formatted(line, schema.text("format"))?;
        return convert(line, schema).map(Some);
    }
    chosen(field, line).map(Some)
}

/// The formats of a form, as far as a slip can be seen; the server decides.
fn formatted(line: &str, format: Option<&str>) -> Result<(), String> {
    let digits = |text: &str, shape: &str| {
        let fits = |(c, wanted): (char, char)| {
            if wanted == '0' { c.is_ascii_digit() } else { c == wanted }
        };
        text.len() == shape.len() && text.chars().zip(shape.chars()).all(fits)
    };
    let (fits, example) = match format {
        Some("email") => {
            let parts = line.split_once('@');
            (parts.is_some_and(|(me, host)| !me.is_empty() && !host.is_empty()), "me@example.com")
        }
        Some("uri") => (
            line.split_once(':').is_some_and(|(it, rest)| !it.is_empty() && !rest.is_empty()),
            "https://example.com",
        ),
        Some("date") => (digits(line, "0000-00-00"), "2026-11-15"),
        Some("date-time") => {
            let start = line.get(..16).unwrap_or_default();
            (digits(&start.to_ascii_uppercase(), "0000-00-00T00:00"), "2026-11-15T10:00:00Z")
        }
        _ => return Ok(()),
    };
    if fits { Ok(()) } else { Err(format!("must look like {example}")) }
}

/// A choice by its number, its name or its value.
fn chosen(field: &Field, word: &str) -> Result<Json, String> {
    let word = word.trim();
    let spelt = |(value, name): &&(Value, String)| {
        name.eq_ignore_ascii_case(word) || spelling(value) == word
    };
    let number: Option<usize> = word.parse().ok();
    let by_number = || field.options.get(number?.checked_sub(1)?);
    let found = field.options.iter().find(spelt).or_else(by_number);
    found.map(|(value, _)| Json::token(&value.to_string())).ok_or_else(|| {
        format!("must be one of the choices (1 to {}), not `{word}`", field.options.len())
    })
}

/// Several, with commas between them.
fn several(field: &Field, line: &str) -> Result<Json, String> {
    let words = line.split(',').map(str::trim).filter(|word| !word.is_empty());
    let item = |word: &str| match field.options.as_slice() {
        [] => convert(word, Schema::new(&field.schema).item(0)),
        _ => chosen(field, word),
    };
    let items: Vec<Json> = words.map(item).collect::<Result<_, _>>()?;
    let bound = |name: &str| field.schema.get(name).and_then(Value::as_u64);
    let count = items.len() as u64;
    match (bound("minItems"), bound("maxItems")) {
        (Some(least), _) if count < least => Err(format!("needs at least {least}")),
        (_, Some(most)) if count > most => Err(format!("takes at most {most}")),
        _ => Ok(Json::Array(items)),
    }
}

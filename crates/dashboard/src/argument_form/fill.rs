//! What is in a form: at first, as somebody sent it, or as JSON says.

use std::collections::HashMap;

use trunkline_wire::{decode, elements, is_json, members};

use super::{ArgumentForm, Control, Field, PREFIX};

/// By the place of the field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Filled(HashMap<String, Vec<String>>);

impl Filled {
    /// Nothing but what the schema sets.
    pub(crate) fn preset(blank: &ArgumentForm) -> Self {
        let mut filled = Self::default();
        filled.take_presets(blank.fields());
        filled
    }

    fn take_presets(&mut self, fields: &[Field]) {
        for field in fields {
            if !field.preset.is_empty() {
                self.0.insert(field.at.clone(), field.preset.clone());
            }
            if let Control::Group(inner) = &field.control {
                self.take_presets(inner);
            }
        }
    }

    /// The fields of a form that was sent; others of the same form are left alone.
    pub(crate) fn sent<'f>(fields: impl Iterator<Item = (&'f str, &'f str)>) -> Self {
        let mut filled = Self::default();
        for (name, value) in fields {
            if let Some(at) = name.strip_prefix(PREFIX) {
                filled.add(at, value.to_owned());
            }
        }
        filled
    }

    /// The arguments, if the form can show all of them; else what it cannot.
    pub(crate) fn json(blank: &ArgumentForm, arguments: &str) -> Result<Self, String> {
        let bytes = arguments.trim().as_bytes();
        if !is_json(bytes) {
            return Err("this is not JSON".to_owned());
        }
        let mut filled = Self::default();
        filled.take_object(blank.fields(), bytes, "")?;
        Ok(filled)
    }

    fn take_object(&mut self, fields: &[Field], object: &[u8], place: &str) -> Result<(), String> {
        if !object.starts_with(b"{") {
            return Err(cannot(if place.is_empty() { "/" } else { place }));
        }
        let known = |name: &str| {
            let at = format!("{place}/{}", name.replace('~', "~0").replace('/', "~1"));
            fields.iter().find(|field| field.at == at).ok_or(at)
        };
        for (name, span) in members(object) {
            let field = known(&name).map_err(|at| cannot(&at))?;
            if self.0.contains_key(&field.at) {
                return Err(cannot(&field.at));
            }
            self.take(field, span.of(object))?;
        }
        Ok(())
    }

    fn take(&mut self, field: &Field, value: &[u8]) -> Result<(), String> {
        let text = String::from_utf8_lossy(value).into_owned();
        let refuse = || cannot(&field.at);
        match &field.control {
            Control::Line(_) | Control::Prose => {
                let text = decode(value).ok_or_else(refuse)?.into_owned();
                let is_one_line = !text.contains(['\n', '\r']);
                if !is_one_line && field.control != Control::Prose {
                    return Err(refuse());
                }
                self.add(&field.at, text);
            }
            Control::Number(_) if is_number(&text) => self.add(&field.at, text),
            Control::Tick if text == "true" || text == "false" => self.add(&field.at, text),
            Control::Choice(choices) if choices.iter().any(|choice| choice.token == text) => {
                self.add(&field.at, text);
            }
            Control::Several(choices) if value.starts_with(b"[") => {
                for span in elements(value) {
                    let token = String::from_utf8_lossy(span.of(value)).into_owned();
                    choices.iter().find(|choice| choice.token == token).ok_or_else(refuse)?;
                    self.add(&field.at, token);
                }
            }
            Control::Lines(_) if value.starts_with(b"[") => {
                let line = |element: &[u8]| match decode(element) {
                    Some(text) => Some(text.into_owned()).filter(|text| is_line(text)),
                    None => std::str::from_utf8(element).ok().map(str::to_owned),
                };
                let lines = elements(value).map(|span| line(span.of(value)));
                let lines = lines.collect::<Option<Vec<_>>>().ok_or_else(refuse)?;
                self.add(&field.at, lines.join("\n"));
            }
            Control::Group(inner) => self.take_object(inner, value, &field.at)?,
            Control::Json => self.add(&field.at, text),
            _ => return Err(refuse()),
        }
        Ok(())
    }

    fn add(&mut self, at: &str, value: String) {
        self.0.entry(at.to_owned()).or_default().push(value);
    }

    pub(super) fn all(&self, at: &str) -> &[String] {
        self.0.get(at).map(Vec::as_slice).unwrap_or_default()
    }

    /// The last one, as a tick comes behind the hidden field that stands for its absence.
    pub(super) fn one(&self, at: &str) -> &str {
        self.all(at).last().map(String::as_str).unwrap_or_default()
    }

    pub(super) fn has(&self, at: &str, value: &str) -> bool {
        self.all(at).iter().any(|known| known == value)
    }
}

fn cannot(at: &str) -> String {
    format!("`{at}` is something the form cannot show")
}

/// A line of a list stands for itself.
fn is_line(text: &str) -> bool {
    !text.is_empty() && text.trim() == text && !text.contains(['\n', '\r'])
}

pub(super) fn is_number(text: &str) -> bool {
    text.starts_with(|first: char| first == '-' || first.is_ascii_digit())
        && is_json(text.as_bytes())
}

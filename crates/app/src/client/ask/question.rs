//! An elicitation of a server (`elicitation/create`): a form, or a page to visit.

use serde_json::{Map, Value};

use crate::client::clean;
use crate::client::schema::{Schema, lenient, type_words};

#[derive(Debug)]
pub(crate) enum PersonQuestion {
    Form {
        message: String,
        fields: Vec<Field>,
    },
    Page {
        message: String,
        url: String,
    },
    /// A kind of question that was not announced as understood.
    Unknown,
}

/// One line of a form. A form is flat: every field is a primitive or a choice.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) label: String,
    pub(crate) schema: Value,
    pub(crate) required: bool,
    /// What may be chosen: the value and how it is called.
    pub(crate) options: Vec<(Value, String)>,
    pub(crate) several: bool,
}

impl PersonQuestion {
    pub(crate) fn read(params: &[u8]) -> Self {
        let params = lenient(params);
        let text = |key: &str| params.get(key).and_then(Value::as_str).unwrap_or_default();
        let message = clean::block(text("message").trim());
        match text("mode") {
            "" | "form" => {
                let form = params.get("requestedSchema").unwrap_or(&Value::Null);
                Self::Form { message, fields: fields(form) }
            }
            "url" => Self::Page { message, url: clean::line(text("url")) },
            _ => Self::Unknown,
        }
    }
}

fn fields(form: &Value) -> Vec<Field> {
    let schema = Schema::new(form);
    let required = schema.required();
    let empty = Map::new();
    let properties = form.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let field = |(name, schema): (&String, &Value)| {
        let items = schema.get("items").filter(|_| schema.get("type") == Some(&"array".into()));
        let options = options(items.unwrap_or(schema));
        let kind = match (options.is_empty(), items.is_some(), schema.get("format")) {
            (false, false, _) => "choose one".to_owned(),
            (false, true, _) => "choose any, with commas between".to_owned(),
            (true, _, Some(Value::String(format))) => clean::line(format),
            (true, ..) => type_words(Schema::new(schema)),
        };
        Field {
            name: name.clone(),
            label: label(name, &kind, Schema::new(schema)),
            required: required.contains(&name.as_str()),
            options,
            several: items.is_some(),
            schema: schema.clone(),
        }
    };
    properties.iter().map(field).collect()
}

/// `Display Name (string): what it is for`
fn label(name: &str, kind: &str, schema: Schema<'_>) -> String {
    let title = clean::line(schema.text("title").unwrap_or(name));
    match schema.text("description") {
        Some(words) => format!("{title} ({kind}): {}", clean::line(words)),
        None => format!("{title} ({kind})"),
    }
}

/// `enum` (with `enumNames` in older revisions), or `oneOf`/`anyOf` of titled constants.
fn options(schema: &Value) -> Vec<(Value, String)> {
    let said = |value: &Value| clean::line(value.as_str().unwrap_or(&value.to_string()));
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let names = schema.get("enumNames");
        let name =
            |at: usize| names.and_then(|names| names.get(at)).filter(|name| name.is_string());
        let option =
            |(at, value): (usize, &Value)| (value.clone(), said(name(at).unwrap_or(value)));
        return values.iter().enumerate().map(option).collect();
    }
    let titled = schema.get("oneOf").or_else(|| schema.get("anyOf")).and_then(Value::as_array);
    let option = |one: &Value| {
        let value = one.get("const")?;
        Some((value.clone(), said(one.get("title").unwrap_or(value))))
    };
    titled.into_iter().flatten().filter_map(option).collect()
}

//! Schema → form.

use serde_json::Value;

use super::resolve::{Resolved, SchemaType, resolve};
use super::{ArgumentForm, Bounds, Choice, Control, Field, LineType, ScalarType};

/// Fields on one page; an object with more is asked for as JSON.
const MOST_FIELDS: usize = 150;
/// Objects within objects.
const DEEPEST: usize = 3;
/// In one list to choose from; with more, what is wanted is typed.
const MOST_CHOICES: usize = 200;
// Servers write both: what is longer is cut, so that a form stays readable.
const LONGEST_TITLE: usize = 80;
const LONGEST_DOC: usize = 600;

/// The form of a tool with this schema for its arguments.
pub(crate) fn read(schema: &Value) -> ArgumentForm {
    let root = resolve(schema, schema);
    let properties = root.get("properties").and_then(Value::as_object);
    let is_closed = root.get("additionalProperties") == Some(&Value::Bool(false));
    match properties {
        _ if !root.is_plain => ArgumentForm::Anything,
        Some(properties) if !properties.is_empty() => {
            let mut reader = Reader { root: schema, left: MOST_FIELDS };
            reader.fields("", &root, 0).map_or(ArgumentForm::Anything, ArgumentForm::Fields)
        }
        // Most servers write that for a tool without arguments.
        Some(_) => ArgumentForm::Nothing,
        None if is_closed || root.kind() == SchemaType::Object => ArgumentForm::Nothing,
        None => ArgumentForm::Anything,
    }
}

struct Reader<'s> {
    root: &'s Value,
    left: usize,
}

impl<'s> Reader<'s> {
    /// `None`: there are too many.
    fn fields(&mut self, at: &str, object: &Resolved<'s>, depth: usize) -> Option<Vec<Field>> {
        let properties = object.get("properties").and_then(Value::as_object)?;
        self.left = self.left.checked_sub(properties.len())?;
        let field = |(name, schema): (&String, &'s Value)| {
            self.field(at, name, schema, object.requires(name), depth)
        };
        Some(properties.iter().map(field).collect())
    }

    fn field(
        &mut self,
        at: &str,
        name: &str,
        schema: &'s Value,
        is_required: bool,
        depth: usize,
    ) -> Field {
        let here = resolve(self.root, schema);
        let at = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
        let control = self.control(&at, name, &here, depth);
        let title = here.text("title").filter(|title| *title != name);
        let preset = here.get("default").and_then(|value| spelt(value, &control));
        Field {
            preset: preset.unwrap_or_default(),
            control,
            at,
            name: cut(name, LONGEST_TITLE),
            title: title.map(|title| cut(title, LONGEST_TITLE)),
            doc: here.text("description").map(|doc| cut(doc, LONGEST_DOC)),
            is_required,
        }
    }

    fn control(&mut self, at: &str, name: &str, here: &Resolved<'s>, depth: usize) -> Control {
        if !here.is_plain {
            return Control::Json;
        }
        if let Some(choices) = here.choices().and_then(|values| choices(&values)) {
            return Control::Choice(choices);
        }
        match here.kind() {
            SchemaType::Text => text(name, here),
            SchemaType::Whole => Control::Number(bounds(here, true)),
            SchemaType::Number => Control::Number(bounds(here, false)),
            SchemaType::Flag => Control::Tick,
            SchemaType::List => self.list(here),
            SchemaType::Object if depth < DEEPEST => {
                let fields = self.fields(at, here, depth + 1).filter(|fields| !fields.is_empty());
                fields.map_or(Control::Json, Control::Group)
            }
            SchemaType::Object | SchemaType::Open => Control::Json,
        }
    }

    fn list(&self, here: &Resolved<'s>) -> Control {
        let Some(items) = here.get("items") else { return Control::Json };
        let item = resolve(self.root, items);
        if !item.is_plain {
            return Control::Json;
        }
        if let Some(choices) = item.choices().and_then(|values| choices(&values)) {
            return Control::Several(choices);
        }
        match item.kind() {
            SchemaType::Text => Control::Lines(ScalarType::Text),
            SchemaType::Whole => Control::Lines(ScalarType::Whole),
            SchemaType::Number => Control::Lines(ScalarType::Number),
            _ => Control::Json,
        }
    }
}

/// Names that usually hold more than a line.
const PROSE: [&str; 14] = [
    "body", "code", "comment", "content", "contents", "html", "markdown", "message", "prompt",
    "script", "source", "sql", "text", "thought",
];

fn text(name: &str, here: &Resolved<'_>) -> Control {
    let line = match here.text("format") {
        Some("uri" | "url") => LineType::Address,
        Some("email") => LineType::Email,
        Some("date") => LineType::Date,
        _ => LineType::Text,
    };
    let short = here.get("maxLength").and_then(Value::as_u64).is_some_and(|most| most <= 200);
    let name = name.to_ascii_lowercase();
    let is_prose = PROSE.iter().any(|word| name == *word || name.ends_with(&format!("_{word}")));
    match line {
        LineType::Text if is_prose && !short => Control::Prose,
        line => Control::Line(line),
    }
}

fn bounds(here: &Resolved<'_>, is_whole: bool) -> Bounds {
    let number = |key: &str| here.get(key).filter(|value| value.is_number()).map(Value::to_string);
    Bounds { is_whole, least: number("minimum"), most: number("maximum") }
}

/// `None`: too many to choose from, or nothing.
fn choices(values: &[&Value]) -> Option<Vec<Choice>> {
    let is_fit = (1..=MOST_CHOICES).contains(&values.len());
    let choice = |value: &&Value| {
        let token = value.to_string();
        let shown = value.as_str().map_or_else(|| token.clone(), str::to_owned);
        Choice { shown: cut(&shown, LONGEST_TITLE), token }
    };
    is_fit.then(|| values.iter().map(choice).collect())
}

/// A default as its control has it; `None` if it does not fit.
fn spelt(value: &Value, control: &Control) -> Option<Vec<String>> {
    let one = |text: String| Some(vec![text]);
    let known = |choices: &[Choice], value: &Value| {
        let token = value.to_string();
        choices.iter().any(|choice| choice.token == token).then_some(token)
    };
    match (control, value) {
        (Control::Line(_) | Control::Prose, Value::String(text)) => one(text.clone()),
        (Control::Number(_), Value::Number(number)) => one(number.to_string()),
        (Control::Tick, Value::Bool(is_on)) => one(is_on.to_string()),
        (Control::Choice(choices), value) => one(known(choices, value)?),
        (Control::Several(choices), Value::Array(values)) => {
            values.iter().map(|value| known(choices, value)).collect()
        }
        (Control::Lines(_), Value::Array(values)) => {
            let line = |value: &Value| match value {
                Value::String(text) => Some(text.clone()).filter(|text| !text.contains('\n')),
                Value::Number(number) => Some(number.to_string()),
                _ => None,
            };
            one(values.iter().map(line).collect::<Option<Vec<_>>>()?.join("\n"))
        }
        (Control::Json, Value::Null) => None,
        (Control::Json, value) => one(value.to_string()),
        _ => None,
    }
}

pub(super) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The control of the property `p`.
    fn control(schema: &Value) -> Control {
        let blank = read(&json!({ "properties": { "p": schema } }));
        blank.fields().first().expect("a field").control.clone()
    }

    fn offered(values: &[&str]) -> Vec<Choice> {
        let choice = |token: &&str| Choice {
            token: (*token).to_owned(),
            shown: token.trim_matches('"').to_owned(),
        };
        values.iter().map(choice).collect()
    }

    #[test]
    fn each_type_has_its_control() {
        let whole = Bounds { is_whole: true, least: Some("1".into()), most: Some("9".into()) };
        for (schema, expected) in [
            (json!({ "type": "string" }), Control::Line(LineType::Text)),
            (json!({ "type": "string", "format": "uri" }), Control::Line(LineType::Address)),
            (json!({ "type": ["string", "null"] }), Control::Line(LineType::Text)),
            (json!({ "type": "integer", "minimum": 1, "maximum": 9 }), Control::Number(whole)),
            (json!({ "type": "number", "minimum": "no" }), Control::Number(Bounds::default())),
            (json!({ "type": "boolean" }), Control::Tick),
            (json!({ "enum": ["a", 1, null] }), Control::Choice(offered(&["\"a\"", "1", "null"]))),
            (json!({ "const": "a" }), Control::Choice(offered(&["\"a\""]))),
            (
                json!({ "oneOf": [{ "const": "a" }, { "const": "b" }] }),
                Control::Choice(offered(&["\"a\"", "\"b\""])),
            ),
            (
                json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] }),
                Control::Line(LineType::Text),
            ),
            (
                json!({ "type": "array", "items": { "enum": ["x"] } }),
                Control::Several(offered(&["\"x\""])),
            ),
            (json!({ "items": { "type": "integer" } }), Control::Lines(ScalarType::Whole)),
            (json!({ "type": "array", "items": { "type": "object" } }), Control::Json),
            (json!({ "type": "array" }), Control::Json),
            (json!({ "type": ["string", "integer"] }), Control::Json),
            (json!({ "anyOf": [{ "type": "string" }, { "type": "integer" }] }), Control::Json),
            (json!({ "type": "object" }), Control::Json),
            (json!({ "$ref": "#/nowhere" }), Control::Json),
            (json!({ "$ref": "https://example.com/schema" }), Control::Json),
            (json!(true), Control::Json),
            (json!("odd"), Control::Json),
        ] {
            assert_eq!(control(&schema), expected, "{schema}");
        }
    }

    #[test]
    fn objects_are_groups_and_what_is_required_is_known() {
        let schema = json!({
            "$defs": { "Place": {
                "type": "object",
                "title": "A place",
                "properties": { "city": { "type": "string" }, "zip/code": { "type": "string" } },
                "required": ["city"],
            } },
            "type": "object",
            "properties": {
                "to": { "$ref": "#/$defs/Place", "description": "Where to" },
                "body": { "type": "string", "default": "Hi", "title": "The text" },
            },
            "required": ["to"],
        });
        let blank = read(&schema);
        let [to, body] = blank.fields() else { panic!("{blank:?}") };
        assert!(to.is_required && !body.is_required);
        assert_eq!(to.title.as_deref(), Some("A place"));
        assert_eq!(to.doc.as_deref(), Some("Where to"));
        let Control::Group(inner) = &to.control else { panic!("{to:?}") };
        let places: Vec<(&str, bool)> =
            inner.iter().map(|field| (field.at.as_str(), field.is_required)).collect();
        assert_eq!(places, [("/to/city", true), ("/to/zip~1code", false)]);
        assert_eq!((&body.control, body.preset.as_slice()), (&Control::Prose, &["Hi".into()][..]));
    }

    #[test]
    fn what_a_tool_takes_at_all() {
        for (schema, expected) in [
            (json!({}), ArgumentForm::Anything),
            (json!(true), ArgumentForm::Anything),
            (json!(null), ArgumentForm::Anything),
            (json!({ "type": "object" }), ArgumentForm::Nothing),
            (json!({ "type": "object", "properties": {} }), ArgumentForm::Nothing),
            (json!({ "additionalProperties": false }), ArgumentForm::Nothing),
            (
                json!({ "oneOf": [{ "type": "object" }, { "type": "object" }] }),
                ArgumentForm::Anything,
            ),
        ] {
            assert_eq!(read(&schema), expected, "{schema}");
        }
    }

    #[test]
    fn defaults_that_do_not_fit_are_left_out() {
        for (schema, expected) in [
            (json!({ "type": "string", "default": 1 }), vec![]),
            (json!({ "type": "integer", "default": 5 }), vec!["5"]),
            (json!({ "type": "boolean", "default": false }), vec!["false"]),
            (json!({ "enum": ["a"], "default": "b" }), vec![]),
            (json!({ "enum": ["a"], "default": "a" }), vec!["\"a\""]),
            (json!({ "items": { "type": "string" }, "default": ["a", "b"] }), vec!["a\nb"]),
            (json!({ "items": { "type": "string" }, "default": ["a\nb"] }), vec![]),
            (json!({ "items": { "enum": [1, 2] }, "default": [2, 1] }), vec!["2", "1"]),
            (json!({ "type": "object", "default": { "a": 1 } }), vec![r#"{"a":1}"#]),
        ] {
            let blank = read(&json!({ "properties": { "p": schema.clone() } }));
            assert_eq!(blank.fields()[0].preset, expected, "{schema}");
        }
    }

    #[test]
    fn hostile_schemas_have_an_end() {
        let ring = json!({ "$ref": "#/properties/p" });
        assert_eq!(control(&ring), Control::Json);
        let tree = json!({
            "properties": { "a": { "$ref": "#" }, "b": { "$ref": "#" }, "c": { "$ref": "#" } },
        });
        fn count(fields: &[Field]) -> usize {
            let below = |field: &Field| match &field.control {
                Control::Group(fields) => count(fields),
                _ => 0,
            };
            fields.len() + fields.iter().map(below).sum::<usize>()
        }
        let all = count(read(&tree).fields());
        assert!((3..=MOST_FIELDS).contains(&all), "{all}");
        let wide: serde_json::Map<String, Value> =
            (0..1_000).map(|number| (format!("p{number}"), json!({}))).collect();
        assert_eq!(read(&json!({ "properties": wide })), ArgumentForm::Anything);
        let many: Vec<usize> = (0..10_000).collect();
        assert_eq!(control(&json!({ "enum": many, "type": "integer" })), {
            Control::Number(Bounds { is_whole: true, ..Bounds::default() })
        });
        let long = "é".repeat(100_000);
        let blank =
            read(&json!({ "properties": { &long: { "title": &long, "description": &long } } }));
        let field = &blank.fields()[0];
        assert!(field.name.len() < 200 && field.doc.as_ref().is_some_and(|doc| doc.len() < 2_000));
        assert_eq!(field.at.len(), long.len() + 1, "its place stays its place");
    }
}

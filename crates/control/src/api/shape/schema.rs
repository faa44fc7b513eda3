//! A shape as JSON Schema (2020-12), the language `OpenAPI` 3.1 describes values in.

use serde_json::{Map as Members, Value, json};

use super::{Field, Map, Need, Object, Others, Shape, Text, Variants};

/// Objects are referred to; `components` has them.
pub fn schema(shape: &Shape) -> Value {
    match shape {
        Shape::Text(rule) => text(rule),
        Shape::Word(words) => json!({"type": "string", "enum": words.known}),
        Shape::Flag => json!({"type": "boolean"}),
        Shape::Whole { least, most: i64::MAX } => json!({"type": "integer", "minimum": least}),
        Shape::Whole { least, most } => {
            json!({"type": "integer", "minimum": least, "maximum": most})
        }
        Shape::Number => json!({"type": "number", "minimum": 0}),
        Shape::List { of, most: usize::MAX } => json!({"type": "array", "items": schema(of)}),
        Shape::List { of, most } => {
            json!({"type": "array", "items": schema(of), "maxItems": most})
        }
        Shape::Map(map) => self::map(map),
        Shape::Object(object) => reference(object.name),
        Shape::Variants(variants) => reference(variants.name),
        Shape::AnyOf(objects) => {
            let all: Vec<_> = objects.iter().map(|object| reference(object.name)).collect();
            json!({"anyOf": all})
        }
        Shape::OrNull(shape) => or_null(schema(shape)),
        Shape::AnyObject => json!({"type": "object", "additionalProperties": true}),
        Shape::Anything => json!({}),
    }
}

/// Every named schema that `shape` leads to, by its name.
pub fn components(shape: &Shape, found: &mut Members<String, Value>) {
    match shape {
        Shape::List { of, .. } | Shape::OrNull(of) => components(of, found),
        Shape::Map(map) => components(&map.values, found),
        Shape::Object(object) => component(object, found),
        Shape::AnyOf(objects) => {
            for object in *objects {
                component(object, found);
            }
        }
        Shape::Variants(variants) => {
            found.insert(variants.name.to_owned(), one_of(variants));
            for (_, object) in variants.cases {
                component(object, found);
            }
        }
        _ => {}
    }
}

fn component(object: &Object, found: &mut Members<String, Value>) {
    if found.contains_key(object.name) {
        return;
    }
    found.insert(object.name.to_owned(), self::object(object));
    for field in object.fields {
        components(&field.shape, found);
    }
}

fn object(object: &Object) -> Value {
    let field = |field: &Field| {
        let mut value = schema(&field.shape);
        if let (Value::Object(members), false) = (&mut value, field.doc.is_empty()) {
            members.insert("description".to_owned(), field.doc.into());
        }
        (field.name.to_owned(), value)
    };
    let properties: Members<String, Value> = object.fields.iter().map(field).collect();
    let required: Vec<_> =
        object.fields.iter().filter(|f| f.need == Need::Required).map(|f| f.name).collect();
    json!({
        "type": "object",
        "description": object.doc,
        "properties": properties,
        "required": required,
        "additionalProperties": object.others == Others::Allowed,
    })
}

fn one_of(variants: &Variants) -> Value {
    let all: Vec<_> = variants.cases.iter().map(|(_, object)| reference(object.name)).collect();
    let mapping: Members<String, Value> = variants
        .cases
        .iter()
        .flat_map(|(words, object)| words.iter().map(move |word| (*word, object.name)))
        .map(|(word, name)| (word.to_owned(), path(name).into()))
        .collect();
    json!({
        "description": variants.doc,
        "oneOf": all,
        "discriminator": {"propertyName": variants.tag, "mapping": mapping},
    })
}

fn map(map: &Map) -> Value {
    json!({
        "type": "object",
        "propertyNames": text(&map.names),
        "additionalProperties": schema(&map.values),
        "maxProperties": map.most,
    })
}

fn text(rule: &Text) -> Value {
    let mut members = Members::new();
    members.insert("type".to_owned(), "string".into());
    if let Some(format) = rule.form.format() {
        members.insert("format".to_owned(), format.into());
    }
    if rule.least > 0 {
        members.insert("minLength".to_owned(), rule.least.into());
    }
    if rule.most < usize::MAX {
        members.insert("maxLength".to_owned(), rule.most.into());
    }
    if let Some(pattern) = rule.form.pattern() {
        members.insert("pattern".to_owned(), pattern.into());
    }
    Value::Object(members)
}

fn or_null(mut schema: Value) -> Value {
    // An enumeration would still refuse null.
    let simple = schema.get("enum").is_none();
    match schema.get_mut("type") {
        Some(kind @ Value::String(_)) if simple => {
            *kind = json!([kind.take(), "null"]);
            schema
        }
        _ => json!({"anyOf": [schema, {"type": "null"}]}),
    }
}

fn path(name: &str) -> String {
    format!("#/components/schemas/{name}")
}

fn reference(name: &str) -> Value {
    json!({"$ref": path(name)})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::shape::{Case, Form, Words, optional, required};

    static WORDS: Words = Words { known: &["A", "B"], case: Case::Any };
    static WORD: Shape = Shape::Word(&WORDS);
    static LEAF: Object = Object::answer("Leaf", "a leaf", &[]);
    static TREE: Object = Object::request(
        "Tree",
        "a tree",
        &[
            required("leaves", Shape::List { of: &Shape::Object(&LEAF), most: 3 }, "all of them"),
            optional("kind", Shape::OrNull(&Shape::Word(&WORDS)), ""),
        ],
    );

    #[test]
    fn scalars() {
        for (shape, expected) in [
            (Shape::Flag, r#"{"type":"boolean"}"#),
            (Shape::Whole { least: 1, most: 9 }, r#"{"type":"integer","minimum":1,"maximum":9}"#),
            (Shape::Word(&WORDS), r#"{"type":"string","enum":["A","B"]}"#),
            (
                Shape::OrNull(&WORD),
                r#"{"anyOf":[{"type":"string","enum":["A","B"]},{"type":"null"}]}"#,
            ),
            (Shape::OrNull(&Shape::Flag), r#"{"type":["boolean","null"]}"#),
            (
                Shape::Text(Text { least: 1, most: 9, form: Form::Time }),
                r#"{"type":"string","format":"date-time","minLength":1,"maxLength":9}"#,
            ),
        ] {
            assert_eq!(schema(&shape).to_string(), expected);
        }
    }

    #[test]
    fn objects_are_referred_to_and_found() {
        assert_eq!(
            schema(&Shape::Object(&TREE)).to_string(),
            r##"{"$ref":"#/components/schemas/Tree"}"##
        );
        let mut found = Members::new();
        components(&Shape::Object(&TREE), &mut found);
        assert_eq!(found.keys().collect::<Vec<_>>(), ["Tree", "Leaf"]);
        let tree = &found["Tree"];
        assert_eq!(tree["required"], json!(["leaves"]));
        assert_eq!(tree["additionalProperties"], json!(false));
        assert_eq!(tree["properties"]["leaves"]["description"], json!("all of them"));
        assert_eq!(found["Leaf"]["additionalProperties"], json!(true));
    }
}

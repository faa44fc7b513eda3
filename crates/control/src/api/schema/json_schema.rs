//! A schema as JSON Schema (2020-12), the language `OpenAPI` 3.1 describes values in.

use serde_json::{Map as Members, Value, json};

use super::{Field, MapSchema, ObjectSchema, Schema, TaggedObjects, TextRule, UnknownKeys};

/// Objects are referred to; `components` has them.
pub fn json_schema(schema: &Schema) -> Value {
    match schema {
        Schema::Text(rule) => text(rule),
        Schema::Enum(words) => json!({"type": "string", "enum": words.known}),
        Schema::Bool => json!({"type": "boolean"}),
        Schema::Integer { least, most: i64::MAX } => json!({"type": "integer", "minimum": least}),
        Schema::Integer { least, most } => {
            json!({"type": "integer", "minimum": least, "maximum": most})
        }
        Schema::Number { least, most } if most.is_finite() => {
            json!({"type": "number", "minimum": least, "maximum": most})
        }
        Schema::Number { .. } => json!({"type": "number", "minimum": 0}),
        Schema::List { of, least, most } => list(of, *least, *most),
        Schema::Map(map) => self::map(map),
        Schema::Object(object) => reference(object.name),
        Schema::Tagged(variants) => reference(variants.name),
        Schema::AnyOf(objects) => {
            let all: Vec<_> = objects.iter().map(|object| reference(object.name)).collect();
            json!({"anyOf": all})
        }
        Schema::OneOf(schemas) => {
            let all: Vec<_> = schemas.iter().map(|schema| json_schema(schema)).collect();
            json!({"anyOf": all})
        }
        Schema::Nullable(schema) => nullable(json_schema(schema)),
        Schema::AnyObject => json!({"type": "object", "additionalProperties": true}),
        Schema::Anything => json!({}),
    }
}

/// Every named schema that `schema` leads to, by its name.
pub fn components(schema: &Schema, found: &mut Members<String, Value>) {
    match schema {
        Schema::List { of, .. } | Schema::Nullable(of) => components(of, found),
        Schema::Map(map) => components(&map.values, found),
        Schema::Object(object) => component(object, found),
        Schema::AnyOf(objects) => {
            for object in *objects {
                component(object, found);
            }
        }
        Schema::OneOf(schemas) => schemas.iter().for_each(|schema| components(schema, found)),
        Schema::Tagged(variants) => {
            found.insert(variants.name.to_owned(), one_of(variants));
            for (_, object) in variants.cases {
                component(object, found);
            }
        }
        _ => {}
    }
}

fn component(object: &ObjectSchema, found: &mut Members<String, Value>) {
    if found.contains_key(object.name) {
        return;
    }
    found.insert(object.name.to_owned(), self::object(object));
    for field in object.all_fields() {
        components(&field.schema, found);
    }
}

fn object(object: &ObjectSchema) -> Value {
    let field = |field: &Field| {
        let mut value = json_schema(&field.schema);
        if let (Value::Object(members), false) = (&mut value, field.doc.is_empty()) {
            members.insert("description".to_owned(), field.doc.into());
        }
        (field.name.to_owned(), value)
    };
    let properties: Members<String, Value> = object.all_fields().map(field).collect();
    let required: Vec<_> = object.all_fields().filter(|f| f.is_required).map(|f| f.name).collect();
    json!({
        "type": "object",
        "description": object.doc,
        "properties": properties,
        "required": required,
        "additionalProperties": object.unknown_keys == UnknownKeys::Allowed,
    })
}

fn one_of(variants: &TaggedObjects) -> Value {
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

fn list(of: &Schema, least: usize, most: usize) -> Value {
    let mut members = Members::new();
    members.insert("type".to_owned(), "array".into());
    members.insert("items".to_owned(), json_schema(of));
    if least > 0 {
        members.insert("minItems".to_owned(), least.into());
    }
    if most < usize::MAX {
        members.insert("maxItems".to_owned(), most.into());
    }
    Value::Object(members)
}

fn map(map: &MapSchema) -> Value {
    json!({
        "type": "object",
        "propertyNames": text(&map.names),
        "additionalProperties": json_schema(&map.values),
        "maxProperties": map.most,
    })
}

fn text(rule: &TextRule) -> Value {
    let mut members = Members::new();
    members.insert("type".to_owned(), "string".into());
    if let Some(format) = rule.format.format() {
        members.insert("format".to_owned(), format.into());
    }
    if rule.least > 0 {
        members.insert("minLength".to_owned(), rule.least.into());
    }
    if rule.most < usize::MAX {
        members.insert("maxLength".to_owned(), rule.most.into());
    }
    if let Some(pattern) = rule.format.pattern() {
        members.insert("pattern".to_owned(), pattern.into());
    }
    Value::Object(members)
}

fn nullable(mut schema: Value) -> Value {
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
    use crate::api::schema::{Case, EnumValues, TextFormat, optional, required};

    static WORDS: EnumValues = EnumValues { known: &["A", "B"], case: Case::Insensitive };
    static WORD: Schema = Schema::Enum(&WORDS);
    static LEAF: ObjectSchema = ObjectSchema::answer("Leaf", "a leaf", &[]);
    static TREE: ObjectSchema = ObjectSchema::request(
        "Tree",
        "a tree",
        &[
            required(
                "leaves",
                Schema::List { of: &Schema::Object(&LEAF), least: 0, most: 3 },
                "all of them",
            ),
            optional("kind", Schema::Nullable(&Schema::Enum(&WORDS)), ""),
        ],
    );

    #[test]
    fn scalars() {
        for (schema, expected) in [
            (Schema::Bool, r#"{"type":"boolean"}"#),
            (
                Schema::Integer { least: 1, most: 9 },
                r#"{"type":"integer","minimum":1,"maximum":9}"#,
            ),
            (Schema::Enum(&WORDS), r#"{"type":"string","enum":["A","B"]}"#),
            (
                Schema::Nullable(&WORD),
                r#"{"anyOf":[{"type":"string","enum":["A","B"]},{"type":"null"}]}"#,
            ),
            (Schema::Nullable(&Schema::Bool), r#"{"type":["boolean","null"]}"#),
            (
                Schema::Text(TextRule { least: 1, most: 9, format: TextFormat::Time }),
                r#"{"type":"string","format":"date-time","minLength":1,"maxLength":9}"#,
            ),
        ] {
            assert_eq!(json_schema(&schema).to_string(), expected);
        }
    }

    #[test]
    fn objects_are_referred_to_and_found() {
        assert_eq!(
            json_schema(&Schema::Object(&TREE)).to_string(),
            r##"{"$ref":"#/components/schemas/Tree"}"##
        );
        let mut found = Members::new();
        components(&Schema::Object(&TREE), &mut found);
        assert_eq!(found.keys().collect::<Vec<_>>(), ["Tree", "Leaf"]);
        let tree = &found["Tree"];
        assert_eq!(tree["required"], json!(["leaves"]));
        assert_eq!(tree["additionalProperties"], json!(false));
        assert_eq!(tree["properties"]["leaves"]["description"], json!("all of them"));
        assert_eq!(found["Leaf"]["additionalProperties"], json!(true));
    }
}

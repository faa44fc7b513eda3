//! Examples for the document, put together from those of the members.

use serde_json::{Map, Value, json};

use super::{Field, ObjectSchema, Schema, TextFormat};

pub fn example(schema: &Schema) -> Value {
    match schema {
        Schema::Text(rule) => match rule.format {
            TextFormat::Time => "2025-01-08T10:00:00Z".into(),
            TextFormat::Url => "https://mcp.example.com/mcp".into(),
            _ => "text".into(),
        },
        Schema::Enum(values) => values.known.first().copied().into(),
        Schema::Bool => false.into(),
        Schema::Integer { least, .. } => (*least).into(),
        Schema::Number { least, .. } => json!(least),
        Schema::List { of, .. } => json!([example(of)]),
        Schema::Object(object) => of_object(object),
        // The last case is the usual one: a server on the network.
        Schema::Tagged(objects) => objects.cases.last().map(|(_, case)| of_object(case)).into(),
        Schema::AnyOf(objects) => objects.first().map(|object| of_object(object)).into(),
        Schema::OneOf(schemas) => schemas.first().map(|schema| example(schema)).into(),
        Schema::Nullable(_) => Value::Null,
        Schema::Map(_) | Schema::AnyObject | Schema::Anything => json!({}),
    }
}

/// A request shows what is required and what its declaration gives an example of; an answer shows all
/// that is always there.
fn of_object(object: &ObjectSchema) -> Value {
    let shown = object.all_fields().filter(|field| field.is_required || field.example.is_some());
    shown.map(|field| (field.name.to_owned(), of_field(field))).collect::<Map<_, _>>().into()
}

fn of_field(field: &Field) -> Value {
    // A test proves that each example is JSON of its schema.
    let given = field.example.and_then(|given| serde_json::from_str(given).ok());
    given.unwrap_or_else(|| example(&field.schema))
}

//! Does a JSON value fit its schema? Finds everything that is wrong with it, not only the first.

use trunkline_catalog::jsonc::{JsonMember, Node, Value};
use trunkline_catalog::name::escaped;

use super::{
    Case, EnumValues, MapSchema, ObjectSchema, Schema, TaggedObjects, TextRule, UnknownKeys,
    nearest,
};
use crate::api::fault::{Pointer, RequestFault};

/// Adds every mistake to `faults`: a client that is told only the first needs one request for each.
pub fn check(node: &Node, schema: &Schema, at: &Pointer, faults: &mut Vec<RequestFault>) {
    match (schema, &node.value) {
        (Schema::Anything, _) => {}
        (Schema::Nullable(_), Value::Null) => {}
        (Schema::Nullable(schema), _) => check(node, schema, at, faults),
        (Schema::Text(rule), Value::String(found)) => check_text(&found.value, rule, at, faults),
        (Schema::Enum(words), Value::String(found)) => check_word(&found.value, words, at, faults),
        (Schema::Bool, Value::Bool(_)) => {}
        (Schema::Integer { least, most }, Value::Number(number)) => match whole(number) {
            Some(number) if (*least..=*most).contains(&number) => {}
            _ => faults.push(RequestFault::at(at, format!("must be {}", range(*least, *most)))),
        },
        (Schema::Number { least, most }, Value::Number(number)) => {
            faults.extend(number_fault(number, *least, *most).map(|it| RequestFault::at(at, it)));
        }
        (Schema::List { of, least, most }, Value::Array(items)) => {
            if items.len() < *least {
                faults.push(RequestFault::at(at, "must not be empty"));
            }
            if items.len() > *most {
                faults.push(RequestFault::at(at, format!("has more than {most} elements")));
            }
            for (index, item) in items.iter().take(*most).enumerate() {
                check(item, of, &at.index(index), faults);
            }
        }
        (Schema::Map(map), Value::Object(members)) => check_map(members, map, at, faults),
        (Schema::Object(object), Value::Object(members)) => {
            check_object(members, object, at, faults);
        }
        (Schema::Tagged(variants), Value::Object(members)) => {
            check_object(members, variant(members, variants), at, faults);
        }
        (Schema::AnyOf(objects), Value::Object(members)) => {
            check_any(members, objects, at, faults);
        }
        (Schema::OneOf(schemas), value) => {
            let fitting = schemas.iter().find(|schema| is_type_of(value, schema));
            match (fitting, schemas.first()) {
                (Some(schema), _) => check(node, schema, at, faults),
                (None, first) => {
                    let wanted = first.map_or("something else", |it| wanted(it));
                    let message =
                        format!("must be {wanted} or an object, not {}", value.type_name());
                    faults.push(RequestFault::at(at, message));
                }
            }
        }
        (Schema::AnyObject, Value::Object(members)) => {
            duplicates(members, Case::Sensitive, at, faults);
        }
        (schema, value) => {
            let message = format!("must be {}, not {}", wanted(schema), value.type_name());
            faults.push(RequestFault::at(at, message));
        }
    }
}

fn check_text(found: &str, rule: &TextRule, at: &Pointer, faults: &mut Vec<RequestFault>) {
    let length = found.chars().count();
    if length < rule.least && rule.least == 1 {
        faults.push(RequestFault::at(at, "must not be empty"));
    } else if length < rule.least {
        faults.push(RequestFault::at(at, format!("has fewer than {} characters", rule.least)));
    } else if length > rule.most {
        faults.push(RequestFault::at(at, format!("has more than {} characters", rule.most)));
    }
    // Of an endless text nothing more need be said, and of an empty one nothing can.
    if length > 0 && length <= rule.most {
        faults.extend(rule.format.fault(found).map(|(message, hint)| RequestFault {
            hint: hint.map(str::to_owned),
            ..RequestFault::at(at, message)
        }));
    }
}

fn check_word(found: &str, words: &EnumValues, at: &Pointer, faults: &mut Vec<RequestFault>) {
    if words.find(found).is_some() {
        return;
    }
    let known = words.known.join(", ");
    let fault = RequestFault::at(at, format!("must be one of {known}"));
    faults.push(match nearest(found, words.known.iter().copied()) {
        Some(word) => fault.hint(format!("did you mean {word}?")),
        None => fault,
    });
}

impl EnumValues {
    /// The word as we write it.
    pub fn find(&self, found: &str) -> Option<&'static str> {
        self.known.iter().copied().find(|word| match self.case {
            Case::Sensitive => *word == found,
            Case::Insensitive => word.eq_ignore_ascii_case(found),
        })
    }
}

fn check_map(
    members: &[JsonMember],
    map: &MapSchema,
    at: &Pointer,
    faults: &mut Vec<RequestFault>,
) {
    duplicates(members, map.case, at, faults);
    if members.len() > map.most {
        faults.push(RequestFault::at(at, format!("has more than {} members", map.most)));
    }
    for member in members.iter().take(map.most) {
        let at = at.key(&member.key.value);
        check_text(&member.key.value, &map.names, &at, faults);
        check(&member.value, &map.values, &at, faults);
    }
}

fn check_object(
    members: &[JsonMember],
    object: &ObjectSchema,
    at: &Pointer,
    faults: &mut Vec<RequestFault>,
) {
    duplicates(members, Case::Sensitive, at, faults);
    let mut meant = Vec::new();
    for member in members {
        let key = member.key.value.as_str();
        let at = at.key(key);
        match object.field(key) {
            Some(field) => check(&member.value, &field.schema, &at, faults),
            None if object.unknown_keys == UnknownKeys::Allowed => {}
            None => {
                let (fault, guess) = unknown_key(key, members, object, &at);
                faults.push(fault);
                meant.extend(guess);
            }
        }
    }
    for field in object.all_fields().filter(|field| field.is_required) {
        let present = members.iter().any(|member| member.key.value == field.name);
        // A misspelt key is one mistake, not two.
        if !present && !meant.contains(&field.name) {
            faults.push(RequestFault::at(&at.key(field.name), "is missing").hint(field.doc));
        }
    }
}

/// What to say about a key that does not belong here, and which one it was meant to be.
fn unknown_key(
    key: &str,
    members: &[JsonMember],
    object: &ObjectSchema,
    at: &Pointer,
) -> (RequestFault, Option<&'static str>) {
    if let Some((_, why)) = object.refused.iter().find(|(name, _)| *name == key) {
        return (RequestFault::at(at, *why), None);
    }
    let absent = |name: &&str| !members.iter().any(|member| member.key.value == *name);
    let names = object.all_fields().map(|field| field.name).filter(absent);
    let fault = RequestFault::at(at, format!("unknown field `{}`", escaped(key)));
    match nearest(key, names) {
        Some(guess) => (fault.hint(format!("did you mean `{guess}`?")), Some(guess)),
        None => {
            let known: Vec<_> = object.all_fields().map(|field| field.name).collect();
            (fault.hint(format!("expected one of {}", known.join(", "))), None)
        }
    }
}

fn duplicates(members: &[JsonMember], case: Case, at: &Pointer, faults: &mut Vec<RequestFault>) {
    let mut seen = std::collections::HashSet::new();
    for member in members {
        let key = &member.key.value;
        let same = if case == Case::Insensitive { key.to_ascii_lowercase() } else { key.clone() };
        if !seen.insert(same) {
            faults.push(RequestFault::at(&at.key(key), "appears twice").hint("keep one of them"));
        }
    }
}

/// The object that the tag asks for.
fn variant(members: &[JsonMember], variants: &TaggedObjects) -> &'static ObjectSchema {
    let tag = members.iter().find(|member| member.key.value == variants.tag);
    let Some(Value::String(word)) = tag.map(|tag| &tag.value.value) else {
        return variants.common;
    };
    let says = |words: &[&str]| words.iter().any(|known| known.eq_ignore_ascii_case(&word.value));
    let case = variants.cases.iter().find(|(words, _)| says(words));
    case.map_or(variants.common, |(_, object)| object)
}

/// The object it fits, or what is wrong with it as the one it fits best.
fn check_any(
    members: &[JsonMember],
    objects: &[&ObjectSchema],
    at: &Pointer,
    faults: &mut Vec<RequestFault>,
) {
    let tried = objects.iter().map(|object| {
        let mut found = Vec::new();
        check_object(members, object, at, &mut found);
        found
    });
    faults.extend(tried.min_by_key(Vec::len).unwrap_or_default());
}

/// The number, if it is a whole one, however it is written: `100`, `1e2`, `100.0`.
pub(super) fn whole(number: &str) -> Option<i64> {
    if let Ok(number) = number.parse() {
        return Some(number);
    }
    let number: f64 = number.parse().ok()?;
    // Beyond 2^53 a float has lost digits.
    let exact = number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0;
    exact.then(|| format!("{number:.0}").parse().ok())?
}

fn number_fault(number: &str, least: f64, most: f64) -> Option<String> {
    if most.is_infinite() {
        return number.starts_with('-').then(|| "must not be negative".to_owned());
    }
    let fits = number.parse().is_ok_and(|number| (least..=most).contains(&number));
    (!fits).then(|| format!("must be a number from {least} to {most}"))
}

fn range(least: i64, most: i64) -> String {
    match (least, most) {
        (least, i64::MAX) => format!("a whole number, {least} or more"),
        _ => format!("a whole number from {least} to {most}"),
    }
}

/// Whether a value is of the type that a schema is about.
fn is_type_of(value: &Value, schema: &Schema) -> bool {
    matches!(
        (schema, value),
        (Schema::Text(_) | Schema::Enum(_), Value::String(_))
            | (Schema::Bool, Value::Bool(_))
            | (Schema::Object(_) | Schema::AnyOf(_) | Schema::Map(_), Value::Object(_))
    )
}

fn wanted(schema: &Schema) -> &'static str {
    match schema {
        Schema::Text(_) | Schema::Enum(_) => "a string",
        Schema::Bool => "true or false",
        Schema::Integer { .. } => "a whole number",
        Schema::Number { .. } => "a number",
        Schema::List { .. } => "an array",
        Schema::Map(_)
        | Schema::Object(_)
        | Schema::Tagged(_)
        | Schema::AnyOf(_)
        | Schema::AnyObject => "an object",
        Schema::Nullable(schema) => wanted(schema),
        Schema::Anything | Schema::OneOf(_) => "anything",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::schema::{TextFormat, number, optional, required, text};
    use trunkline_catalog::jsonc::{Dialect, HalfPairs, Options, parse};

    static COLOUR: EnumValues = EnumValues { known: &["RED", "GREEN"], case: Case::Insensitive };
    static PAIRS: MapSchema = MapSchema {
        names: TextRule { least: 1, most: 5, format: TextFormat::HeaderName },
        values: text(0, 5, TextFormat::HeaderValue),
        case: Case::Insensitive,
        most: 2,
    };
    static INNER: ObjectSchema =
        ObjectSchema::request("Inner", "", &[required("url", text(1, 99, TextFormat::Url), "")]);
    static OUTER: ObjectSchema = ObjectSchema {
        refused: &[("id", "is given by us")],
        ..ObjectSchema::request(
            "Outer",
            "",
            &[
                required("name", text(1, 4, TextFormat::ServerName), "a name"),
                optional("colour", Schema::Enum(&COLOUR), ""),
                optional("count", Schema::Integer { least: 1, most: 100 }, ""),
                optional("note", Schema::Nullable(&text(0, 3, TextFormat::Prose)), ""),
                optional("list", Schema::List { of: &Schema::Bool, least: 0, most: 2 }, ""),
                optional("pairs", Schema::Map(&PAIRS), ""),
                optional("inner", Schema::Object(&INNER), ""),
                optional("ratio", number(), ""),
                optional("pause", Schema::Number { least: 0.5, most: 60.0 }, ""),
                optional("any", Schema::Anything, ""),
            ],
        )
    };

    fn faults(json: &str) -> String {
        let options =
            Options { dialect: Dialect::Strict, half_pairs: HalfPairs::Refused, depth: 64 };
        let document = parse(json, options).expect(json);
        let mut faults = Vec::new();
        check(&document.root, &Schema::Object(&OUTER), &Pointer::root(), &mut faults);
        let line = |fault: &RequestFault| {
            let crate::api::fault::FaultPlace::Body(at) = &fault.place else { panic!("{fault:?}") };
            let hint = fault.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
            format!("{} {}{hint}", at.as_str(), fault.message)
        };
        faults.iter().map(line).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn what_fits_has_no_faults() {
        for json in [
            r#"{"name":"a"}"#,
            r#"{"name":"a","colour":"rEd","count":1e2,"note":null,"list":[true,false]}"#,
            r#"{"name":"a.b","pairs":{"A":"b","C":""},"inner":{"url":"http://h"},"ratio":0.5}"#,
            r#"{"name":"a","any":{"x":1,"x":2},"pause":60,"count":100.0,"note":"é\n"}"#,
        ] {
            assert_eq!(faults(json), "", "{json}");
        }
    }

    #[test]
    fn each_fault_is_named_with_its_place() {
        for (json, expected) in [
            ("[]", " must be an object, not an array"),
            ("{}", "/name is missing (a name)"),
            (r#"{"name":1}"#, "/name must be a string, not a number"),
            (r#"{"name":""}"#, "/name must not be empty"),
            (r#"{"name":"abcde"}"#, "/name has more than 4 characters"),
            (r#"{"nmae":"a"}"#, "/nmae unknown field `nmae` (did you mean `name`?)"),
            (r#"{"name":"a","name":"b"}"#, "/name appears twice (keep one of them)"),
            (r#"{"name":"a","id":1}"#, "/id is given by us"),
            (
                r#"{"name":"a","colour":"gren"}"#,
                "/colour must be one of RED, GREEN (did you mean GREEN?)",
            ),
            (r#"{"name":"a","count":0}"#, "/count must be a whole number from 1 to 100"),
            (r#"{"name":"a","count":1.5}"#, "/count must be a whole number from 1 to 100"),
            (r#"{"name":"a","count":1e99}"#, "/count must be a whole number from 1 to 100"),
            (r#"{"name":"a","count":"1"}"#, "/count must be a whole number, not a string"),
            (r#"{"name":"a","note":"abcd"}"#, "/note has more than 3 characters"),
            (r#"{"name":"a","list":[true,1]}"#, "/list/1 must be true or false, not a number"),
            (r#"{"name":"a","list":[true,true,true]}"#, "/list has more than 2 elements"),
            (
                r#"{"name":"a","pairs":{"A":"","a":""}}"#,
                "/pairs/a appears twice (keep one of them)",
            ),
            (
                r#"{"name":"a","pairs":{"A B":"x\r\n"}}"#,
                "/pairs/A B is not the name of a header; \
                 /pairs/A B has a line end or another control character",
            ),
            (r#"{"name":"a","inner":{}}"#, "/inner/url is missing ()"),
            (r#"{"name":"a","ratio":-1}"#, "/ratio must not be negative"),
            (r#"{"name":"a","pause":0.4}"#, "/pause must be a number from 0.5 to 60"),
            (r#"{"name":"a","pause":1e999}"#, "/pause must be a number from 0.5 to 60"),
            (r#"{"name":"a","pause":"1"}"#, "/pause must be a number, not a string"),
        ] {
            assert_eq!(faults(json), expected, "{json}");
        }
    }

    #[test]
    fn all_faults_are_found_at_once() {
        let json = r#"{"colour":"x","count":0,"inner":{"uri":"h"},"extra":1}"#;
        let found = faults(json);
        for place in ["/colour ", "/count ", "/inner/uri ", "/extra ", "/name is missing"] {
            assert!(found.contains(place), "{place} in {found}");
        }
    }

    #[test]
    fn no_value_is_repeated_in_a_fault() {
        let json = r#"{"name":"hunter2 hunter2","colour":"hunter2","pairs":{"A":"hunter2\n"}}"#;
        assert!(!faults(json).contains("hunter2"));
    }
}

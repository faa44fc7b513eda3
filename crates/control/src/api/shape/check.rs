//! Does a JSON value have its shape? Finds everything that is wrong with it, not only the first.

use trunkline_catalog::jsonc::{JsonMember, Node, Value};
use trunkline_catalog::name::escaped;

use super::{Case, Map, Need, Object, Others, Shape, Text, Variants, Words, nearest};
use crate::api::fault::{Fault, Pointer};

pub fn check(node: &Node, shape: &Shape, at: &Pointer, faults: &mut Vec<Fault>) {
    match (shape, &node.value) {
        (Shape::Anything, _) => {}
        (Shape::OrNull(_), Value::Null) => {}
        (Shape::OrNull(shape), _) => check(node, shape, at, faults),
        (Shape::Text(rule), Value::String(found)) => check_text(&found.value, rule, at, faults),
        (Shape::Word(words), Value::String(found)) => check_word(&found.value, words, at, faults),
        (Shape::Flag, Value::Bool(_)) => {}
        (Shape::Whole { least, most }, Value::Number(number)) => match whole(number) {
            Some(number) if (*least..=*most).contains(&number) => {}
            _ => faults.push(Fault::at(at, format!("must be {}", range(*least, *most)))),
        },
        (Shape::Number, Value::Number(number)) => {
            if number.starts_with('-') {
                faults.push(Fault::at(at, "must not be negative"));
            }
        }
        (Shape::List { of, most }, Value::Array(items)) => {
            if items.len() > *most {
                faults.push(Fault::at(at, format!("has more than {most} elements")));
            }
            for (index, item) in items.iter().take(*most).enumerate() {
                check(item, of, &at.index(index), faults);
            }
        }
        (Shape::Map(map), Value::Object(members)) => check_map(members, map, at, faults),
        (Shape::Object(object), Value::Object(members)) => {
            check_object(members, object, at, faults);
        }
        (Shape::Variants(variants), Value::Object(members)) => {
            check_object(members, variant(members, variants), at, faults);
        }
        (Shape::AnyOf(objects), Value::Object(members)) => {
            check_any(members, objects, at, faults);
        }
        (Shape::AnyObject, Value::Object(members)) => {
            duplicates(members, Case::AsWritten, at, faults);
        }
        (shape, value) => {
            let message = format!("must be {}, not {}", wanted(shape), value.type_name());
            faults.push(Fault::at(at, message));
        }
    }
}

fn check_text(found: &str, rule: &Text, at: &Pointer, faults: &mut Vec<Fault>) {
    let length = found.chars().count();
    if length < rule.least && rule.least == 1 {
        faults.push(Fault::at(at, "must not be empty"));
    } else if length < rule.least {
        faults.push(Fault::at(at, format!("has fewer than {} characters", rule.least)));
    } else if length > rule.most {
        faults.push(Fault::at(at, format!("has more than {} characters", rule.most)));
    }
    // Of an endless text nothing more need be said, and of an empty one nothing can.
    if length > 0 && length <= rule.most {
        faults.extend(rule.form.fault(found).map(|(message, hint)| Fault {
            hint: hint.map(str::to_owned),
            ..Fault::at(at, message)
        }));
    }
}

fn check_word(found: &str, words: &Words, at: &Pointer, faults: &mut Vec<Fault>) {
    if words.find(found).is_some() {
        return;
    }
    let known = words.known.join(", ");
    let fault = Fault::at(at, format!("must be one of {known}"));
    faults.push(match nearest(found, words.known.iter().copied()) {
        Some(word) => fault.hint(format!("did you mean {word}?")),
        None => fault,
    });
}

impl Words {
    /// The word as we write it.
    pub fn find(&self, found: &str) -> Option<&'static str> {
        self.known.iter().copied().find(|word| match self.case {
            Case::AsWritten => *word == found,
            Case::Any => word.eq_ignore_ascii_case(found),
        })
    }
}

fn check_map(members: &[JsonMember], map: &Map, at: &Pointer, faults: &mut Vec<Fault>) {
    duplicates(members, map.case, at, faults);
    if members.len() > map.most {
        faults.push(Fault::at(at, format!("has more than {} members", map.most)));
    }
    for member in members.iter().take(map.most) {
        let at = at.key(&member.key.value);
        check_text(&member.key.value, &map.names, &at, faults);
        check(&member.value, &map.values, &at, faults);
    }
}

fn check_object(members: &[JsonMember], object: &Object, at: &Pointer, faults: &mut Vec<Fault>) {
    duplicates(members, Case::AsWritten, at, faults);
    let mut meant = Vec::new();
    for member in members {
        let key = member.key.value.as_str();
        let at = at.key(key);
        match object.field(key) {
            Some(field) => check(&member.value, &field.shape, &at, faults),
            None if object.others == Others::Allowed => {}
            None => {
                let (fault, guess) = unknown_key(key, members, object, &at);
                faults.push(fault);
                meant.extend(guess);
            }
        }
    }
    for field in object.fields.iter().filter(|field| field.need == Need::Required) {
        let present = members.iter().any(|member| member.key.value == field.name);
        // A misspelt key is one mistake, not two.
        if !present && !meant.contains(&field.name) {
            faults.push(Fault::at(&at.key(field.name), "is missing").hint(field.doc));
        }
    }
}

/// What to say about a key that does not belong here, and which one it was meant to be.
fn unknown_key(
    key: &str,
    members: &[JsonMember],
    object: &Object,
    at: &Pointer,
) -> (Fault, Option<&'static str>) {
    if let Some((_, why)) = object.refused.iter().find(|(name, _)| *name == key) {
        return (Fault::at(at, *why), None);
    }
    let absent = |name: &&str| !members.iter().any(|member| member.key.value == *name);
    let names = object.fields.iter().map(|field| field.name).filter(absent);
    let fault = Fault::at(at, format!("`{}` is not known here", escaped(key)));
    match nearest(key, names) {
        Some(guess) => (fault.hint(format!("did you mean `{guess}`?")), Some(guess)),
        None => {
            let known: Vec<_> = object.fields.iter().map(|field| field.name).collect();
            (fault.hint(format!("known are: {}", known.join(", "))), None)
        }
    }
}

fn duplicates(members: &[JsonMember], case: Case, at: &Pointer, faults: &mut Vec<Fault>) {
    let mut seen = std::collections::HashSet::new();
    for member in members {
        let key = &member.key.value;
        let same = if case == Case::Any { key.to_ascii_lowercase() } else { key.clone() };
        if !seen.insert(same) {
            faults.push(Fault::at(&at.key(key), "appears twice").hint("keep one of them"));
        }
    }
}

/// The object that the tag asks for.
fn variant(members: &[JsonMember], variants: &Variants) -> &'static Object {
    let tag = members.iter().find(|member| member.key.value == variants.tag);
    let Some(Value::String(word)) = tag.map(|tag| &tag.value.value) else {
        return variants.common;
    };
    let says = |words: &[&str]| words.iter().any(|known| known.eq_ignore_ascii_case(&word.value));
    let case = variants.cases.iter().find(|(words, _)| says(words));
    case.map_or(variants.common, |(_, object)| object)
}

/// The object it fits, or what is wrong with it as the one it fits best.
fn check_any(members: &[JsonMember], objects: &[&Object], at: &Pointer, faults: &mut Vec<Fault>) {
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

fn range(least: i64, most: i64) -> String {
    match (least, most) {
        (least, i64::MAX) => format!("a whole number, {least} or more"),
        _ => format!("a whole number from {least} to {most}"),
    }
}

fn wanted(shape: &Shape) -> &'static str {
    match shape {
        Shape::Text(_) | Shape::Word(_) => "a string",
        Shape::Flag => "true or false",
        Shape::Whole { .. } => "a whole number",
        Shape::Number => "a number",
        Shape::List { .. } => "an array",
        Shape::Map(_)
        | Shape::Object(_)
        | Shape::Variants(_)
        | Shape::AnyOf(_)
        | Shape::AnyObject => "an object",
        Shape::OrNull(shape) => wanted(shape),
        Shape::Anything => "anything",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::shape::{Form, optional, required, text};
    use trunkline_catalog::jsonc::{Dialect, HalfPairs, Options, parse};

    static COLOUR: Words = Words { known: &["RED", "GREEN"], case: Case::Any };
    static PAIRS: Map = Map {
        names: Text { least: 1, most: 5, form: Form::HeaderName },
        values: text(0, 5, Form::HeaderValue),
        case: Case::Any,
        most: 2,
    };
    static INNER: Object =
        Object::request("Inner", "", &[required("url", text(1, 99, Form::Url), "")]);
    static OUTER: Object = Object {
        refused: &[("id", "is given by us")],
        ..Object::request(
            "Outer",
            "",
            &[
                required("name", text(1, 4, Form::ServerName), "a name"),
                optional("colour", Shape::Word(&COLOUR), ""),
                optional("count", Shape::Whole { least: 1, most: 100 }, ""),
                optional("note", Shape::OrNull(&text(0, 3, Form::Prose)), ""),
                optional("list", Shape::List { of: &Shape::Flag, most: 2 }, ""),
                optional("pairs", Shape::Map(&PAIRS), ""),
                optional("inner", Shape::Object(&INNER), ""),
                optional("ratio", Shape::Number, ""),
                optional("any", Shape::Anything, ""),
            ],
        )
    };

    fn faults(json: &str) -> String {
        let options =
            Options { dialect: Dialect::Strict, half_pairs: HalfPairs::Refused, depth: 64 };
        let document = parse(json, options).expect(json);
        let mut faults = Vec::new();
        check(&document.root, &Shape::Object(&OUTER), &Pointer::root(), &mut faults);
        let line = |fault: &Fault| {
            let crate::api::fault::Place::Body(at) = &fault.place else { panic!("{fault:?}") };
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
            r#"{"name":"a","any":{"x":1,"x":2},"count":100.0,"note":"é\n"}"#,
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
            (r#"{"nmae":"a"}"#, "/nmae `nmae` is not known here (did you mean `name`?)"),
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

//! What was filled in → the arguments, as JSON.

use trunkline_wire::{encode, is_json};

use super::fill::{Filled, is_number};
use super::{Bounds, Choice, Control, Field, Mistake, ScalarType};

/// The arguments, or everything that is wrong with them.
pub(crate) fn collect(fields: &[Field], filled: &Filled) -> Result<String, Vec<Mistake>> {
    let mut mistakes = Vec::new();
    let arguments = object(fields, filled, &mut mistakes);
    if mistakes.is_empty() { Ok(arguments) } else { Err(mistakes) }
}

/// The arguments without those that are wrong: a person goes on with them as JSON.
pub(crate) fn draft(fields: &[Field], filled: &Filled) -> String {
    object(fields, filled, &mut Vec::new())
}

fn object(fields: &[Field], filled: &Filled, mistakes: &mut Vec<Mistake>) -> String {
    let mut members = Vec::new();
    for field in fields {
        match value(field, filled, mistakes) {
            Ok(Some(value)) => members.push(format!("{}:{value}", quoted(&key(&field.at)))),
            Ok(None) if field.is_required => mistakes.push(mistake(field, "is required")),
            Ok(None) => {}
            Err(says) => mistakes.push(mistake(field, &says)),
        }
    }
    format!("{{{}}}", members.join(","))
}

/// `None`: nothing was filled in.
fn value(
    field: &Field,
    filled: &Filled,
    mistakes: &mut Vec<Mistake>,
) -> Result<Option<String>, String> {
    let text = filled.one(&field.at);
    match &field.control {
        Control::Line(_) | Control::Prose => Ok((!text.is_empty()).then(|| quoted(text))),
        Control::Number(bounds) => number(text.trim(), bounds),
        Control::Tick => match text {
            "true" | "false" => Ok(Some(text.to_owned())),
            _ => Ok(field.is_required.then(|| "false".to_owned())),
        },
        Control::Choice(_) if text.is_empty() => Ok(None),
        Control::Choice(choices) => chosen(choices, text).map(Some),
        Control::Several(choices) => {
            let all = filled.all(&field.at).iter().filter(|token| !token.is_empty());
            let all: Vec<String> =
                all.map(|token| chosen(choices, token)).collect::<Result<_, _>>()?;
            Ok((field.is_required || !all.is_empty()).then(|| format!("[{}]", all.join(","))))
        }
        Control::Lines(plain) => lines(text, *plain, field.is_required),
        // A group nobody touched is not there, whatever it requires of its own.
        Control::Group(inner) if !field.is_required && !is_touched(inner, filled) => Ok(None),
        Control::Group(inner) => Ok(Some(object(inner, filled, mistakes))),
        Control::Json => match text.trim() {
            "" => Ok(None),
            json if is_json(json.as_bytes()) => Ok(Some(json.to_owned())),
            _ => Err("is not JSON".to_owned()),
        },
    }
}

fn is_touched(fields: &[Field], filled: &Filled) -> bool {
    fields.iter().any(|field| match &field.control {
        Control::Group(inner) => is_touched(inner, filled),
        Control::Tick => filled.one(&field.at) == "true",
        _ => filled.all(&field.at).iter().any(|value| !value.trim().is_empty()),
    })
}

fn number(text: &str, bounds: &Bounds) -> Result<Option<String>, String> {
    let is_whole = !text.contains(['.', 'e', 'E']);
    match text {
        "" => Ok(None),
        text if !is_number(text) => Err("is not a number".to_owned()),
        _ if bounds.is_whole && !is_whole => Err("is not a whole number".to_owned()),
        text => Ok(Some(text.to_owned())),
    }
}

fn chosen(choices: &[Choice], token: &str) -> Result<String, String> {
    let known = choices.iter().any(|choice| choice.token == token);
    known.then(|| token.to_owned()).ok_or_else(|| "is none of those to choose from".to_owned())
}

fn lines(text: &str, plain: ScalarType, is_required: bool) -> Result<Option<String>, String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let bounds = Bounds { is_whole: plain == ScalarType::Whole, ..Bounds::default() };
    let items = lines.map(|line| match plain {
        ScalarType::Text => Ok(quoted(line)),
        ScalarType::Whole | ScalarType::Number => {
            let value = number(line, &bounds).map_err(|says| format!("`{line}` {says}"))?;
            Ok(value.unwrap_or_default())
        }
    });
    let items: Vec<String> = items.collect::<Result<_, String>>()?;
    Ok((is_required || !items.is_empty()).then(|| format!("[{}]", items.join(","))))
}

fn mistake(field: &Field, says: &str) -> Mistake {
    Mistake { at: field.at.clone(), says: says.to_owned() }
}

/// The last step of a pointer, as the object spells it.
fn key(at: &str) -> String {
    let last = at.rsplit('/').next().unwrap_or_default();
    last.replace("~1", "/").replace("~0", "~")
}

fn quoted(text: &str) -> String {
    String::from_utf8_lossy(&encode(text)).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::argument_form::{ArgumentForm, read};

    fn blank() -> ArgumentForm {
        read(&json!({
            "properties": {
                "title": { "type": "string" },
                "count": { "type": "integer" },
                "ratio": { "type": "number" },
                "loud": { "type": "boolean" },
                "level": { "enum": ["low", 2] },
                "tags": { "type": "array", "items": { "type": "string" } },
                "days": { "type": "array", "items": { "enum": ["mo", "tu"] } },
                "place": {
                    "properties": { "a/b": { "type": "string" }, "on": { "type": "boolean" } },
                    "required": ["a/b", "on"],
                },
                "extra": {},
            },
            "required": ["title"],
        }))
    }

    fn filled(pairs: &[(&str, &str)]) -> Filled {
        let names: Vec<String> = pairs.iter().map(|(at, _)| format!("arg:{at}")).collect();
        Filled::sent(names.iter().map(String::as_str).zip(pairs.iter().map(|(_, value)| *value)))
    }

    #[test]
    fn what_is_filled_in_arrives_as_it_is_meant() {
        let blank = blank();
        for (pairs, expected) in [
            (&[("/title", "a\"b\n")][..], r#"{"title":"a\"b\n"}"#),
            (&[("/title", " 1 "), ("/count", " 7 ")], r#"{"title":" 1 ","count":7}"#),
            (
                &[("/title", "x"), ("/ratio", "1.50"), ("/loud", "false")],
                r#"{"title":"x","ratio":1.50,"loud":false}"#,
            ),
            (
                &[("/title", "x"), ("/count", "123456789012345678901234567890")],
                r#"{"title":"x","count":123456789012345678901234567890}"#,
            ),
            (&[("/title", "x"), ("/level", "2")], r#"{"title":"x","level":2}"#),
            (&[("/title", "x"), ("/tags", "a\n\n b \n")], r#"{"title":"x","tags":["a","b"]}"#),
            (
                &[("/title", "x"), ("/days", ""), ("/days", "\"tu\""), ("/days", "\"mo\"")],
                r#"{"title":"x","days":["tu","mo"]}"#,
            ),
            (
                &[("/title", "x"), ("/place/a~1b", "y")],
                r#"{"title":"x","place":{"a/b":"y","on":false}}"#,
            ),
            (&[("/title", "x"), ("/extra", " [1e400] ")], r#"{"title":"x","extra":[1e400]}"#),
            (&[("/title", "x"), ("/place/on", "false"), ("/loud", "")], r#"{"title":"x"}"#),
        ] {
            let got = collect(blank.fields(), &filled(pairs));
            assert_eq!(got.as_deref(), Ok(expected), "{pairs:?}");
        }
    }

    #[test]
    fn every_mistake_is_told_at_its_field() {
        let blank = blank();
        let pairs = [
            ("/count", "1.5"),
            ("/ratio", "much"),
            ("/level", "3"),
            ("/days", "\"su\""),
            ("/place/on", "true"),
            ("/extra", "{"),
        ];
        let mistakes = collect(blank.fields(), &filled(&pairs)).expect_err("mistakes");
        let told: Vec<(&str, &str)> =
            mistakes.iter().map(|it| (it.at.as_str(), it.says.as_str())).collect();
        assert_eq!(
            told,
            [
                ("/title", "is required"),
                ("/count", "is not a whole number"),
                ("/ratio", "is not a number"),
                ("/level", "is none of those to choose from"),
                ("/days", "is none of those to choose from"),
                ("/place/a~1b", "is required"),
                ("/extra", "is not JSON"),
            ]
        );
        assert_eq!(draft(blank.fields(), &filled(&pairs)), r#"{"place":{"on":true}}"#);
    }

    #[test]
    fn json_and_form_say_the_same() {
        let blank = blank();
        for arguments in [
            r#"{"title":"x"}"#,
            r#"{"title":"x","count":-0,"ratio":1e400,"loud":true,"level":"low"}"#,
            r#"{"title":"\ud83d\ude00","tags":["a","b c"],"days":["mo"],"extra":{"a":[ ]}}"#,
            r#"{"title":"x","place":{"a/b":"y","on":true}}"#,
        ] {
            let filled = Filled::json(&blank, arguments).expect(arguments);
            let back = collect(blank.fields(), &filled).expect(arguments);
            let value = |text: &str| text.replace("\\ud83d\\ude00", "\u{1f600}");
            assert_eq!(value(&back), value(arguments));
        }
        for arguments in [
            "",
            "[]",
            "{",
            r#"{"other":1}"#,
            r#"{"title":1}"#,
            r#"{"title":"a","title":"b"}"#,
            r#"{"title":"two\nlines"}"#,
            r#"{"title":null}"#,
            r#"{"place":{"c":1}}"#,
            r#"{"place":[]}"#,
            r#"{"tags":["a\nb"]}"#,
            r#"{"days":["su"]}"#,
        ] {
            assert!(Filled::json(&blank, arguments).is_err(), "{arguments}");
        }
    }

    #[test]
    fn defaults_are_sent_as_they_are_seen() {
        let blank = read(&json!({ "properties": {
            "limit": { "type": "integer", "default": 10 },
            "deep": { "properties": { "on": { "type": "boolean", "default": true } } },
        } }));
        let arguments = collect(blank.fields(), &Filled::preset(&blank)).expect("no mistake");
        let arguments: Value = serde_json::from_str(&arguments).expect("JSON");
        assert_eq!(arguments, json!({ "limit": 10, "deep": { "on": true } }));
    }
}

//! Reads the files and the standard input that arguments name.

use std::io::{self, Read as _};

use crate::client::{ArgumentProblem, Pair, Schema, build, line, parameters};
use crate::console;

/// More than a person passes as an argument; a pipe without an end must not fill the memory.
const LARGEST: u64 = 256 << 20;

/// The pairs of a command line, with what their files hold. To be called before anything is
/// started: standard input may take its time, and Ctrl-C must end that.
pub(super) fn read_pairs(said: &[String]) -> Result<Vec<Pair>, String> {
    let pairs: Result<_, _> = said.iter().map(|pair| Pair::parse(pair, &read_file)).collect();
    pairs.map_err(|error| error.to_string())
}

/// The arguments of `name` as JSON, or what is wrong with them and what is right.
pub(super) fn arguments(
    whole: Option<&[u8]>,
    pairs: Vec<Pair>,
    schema: Schema<'_>,
    name: &str,
) -> Result<Vec<u8>, String> {
    build(whole, pairs, schema).map_err(|problems| explain(&problems, schema, name))
}

fn explain(problems: &[ArgumentProblem], schema: Schema<'_>, name: &str) -> String {
    let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
    let table = parameters(schema, console::width());
    let takes = if table.is_empty() { " no arguments\n".to_owned() } else { format!("\n{table}") };
    format!("{}\n\n`{}` takes{takes}", said.join("\nerror: "), line(name)).trim_end().to_owned()
}

/// Text itself, `@FILE`, or `-` for standard input.
pub(super) fn read_argument(text: &str) -> Result<String, String> {
    let file = if text == "-" { Some("-") } else { text.strip_prefix('@') };
    match file {
        None => Ok(text.to_owned()),
        Some(file) => read_file(file).map_err(|error| format!("{file} cannot be read: {error}")),
    }
}

/// `-` is standard input.
fn read_file(file: &str) -> io::Result<String> {
    let mut text = String::new();
    let read = match file {
        "-" => io::stdin().take(LARGEST + 1).read_to_string(&mut text)?,
        path => std::fs::File::open(path)?.take(LARGEST + 1).read_to_string(&mut text)?,
    };
    if read as u64 > LARGEST {
        return Err(io::Error::other(format!("it is larger than {} MiB", LARGEST >> 20)));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_missing_is_shown_with_what_there_is() {
        let schema = json!({
            "type": "object",
            "properties": { "message": { "type": "string", "description": "What to say" } },
            "required": ["message"]
        });
        let text = arguments(None, Vec::new(), Schema::new(&schema), "s:echo").unwrap_err();
        let expected = "`message` is missing (string)\n\n`s:echo` takes\n  message  string  required  What to say";
        assert_eq!(text, expected);
        let none = json!({ "type": "object", "additionalProperties": false });
        let pairs = read_pairs(&["x=1".to_owned()]).unwrap();
        let text = arguments(None, pairs, Schema::new(&none), "s:now").unwrap_err();
        assert!(text.ends_with("`s:now` takes no arguments"), "{text}");
        let bad = read_pairs(&["x".to_owned()]).unwrap_err();
        assert!(bad.starts_with("`x` is not key=value"), "{bad}");
    }
}

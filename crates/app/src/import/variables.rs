//! References to variables, from each client's words into ours and back. Pure.
//!
//! What a client takes literally stays literal: Trunkline has no escape for `$`, but a variable that
//! is never set, with `$` as its default, is one.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;
use trunkline_catalog::client::Variables;

use super::owner::FileOwner;

/// A `$` that is none of a reference.
pub(super) const DOLLAR: &str = "${TRUNKLINE_DOLLAR:-$}";
/// Before the name of a variable that stands for an answer the client asks for.
const INPUT: &str = "INPUT_";

/// What references may lead to.
#[derive(Debug, Clone, Default)]
pub(super) struct VariableContext {
    /// The folder of the project whose file it is.
    pub(super) project: Option<PathBuf>,
    /// The inputs of the file by their ids, with their defaults.
    pub(super) inputs: BTreeMap<String, Option<String>>,
}

/// A text in the words of another file, and what to tell the user about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Translation {
    pub(super) text: String,
    pub(super) notes: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'t> {
    Literal(&'t str),
    /// `${…}`, without the braces.
    Braced(&'t str),
    /// `$name`, without the dollar.
    Plain(&'t str),
    /// A `$` before something else, or `${` that is never closed.
    Dollar,
}

/// What the owner means, in our words.
pub(super) fn ours(owner: FileOwner, text: &str, context: &VariableContext) -> Translation {
    let mut said = Translation { text: String::new(), notes: Vec::new() };
    let Some(syntax) = owner.spec().map(|spec| spec.variables) else {
        return Translation { text: text.to_owned(), ..said };
    };
    let plain = plain_references(text, syntax);
    for token in tokens(&plain) {
        match token {
            Token::Literal(literal) => said.text.push_str(literal),
            Token::Plain(name) if syntax == Variables::Shell => {
                said.text.push_str(&format!("${{{name}:-}}"));
            }
            Token::Plain(name)
                if name.starts_with(|c: char| c.is_ascii_uppercase() || c == '_') =>
            {
                literal(owner, &format!("${name}"), name, &mut said);
            }
            Token::Plain(name) => said.text.push_str(&format!("${name}")),
            Token::Braced(inner) => match braced(owner, syntax, inner, context) {
                Some((text, note)) => {
                    said.text.push_str(&text);
                    said.notes.extend(note);
                }
                None => {
                    literal(owner, &format!("${{{inner}}}"), &format!("{{{inner}}}"), &mut said);
                }
            },
            Token::Dollar => said.text.push('$'),
        }
    }
    // What is never closed would be an error of ours.
    if let Some(at) = unclosed(&said.text) {
        said.text.replace_range(at..=at, DOLLAR);
    }
    said
}

/// References in words that have no `${…}` or more than one of its braces, written with it: `{env:A}` of
/// opencode, `${{ secrets.A }}` of Continue, and `$(echo … $A)` of Crush, which a shell would print.
fn plain_references(text: &str, syntax: Variables) -> Cow<'_, str> {
    match syntax {
        Variables::Curly if text.contains("{env:") || text.contains("{file:") => {
            text.replace("{env:", "${env:").replace("{file:", "${file:").into()
        }
        Variables::Shell => {
            let echoed = text.strip_prefix("$(echo ").and_then(|rest| rest.strip_suffix(')'));
            echoed.filter(|rest| !rest.contains(['(', ')', '|', '`'])).unwrap_or(text).into()
        }
        Variables::Braces if text.contains("${{") => {
            let mut plain = text.to_owned();
            while let Some((start, inner, end)) = secret_reference(&plain) {
                plain.replace_range(start..end, &format!("${{{inner}}}"));
            }
            plain.into()
        }
        _ => text.into(),
    }
}

/// Where the first `${{ secrets.NAME }}` begins, its name, and where it ends.
fn secret_reference(text: &str) -> Option<(usize, String, usize)> {
    let start = text.find("${{")?;
    let length = text.get(start..)?.find("}}")?;
    let inner = text.get(start + 3..start + length)?.trim().strip_prefix("secrets.")?;
    let is_name = inner.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (is_name && !inner.is_empty()).then(|| (start, inner.to_owned(), start + length + 2))
}

/// The reference is plain text to its owner.
fn literal(owner: FileOwner, written: &str, rest: &str, said: &mut Translation) {
    said.text.push_str(DOLLAR);
    said.text.push_str(rest);
    let title = owner.title();
    said.notes.push(format!(
        "{title} does not expand `{written}`, so it stays plain text; if the variable was meant, write it \
         as ${{NAME}} in the new config"
    ));
}

/// What stands between braces, in our words; `None` if it is plain text there.
fn braced(
    owner: FileOwner,
    syntax: Variables,
    inner: &str,
    context: &VariableContext,
) -> Option<(String, Option<String>)> {
    let (kind, rest) = inner.split_once(':').unwrap_or((inner, ""));
    let is_name = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_()".contains(c))
    };
    match syntax {
        Variables::None => None,
        Variables::Braces => {
            let default = rest.strip_prefix('-');
            let fits =
                is_name(kind) && (rest.is_empty() && !inner.contains(':') || default.is_some());
            // Our defaults are not expanded again: a reference inside one would become plain text.
            (fits && !rest.contains('$')).then(|| (format!("${{{inner}}}"), None))
        }
        Variables::Shell => match rest.strip_prefix('-') {
            _ if !is_name(kind) => None,
            Some(_) => Some((format!("${{{inner}}}"), None)),
            None => Some((format!("${{{kind}:-}}"), None)),
        },
        Variables::Env { .. } if kind == "env" && is_name(rest) => {
            Some((format!("${{{rest}}}"), None))
        }
        Variables::Curly if kind == "env" && is_name(rest) => {
            Some((format!("${{{rest}:-}}"), None))
        }
        Variables::Curly | Variables::Env { files: true, .. } if kind == "file" => {
            let name = format!("FILE_{}", shouted(rest.rsplit('/').next().unwrap_or(rest)));
            let note = format!("{} reads {rest} here; set {name} to what it holds", owner.title());
            Some((format!("${{{name}}}"), Some(note)))
        }
        Variables::Env { inputs: true, .. } if kind == "input" => Some(input(owner, rest, context)),
        Variables::Env { folders: true, .. } => folder(inner, context),
        Variables::Curly | Variables::Env { .. } => None,
    }
}

/// An answer that the client asks a person for.
fn input(owner: FileOwner, id: &str, context: &VariableContext) -> (String, Option<String>) {
    let name = format!("{INPUT}{}", shouted(id));
    match context.inputs.get(id) {
        Some(Some(default)) if !default.contains(['$', '}']) => {
            (format!("${{{name}:-{default}}}"), None)
        }
        _ => {
            let note = format!("{} asks for `{id}`; set {name} before the start", owner.title());
            (format!("${{{name}}}"), Some(note))
        }
    }
}

/// `${userHome}`, `${workspaceFolder}` and the like.
fn folder(inner: &str, context: &VariableContext) -> Option<(String, Option<String>)> {
    let project = context.project.as_deref();
    let text = match inner {
        "userHome" => "${HOME}".to_owned(),
        "pathSeparator" | "/" => "/".to_owned(),
        "workspaceFolder" | "workspaceFolderBasename" => {
            let part = match inner {
                "workspaceFolder" => project.map(|project| project.display().to_string()),
                _ => project.and_then(|it| Some(it.file_name()?.to_string_lossy().into_owned())),
            };
            return Some(match part {
                Some(part) => (part, None),
                None => {
                    let note = format!(
                        "`${{{inner}}}` is the folder that is open; set WORKSPACE_FOLDER, or write the path"
                    );
                    ("${WORKSPACE_FOLDER}".to_owned(), Some(note))
                }
            });
        }
        _ => return None,
    };
    Some((text, None))
}

/// What we mean, in the owner's words. A note where it cannot say it.
pub(super) fn theirs(owner: FileOwner, text: &str) -> Translation {
    let mut said = Translation { text: String::new(), notes: Vec::new() };
    let Some(syntax) = owner.spec().map(|spec| spec.variables) else {
        return Translation { text: text.to_owned(), ..said };
    };
    // NUL stands for the `$` until the references are translated: no argument or variable can hold
    // it.
    let text = text.replace(DOLLAR, "\u{0}");
    for token in tokens(&text) {
        let inner = match token {
            Token::Literal(literal) => {
                said.text.push_str(literal);
                continue;
            }
            Token::Dollar => {
                said.text.push('$');
                continue;
            }
            Token::Plain(name)
                if !name.starts_with(|c: char| c.is_ascii_uppercase() || c == '_') =>
            {
                said.text.push_str(&format!("${name}"));
                continue;
            }
            Token::Plain(name) => name,
            Token::Braced(inner) => inner.strip_prefix("env:").unwrap_or(inner),
        };
        let (name, default) = match inner.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inner, None),
        };
        reference(owner, syntax, name, default, &mut said);
    }
    said.text = said.text.replace('\u{0}', "$");
    said
}

fn reference(
    owner: FileOwner,
    syntax: Variables,
    name: &str,
    default: Option<&str>,
    said: &mut Translation,
) {
    let title = owner.title();
    let filled = default.filter(|default| !default.is_empty());
    let text = match syntax {
        Variables::Braces => match default {
            Some(default) => format!("${{{name}:-{default}}}"),
            None => format!("${{{name}}}"),
        },
        Variables::Shell => match filled {
            Some(default) => format!("${{{name}:-{default}}}"),
            None => format!("${{{name}}}"),
        },
        Variables::Curly => {
            if filled.is_some() {
                said.notes.push(format!("{title} has no defaults: set {name}"));
            }
            format!("{{env:{name}}}")
        }
        Variables::Env { folders: true, .. } if name == "HOME" => "${userHome}".to_owned(),
        Variables::Env { inputs, .. } => match name.strip_prefix(INPUT).filter(|_| inputs) {
            Some(input) => format!("${{input:{}}}", input.to_lowercase()),
            None => {
                if filled.is_some() {
                    said.notes.push(format!("{title} has no defaults: set {name}"));
                }
                format!("${{env:{name}}}")
            }
        },
        Variables::None => {
            said.notes.push(format!("{title} has no variables: write the value of {name} there"));
            format!("${{{name}}}")
        }
    };
    said.text.push_str(&text);
}

/// The text as a config of Trunkline's has to say it, so that nothing in it is a reference.
pub(crate) fn literal_text(text: &str) -> String {
    text.replace('$', DOLLAR)
}

/// Variables that every process has.
const ALWAYS_SET: [&str; 4] = ["HOME", "PATH", "USER", "TMPDIR"];

/// The value with every variable allowed to be unset, which counts as empty then. In a client, a variable
/// that is missing spoils one server; in a config of Trunkline's it would keep all of them from starting.
pub(crate) fn tolerant(value: &mut Value) {
    match value {
        Value::String(text) => {
            let mut made = String::new();
            for token in tokens(text) {
                made.push_str(&match token {
                    Token::Literal(literal) => literal.to_owned(),
                    Token::Braced(inner)
                        if !inner.contains(":-") && !ALWAYS_SET.contains(&inner) =>
                    {
                        format!("${{{inner}:-}}")
                    }
                    Token::Braced(inner) => format!("${{{inner}}}"),
                    Token::Plain(name) => format!("${name}"),
                    Token::Dollar => "$".to_owned(),
                });
            }
            *text = made;
        }
        Value::Array(items) => items.iter_mut().for_each(tolerant),
        Value::Object(members) => members.values_mut().for_each(tolerant),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The name, if the text is a reference to one variable and nothing else; a default counts only if it
/// is empty.
pub(super) fn only_reference(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("${")?.strip_suffix('}')?;
    let name = inner.strip_suffix(":-").unwrap_or(inner);
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (!name.is_empty() && name.chars().all(is_name)).then_some(name)
}

/// The ids of the inputs that a text asks for.
pub(super) fn inputs(text: &str) -> Vec<&str> {
    let braced = tokens(text).into_iter().filter_map(|token| match token {
        Token::Braced(inner) => inner.strip_prefix("input:"),
        _ => None,
    });
    braced.collect()
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (before, dollar) = rest.split_at(at);
        if !before.is_empty() {
            found.push(Token::Literal(before));
        }
        let after = dollar.strip_prefix('$').unwrap_or_default();
        let closed = after.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let name = after.get(..end.unwrap_or(after.len())).unwrap_or_default();
        let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let (token, behind) = match closed {
            Some((inner, behind)) => (Token::Braced(inner), behind),
            None if starts => (Token::Plain(name), after.get(name.len()..).unwrap_or_default()),
            None => (Token::Dollar, after),
        };
        found.push(token);
        rest = behind;
    }
    if !rest.is_empty() {
        found.push(Token::Literal(rest));
    }
    found
}

/// Where a `${` is that has no `}` behind it.
fn unclosed(text: &str) -> Option<usize> {
    let at = text.rfind("${")?;
    let rest = text.get(at..).unwrap_or_default();
    (!rest.contains('}')).then_some(at)
}

/// As names of variables are written.
fn shouted(text: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    text.chars().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use trunkline_catalog::client::Client;

    use super::*;

    fn context() -> VariableContext {
        let inputs = [("key".to_owned(), None), ("region".to_owned(), Some("eu".to_owned()))];
        VariableContext { project: Some("/p/site".into()), inputs: inputs.into() }
    }

    /// Owner, its words, ours, its words again, how many notes.
    #[test]
    fn references_go_both_ways() {
        let table = [
            (FileOwner::Client(Client::ClaudeCode), "${A}/x", "${A}/x", "${A}/x", 0),
            (FileOwner::Client(Client::ClaudeCode), "${A:-d}", "${A:-d}", "${A:-d}", 0),
            (FileOwner::Client(Client::ClaudeCode), "$A", "${TRUNKLINE_DOLLAR:-$}A", "$A", 1),
            (
                FileOwner::Client(Client::ClaudeCode),
                "${env:A}",
                "${TRUNKLINE_DOLLAR:-$}{env:A}",
                "${env:A}",
                1,
            ),
            (FileOwner::Client(Client::ClaudeCode), "$a $5 $", "$a $5 $", "$a $5 $", 0),
            (FileOwner::Client(Client::Cursor), "${env:A}", "${A}", "${env:A}", 0),
            (FileOwner::Client(Client::Cursor), "${userHome}/x", "${HOME}/x", "${userHome}/x", 0),
            (FileOwner::Client(Client::Cursor), "${workspaceFolder}", "/p/site", "/p/site", 0),
            (
                FileOwner::Client(Client::Cursor),
                "${workspaceFolderBasename}${/}",
                "site/",
                "site/",
                0,
            ),
            (FileOwner::Client(Client::VsCode), "${input:key}", "${INPUT_KEY}", "${input:key}", 1),
            (
                FileOwner::Client(Client::VsCode),
                "${input:region}",
                "${INPUT_REGION:-eu}",
                "${input:region}",
                0,
            ),
            (FileOwner::Client(Client::Windsurf), "${env:A}b", "${A}b", "${env:A}b", 0),
            (
                FileOwner::Client(Client::Windsurf),
                "${file:/k/my.key}",
                "${FILE_MY_KEY}",
                "${env:FILE_MY_KEY}",
                1,
            ),
            (FileOwner::Client(Client::Gemini), "$A/$b", "${A:-}/${b:-}", "${A}/${b}", 0),
            (FileOwner::Client(Client::Gemini), "${A}", "${A:-}", "${A}", 0),
            (
                FileOwner::Client(Client::ClaudeDesktop),
                "pa$$WORD",
                "pa$${TRUNKLINE_DOLLAR:-$}WORD",
                "pa$$WORD",
                1,
            ),
            (FileOwner::Client(Client::Codex), "${A}", "${TRUNKLINE_DOLLAR:-$}{A}", "${A}", 1),
            (FileOwner::Client(Client::Zed), "${A", "${TRUNKLINE_DOLLAR:-$}{A", "${A", 0),
            (FileOwner::Client(Client::Goose), "plain", "plain", "plain", 0),
        ];
        for (owner, theirs_, ours_, again, notes) in table {
            let said = ours(owner, theirs_, &context());
            assert_eq!((said.text.as_str(), said.notes.len()), (ours_, notes), "{owner} {theirs_}");
            assert_eq!(theirs(owner, &said.text).text, again, "{owner} {theirs_}");
        }
    }

    #[test]
    fn a_folder_that_is_not_known_is_named() {
        let said = ours(
            FileOwner::Client(Client::VsCode),
            "${workspaceFolder}/x",
            &VariableContext::default(),
        );
        assert_eq!(said.text, "${WORKSPACE_FOLDER}/x");
        assert!(said.notes[0].contains("WORKSPACE_FOLDER"), "{:?}", said.notes);
    }

    #[test]
    fn clients_without_variables_say_so() {
        let said = theirs(FileOwner::Client(Client::Zed), "Bearer ${T}");
        assert_eq!(said.notes, ["Zed has no variables: write the value of T there"]);
        assert_eq!(only_reference("${T}"), Some("T"));
        assert_eq!(only_reference("${T:-}"), Some("T"));
        for text in ["${T:-d}", "x${T}", "${T}${U}", "$T", ""] {
            assert_eq!(only_reference(text), None, "{text}");
        }
    }
}

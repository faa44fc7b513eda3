//! The way from the bytes of a file to a `Config`: decode, parse, check.

use super::check::File;
use super::checker::ConfigChecker;
use super::custom::Placed;
use super::expand::Environment;
use super::explain::{OPTIONS, explain};
use super::mask::{private_parts, private_parts_around};
use super::problem::{Problem, Problems};
use super::quote::quote;
use super::spec::{Config, Rules};
use crate::jsonc::{SyntaxError, parse};
use crate::place::{Lines, Span};

/// A file that was read. Its text is never kept: it may hold secrets.
#[derive(Clone, Copy)]
pub struct ConfigSource<'s> {
    /// As the user wrote it.
    pub name: &'s str,
    pub text: &'s [u8],
}

/// Reads a config, or says everything that is wrong with it. Nothing may be started before.
pub fn load(
    source: &ConfigSource<'_>,
    rules: Rules,
    environment: Environment<'_>,
) -> Result<Config, Problems> {
    let text =
        std::str::from_utf8(source.text).map_err(|error| not_utf8(source, error.valid_up_to()))?;
    let lines = Lines::new(text);
    let document = parse(text, OPTIONS).map_err(|error| not_json(source.name, text, &error))?;
    let mut checker = ConfigChecker::new(rules, environment, &lines);
    let File { servers, custom, presets, limits, policies } = checker.file(&document.root);
    let (problems, notes) = checker.finish();

    let sheet = Sheet { lines: &lines, hidden: private_parts(&document) };
    let (errors, warnings): (Vec<_>, Vec<_>) = problems.into_iter().partition(Problem::is_error);
    if errors.is_empty() {
        let name = |placed: &Placed| Problem::schema(&placed.path, placed.span, "");
        let custom_at = custom.iter().map(|placed| sheet.locate(name(placed))).collect();
        let custom = custom.into_iter().map(|placed| placed.tool).collect();
        let warnings = sheet.report(source.name, warnings);
        Ok(Config { servers, custom, presets, limits, policies, notes, warnings, custom_at })
    } else {
        Err(sheet.report(source.name, errors))
    }
}

/// The text as problems quote it.
struct Sheet<'t> {
    lines: &'t Lines<'t>,
    hidden: Vec<Span>,
}

impl Sheet<'_> {
    fn report(&self, file: &str, mut problems: Vec<Problem>) -> Problems {
        problems.sort_by_key(|problem| problem.span.map_or(0, |span| span.start));
        let list = problems.into_iter().map(|problem| self.locate(problem)).collect();
        Problems { file: file.to_owned(), list }
    }

    fn locate(&self, problem: Problem) -> Problem {
        let place = problem.span.map(|span| self.lines.place(span.start));
        let quote = problem.span.map(|span| quote(self.lines, &self.hidden, span));
        Problem { place, quote, ..problem }
    }
}

fn not_json(file: &str, text: &str, error: &SyntaxError) -> Problems {
    let lines = Lines::new(text);
    let problem = explain(text, error);
    let hidden = match problem.span {
        Some(marked) => private_parts_around(error, marked, &lines),
        None => vec![Span::new(0, text.len())],
    };
    Sheet { lines: &lines, hidden }.report(file, vec![problem])
}

fn not_utf8(source: &ConfigSource<'_>, valid: usize) -> Problems {
    let text = String::from_utf8_lossy(source.text);
    let hidden = match parse(&text, OPTIONS) {
        Ok(document) => private_parts(&document),
        Err(_) => vec![Span::new(0, text.len())],
    };
    let utf16 = source.text.starts_with(b"\xff\xfe") || source.text.starts_with(b"\xfe\xff");
    let (message, help) = match utf16 {
        true => ("the file is UTF-16, not UTF-8", "save it as UTF-8"),
        false => ("this byte is not UTF-8", "save the file as UTF-8"),
    };
    let problem = Problem::syntax(Span::new(valid, valid + 1), message).help(help);
    Sheet { lines: &Lines::new(&text), hidden }.report(source.name, vec![problem])
}

impl std::fmt::Debug for ConfigSource<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source").field("name", &self.name).finish_non_exhaustive()
    }
}

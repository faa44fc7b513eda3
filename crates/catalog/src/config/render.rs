//! Problems as a person reads them, like a compiler's errors.

use super::escape::shown;
use super::problem::{Problem, Problems, Severity};
use super::quote::Quote;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Plain,
    /// With ANSI escape sequences.
    Colour,
}

#[derive(Clone, Copy)]
enum Ink {
    Error,
    Warning,
    Frame,
    Strong,
}

impl Problems {
    /// All problems, each with its line of the file; after errors, a summary. Ends with a newline.
    pub fn render(&self, style: Style) -> String {
        let blocks = self.list.iter().map(|problem| block(problem, &self.file, style));
        let mut out: Vec<String> = blocks.collect();
        out.extend(self.summary(style));
        out.join("\n")
    }

    fn summary(&self, style: Style) -> Option<String> {
        let errors = self.list.iter().filter(|problem| problem.is_error()).count();
        let unread = self.list.iter().all(|problem| problem.span.is_none());
        let what = match errors {
            0 => return None,
            _ if unread => String::new(),
            1 => format!("{} has 1 problem; ", shown(&self.file)),
            many => format!("{} has {many} problems; ", shown(&self.file)),
        };
        let error = style.paint(Ink::Error, "error");
        Some(format!("{error}: {what}nothing was started\n"))
    }
}

fn block(problem: &Problem, file: &str, style: Style) -> String {
    let label = match problem.severity {
        Severity::Error(code) => style.paint(Ink::Error, &format!("error[{}]", code.as_str())),
        Severity::Warning => style.paint(Ink::Warning, "warning"),
    };
    let headline = style.paint(Ink::Strong, &problem.headline());
    let mut out = format!("{label}: {headline}\n");
    let line = problem.place.map(|place| place.line.to_string()).unwrap_or_default();
    let gutter = " ".repeat(line.len());
    if let Some(place) = problem.place {
        let arrow = style.paint(Ink::Frame, &format!("{gutter}-->"));
        out += &format!("{arrow} {}:{}:{}\n", shown(file), place.line, place.column);
    }
    if let Some(quote) = &problem.quote {
        let bar = style.paint(Ink::Frame, &format!("{gutter} |"));
        let number = style.paint(Ink::Frame, &format!("{line} |"));
        out +=
            &format!("{bar}\n{number} {}\n{bar} {}\n", quote.text, carets(problem, quote, style));
    }
    if let Some(help) = &problem.help {
        let label = style.paint(Ink::Frame, &format!("{gutter} ="));
        out += &format!("{label} help: {help}\n");
    }
    out
}

/// The underline; tabs before it are repeated so that both lines move alike.
fn carets(problem: &Problem, quote: &Quote, style: Style) -> String {
    let before = quote.text.chars().chain(std::iter::repeat(' ')).take(quote.indent);
    let padding: String = before.map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
    let ink = if problem.is_error() { Ink::Error } else { Ink::Warning };
    format!("{padding}{}", style.paint(ink, &"^".repeat(quote.width)))
}

impl Style {
    fn paint(self, ink: Ink, text: &str) -> String {
        let code = match ink {
            Ink::Error => "1;31",
            Ink::Warning => "1;33",
            Ink::Frame => "1;34",
            Ink::Strong => "1",
        };
        match self {
            Style::Plain => text.to_owned(),
            Style::Colour => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        }
    }
}

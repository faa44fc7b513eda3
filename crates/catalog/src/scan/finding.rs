//! `Finding`: what was found where, how bad it is, and why it matters.

use std::fmt;

use crate::listing::ListKind;
use crate::name::is_hidden;
use crate::scan::rules::ScanRule;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    Info,
    Low,
    Medium,
    High,
}

impl Severity {
    pub const ALL: [Self; 4] = [Self::Info, Self::Low, Self::Medium, Self::High];

    pub fn word(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }

    pub(super) fn read(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|severity| severity.word() == word)
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ItemKind {
    Tool,
    Resource,
    Template,
    Prompt,
    Instructions,
}

impl ItemKind {
    pub fn word(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Resource => "resource",
            Self::Template => "template",
            Self::Prompt => "prompt",
            Self::Instructions => "instructions",
        }
    }
}

impl From<ListKind> for ItemKind {
    fn from(kind: ListKind) -> Self {
        match kind {
            ListKind::Tools => Self::Tool,
            ListKind::Resources => Self::Resource,
            ListKind::Templates => Self::Template,
            ListKind::Prompts => Self::Prompt,
        }
    }
}

/// How sure the rules are, for whoever reads the finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confidence {
    /// One rule says it.
    Rule,
    /// Several weak signs say it together.
    Combined,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub rule: &'static ScanRule,
    pub severity: Severity,
    pub confidence: Confidence,
    pub kind: ItemKind,
    /// The tool, prompt or URI, as its server calls it.
    pub item: String,
    /// Where it stands in the definition, as a JSON pointer.
    pub pointer: String,
    /// The place, with what cannot be seen made visible.
    pub excerpt: String,
    /// The weak signs that led to it, where several did.
    pub signs: Vec<&'static str>,
}

impl Finding {
    /// One line for a log or a terminal.
    pub fn line(&self) -> String {
        let Self { rule, severity, pointer, excerpt, .. } = self;
        let (kind, item) = (self.kind.word(), crate::name::escaped(&self.item));
        let what = match self.kind {
            ItemKind::Instructions => kind.to_owned(),
            _ => format!("{kind} \"{item}\""),
        };
        let signs = match self.signs.is_empty() {
            true => String::new(),
            false => format!(" [{}]", self.signs.join(", ")),
        };
        format!("{severity} {}: {what} at {pointer}: {excerpt}{signs} – {}", rule.id, rule.reason)
    }
}

/// Longest excerpt, in characters of the text.
const SHOWN: usize = 160;

/// A piece of a foreign text on one line, with what cannot be seen written out.
pub(super) fn excerpt(text: &str) -> String {
    let mut shown = String::new();
    let mut blanks = 0_usize;
    let mut characters = text.trim().chars();
    for c in characters.by_ref().take(SHOWN * 4) {
        match c {
            ' ' | '\n' | '\t' | '\r' | '\u{a0}' => blanks += 1,
            c => {
                if blanks > 0 {
                    shown.push(' ');
                }
                if blanks > 20 {
                    shown.push_str(&format!("[{blanks} blanks] "));
                }
                blanks = 0;
                match is_hidden(c) {
                    true => shown.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
                    false => shown.push(c),
                }
            }
        }
        if shown.chars().count() > SHOWN {
            break;
        }
    }
    if characters.next().is_some() {
        shown.push('…');
    }
    shown
}

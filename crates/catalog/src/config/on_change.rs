//! `OnChange`: what happens when a server defines something in another way than it was approved.

use super::checker::{ConfigChecker, find, wrong_type};
use super::path::Path;
use super::problem::Problem;
use super::shape::{ConfigKey, Takes};
use super::spec::Rules;
use crate::jsonc::{JsonMember, Value};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnChange {
    /// Callers are shown it, and it counts as approved.
    Allow,
    /// Callers are shown it; it is logged, and waits for a person to look at it.
    // The default: servers change with every release, and a client without its tools is no defence that anybody
    // keeps. What has changed is noticed all the same.
    #[default]
    Warn,
    /// Callers keep what was approved, or have nothing, until a person approves it.
    Hold,
}

impl OnChange {
    pub const ALL: [Self; 3] = [Self::Allow, Self::Warn, Self::Hold];

    pub const fn word(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Warn => "warn",
            Self::Hold => "hold",
        }
    }

    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.word() == word)
    }
}

const KEY: &str = "onChange";
pub const ON_CHANGE_WORDS: [&str; 3] =
    [OnChange::Allow.word(), OnChange::Warn.word(), OnChange::Hold.word()];
const HELP: &str = "write \"allow\", \"warn\" or \"hold\"";

/// Beside the servers: what holds for those that do not say it themselves.
pub(crate) const ON_CHANGE_DEFAULT: [ConfigKey; 1] = [ConfigKey::new(
    KEY,
    Takes::Word(&ON_CHANGE_WORDS),
    "What happens when a server that does not say it itself defines a tool in another way than before: \
     see the same key of a server.",
)];

/// Of one server.
pub(crate) const ON_CHANGE: [ConfigKey; 1] = [ConfigKey::new(
    KEY,
    Takes::Word(&ON_CHANGE_WORDS),
    "What happens when the server defines a tool in another way than before, or a new one: clients are \
     shown it (allow), are shown it and you are told (warn), or keep what was approved until you approve \
     it with `trunkline review` (hold).",
)];

impl ConfigChecker<'_> {
    pub(crate) fn on_change(&mut self, members: &[JsonMember], at: &Path) -> Option<OnChange> {
        if self.rules == Rules::Simple {
            return None;
        }
        let member = find(members, KEY)?;
        let at = at.key(KEY);
        let Value::String(text) = &member.value.value else {
            let problem = wrong_type(&member.value, &at, "`onChange`", "a string");
            self.report(problem.help(HELP));
            return None;
        };
        let read = OnChange::of_word(&text.value);
        if read.is_none() {
            let problem = Problem::schema(&at, text.span, "this way of `onChange` is not known");
            self.report(problem.help(HELP));
        }
        read
    }
}

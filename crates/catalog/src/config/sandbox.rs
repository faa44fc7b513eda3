//! What a file says about the walls around a server that is a command.

use super::checker::{find, wrong_type};
use super::keys::{Keys, NONE};
use super::path::Path;
use super::problem::Problem;
use super::read::ConfigReader;
use super::sandbox_rules::{SANDBOX, SandboxProfile, SandboxRules};
use super::shape::{ConfigKey, Takes};
use super::spec::Rules;
use crate::jsonc::{JsonMember, Value};

/// The members of its object.
pub(crate) const SANDBOX_MEMBERS: [ConfigKey; 6] = [
    ConfigKey::new(
        "profile",
        Takes::Word(&PROFILES),
        "What the rest is added to [default: standard].",
    ),
    ConfigKey::new(READ, Takes::Texts, "Absolute paths that it may read as well."),
    ConfigKey::new(WRITE, Takes::Texts, "Absolute paths that it may change as well."),
    ConfigKey::new("net", Takes::Flag, "Whether it may use the network."),
    ConfigKey::new(
        "env",
        Takes::Texts,
        "The only variables of Trunkline's own that are passed on to it, besides PATH, HOME and LANG.",
    ),
    ConfigKey::new(
        "unixSockets",
        Takes::Flag,
        "Whether it may use sockets of this machine (D-Bus, Docker, agents): they lead out of the sandbox.",
    ),
];
const READ: &str = "read";
const WRITE: &str = "write";
const PROFILES: [&str; 2] = [SandboxProfile::Standard.word(), SandboxProfile::Strict.word()];

const KEYS: Keys<'_> = Keys {
    known: &SANDBOX_MEMBERS,
    spellings: &[
        (READ, READ),
        (WRITE, WRITE),
        ("net", "net"),
        ("network", "net"),
        ("env", "env"),
        ("profile", "profile"),
        ("unixSockets", "unixSockets"),
    ],
    ..NONE
};

const HELP: &str = "write \"off\", \"standard\", \"strict\" or {\"read\": [\"/path\"], \"write\": [\"/path\"], \"net\": true}";
const NET_HELP: &str = "write true or false; single hosts cannot be allowed yet";

impl ConfigReader<'_, '_> {
    /// What these members say about a sandbox; `None`: nothing.
    pub(crate) fn sandbox(&mut self, members: &[JsonMember], at: &Path) -> Option<SandboxRules> {
        let member = find(members, SANDBOX).filter(|_| self.check.rules == Rules::Full)?;
        let at = at.key(SANDBOX);
        match &member.value.value {
            Value::String(text) => {
                let profile = SandboxProfile::of_word(&text.value);
                if profile.is_none() {
                    let problem = Problem::schema(&at, text.span, "this `sandbox` is not known");
                    self.check.report(problem.help(HELP));
                }
                profile.map(SandboxProfile::rules)
            }
            Value::Bool(false) => Some(SandboxProfile::Off.rules()),
            Value::Object(members) => Some(self.sandbox_object(members, &at)),
            _ => {
                let problem = wrong_type(&member.value, &at, "`sandbox`", "a string or an object");
                self.check.report(problem.help(HELP));
                None
            }
        }
    }

    fn sandbox_object(&mut self, members: &[JsonMember], at: &Path) -> SandboxRules {
        self.check.duplicates(members, at);
        self.check.other_keys(members, at, &KEYS, None);
        let profile = self.profile(members, at).unwrap_or(SandboxProfile::Standard);
        let paths = |reader: &mut Self, name| {
            find(members, name).map(|member| reader.paths(member, at)).unwrap_or_default()
        };
        SandboxRules {
            profile,
            read: paths(self, READ),
            write: paths(self, WRITE),
            net: self.switch(members, at, "net", NET_HELP),
            env: find(members, "env").map(|member| self.list(member, at)),
            unix_sockets: self
                .switch(members, at, "unixSockets", "write true or false")
                .unwrap_or(false),
        }
    }

    fn profile(&mut self, members: &[JsonMember], at: &Path) -> Option<SandboxProfile> {
        let member = find(members, "profile")?;
        let word = match &member.value.value {
            Value::String(text) => SandboxProfile::of_word(&text.value),
            _ => None,
        };
        let word = word.filter(|profile| *profile != SandboxProfile::Off);
        if word.is_none() {
            let message = "this `profile` of a sandbox is not known";
            let problem = Problem::schema(&at.key("profile"), member.value.span, message);
            self.check.report(problem.help("write \"standard\" or \"strict\""));
        }
        word
    }

    fn switch(
        &mut self,
        members: &[JsonMember],
        at: &Path,
        name: &str,
        help: &str,
    ) -> Option<bool> {
        let member = find(members, name)?;
        if let Value::Bool(on) = member.value.value {
            return Some(on);
        }
        let what = format!("`{name}`");
        let problem = wrong_type(&member.value, &at.key(name), &what, "true or false");
        self.check.report(problem.help(help));
        None
    }

    fn paths(&mut self, member: &JsonMember, at: &Path) -> Vec<String> {
        let home = (self.check.environment)("HOME").unwrap_or_default();
        let mut paths = self.list(member, at);
        for path in &mut paths {
            if path == "~" || path.starts_with("~/") {
                path.replace_range(..1, &home);
            }
            // A disabled server's variables are not expanded.
            if !path.starts_with('/') && !self.disabled {
                let at = at.key(&member.key.value);
                let message = "a path of a sandbox must be absolute";
                let problem = Problem::schema(&at, member.value.span, message);
                self.check.report(problem.help("write /path, ~/path or ${VARIABLE}/path"));
            }
        }
        paths
    }
}

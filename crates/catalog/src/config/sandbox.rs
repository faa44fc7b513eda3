//! What a file says about the walls around a server that is a command.

use super::checker::{find, wrong_type};
use super::container_rules::{ContainerEngine, ContainerMount, ContainerRules, is_image};
use super::host_rules::HostRule;
use super::keys::{Keys, NONE};
use super::path::Path;
use super::problem::Problem;
use super::read::ConfigReader;
use super::sandbox_rules::{CONTAINER, NetRules, SANDBOX, SandboxProfile, SandboxRules};
use super::shape::{ConfigKey, Takes};
use super::spec::Rules;
use crate::jsonc::{JsonMember, Value};

/// The members of its object.
pub(crate) const SANDBOX_MEMBERS: [ConfigKey; 7] = [
    ConfigKey::new(
        "profile",
        Takes::Word(&PROFILES),
        "What the rest is added to [default: standard].",
    ),
    ConfigKey::new(READ, Takes::Texts, "Absolute paths that it may read as well."),
    ConfigKey::new(WRITE, Takes::Texts, "Absolute paths that it may change as well."),
    ConfigKey::new(NET, Takes::Net, "Whether it may use the network, or which hosts of it."),
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
    ConfigKey::new(CONTAINER, Takes::Container, "The container that it runs in instead."),
];

/// The members of `net`.
pub(crate) const NET_MEMBERS: [ConfigKey; 1] = [ConfigKey::new(
    HOSTS,
    Takes::Texts,
    "The hosts that it may reach: api.example.com:443, *.example.com (ports 80 and 443).",
)];

/// The members of `container`.
pub(crate) const CONTAINER_MEMBERS: [ConfigKey; 4] = [
    ConfigKey::new("image", Takes::Filled, "The image that the program runs in."),
    ConfigKey::new(
        "engine",
        Takes::Word(&ENGINES),
        "Who runs it [default: podman where there is one, else docker].",
    ),
    ConfigKey::new(
        MOUNTS,
        Takes::Texts,
        "Paths of this machine in the container: /path, /path:/target, each with :ro (default) or :rw.",
    ),
    ConfigKey::new("network", Takes::Filled, "A network of the engine; \"none\" is none."),
];

const READ: &str = "read";
const WRITE: &str = "write";
const NET: &str = "net";
const HOSTS: &str = "hosts";
const MOUNTS: &str = "mounts";
const ENGINES: [&str; 2] = [ContainerEngine::Podman.word(), ContainerEngine::Docker.word()];
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
        (CONTAINER, CONTAINER),
    ],
    ..NONE
};

const NET_KEYS: Keys<'_> =
    Keys { known: &NET_MEMBERS, spellings: &[(HOSTS, HOSTS), ("allow", HOSTS)], ..NONE };

const CONTAINER_KEYS: Keys<'_> = Keys {
    known: &CONTAINER_MEMBERS,
    spellings: &[
        ("image", "image"),
        ("engine", "engine"),
        (MOUNTS, MOUNTS),
        ("volumes", MOUNTS),
        ("network", "network"),
        ("net", "network"),
    ],
    ..NONE
};

const HELP: &str = "write \"off\", \"standard\", \"strict\" or {\"read\": [\"/path\"], \"write\": [\"/path\"], \"net\": true}";
const NET_HELP: &str = "write true, false or {\"hosts\": [\"api.example.com:443\"]}";

impl ConfigReader<'_, '_> {
    /// What these members say about a sandbox; `None`: nothing.
    pub(crate) fn sandbox(&mut self, members: &[JsonMember], at: &Path) -> Option<SandboxRules> {
        let container = find(members, CONTAINER).filter(|_| self.check.rules == Rules::Full);
        let member = find(members, SANDBOX).filter(|_| self.check.rules == Rules::Full);
        let Some(container) = container else { return self.profile_or_object(member?, at) };
        let in_short = self.container(container, at);
        let rules = member.map(|member| {
            let is_object = matches!(member.value.value, Value::Object(_));
            let rules = self.profile_or_object(member, at);
            // One of them says where it runs; the other may only add to that.
            if !is_object || rules.as_ref().is_some_and(|it| it.container.is_some()) {
                self.check.exclusive("a server", member, container, at);
            }
            rules
        });
        let rules = rules.flatten().unwrap_or_else(|| SandboxProfile::Standard.rules());
        Some(SandboxRules { container: rules.container.or(in_short), ..rules })
    }

    fn profile_or_object(&mut self, member: &JsonMember, at: &Path) -> Option<SandboxRules> {
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
            net: find(members, NET).and_then(|member| self.net(member, at)),
            env: find(members, "env").map(|member| self.list(member, at)),
            unix_sockets: self
                .switch(members, at, "unixSockets", "write true or false")
                .unwrap_or(false),
            container: find(members, CONTAINER).and_then(|member| self.container(member, at)),
        }
    }

    fn net(&mut self, member: &JsonMember, at: &Path) -> Option<NetRules> {
        let members = match &member.value.value {
            Value::Bool(true) => return Some(NetRules::Everything),
            Value::Bool(false) => return Some(NetRules::Nothing),
            Value::Object(members) => members,
            _ => {
                let expected = "true, false or an object";
                let problem = wrong_type(&member.value, &at.key(NET), "`net`", expected);
                self.check.report(problem.help(NET_HELP));
                return None;
            }
        };
        let at = at.key(NET);
        self.check.duplicates(members, &at);
        self.check.other_keys(members, &at, &NET_KEYS, None);
        let Some(hosts) = find(members, HOSTS) else { return Some(NetRules::Nothing) };
        let mut rules = Vec::new();
        for host in self.list(hosts, &at) {
            match HostRule::of_text(&host) {
                Some(rule) => rules.push(rule),
                None if self.disabled => {}
                None => {
                    let message = "a host of a sandbox is a name or an address, with a port";
                    let problem = Problem::schema(&at.key(HOSTS), hosts.value.span, message);
                    let help = "write api.example.com:443, *.example.com or 10.0.0.7:8080";
                    self.check.report(problem.help(help));
                }
            }
        }
        Some(NetRules::Hosts(rules))
    }

    fn container(&mut self, member: &JsonMember, at: &Path) -> Option<ContainerRules> {
        let at = at.key(CONTAINER);
        let Value::Object(members) = &member.value.value else {
            let problem = wrong_type(&member.value, &at, "`container`", "an object");
            self.check.report(problem.help("write {\"image\": \"NAME\"}"));
            return None;
        };
        self.check.duplicates(members, &at);
        self.check.other_keys(members, &at, &CONTAINER_KEYS, None);
        let image = find(members, "image").and_then(|member| self.filled(member, &at));
        let is_known = image.as_deref().is_some_and(|image| is_image(image) || self.disabled);
        if !is_known {
            let span = find(members, "image").map_or(member.key.span, |it| it.value.span);
            let problem = Problem::schema(&at.key("image"), span, "a container needs an `image`");
            self.check.report(problem.help("write {\"image\": \"NAME\"}, as the engine calls it"));
        }
        let texts = find(members, MOUNTS).map(|member| self.list(member, &at));
        let mut mounts = Vec::new();
        for text in texts.unwrap_or_default() {
            let mount = ContainerMount::of_text(&text);
            if mount.is_none() && !self.disabled {
                let message = format!("`{text}` cannot be mounted");
                let problem = Problem::schema(&at.key(MOUNTS), member.value.span, message);
                self.check.report(problem.help("write /path, /path:/target or /path:/target:rw"));
            }
            mounts.extend(mount);
        }
        let engine = find(members, "engine").map(|member| match &member.value.value {
            Value::String(text) => (member, ContainerEngine::of_word(&text.value)),
            _ => (member, None),
        });
        if let Some((member, None)) = engine {
            let message = "this `engine` is not known";
            let problem = Problem::schema(&at.key("engine"), member.value.span, message);
            self.check.report(problem.help("write \"podman\" or \"docker\""));
        }
        let network = find(members, "network").and_then(|member| self.filled(member, &at));
        // An option of the engine is none.
        let network = network.filter(|it| is_image(it));
        let engine = engine.and_then(|(_, engine)| engine);
        Some(ContainerRules { image: image.unwrap_or_default(), engine, mounts, network })
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

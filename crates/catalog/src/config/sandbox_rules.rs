//! `SandboxRules`: the walls around a server as a file describes them, and the keys that say so.

use super::container_rules::ContainerRules;
use super::host_rules::HostRule;
use super::shape::{ConfigKey, Takes};

pub(crate) const SANDBOX: &str = "sandbox";

/// How a server is walled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxRules {
    pub profile: SandboxProfile,
    /// More than the profile lets it read: absolute paths.
    pub read: Vec<String>,
    /// … and write.
    pub write: Vec<String>,
    /// What it may reach; `None`: as the profile says.
    pub net: Option<NetRules>,
    /// Only these variables are passed on to it; `None`: as the profile says.
    pub env: Option<Vec<String>>,
    /// It may make sockets of the machine: those of D-Bus, of Docker, of agents.
    pub unix_sockets: bool,
    /// It runs in a container instead.
    pub container: Option<ContainerRules>,
}

/// What a walled-in server may reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NetRules {
    Nothing,
    Everything,
    /// Through Trunkline's own proxy.
    Hosts(Vec<HostRule>),
}

impl SandboxRules {
    /// What it may reach, the profile considered.
    pub fn net(&self) -> &NetRules {
        match (&self.net, self.profile) {
            (Some(net), _) => net,
            (None, SandboxProfile::Strict) => &NetRules::Nothing,
            (None, SandboxProfile::Off | SandboxProfile::Standard) => &NetRules::Everything,
        }
    }

    /// Whether these let a server do nothing that `other` would not.
    pub fn is_within(&self, other: &SandboxRules) -> bool {
        if other.profile == SandboxProfile::Off || self == other {
            return true;
        }
        let covers = |paths: &[String], path: &String| {
            paths.iter().any(|it| std::path::Path::new(path).starts_with(it))
        };
        let read_or_write = |path: &String| covers(&other.read, path) || covers(&other.write, path);
        // What runs elsewhere cannot be compared with what runs here.
        self.container == other.container
            && self.profile >= other.profile
            && self.read.iter().all(read_or_write)
            && self.write.iter().all(|path| covers(&other.write, path))
            && self.net().is_within(other.net())
            && (other.unix_sockets || !self.unix_sockets)
            && self.has_no_more_variables(other)
    }

    fn has_no_more_variables(&self, other: &SandboxRules) -> bool {
        let passed = |rules: &SandboxRules| match (&rules.env, rules.profile) {
            (Some(names), _) => Some(names.clone()),
            (None, SandboxProfile::Strict) => Some(Vec::new()),
            (None, _) => None,
        };
        match (passed(self), passed(other)) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(own), Some(others)) => own.iter().all(|name| others.contains(name)),
        }
    }
}

impl NetRules {
    fn is_within(&self, other: &NetRules) -> bool {
        match (self, other) {
            (NetRules::Nothing, _) | (_, NetRules::Everything) => true,
            (_, NetRules::Nothing) | (NetRules::Everything, _) => false,
            (NetRules::Hosts(own), NetRules::Hosts(others)) => {
                own.iter().all(|rule| others.contains(rule))
            }
        }
    }
}

/// From the widest to the narrowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SandboxProfile {
    /// No walls.
    Off,
    /// The system, its own files and what its entry names; the network.
    Standard,
    /// Its own program and what is listed.
    Strict,
}

impl SandboxProfile {
    pub const ALL: [SandboxProfile; 3] = [Self::Off, Self::Standard, Self::Strict];

    pub const fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Standard => "standard",
            Self::Strict => "strict",
        }
    }

    pub fn of_word(word: &str) -> Option<SandboxProfile> {
        Self::ALL.into_iter().find(|profile| profile.word() == word)
    }

    /// The profile as it is.
    pub fn rules(self) -> SandboxRules {
        SandboxRules {
            profile: self,
            read: Vec::new(),
            write: Vec::new(),
            net: None,
            env: None,
            unix_sockets: false,
            container: None,
        }
    }
}

/// Of one server.
pub(crate) const SANDBOX_KEY: ConfigKey = ConfigKey::new(
    SANDBOX,
    Takes::Sandbox,
    "The walls around the program: \"off\", \"standard\", \"strict\", or what it may read and write.",
);

pub(crate) const CONTAINER: &str = "container";

/// Of one server.
pub(crate) const CONTAINER_KEY: ConfigKey = ConfigKey::new(
    CONTAINER,
    Takes::Container,
    "The image that the program runs in, with podman or docker: \"sandbox\": {\"container\": …} in short.",
);

/// Beside the servers: what holds for those that do not say it themselves.
pub(crate) const SANDBOX_DEFAULT: [ConfigKey; 1] = [ConfigKey::new(
    SANDBOX,
    Takes::Sandbox,
    "The walls around servers that are commands and do not say it themselves.",
)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_narrower_is_within() {
        let standard = SandboxProfile::Standard.rules();
        let strict = SandboxProfile::Strict.rules();
        let off = SandboxProfile::Off.rules();
        let host = |text: &str| HostRule::of_text(text).unwrap();
        let hosts = |list: &[&str]| SandboxRules {
            net: Some(NetRules::Hosts(list.iter().map(|it| host(it)).collect())),
            ..standard.clone()
        };
        let reads = |path: &str| SandboxRules { read: vec![path.to_owned()], ..standard.clone() };
        let writes = |path: &str| SandboxRules { write: vec![path.to_owned()], ..standard.clone() };
        let closed = SandboxRules { net: Some(NetRules::Nothing), ..standard.clone() };
        let sockets = SandboxRules { unix_sockets: true, ..standard.clone() };
        let open = SandboxRules { net: Some(NetRules::Everything), ..strict.clone() };
        for (one, other, expected) in [
            (&standard, &standard, true),
            (&strict, &standard, true),
            (&standard, &strict, false),
            (&off, &standard, false),
            (&standard, &off, true),
            (&closed, &standard, true),
            (&standard, &closed, false),
            (&hosts(&["a:443"]), &standard, true),
            (&hosts(&["a:443"]), &hosts(&["a:443", "b:443"]), true),
            (&hosts(&["c:443"]), &hosts(&["a:443"]), false),
            (&hosts(&["a:443"]), &closed, false),
            (&reads("/srv"), &standard, false),
            (&reads("/srv/a"), &reads("/srv"), true),
            (&reads("/srvx"), &reads("/srv"), false),
            (&reads("/srv/a"), &writes("/srv"), true),
            (&writes("/srv/a"), &reads("/srv"), false),
            (&sockets, &standard, false),
            (&open, &strict, false),
            (&open, &standard, true),
        ] {
            assert_eq!(one.is_within(other), expected, "{one:?} within {other:?}");
        }
    }
}

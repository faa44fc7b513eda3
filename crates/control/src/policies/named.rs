//! Callers and targets as people write them when they test a decision: `user:alice`, `tool:git.log`.

use std::str::FromStr;

use serde_json::Value;
use trunkline_policy::{Action, CallerKind, Hints, PolicyCaller, RequestTarget};

use super::caller::{GroupsClaim, user_groups};

/// `key:ID`, `user:SUBJECT`, `anonymous` or `admin`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NamedCaller {
    Key(String),
    User(String),
    Anonymous,
    Admin,
}

/// `server:SERVER`, `tool:SERVER.NAME`, `resource:SERVER.URI` or `prompt:SERVER.NAME`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NamedTarget {
    Server(String),
    Tool(String, String),
    Resource(String, String),
    Prompt(String, String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    #[error("a principal is `key:ID`, `user:SUBJECT`, `anonymous` or `admin`")]
    Caller,
    #[error(
        "a resource is `tool:SERVER.NAME`, `server:SERVER`, `resource:SERVER.URI` or `prompt:SERVER.NAME`; a dot \
         in a server's name is written `\\.`"
    )]
    Target,
}

impl FromStr for NamedCaller {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        match text.split_once(':') {
            Some(("key", id)) if !id.is_empty() => Ok(Self::Key(id.to_owned())),
            Some(("user", subject)) if !subject.is_empty() => Ok(Self::User(subject.to_owned())),
            None if text == "anonymous" => Ok(Self::Anonymous),
            None if text == "admin" => Ok(Self::Admin),
            _ => Err(BadName::Caller),
        }
    }
}

impl FromStr for NamedTarget {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        let (kind, id) = text.split_once(':').ok_or(BadName::Target)?;
        if kind == "server" && !id.is_empty() {
            return Ok(Self::Server(id.to_owned()));
        }
        let (server, name) = parted(id).ok_or(BadName::Target)?;
        match kind {
            "tool" => Ok(Self::Tool(server, name)),
            "resource" => Ok(Self::Resource(server, name)),
            "prompt" => Ok(Self::Prompt(server, name)),
            _ => Err(BadName::Target),
        }
    }
}

/// What is said about a caller besides who it is.
#[derive(Debug, Clone, Copy, Default)]
pub struct CallerDetails<'a> {
    /// Of a key.
    pub name: &'a str,
    /// `None`: `admin` of the admin, `caller` of everybody else.
    pub role: Option<&'a str>,
    /// Of a user: a JSON object, or nothing.
    pub claims: &'a str,
}

impl NamedCaller {
    pub fn caller(&self, details: CallerDetails<'_>, groups: &GroupsClaim) -> PolicyCaller {
        let CallerDetails { name, role, claims } = details;
        let kind = match self {
            Self::Key(id) => CallerKind::Key { id: id.clone(), name: name.to_owned() },
            Self::User(subject) => {
                let said: Value = serde_json::from_str(claims).unwrap_or_default();
                CallerKind::User {
                    subject: subject.clone(),
                    issuer: said.get("iss").and_then(Value::as_str).unwrap_or_default().to_owned(),
                    groups: user_groups(claims, groups),
                    claims: claims.to_owned(),
                }
            }
            Self::Anonymous => CallerKind::Anonymous,
            Self::Admin => CallerKind::Admin,
        };
        let usual = if *self == Self::Admin { "admin" } else { "caller" };
        PolicyCaller { kind, role: role.unwrap_or(usual).to_owned() }
    }
}

impl NamedTarget {
    /// Why nobody can do this with it; `None`: it can be done.
    pub fn mismatch(&self, action: Action) -> Option<String> {
        let takes = self.target(Hints::default(), &[]).takes(action);
        (!takes).then(|| {
            format!(
                "nobody can {} that: tools and servers are called, resources read, prompts got, and all listed",
                action.name()
            )
        })
    }

    /// With what a tool says about itself.
    pub fn target<'a>(&'a self, hints: Hints, skills: &'a [String]) -> RequestTarget<'a> {
        match self {
            Self::Server(server) => RequestTarget::Server { server },
            Self::Tool(server, name) => RequestTarget::Tool { server, name, hints, skills },
            Self::Resource(server, uri) => RequestTarget::Resource { server, uri },
            Self::Prompt(server, name) => RequestTarget::Prompt { server, name },
        }
    }
}

/// The server before the first dot that is not escaped, and the rest.
fn parted(id: &str) -> Option<(String, String)> {
    let (mut server, mut characters) = (String::new(), id.chars());
    loop {
        match characters.next()? {
            '\\' => server.push(characters.next()?),
            '.' => break,
            other => server.push(other),
        }
    }
    let name = characters.as_str();
    (!server.is_empty() && !name.is_empty()).then(|| (server, name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read() {
        let tool = |server: &str, name: &str| Ok(NamedTarget::Tool(server.into(), name.into()));
        for (text, expected) in [
            ("tool:git.log", tool("git", "log")),
            ("tool:a.b.c", tool("a", "b.c")),
            (r"tool:a\.b.c", tool("a.b", "c")),
            ("server:a.b", Ok(NamedTarget::Server("a.b".into()))),
            (
                "resource:docs.docs://x.y",
                Ok(NamedTarget::Resource("docs".into(), "docs://x.y".into())),
            ),
            ("prompt:docs.greet", Ok(NamedTarget::Prompt("docs".into(), "greet".into()))),
            ("tool:git", Err(BadName::Target)),
            ("tool:.log", Err(BadName::Target)),
            ("thing:git.log", Err(BadName::Target)),
            ("git.log", Err(BadName::Target)),
        ] {
            assert_eq!(text.parse::<NamedTarget>(), expected, "{text}");
        }
        for (text, expected) in [
            ("key:abc", Ok(NamedCaller::Key("abc".into()))),
            ("user:https://x#y", Ok(NamedCaller::User("https://x#y".into()))),
            ("anonymous", Ok(NamedCaller::Anonymous)),
            ("admin", Ok(NamedCaller::Admin)),
            ("user:", Err(BadName::Caller)),
            ("alice", Err(BadName::Caller)),
        ] {
            assert_eq!(text.parse::<NamedCaller>(), expected, "{text}");
        }
    }
}

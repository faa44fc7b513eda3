//! What is asked for: a server, or a tool, resource or prompt of it.

use std::collections::{HashMap, HashSet};

use cedar_policy::{Entity, EntityUid, RestrictedExpression};

use crate::schema::{Action, uid};

/// What a caller wants to do something with. Servers are named by their keys, the rest as its server names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestTarget<'a> {
    Server { server: &'a str },
    Tool { server: &'a str, name: &'a str, hints: Hints, skills: &'a [String] },
    Resource { server: &'a str, uri: &'a str },
    Prompt { server: &'a str, name: &'a str },
}

/// What a tool says about itself (2025-11-25, `ToolAnnotations`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hints {
    pub read_only: bool,
    pub destructive: bool,
    pub idempotent: bool,
    pub open_world: bool,
}

impl Hints {
    /// With the protocol's defaults; `destructiveHint` means something only where `readOnlyHint` is false.
    pub fn with_defaults(
        read_only: Option<bool>,
        destructive: Option<bool>,
        idempotent: Option<bool>,
        open_world: Option<bool>,
    ) -> Self {
        let read_only = read_only.unwrap_or(false);
        Self {
            read_only,
            destructive: destructive.unwrap_or(!read_only),
            idempotent: idempotent.unwrap_or(false),
            open_world: open_world.unwrap_or(true),
        }
    }
}

impl Default for Hints {
    fn default() -> Self {
        Self::with_defaults(None, None, None, None)
    }
}

impl RequestTarget<'_> {
    pub fn server(&self) -> &str {
        match self {
            Self::Server { server }
            | Self::Tool { server, .. }
            | Self::Resource { server, .. }
            | Self::Prompt { server, .. } => server,
        }
    }

    /// Can this be done with it at all?
    pub fn takes(&self, action: Action) -> bool {
        matches!(
            (action, self),
            (Action::List, _)
                | (Action::Call, Self::Server { .. } | Self::Tool { .. })
                | (Action::Read, Self::Resource { .. })
                | (Action::Get, Self::Prompt { .. })
        )
    }

    pub(crate) fn uid(&self) -> EntityUid {
        match self {
            Self::Server { server } => uid("Server", server),
            Self::Tool { server, name, .. } => uid("Tool", &within(server, name)),
            Self::Resource { server, uri } => uid("Resource", &within(server, uri)),
            Self::Prompt { server, name } => uid("Prompt", &within(server, name)),
        }
    }

    pub(crate) fn parents(&self) -> HashSet<EntityUid> {
        let skills = match self {
            Self::Server { .. } => return HashSet::new(),
            Self::Tool { skills, .. } => *skills,
            _ => &[],
        };
        let skills = skills.iter().map(|skill| uid("Skill", skill));
        skills.chain([uid("Server", self.server())]).collect()
    }

    /// The entity with what policies may ask of it, and the server it belongs to.
    pub(crate) fn entities(&self) -> Vec<Entity> {
        let text = |value: &str| RestrictedExpression::new_string(value.to_owned());
        let bool = RestrictedExpression::new_bool;
        let attributes: Vec<(&str, RestrictedExpression)> = match self {
            Self::Server { server } => vec![("name", text(server))],
            Self::Tool { server, name, hints, .. } => vec![
                ("name", text(name)),
                ("server", text(server)),
                ("readOnlyHint", bool(hints.read_only)),
                ("destructiveHint", bool(hints.destructive)),
                ("idempotentHint", bool(hints.idempotent)),
                ("openWorldHint", bool(hints.open_world)),
            ],
            Self::Resource { server, uri } => vec![("uri", text(uri)), ("server", text(server))],
            Self::Prompt { server, name } => vec![("name", text(name)), ("server", text(server))],
        };
        let own = entity(self.uid(), attributes, self.parents());
        let server = (!matches!(self, Self::Server { .. }))
            .then(|| RequestTarget::Server { server: self.server() }.entities());
        own.into_iter().chain(server.into_iter().flatten()).collect()
    }
}

/// `None` cannot happen: attributes that are literals are always good.
pub(crate) fn entity(
    uid: EntityUid,
    attributes: Vec<(&str, RestrictedExpression)>,
    parents: HashSet<EntityUid>,
) -> Option<Entity> {
    let attributes: HashMap<_, _> =
        attributes.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Entity::new(uid, attributes, parents).ok()
}

/// The id of something that a server has. As in the patterns of keys, a dot that belongs to the server's name
/// is escaped: else tool `b.c` of server `a` would be tool `c` of server `a.b`.
fn within(server: &str, name: &str) -> String {
    let mut id = String::with_capacity(server.len() + name.len() + 1);
    for character in server.chars() {
        if matches!(character, '.' | '\\') {
            id.push('\\');
        }
        id.push(character);
    }
    id.push('.');
    id.push_str(name);
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_tools_share_an_id() {
        assert_eq!(within("git", "log"), "git.log");
        assert_eq!(within("a.b", "c"), r"a\.b.c");
        assert_eq!(within("a", "b.c"), "a.b.c");
        assert_eq!(within(r"a\", "c"), r"a\\.c");
    }

    #[test]
    fn hints_have_the_defaults_of_the_protocol() {
        let hints = Hints::default();
        assert!(!hints.read_only && hints.destructive && !hints.idempotent && hints.open_world);
        assert!(!Hints::with_defaults(Some(true), None, None, None).destructive);
        assert!(Hints::with_defaults(Some(true), Some(true), None, None).destructive);
    }
}

//! The words that policies may use: entity types, actions, attributes.

use std::str::FromStr;
use std::sync::LazyLock;

use cedar_policy::{Entities, EntityId, EntityTypeName, EntityUid, Schema, Validator};

/// The schema, in Cedar's own syntax.
pub const SCHEMA: &str = include_str!("trunkline.cedarschema");

/// What a caller wants to do with a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// See it in a list. What may not be listed does not exist for the caller.
    List,
    /// Call a tool; of a server: use methods of it that Trunkline does not know.
    Call,
    /// Read a resource, or subscribe to it.
    Read,
    /// Get a prompt.
    Get,
}

impl Action {
    pub const ALL: [Self; 4] = [Self::List, Self::Call, Self::Read, Self::Get];

    pub fn name(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Call => "call",
            Self::Read => "read",
            Self::Get => "get",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.name() == name)
    }

    pub(crate) fn uid(self) -> EntityUid {
        uid("Action", self.name())
    }

    /// Is it one of the actions that this one of a policy stands for?
    pub(crate) fn is_in(self, wanted: &EntityUid) -> bool {
        let is_use = self != Self::List && *wanted == uid("Action", "use");
        is_use || *wanted == self.uid()
    }
}

/// What the schema and the tables of types are made of; the text is a constant, and a test reads it.
pub(crate) struct Vocabulary {
    /// Of policies, against the schema.
    pub(crate) validator: Validator,
    /// The actions, with the group they are in.
    pub(crate) actions: Entities,
}

/// `None` cannot happen: a test reads the schema.
pub(crate) static VOCABULARY: LazyLock<Option<Vocabulary>> = LazyLock::new(|| {
    let (schema, _) = Schema::from_cedarschema_str(SCHEMA).ok()?;
    let actions = schema.action_entities().ok()?;
    Some(Vocabulary { validator: Validator::new(schema), actions })
});

pub(crate) fn type_name(name: &str) -> Option<EntityTypeName> {
    let known = TYPE_NAMES.iter().find(|(short, _)| *short == name);
    known.map(|(_, full)| full.clone()).or_else(|| parsed(name))
}

/// Parsed once: Cedar's parser takes microseconds for each.
static TYPE_NAMES: LazyLock<Vec<(&str, EntityTypeName)>> = LazyLock::new(|| {
    let names = ["Action", "Tool", "Server", "Resource", "Prompt", "Skill"];
    let names = names.into_iter().chain(["Key", "User", "Role", "Group", "Anonymous", "Admin"]);
    names.filter_map(|name| Some((name, parsed(name)?))).collect()
});

fn parsed(name: &str) -> Option<EntityTypeName> {
    EntityTypeName::from_str(&format!("Trunkline::{name}")).ok()
}

/// The entity of this type, which is one of the schema's, with this id.
pub(crate) fn uid(name: &str, id: &str) -> EntityUid {
    #[expect(
        clippy::expect_used,
        reason = "every name is a literal of this crate; a test makes them all"
    )]
    let name = type_name(name).expect("the schema's names are names");
    EntityUid::from_type_name_and_id(name, EntityId::new(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_is_one_and_has_every_action_and_type() {
        let (schema, warnings) = Schema::from_cedarschema_str(SCHEMA).unwrap();
        assert_eq!(warnings.count(), 0);
        let actions: Vec<_> = schema.actions().cloned().collect();
        for action in Action::ALL {
            assert!(actions.contains(&action.uid()), "{action:?}");
            assert_eq!(Action::named(action.name()), Some(action));
        }
        let known: Vec<_> = schema.entity_types().map(ToString::to_string).collect();
        for name in [
            "Key",
            "User",
            "Anonymous",
            "Admin",
            "Role",
            "Group",
            "Server",
            "Skill",
            "Tool",
            "Resource",
            "Prompt",
        ] {
            assert!(known.contains(&uid(name, "x").type_name().to_string()), "{name}: {known:?}");
        }
        assert!(VOCABULARY.is_some());
    }
}

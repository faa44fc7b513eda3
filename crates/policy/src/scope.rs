//! Whether the head of a policy (`principal`, `action`, `resource`) fits: the part that needs no evaluation.

use std::collections::HashSet;

use cedar_policy::{
    ActionConstraint, EntityTypeName, EntityUid, PrincipalConstraint, ResourceConstraint,
};

use crate::schema::Action;

/// An entity with those it is in.
#[derive(Debug)]
pub(crate) struct Ancestry {
    pub(crate) uid: EntityUid,
    pub(crate) parents: HashSet<EntityUid>,
}

impl Ancestry {
    fn is_in(&self, other: &EntityUid) -> bool {
        self.uid == *other || self.parents.contains(other)
    }

    fn is(&self, name: &EntityTypeName) -> bool {
        self.uid.type_name() == name
    }
}

pub(crate) fn fits_principal(constraint: &PrincipalConstraint, who: &Ancestry) -> bool {
    match constraint {
        PrincipalConstraint::Any => true,
        PrincipalConstraint::In(other) => who.is_in(other),
        PrincipalConstraint::Eq(other) => who.uid == *other,
        PrincipalConstraint::Is(name) => who.is(name),
        PrincipalConstraint::IsIn(name, other) => who.is(name) && who.is_in(other),
    }
}

pub(crate) fn fits_resource(constraint: &ResourceConstraint, what: &Ancestry) -> bool {
    match constraint {
        ResourceConstraint::Any => true,
        ResourceConstraint::In(other) => what.is_in(other),
        ResourceConstraint::Eq(other) => what.uid == *other,
        ResourceConstraint::Is(name) => what.is(name),
        ResourceConstraint::IsIn(name, other) => what.is(name) && what.is_in(other),
    }
}

pub(crate) fn fits_action(constraint: &ActionConstraint, action: Action) -> bool {
    match constraint {
        ActionConstraint::Any => true,
        ActionConstraint::In(others) => others.iter().any(|other| action.is_in(other)),
        ActionConstraint::Eq(other) => action.uid() == *other,
    }
}

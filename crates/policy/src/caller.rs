//! Who asks, as an entity with its groups.

use std::collections::HashSet;

use cedar_policy::{Entity, EntityUid, RestrictedExpression};

use crate::schema::uid;
use crate::target::entity;
use crate::value;

/// Somebody who was let in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PolicyCaller {
    pub kind: CallerKind,
    /// `viewer`, `caller`, `operator` or `admin`.
    pub role: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CallerKind {
    Key {
        id: String,
        name: String,
    },
    User {
        subject: String,
        issuer: String,
        groups: Vec<String>,
        /// A JSON object; empty: there are none.
        claims: String,
    },
    Anonymous,
    Admin,
}

impl PolicyCaller {
    /// As policies name it: `Trunkline::User::"alice"`.
    pub fn name(&self) -> String {
        self.uid().to_string()
    }

    pub(crate) fn uid(&self) -> EntityUid {
        match &self.kind {
            CallerKind::Key { id, .. } => uid("Key", id),
            CallerKind::User { subject, .. } => uid("User", subject),
            CallerKind::Anonymous => uid("Anonymous", "anonymous"),
            CallerKind::Admin => uid("Admin", "admin"),
        }
    }

    pub(crate) fn parents(&self) -> HashSet<EntityUid> {
        let groups = match &self.kind {
            CallerKind::User { groups, .. } => groups.as_slice(),
            _ => &[],
        };
        let groups = groups.iter().map(|group| uid("Group", group));
        groups.chain([uid("Role", &self.role)]).collect()
    }

    /// `Err`: the claims are no JSON object.
    pub(crate) fn entity(&self) -> Result<Option<Entity>, String> {
        let text = |value: &str| RestrictedExpression::new_string(value.to_owned());
        let mut attributes = vec![("role", text(&self.role))];
        match &self.kind {
            CallerKind::Key { name, .. } => attributes.push(("name", text(name))),
            CallerKind::User { subject, issuer, claims, .. } => {
                let claims = match claims.as_str() {
                    "" => value::empty_record(),
                    claims => value::record(claims.as_bytes())?,
                };
                attributes.extend([
                    ("subject", text(subject)),
                    ("issuer", text(issuer)),
                    ("claims", claims),
                ]);
            }
            CallerKind::Anonymous | CallerKind::Admin => {}
        }
        Ok(entity(self.uid(), attributes, self.parents()))
    }
}

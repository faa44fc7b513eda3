//! Which role the name in a client's certificate has.

use super::role::Role;

/// What the operator says about one name: `NAME=ROLE` (`--tls-client-role`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateRole {
    /// As the certificate has it; `*`: every name that is not given.
    name: String,
    /// `None`: it is refused.
    role: Option<Role>,
}

/// The roles of all names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CertificateRoles(Vec<CertificateRole>);

const EVERYBODY: &str = "*";
const NONE: &str = "none";

impl CertificateRole {
    pub fn parse(text: &str) -> Result<Self, String> {
        // The last one: a name may have `=` in it, a role has not.
        let (name, role) = text
            .rsplit_once('=')
            .filter(|(name, _)| !name.is_empty())
            .ok_or("must be NAME=ROLE, with the common name of a certificate (`*`: every other)")?;
        let role = match role {
            NONE => None,
            role => Some(Role::named(role).ok_or_else(|| {
                format!(
                    "`{role}` is no role; expected one of viewer, caller, operator, admin, none"
                )
            })?),
        };
        Ok(Self { name: name.to_owned(), role })
    }
}

impl CertificateRoles {
    pub fn new(roles: Vec<CertificateRole>) -> Self {
        Self(roles)
    }

    /// The role of a name; `None`: it has none, and is refused.
    pub(super) fn role_of(&self, name: &str) -> Option<Role> {
        // The last word about a name counts, as with other flags.
        let said = |wanted: &str| self.0.iter().rev().find(|known| known.name == wanted);
        match said(name).or_else(|| said(EVERYBODY)) {
            Some(said) => said.role,
            // The operator has named the authority: whom it vouches for may call.
            None => Some(Role::Caller),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_the_role_that_is_given_to_them() {
        let roles = |all: &[&str]| {
            let read = all.iter().map(|one| CertificateRole::parse(one).unwrap());
            CertificateRoles::new(read.collect())
        };
        for (given, name, expected) in [
            (&[][..], "ci", Some(Role::Caller)),
            (&["ci=operator"][..], "ci", Some(Role::Operator)),
            (&["ci=operator"][..], "other", Some(Role::Caller)),
            (&["ci=operator", "*=none"][..], "ci", Some(Role::Operator)),
            (&["ci=operator", "*=none"][..], "other", None),
            (&["*=viewer", "ci=none"][..], "ci", None),
            (&["*=viewer", "ci=none"][..], "*", Some(Role::Viewer)),
            (&["ci=viewer", "ci=admin"][..], "ci", Some(Role::Admin)),
            (&["a=b=viewer"][..], "a=b", Some(Role::Viewer)),
        ] {
            assert_eq!(roles(given).role_of(name), expected, "{given:?} {name}");
        }
        for bad in ["ci", "=caller", "ci=", "ci=root", "ci=Admin"] {
            assert!(CertificateRole::parse(bad).is_err(), "{bad}");
        }
    }
}

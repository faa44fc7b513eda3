//! The flags of people who sign in to the dashboard at an issuer.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use trunkline_control::access::Role;

use super::values::age;

/// Who signs in to the dashboard without a key.
#[derive(Args, Clone, Debug)]
pub(crate) struct PeopleFlags {
    /// Let people sign in to the dashboard at the `OpenID` Connect issuer at URL (Keycloak, Entra …), written as in its
    /// tokens' `iss`
    #[arg(long, value_name = "URL", requires = "oidc_client_id", help_heading = "People")]
    pub(crate) oidc_issuer: Option<String>,
    /// … where this Trunkline is registered under this id, with the redirect URI PUBLIC-URL/sign-in/callback
    #[arg(long, value_name = "ID", requires = "oidc_issuer", help_heading = "People")]
    pub(crate) oidc_client_id: Option<String>,
    /// The file with its secret there [default: `$TRUNKLINE_OIDC_CLIENT_SECRET`, or none: a public client]
    #[arg(long, value_name = "FILE", requires = "oidc_issuer", help_heading = "People")]
    pub(crate) oidc_client_secret_file: Option<PathBuf>,
    /// Members of GROUP have ROLE (viewer, caller, operator or admin); `*` is whoever the issuer lets in (repeatable;
    /// the highest role counts)
    #[arg(
        long, value_name = "GROUP=ROLE", value_parser = group_role, requires = "oidc_issuer",
        help_heading = "People"
    )]
    pub(crate) oidc_role: Vec<(String, Role)>,
    /// The claim of ID tokens with somebody's groups; dots lead into objects (Keycloak: `realm_access.roles`, Entra:
    /// `groups` or `roles`)
    #[arg(
        long,
        value_name = "NAME",
        default_value = "groups",
        requires = "oidc_issuer",
        help_heading = "People"
    )]
    pub(crate) oidc_groups_claim: String,
    /// Ask for this scope, too, besides openid, profile and email (repeatable)
    #[arg(long, value_name = "SCOPE", requires = "oidc_issuer", help_heading = "People")]
    pub(crate) oidc_scope: Vec<String>,
    /// How long somebody who has signed in there stays so at most, up to 12h
    #[arg(
        long, value_name = "TIME", default_value = "8h", value_parser = session,
        requires = "oidc_issuer", help_heading = "People"
    )]
    pub(crate) oidc_session: Duration,
}

/// Groups may have `=` in their names (LDAP), roles have none.
fn group_role(text: &str) -> Result<(String, Role), String> {
    let (group, role) = text.rsplit_once('=').ok_or("must be written as GROUP=ROLE")?;
    let role = Role::named(role).ok_or_else(|| {
        format!("`{role}` is no role; the roles are viewer, caller, operator and admin")
    })?;
    match group.is_empty() {
        true => Err("the group before `=` is empty".to_owned()),
        false => Ok((group.to_owned(), role)),
    }
}

/// As long as a session of the dashboard can be.
fn session(text: &str) -> Result<Duration, String> {
    const MINUTE: Duration = Duration::from_secs(60);
    let session = age(text)?;
    match (MINUTE..=12 * 60 * MINUTE).contains(&session) {
        true => Ok(session),
        false => Err("must be at least 1m and at most 12h".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_has_a_role() {
        for (text, expected) in [
            ("ops=operator", Some(("ops", Role::Operator))),
            ("/platform/ops=admin", Some(("/platform/ops", Role::Admin))),
            ("cn=ops,dc=corp=viewer", Some(("cn=ops,dc=corp", Role::Viewer))),
            ("*=viewer", Some(("*", Role::Viewer))),
            ("ops", None),
            ("=admin", None),
            ("ops=", None),
            ("ops=Admin", None),
            ("ops=root", None),
        ] {
            let expected = expected.map(|(group, role)| (group.to_owned(), role));
            assert_eq!(group_role(text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn a_session_is_no_longer_than_one_of_the_dashboard() {
        for (text, seconds) in
            [("8h", Some(28_800)), ("12h", Some(43_200)), ("1m", Some(60)), ("90m", Some(5_400))]
        {
            assert_eq!(session(text).ok(), seconds.map(Duration::from_secs), "{text}");
        }
        for bad in ["0", "59s", "13h", "1d", "x"] {
            assert!(session(bad).is_err(), "{bad}");
        }
    }
}

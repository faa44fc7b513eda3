//! A principal in the words of policies.

use serde_json::Value;
use trunkline_policy::{CallerKind, PolicyCaller};

use crate::access::{Credential, Principal};

/// The claim whose elements are the groups of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupsClaim(pub String);

impl Default for GroupsClaim {
    fn default() -> Self {
        Self("groups".to_owned())
    }
}

/// The issuer of those who show a certificate.
const CERTIFICATE: &str = "client-certificate";

pub fn caller_of(principal: &Principal, groups: &GroupsClaim) -> PolicyCaller {
    let kind = match principal.credential() {
        Credential::AdminToken => CallerKind::Admin,
        Credential::Open => CallerKind::Anonymous,
        Credential::StaticToken => token(),
        Credential::Key(id) => {
            CallerKind::Key { id: id.to_string(), name: principal.name().to_owned() }
        }
        Credential::Certificate(_) => CallerKind::User {
            // As in the audit log: a name in a certificate is nobody's subject at an issuer.
            subject: principal.credential().to_string(),
            issuer: CERTIFICATE.to_owned(),
            groups: Vec::new(),
            claims: String::new(),
        },
        Credential::Person { issuer, subject } => CallerKind::User {
            subject: subject.clone(),
            issuer: issuer.clone(),
            // Found where `--oidc-groups-claim` says, which may be another claim than that of access tokens.
            groups: principal.groups().to_vec(),
            claims: principal.claims().unwrap_or_default().to_owned(),
        },
        Credential::Jwt { issuer, subject } => {
            let claims = principal.claims().unwrap_or_default();
            CallerKind::User {
                subject: subject.clone(),
                issuer: issuer.clone(),
                groups: user_groups(claims, groups),
                claims: claims.to_owned(),
            }
        }
    };
    PolicyCaller { kind, role: principal.role().name().to_owned() }
}

/// Whoever shows the token of `--token`.
fn token() -> CallerKind {
    CallerKind::Key { id: "token".to_owned(), name: "token".to_owned() }
}

impl GroupsClaim {
    /// Whoever comes in where no platform asks who that is.
    pub fn unnamed(has_token: bool) -> PolicyCaller {
        let kind = if has_token { token() } else { CallerKind::Anonymous };
        PolicyCaller { kind, role: "caller".to_owned() }
    }
}

/// A list of texts, or one text: some issuers write a single group so.
pub fn user_groups(claims: &str, GroupsClaim(name): &GroupsClaim) -> Vec<String> {
    let claims: Value = serde_json::from_str(claims).unwrap_or_default();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    match claims.get(name) {
        Some(Value::Array(groups)) => groups.iter().filter_map(text).collect(),
        Some(one) => text(one).into_iter().collect(),
        None => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_in_the_claim_that_is_named() {
        for (claims, name, expected) in [
            (r#"{"groups":["dev","ops"]}"#, "groups", &["dev", "ops"][..]),
            (r#"{"groups":["dev",7,null]}"#, "groups", &["dev"]),
            (r#"{"groups":"dev"}"#, "groups", &["dev"]),
            (r#"{"roles":["dev"]}"#, "groups", &[]),
            (r#"{"roles":["dev"]}"#, "roles", &["dev"]),
            (r#"{"https://example.com/groups":["dev"]}"#, "https://example.com/groups", &["dev"]),
            ("", "groups", &[]),
        ] {
            assert_eq!(user_groups(claims, &GroupsClaim(name.to_owned())), expected, "{claims}");
        }
    }
}

//! People who have signed in at an issuer: their groups, and the role that these give. Pure.

use std::sync::Arc;

use serde_json::Value;

use super::id_token::IdToken;
use super::principal::{CERTIFICATES, Credential, Principal};
use super::role::Role;

/// Whose people come in, and who they are here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeopleRules {
    /// As it stands in `iss`.
    pub issuer: String,
    /// What this Trunkline is called there.
    pub client_id: String,
    pub groups: GroupsPath,
    pub roles: GroupRoles,
}

/// Where in the claims of a token the groups are: `groups`, or a way into objects: `realm_access.roles`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupsPath(String);

/// Which group has which role; the highest role of somebody's groups counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupRoles(Vec<(String, Role)>);

/// Why somebody whom the issuer knows has no role here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoPerson {
    #[error("none of the groups has a role here")]
    NoRole { name: String, groups: Vec<String> },
    #[error("the token names no groups in `{path}`")]
    NoGroups { name: String, path: String },
    /// Entra leaves them out where somebody has many.
    #[error("the token says that its groups in `{path}` are too many to be named")]
    TooManyGroups { name: String, path: String },
    #[error("the subject of the token begins with `cert:`, as the names of certificates do")]
    Reserved { name: String },
}

/// In the place of a group: whoever has signed in.
const EVERYBODY: &str = "*";
/// Steps of a path.
const MOST_STEPS: usize = 8;

/// Who is it, until then (s since 1970)? What the token says was checked before.
pub fn decide_person(
    token: &IdToken,
    rules: &PeopleRules,
    until: u64,
) -> Result<Principal, NoPerson> {
    let (name, claims) = (token.name.clone(), &token.claims);
    // Policies and the audit know both by their names.
    if claims.subject.starts_with(CERTIFICATES) {
        return Err(NoPerson::Reserved { name });
    }
    let said: Value = serde_json::from_str(&claims.lasting).unwrap_or_default();
    let groups = rules.groups.find(&said);
    let path = || rules.groups.0.clone();
    let found = groups.clone().unwrap_or_default();
    let Some(role) = rules.roles.role_of(&found) else {
        return Err(match groups {
            None if is_elsewhere(&said, &rules.groups) => {
                NoPerson::TooManyGroups { name, path: path() }
            }
            None => NoPerson::NoGroups { name, path: path() },
            Some(none) if none.is_empty() => NoPerson::NoGroups { name, path: path() },
            Some(groups) => NoPerson::NoRole { name, groups },
        });
    };
    let (issuer, subject) = (claims.issuer.clone(), claims.subject.clone());
    let principal = Principal::new(&name, role, Credential::Person { issuer, subject });
    Ok(principal.until(until).claiming(Arc::clone(&claims.lasting)).in_groups(found.into()))
}

/// Are the groups somewhere else than in the token (`OpenID` Connect Core, 5.6.2)?
fn is_elsewhere(claims: &Value, path: &GroupsPath) -> bool {
    claims.get("_claim_names").is_some_and(|names| names.get(&path.0).is_some())
        || claims.get("hasgroups").and_then(Value::as_bool) == Some(true)
}

impl GroupsPath {
    /// `None`: it leads nowhere.
    pub fn new(path: &str) -> Option<Self> {
        let is_path = path.split('.').count() <= MOST_STEPS
            && path.split('.').all(|step| !step.is_empty())
            && !path.contains(|c: char| c.is_whitespace() || c.is_control());
        is_path.then(|| Self(path.to_owned()))
    }

    /// A list of texts, or one text: some issuers write a single group so. `None`: there is nothing at this path.
    fn find(&self, claims: &Value) -> Option<Vec<String>> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        match at(claims, &self.0)? {
            Value::Array(groups) => Some(groups.iter().filter_map(text).collect()),
            one => text(one).map(|one| vec![one]),
        }
    }
}

/// The whole name first: names of claims may have dots in them, as those that are URLs have.
fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    if let Some(found) = value.get(path) {
        return Some(found);
    }
    path.match_indices('.').find_map(|(dot, _)| {
        let (first, rest) = (path.get(..dot)?, path.get(dot + 1..)?);
        at(value.get(first)?, rest)
    })
}

impl GroupRoles {
    pub fn new(roles: Vec<(String, Role)>) -> Self {
        Self(roles)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `None`: these groups have none.
    pub fn role_of(&self, groups: &[String]) -> Option<Role> {
        let is_in = |group: &String| group == EVERYBODY || groups.contains(group);
        self.0.iter().filter(|(group, _)| is_in(group)).map(|(_, role)| *role).max()
    }
}

impl NoPerson {
    /// How the issuer calls them.
    pub fn name(&self) -> &str {
        match self {
            Self::NoRole { name, .. }
            | Self::NoGroups { name, .. }
            | Self::TooManyGroups { name, .. }
            | Self::Reserved { name } => name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn groups(claims: &Value, path: &str) -> Option<Vec<String>> {
        GroupsPath::new(path).unwrap().find(claims)
    }

    #[test]
    fn groups_are_where_the_path_leads() {
        let claims = json!({
            "groups": ["a", 7, "b"], "one": "c", "number": 5,
            "realm_access": {"roles": ["d"]},
            "resource_access": {"my.client": {"roles": ["e"]}, "my": {"client": 1}},
            "https://example.com/groups": ["f"],
        });
        for (path, expected) in [
            ("groups", Some(vec!["a", "b"])),
            ("one", Some(vec!["c"])),
            ("number", None),
            ("none", None),
            ("realm_access", None),
            ("realm_access.roles", Some(vec!["d"])),
            ("realm_access.none", None),
            ("resource_access.my.client.roles", Some(vec!["e"])),
            ("https://example.com/groups", Some(vec!["f"])),
        ] {
            let expected = expected.map(|all| all.into_iter().map(str::to_owned).collect());
            assert_eq!(groups(&claims, path), expected, "{path}");
        }
        for bad in ["", ".", "a.", ".a", "a..b", "a b", "a.b.c.d.e.f.g.h.i"] {
            assert_eq!(GroupsPath::new(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_highest_role_of_the_groups_counts() {
        let table = |rows: &[(&str, Role)]| {
            GroupRoles::new(rows.iter().map(|(group, role)| ((*group).to_owned(), *role)).collect())
        };
        let some = table(&[("dev", Role::Caller), ("ops", Role::Operator), ("Dev", Role::Admin)]);
        let all = table(&[("*", Role::Viewer), ("ops", Role::Operator)]);
        for (table, groups, expected) in [
            (&some, &[][..], None),
            (&some, &["sales"], None),
            (&some, &["*"], None),
            (&some, &["dev"], Some(Role::Caller)),
            (&some, &["dev", "ops"], Some(Role::Operator)),
            (&all, &[], Some(Role::Viewer)),
            (&all, &["ops"], Some(Role::Operator)),
        ] {
            let groups: Vec<String> = groups.iter().map(|&group| group.to_owned()).collect();
            assert_eq!(table.role_of(&groups), expected, "{groups:?}");
        }
    }
}

//! A principal as it is kept between two starts, and whether it is still one when it is read again.

use serde_json::{Value, json};

use super::key::{ApiKey, KeyId, Mac};
use super::principal::{Credential, Credentials, PEOPLE, Principal};
use super::role::Role;

/// What is kept of a principal. None of it lets anybody in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RememberedPrincipal {
    /// As it stands in the audit.
    pub credential: String,
    /// JSON: what is compared with what is known later.
    pub detail: String,
}

impl Principal {
    /// `None`: it has no credential that could be looked at again.
    pub fn remember(&self, known: &Credentials) -> Option<RememberedPrincipal> {
        let detail = match self.credential() {
            Credential::AdminToken => json!({ "mac": hex(known.admin_token.as_ref()?) }),
            Credential::StaticToken => json!({ "mac": hex(known.static_token.as_ref()?) }),
            Credential::Key(_) => json!({}),
            Credential::Jwt { issuer, subject } => json!({
                "issuer": issuer, "subject": subject, "role": self.role().name(),
                "good_until": self.good_until(), "claims": self.claims(),
            }),
            Credential::Person { issuer, subject } => json!({
                "issuer": issuer, "subject": subject, "name": self.name(),
                "client_id": known.people.as_ref()?.client_id, "groups": self.groups(),
                "good_until": self.good_until(), "claims": self.claims(),
            }),
            // The certificate is of the connection, not of whoever signs in.
            Credential::Certificate(_) | Credential::Open => return None,
        };
        let credential = self.credential().to_string();
        Some(RememberedPrincipal { credential, detail: detail.to_string() })
    }
}

/// The principal again, with the rights it has now; `None`: it would not be let in any more.
pub fn recall(kept: &RememberedPrincipal, known: &Credentials, now: u64) -> Option<Principal> {
    let detail: Value = serde_json::from_str(&kept.detail).ok()?;
    let text = |name: &str| detail.get(name).and_then(Value::as_str);
    // The token is the same as when somebody signed in by it.
    let is_same = |mac: Option<&Mac>| mac.is_some_and(|mac| text("mac") == Some(&hex(mac)));
    match kept.credential.as_str() {
        "admin-token" if is_same(known.admin_token.as_ref()) => {
            Some(Principal::new("admin", Role::Admin, Credential::AdminToken))
        }
        "token" if is_same(known.static_token.as_ref()) => {
            Some(Principal::new("token", Role::Caller, Credential::StaticToken))
        }
        credential => match credential.strip_prefix("key:") {
            Some(_) if known.is_stale => None,
            Some(id) => of_key(known.keys.get(&KeyId::read(id)?)?, now),
            None if credential.starts_with(PEOPLE) => person(&detail, known, now),
            None => {
                let issuer = text("issuer").filter(|issuer| {
                    known.issuer.as_ref().is_some_and(|trusted| trusted.issuer == *issuer)
                })?;
                let good_until = detail.get("good_until")?.as_u64().filter(|end| *end > now)?;
                let subject = text("subject")?.to_owned();
                let (name, role) = (subject.clone(), Role::named(text("role")?)?);
                let credential = Credential::Jwt { issuer: issuer.to_owned(), subject };
                let claims = text("claims").unwrap_or("{}").into();
                Some(Principal::new(&name, role, credential).until(good_until).claiming(claims))
            }
        },
    }
}

/// With the role that their groups have now.
fn person(detail: &Value, known: &Credentials, now: u64) -> Option<Principal> {
    let text = |name: &str| detail.get(name).and_then(Value::as_str);
    let rules = known.people.as_ref()?;
    let (issuer, client) = (text("issuer")?, text("client_id")?);
    if (issuer, client) != (&*rules.issuer, &*rules.client_id) {
        return None;
    }
    let groups = detail.get("groups")?.as_array()?.iter();
    let groups: Vec<String> = groups.filter_map(|one| one.as_str().map(str::to_owned)).collect();
    let role = rules.roles.role_of(&groups)?;
    let good_until = detail.get("good_until")?.as_u64().filter(|end| *end > now)?;
    let (issuer, subject) = (issuer.to_owned(), text("subject")?.to_owned());
    let principal = Principal::new(text("name")?, role, Credential::Person { issuer, subject });
    let claims = text("claims").unwrap_or("{}").into();
    Some(principal.until(good_until).claiming(claims).in_groups(groups.into()))
}

fn of_key(key: &ApiKey, now: u64) -> Option<Principal> {
    let is_good = key.revoked_at.is_none() && key.expires_at.is_none_or(|end| end > now);
    is_good.then(|| Principal::of_key(key))
}

fn hex(mac: &Mac) -> String {
    mac.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

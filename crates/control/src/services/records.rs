//! Audit records in the words of the services.

use std::fmt::Write as _;

use trunkline_store::NewAudit;

use super::directory::ServerEntry;
use crate::access::{Credential, KeyId};
use crate::keys::{Actor, ApiKeys};

/// The principal of what Trunkline does by itself.
pub(super) const TRUNKLINE: &str = "trunkline";

/// What an actor has done.
pub(super) fn record(action: &str, by: Actor<'_>, at: i64) -> NewAudit {
    NewAudit {
        at,
        principal: by.principal.name().to_owned(),
        credential_id: Some(by.principal.credential().to_string()),
        address: by.address.map(str::to_owned),
        action: action.to_owned(),
        outcome: "ok".to_owned(),
        request_id: by.request_id.map(str::to_owned),
        ..NewAudit::default()
    }
}

/// What an actor has done to a server.
pub(super) fn server_record(
    action: &str,
    id: &str,
    name: &str,
    by: Actor<'_>,
    at: i64,
) -> NewAudit {
    NewAudit {
        server_id: Some(id.to_owned()),
        server_name: Some(name.to_owned()),
        ..record(action, by, at)
    }
}

/// What Trunkline has done to a server, or has seen of it.
pub(super) fn own_record(action: &str, entry: &ServerEntry, outcome: &str, at: i64) -> NewAudit {
    NewAudit {
        at,
        principal: TRUNKLINE.to_owned(),
        action: action.to_owned(),
        server_id: Some(entry.id.clone()),
        server_name: Some(entry.name.clone()),
        outcome: outcome.to_owned(),
        ..NewAudit::default()
    }
}

/// The name that goes with a credential, as it was let in.
pub(super) fn principal_of(keys: &ApiKeys, credential: Option<&str>) -> String {
    let Some(credential) = credential else { return "somebody".to_owned() };
    if let Some(id) = credential.strip_prefix("key:") {
        let known = keys.known();
        let key = KeyId::read(id).and_then(|id| known.keys.get(&id));
        return key.map_or(id, |key| &key.name).to_owned();
    }
    let of_issuer = credential.strip_prefix("jwt:").or_else(|| credential.strip_prefix("oidc:"));
    if let Some((_, subject)) = of_issuer.and_then(|it| it.split_once('#')) {
        return subject.to_owned();
    }
    match credential {
        _ if credential == Credential::AdminToken.to_string() => "admin".to_owned(),
        _ if credential == Credential::Open.to_string() => "local".to_owned(),
        other => other.to_owned(),
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(out, "{byte:02x}");
    }
    out
}

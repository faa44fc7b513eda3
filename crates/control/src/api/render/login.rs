//! A login that has begun.

use serde_json::{Value, json};

use crate::api::time;
use crate::services::StartedLogin;

pub(crate) fn started_login(login: &StartedLogin) -> Value {
    json!({
        "authorization_url": login.authorization_url,
        "expires_at": time::format(login.expires_at),
        "issuer": login.issuer,
        "previous_issuer": login.previous_issuer,
        "scope": login.scope,
    })
}

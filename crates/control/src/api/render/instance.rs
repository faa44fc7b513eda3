//! What this Trunkline runs with: `GET /settings`. Nothing of it is a secret.

use serde_json::{Value, json};
use trunkline_catalog::name::escaped;

use crate::issuer::Trusted;
use crate::keys::ApiKeys;
use crate::services::{Settings, StdioRegistration};

pub(crate) fn instance(settings: &Settings, keys: &ApiKeys) -> Value {
    let (stdio, commands) = match &settings.registration.stdio {
        StdioRegistration::Refused => ("refused", Vec::new()),
        StdioRegistration::Only(commands) => ("only", commands.clone()),
        StdioRegistration::Allowed => ("allowed", Vec::new()),
    };
    let networks: Vec<_> =
        settings.registration.reach.allowed.iter().map(ToString::to_string).collect();
    let store = match settings.storage.store.file() {
        Some(_) => "sqlite",
        None => "postgres",
    };
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "listen": settings.listen.to_string(),
        "public_url": settings.public_url,
        "data_dir": escaped(&settings.storage.data_dir.to_string_lossy()),
        "store": store,
        "store_url": settings.storage.store.to_string(),
        "is_locked": keys.is_locked(),
        "mcp_without_token": keys.is_open(),
        "stdio_registration": stdio,
        "stdio_commands": commands,
        "allowed_networks": networks,
        "health_interval": settings.health_interval.as_secs(),
        "issuer": settings.tokens.issuer.as_ref().map(Trusted::name),
        "people_issuer": settings.tokens.people.as_ref().map(|people| &people.rules.issuer),
        "traces": settings.tracer.is_some(),
        "language_model": settings.llm.as_ref().map(|llm| llm.model().to_owned()),
    })
}

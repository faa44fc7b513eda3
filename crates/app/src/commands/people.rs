//! From flags and environment to the issuer whose people sign in to the dashboard.

use std::io::Read as _;
use std::net::SocketAddr;
use std::path::Path;

use trunkline_control::oauth::Secret;
use trunkline_control::people::{PeopleOptions, PeopleSettings};
use trunkline_http::Url;

use crate::cli::PeopleFlags;
use crate::environment::Environment;
use crate::settings::OIDC_CLIENT_SECRET;

/// Secrets of clients have some dozens of characters.
const LARGEST: u64 = 4096;

/// `public`: how browsers reach this, as the operator says; `base`: where it listens.
pub(super) fn people(
    flags: &PeopleFlags,
    public: Option<&Url>,
    (address, base): (SocketAddr, &str),
    environment: &Environment,
) -> Result<Option<PeopleSettings>, String> {
    let (Some(issuer), Some(client_id)) = (&flags.oidc_issuer, &flags.oidc_client_id) else {
        return Ok(None);
    };
    let public = match public {
        Some(public) => public.clone(),
        None if address.ip().is_loopback() => Url::parse(base).map_err(|bad| bad.to_string())?,
        None => {
            return Err(
                "--oidc-issuer needs --public-url: the address at which people's browsers \
                        reach this, and to which the issuer sends them back"
                    .to_owned(),
            );
        }
    };
    let client_secret = match &flags.oidc_client_secret_file {
        Some(path) => Some(
            secret(path)
                .map_err(|why| format!("--oidc-client-secret-file {}: {why}", path.display()))?,
        ),
        None => environment.filled(OIDC_CLIENT_SECRET).map(Secret::new),
    };
    let options = PeopleOptions {
        issuer: issuer.clone(),
        client_id: client_id.clone(),
        client_secret,
        groups_claim: flags.oidc_groups_claim.clone(),
        roles: flags.oidc_role.clone(),
        scopes: flags.oidc_scope.clone(),
        session: flags.oidc_session,
    };
    PeopleSettings::new(options, &public).map(Some).map_err(|bad| bad.to_string())
}

/// Without the line end that editors add. What is wrong with it does not quote it.
fn secret(path: &Path) -> Result<Secret, String> {
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    let mut text = String::new();
    let read = file.take(LARGEST + 1).read_to_string(&mut text);
    read.map_err(|error| error.to_string())?;
    let secret = text.trim_end_matches(['\r', '\n']);
    match secret.is_empty() || text.len() as u64 > LARGEST || secret.contains(char::is_control) {
        true => Err("must hold one line, the secret".to_owned()),
        false => Ok(Secret::new(secret)),
    }
}

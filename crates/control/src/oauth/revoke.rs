//! Gives a grant back when its server is removed (RFC 7009).

use trunkline_http::Url;

use crate::oauth::driver::{OAuth, OAuthState};
use crate::oauth::grant::Grant;
use crate::oauth::registration::OAuthClient;
use crate::oauth::token;
use crate::oauth::vault::VaultError;

// A vault that keeps returning grants is broken; the loop must end all the same.
/// Grants of one server.
const MOST: usize = 8;

impl OAuth {
    /// Forgets everything granted for this server. Whether the issuer has heard of it: it is told, but
    /// the grant is gone from here in any case.
    pub async fn forget(&self, server: &str) -> Result<bool, VaultError> {
        let shared = &self.shared;
        // First: a login that comes back from the browser now must find nothing to complete.
        shared.pending.lock().forget(server);
        shared.vault.abandon(server).await?;
        let mut told = false;
        // Several only if a change of the issuer was interrupted.
        for _ in 0..MOST {
            let Some(kept) = shared.vault.load(server).await? else { break };
            // Deleted before it is revoked: a crash in between leaves a token that ends by itself,
            // not one that is dead and still used.
            shared.vault.delete(server, &kept.grant.issuer).await?;
            told = shared.revoke(&kept.grant).await;
        }
        // Last: a call that came meanwhile may have put a slot back.
        shared.slots.lock().remove(server);
        Ok(told)
    }
}

impl OAuth {
    /// Tells the issuer that a grant is not needed any more which the vault has forgotten already.
    pub async fn give_back(&self, server: &str, grant: &Grant) -> bool {
        self.shared.pending.lock().forget(server);
        self.shared.slots.lock().remove(server);
        self.shared.revoke(grant).await
    }

    /// The grant as it is kept.
    pub async fn kept(&self, server: &str) -> Result<Option<Grant>, VaultError> {
        Ok(self.shared.vault.load(server).await?.map(|kept| kept.grant))
    }
}

impl OAuthState {
    /// The refresh token first: with it, most issuers end the access token as well.
    async fn revoke(&self, grant: &Grant) -> bool {
        let Some(endpoint) = &grant.revocation_endpoint else { return false };
        let refresh = grant.held.refresh.as_ref().map(|token| ("refresh_token", token));
        let mut told = true;
        for (kind, value) in refresh.into_iter().chain([("access_token", &grant.held.access)]) {
            // RFC 7009, 2.1: the hint is optional; issuers that store both kinds in one table find
            // the token sooner.
            let fields = [("token", value.reveal()), ("token_type_hint", kind)];
            told &= self.tell(endpoint, &grant.client, &fields).await;
            if !told {
                break; // one wait for somebody who is not there is enough
            }
        }
        told
    }
    /// Twice, if the form is what is wrong with the first.
    async fn tell(&self, endpoint: &Url, client: &OAuthClient, fields: &[(&str, &str)]) -> bool {
        let request = token::request(endpoint.clone(), client, fields);
        match self.net.send(request, self.settings.limits).await {
            // RFC 6749, 2.3.1: an issuer must take Basic authentication, but some only read the
            // form.
            Ok(answer) if matches!(answer.status, 400 | 401) => {
                let request = token::request_with_form(endpoint.clone(), client, fields);
                let again = self.net.send(request, self.settings.limits).await;
                again.is_ok_and(|answer| answer.is_success())
            }
            answer => answer.is_ok_and(|answer| answer.is_success()),
        }
    }
}

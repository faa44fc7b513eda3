//! `PeopleService`: people sign in to the dashboard at the operator's issuer, and out again. Each leaves an audit
//! record, and so does whoever is refused.

use std::net::SocketAddr;
use std::sync::Arc;

use trunkline_store::NewAudit;

use super::activity::RejectedLogins;
use super::records::record;
use crate::access::{Credential, NoPerson, Principal, decide_person};
use crate::audit::Audit;
use crate::clock;
use crate::keys::Actor;
use crate::people::{Account, BegunSignIn, PeopleDesk, SignInFault, SignInSeed};

const SIGN_IN: &str = "sign-in";
const SIGN_OUT: &str = "sign-out";

#[derive(Debug)]
pub struct PeopleService {
    pub(super) desk: PeopleDesk,
    pub(super) audit: Audit,
    pub(super) rejected: Arc<RejectedLogins>,
}

impl PeopleService {
    /// As people know the issuer.
    pub fn host(&self) -> &str {
        self.desk.settings().host()
    }

    pub async fn begin(&self, account: Account) -> Result<BegunSignIn, SignInFault> {
        self.desk.begin(account).await
    }

    /// Who has come back with this query, to the browser that holds this seed?
    pub async fn finish(
        &self,
        seed: Option<&SignInSeed>,
        query: &str,
        peer: SocketAddr,
    ) -> Result<Principal, SignInFault> {
        let token = match self.desk.finish(seed, query, peer.ip(), clock::seconds()).await {
            Ok(token) => token,
            Err(fault) => {
                self.note(&fault, peer);
                return Err(fault);
            }
        };
        let settings = self.desk.settings();
        let until = clock::seconds().saturating_add(settings.session.as_secs());
        match decide_person(&token, &settings.rules, until) {
            Ok(principal) => {
                let detail = format!("role {}, of {}", principal.role(), settings.rules.issuer);
                self.tell(SIGN_IN, &principal, peer, detail);
                Ok(principal)
            }
            Err(no) => {
                let (issuer, subject) = (token.claims.issuer, token.claims.subject);
                let credential = Credential::Person { issuer, subject };
                self.refuse(&no, &credential, peer);
                Err(no.into())
            }
        }
    }

    /// Somebody signs out. Where they sign out of the issuer, too, if that can be.
    pub async fn sign_out(&self, principal: &Principal, peer: SocketAddr) -> Option<String> {
        let Credential::Person { issuer, .. } = principal.credential() else { return None };
        self.tell(SIGN_OUT, principal, peer, format!("of {issuer}"));
        self.desk.end_url().await
    }

    fn tell(&self, action: &str, principal: &Principal, peer: SocketAddr, detail: String) {
        let address = peer.ip().to_string();
        let by = Actor { principal, address: Some(&address), request_id: None };
        self.audit.record(NewAudit { detail: Some(detail), ..record(action, by, clock::now()) });
    }

    fn refuse(&self, no: &NoPerson, credential: &Credential, peer: SocketAddr) {
        self.audit.record(NewAudit {
            at: clock::now(),
            principal: no.name().to_owned(),
            credential_id: Some(credential.to_string()),
            address: Some(peer.ip().to_string()),
            action: SIGN_IN.to_owned(),
            outcome: "refused".to_owned(),
            detail: Some(no.to_string()),
            ..NewAudit::default()
        });
    }

    /// It is not known who it was. What no browser of ours has begun is noise, and has no record.
    fn note(&self, fault: &SignInFault, peer: SocketAddr) {
        if !matches!(fault, SignInFault::NotBegunHere | SignInFault::Unreadable(_)) {
            self.rejected.record_failed_sign_in(&fault.to_string(), peer.ip(), clock::now());
        }
    }
}

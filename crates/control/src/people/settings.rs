//! `PeopleSettings`: what the operator says of the issuer whose people sign in, checked once. Pure.

use std::time::Duration;

use trunkline_http::Url;

use crate::access::{GroupRoles, GroupsPath, PeopleRules, Role};
use crate::issuer::{BadTrust, Trusted};
use crate::oauth::Secret;

/// As the operator writes it.
#[derive(Debug, Clone)]
pub struct PeopleOptions {
    pub issuer: String,
    pub client_id: String,
    pub client_secret: Option<Secret>,
    pub groups_claim: String,
    pub roles: Vec<(String, Role)>,
    /// Besides those that every issuer knows.
    pub scopes: Vec<String>,
    /// How long somebody stays signed in at most.
    pub session: Duration,
}

#[derive(Debug, Clone)]
pub struct PeopleSettings {
    pub rules: PeopleRules,
    pub session: Duration,
    pub(super) trusted: Trusted,
    pub(super) client_secret: Option<Secret>,
    pub(super) scope: String,
    pub(super) redirect_uri: String,
    /// Where the issuer sends people who have signed out there.
    pub(super) after: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadPeople {
    #[error("--oidc-issuer: {0}")]
    Issuer(BadTrust),
    #[error("--oidc-client-id: is not empty and has no blank in it")]
    ClientId,
    #[error(
        "--oidc-groups-claim: is the name of a claim, or the way to one inside objects: groups, realm_access.roles"
    )]
    GroupsClaim,
    #[error(
        "--oidc-issuer needs --oidc-role GROUP=ROLE, or nobody could sign in; the roles are viewer, caller, operator \
         and admin"
    )]
    NoRole,
    #[error("--oidc-scope: is one scope, without blanks")]
    Scope,
}

/// Where the issuer sends the browser back to, below the public address.
pub const SIGN_IN_CALLBACK: &str = "/sign-in/callback";
const SIGN_IN: &str = "/sign-in";
/// Core, 3.1.2.1 and 5.4: who it is, and how people call them.
const SCOPES: [&str; 3] = ["openid", "profile", "email"];

impl PeopleSettings {
    /// `public`: how browsers reach this.
    pub fn new(options: PeopleOptions, public: &Url) -> Result<Self, BadPeople> {
        let is_name = |text: &str| {
            !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || c.is_control())
        };
        if !is_name(&options.client_id) {
            return Err(BadPeople::ClientId);
        }
        let groups = GroupsPath::new(&options.groups_claim).ok_or(BadPeople::GroupsClaim)?;
        let roles = GroupRoles::new(options.roles);
        if roles.is_empty() {
            return Err(BadPeople::NoRole);
        }
        if !options.scopes.iter().all(|scope| is_name(scope)) {
            return Err(BadPeople::Scope);
        }
        let audiences = vec![options.client_id.clone()];
        let trusted = Trusted::new(&options.issuer, None, audiences, public);
        let trusted = trusted.map_err(BadPeople::Issuer)?;
        let base = public.to_string();
        let base = base.trim_end_matches('/');
        let more = options.scopes.iter().map(String::as_str);
        let more = more.filter(|scope| !SCOPES.contains(scope));
        Ok(Self {
            rules: PeopleRules {
                issuer: options.issuer,
                client_id: options.client_id,
                groups,
                roles,
            },
            session: options.session,
            trusted,
            client_secret: options.client_secret,
            scope: SCOPES.into_iter().chain(more).collect::<Vec<_>>().join(" "),
            redirect_uri: format!("{base}{SIGN_IN_CALLBACK}"),
            after: format!("{base}{SIGN_IN}"),
        })
    }

    /// As people know the issuer.
    pub fn host(&self) -> &str {
        self.trusted.url().host()
    }

    /// What has to be registered at the issuer.
    pub fn redirect_uri(&self) -> &str {
        &self.redirect_uri
    }
}

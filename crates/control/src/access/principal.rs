//! Somebody whose credential has been checked, and the check: from what a request shows to who asks.
//!
//! A `Principal` comes from `decide` only, and from `recall` of what it had decided. There is none for
//! nobody: code that holds one knows that somebody was let in, and how.

use super::certificate::CertificateRoles;
use super::grants::Grants;
use super::jwt::{self, Issuer, JwtFault};
use super::key::{self, ApiKey, KeyFault, KeyId, Mac, Pepper, Use};
use super::people::PeopleRules;
use super::role::{Action, Role, allows};
use super::rules::Rules;
use super::scope;
use std::collections::HashMap;
use std::fmt::{self, Display, Formatter};
use std::sync::Arc;
use std::time::UNIX_EPOCH;
use trunkline_gateway::ClientCertificate;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    name: String,
    role: Role,
    grants: Grants,
    credential: Credential,
    good_until: Option<u64>,
    /// What an issuer's token says besides, as a JSON object.
    claims: Option<Arc<str>>,
    /// Of a person, as the issuer named them.
    groups: Arc<[String]>,
}

/// What somebody was let in by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Credential {
    AdminToken,
    /// The one token of `--token`.
    StaticToken,
    Key(KeyId),
    Jwt {
        issuer: String,
        subject: String,
    },
    /// Somebody who has signed in at the issuer of the dashboard's people.
    Person {
        issuer: String,
        subject: String,
    },
    /// The certificate of the connection, by the name in it.
    Certificate(String),
    /// None was asked for: a client on this machine, where no token is set. Good for MCP only.
    Open,
}

/// Every credential there is. Made anew when one changes, and never changed itself.
#[derive(Debug)]
pub struct Credentials {
    pub pepper: Arc<Pepper>,
    pub admin_token: Option<Mac>,
    pub static_token: Option<Mac>,
    pub keys: HashMap<KeyId, ApiKey>,
    pub issuer: Option<Issuer>,
    pub without_token: WithoutToken,
    pub certificates: Arc<CertificateRoles>,
    /// Who comes in at the dashboard by an issuer, if anybody does.
    pub people: Option<Arc<PeopleRules>>,
    /// The store has not been heard for so long that any key may have been revoked.
    pub is_stale: bool,
}

/// How the names of certificates begin, wherever they stand beside other names.
pub(crate) const CERTIFICATES: &str = "cert:";

/// How the credentials of people begin.
pub(super) const PEOPLE: &str = "oidc:";

/// What a request without any credential is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WithoutToken {
    Refused,
    /// MCP is open to whoever reaches the address: on the loopback, where no token is set.
    MayUseMcp,
}

/// Why a request is not let in, in words for the log; `challenge` has those for the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("no token was shown")]
    Missing,
    #[error("the Authorization header is not `Bearer TOKEN`")]
    Malformed,
    #[error("the token is not known")]
    Unknown,
    #[error(transparent)]
    Key(#[from] KeyFault),
    #[error(transparent)]
    Jwt(JwtFault),
    /// To be tried once more, after the issuer's keys were fetched, if that is worth waiting for (`IssuerKeys`).
    #[error("the key that the token names is not among the issuer's")]
    NeedsKeys,
    #[error("the scopes of the token allow nothing here")]
    NoScope,
    #[error("the name in the client's certificate has no role here (see --tls-client-role)")]
    NoRole,
    #[error("the client's certificate has ended; renew it and connect again")]
    CertificateEnded,
    #[error("the subject of the token begins with `cert:`, as the names of certificates do")]
    ReservedSubject,
    #[error(
        "API keys cannot be checked now: this replica has not heard its store for longer than --max-stale; try again later"
    )]
    Stale,
    #[error("a policy forbids this caller everything")]
    ShutOut,
    #[error("`{action}` needs the role {}, and the role here is {role}", action.least_role())]
    NotAllowed { role: Role, action: Action },
}

/// Who asks? `bearer` as `bearer_of` found it, `now` in seconds since 1970.
///
/// A token that is wrong is never as good as none, even where none is needed.
pub fn decide(bearer: Option<&str>, known: &Credentials, now: u64) -> Result<Principal, Refusal> {
    let Some(token) = bearer else { return without_token(known.without_token) };
    // The operator's tokens are compared by their MAC, too: plain texts are kept nowhere.
    let is = |purpose, mac: &Option<Mac>| {
        mac.as_ref().is_some_and(|mac| known.pepper.verify(purpose, token, mac))
    };
    // These two may have been chosen by the operator and look like anything.
    if is(Use::AdminToken, &known.admin_token) {
        return Ok(Principal::new("admin", Role::Admin, Credential::AdminToken));
    }
    if is(Use::StaticToken, &known.static_token) {
        return Ok(Principal::new("token", Role::Caller, Credential::StaticToken));
    }
    // What has the form of a key is never tried as anything else: an error then says what is wrong
    // with the key.
    if let Some(id) = key::id_of(token) {
        return by_key(token, &id, known, now);
    }
    match &known.issuer {
        Some(issuer) if jwt::is_jwt(token) => by_jwt(token, issuer, now),
        _ => Err(Refusal::Unknown),
    }
}

/// Who asks, on a connection with this certificate? It counts where no token is shown: a wrong token is not made right
/// by it, and whoever shows a token wants to be that one.
pub fn decide_with(
    (bearer, certificate): (Option<&str>, Option<&ClientCertificate>),
    known: &Credentials,
    now: u64,
) -> Result<Principal, Refusal> {
    match (bearer, certificate) {
        (None, Some(certificate)) => by_certificate(certificate, known, now),
        _ => decide(bearer, known, now),
    }
}

fn by_certificate(
    shown: &ClientCertificate,
    known: &Credentials,
    now: u64,
) -> Result<Principal, Refusal> {
    // TLS looks at it once, in the handshake: the connection may be old, or go on with an old session.
    let end = shown.not_after.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    if now >= end {
        return Err(Refusal::CertificateEnded);
    }
    let role = known.certificates.role_of(&shown.name).ok_or(Refusal::NoRole)?;
    let credential = Credential::Certificate(shown.name.clone());
    // Under the name of the credential: somebody else may be called like the certificate.
    Ok(Principal::new(&credential.to_string(), role, credential).until(end))
}

/// The token in the value of an Authorization header, if there is one. Another scheme than Bearer
/// is not taken for silence.
pub fn bearer_of(header: Option<&[u8]>) -> Result<Option<&str>, Refusal> {
    let Some(value) = header else { return Ok(None) };
    let text = str::from_utf8(value).map_err(|_| Refusal::Malformed)?;
    // RFC 9110, 11.4: scheme and credentials are separated by spaces.
    let (scheme, token) = text.trim_ascii().split_once(' ').ok_or(Refusal::Malformed)?;
    let token = token.trim_ascii_start();
    let visible = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    if scheme.eq_ignore_ascii_case("Bearer") && visible {
        Ok(Some(token))
    } else {
        Err(Refusal::Malformed)
    }
}

fn without_token(worth: WithoutToken) -> Result<Principal, Refusal> {
    match worth {
        WithoutToken::MayUseMcp => Ok(Principal::new("local", Role::Caller, Credential::Open)),
        WithoutToken::Refused => Err(Refusal::Missing),
    }
}

fn by_key(token: &str, id: &KeyId, known: &Credentials, now: u64) -> Result<Principal, Refusal> {
    // One that is not known may have been made meanwhile.
    if known.is_stale {
        return Err(Refusal::Stale);
    }
    let key = known.keys.get(id).ok_or(Refusal::Unknown)?;
    key.check(&known.pepper, token, now)?;
    Ok(Principal::of_key(key))
}

fn by_jwt(token: &str, issuer: &Issuer, now: u64) -> Result<Principal, Refusal> {
    let claims = jwt::verify(token, issuer, now).map_err(|fault| match fault {
        // An unknown key may be a new one of the issuer; every other fault is final.
        JwtFault::UnknownKey => Refusal::NeedsKeys,
        fault => Refusal::Jwt(fault),
    })?;
    // Policies and the audit know both by their names.
    if claims.subject.starts_with(CERTIFICATES) {
        return Err(Refusal::ReservedSubject);
    }
    let scopes = claims.scopes.iter().map(String::as_str);
    let role = scope::role_of(scopes).ok_or(Refusal::NoScope)?;
    let good_until = claims.good_until();
    let (issuer, subject) = (claims.issuer, claims.subject);
    let principal = Principal::new(&subject.clone(), role, Credential::Jwt { issuer, subject });
    Ok(principal.until(good_until).claiming(claims.lasting))
}

impl Principal {
    pub(super) fn new(name: &str, role: Role, credential: Credential) -> Self {
        let (name, grants) = (name.to_owned(), Grants::All);
        let groups = Arc::default();
        Self { name, role, grants, credential, good_until: None, claims: None, groups }
    }

    pub(super) fn of_key(key: &ApiKey) -> Self {
        let ApiKey { id, name, role, grants, expires_at, .. } = key.clone();
        let (credential, good_until) = (Credential::Key(id), expires_at);
        let groups = Arc::default();
        Self { name, role, grants, credential, good_until, claims: None, groups }
    }

    pub(super) fn until(self, end: u64) -> Self {
        Self { good_until: Some(end), ..self }
    }

    pub(super) fn claiming(self, claims: Arc<str>) -> Self {
        Self { claims: Some(claims), ..self }
    }

    pub(super) fn in_groups(self, groups: Arc<[String]>) -> Self {
        Self { groups, ..self }
    }

    /// Narrows its grants to what policies leave of them.
    pub fn within(self, rules: Rules) -> Self {
        let grants = match self.grants {
            Grants::Within(grants, _) => grants,
            grants => Box::new(grants),
        };
        Self { grants: Grants::Within(grants, rules), ..self }
    }

    /// What an issuer's token says besides, as a JSON object.
    pub fn claims(&self) -> Option<&str> {
        self.claims.as_deref()
    }

    /// The groups of a person, as the issuer named them when they signed in.
    pub fn groups(&self) -> &[String] {
        &self.groups
    }

    /// For people to read. Two may have the same; the credential tells them apart.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn role(&self) -> Role {
        self.role
    }

    pub fn grants(&self) -> &Grants {
        &self.grants
    }

    pub fn credential(&self) -> &Credential {
        &self.credential
    }

    /// From then on (s since 1970) it has to be shown anew; `None`: until it is revoked.
    pub fn good_until(&self) -> Option<u64> {
        self.good_until
    }

    pub fn require(&self, action: Action) -> Result<(), Refusal> {
        match self.credential {
            // By the credential and not by the role: an open door for MCP must not open the REST
            // API.
            Credential::Open if action == Action::UseMcp => Ok(()),
            // For all but MCP it is as if nobody had asked.
            Credential::Open => Err(Refusal::Missing),
            _ if allows(self.role, action) => Ok(()),
            _ => Err(Refusal::NotAllowed { role: self.role, action }),
        }
    }
}

impl Refusal {
    /// Could whoever shows it be guessing? A token that was good once was not guessed, and nobody guesses the
    /// signature of an issuer.
    pub fn is_guess(self) -> bool {
        matches!(self, Self::Malformed | Self::Unknown | Self::Key(KeyFault::Wrong))
    }

    /// Should the request be answered with 401 (who are you?) or with 403 (not you)?
    pub fn status(self) -> u16 {
        match self {
            // RFC 6750, 3.1: 403 for too little scope. A new login with the same rights would not
            // help.
            Self::NoScope
            | Self::NoRole
            | Self::ReservedSubject
            | Self::ShutOut
            | Self::NotAllowed { .. } => 403,
            Self::Stale => 503,
            Self::Missing
            | Self::Malformed
            | Self::Unknown
            | Self::Key(_)
            | Self::Jwt(_)
            | Self::CertificateEnded
            | Self::NeedsKeys => 401,
        }
    }
}

/// As it stands in the audit.
impl Display for Credential {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::AdminToken => f.write_str("admin-token"),
            Self::StaticToken => f.write_str("token"),
            Self::Key(id) => write!(f, "key:{id}"),
            Self::Jwt { issuer, subject } => write!(f, "jwt:{issuer}#{subject}"),
            Self::Person { issuer, subject } => write!(f, "{PEOPLE}{issuer}#{subject}"),
            Self::Certificate(name) => write!(f, "{CERTIFICATES}{name}"),
            Self::Open => f.write_str("open"),
        }
    }
}

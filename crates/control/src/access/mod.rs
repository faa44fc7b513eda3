//! Who asks, and what they may. Pure: no IO, no clock; what is known comes in as a snapshot.
//!
//! `decide` makes a `Principal` of what a request shows (a token of ours, a key, a JWT of an
//! issuer), or says why not. A role says what it may ask for, grants which tools of which servers.

mod certificate;
mod grants;
mod id_token;
mod json;
mod jwks;
mod jwt;
mod key;
mod label;
mod people;
mod principal;
mod remembered;
mod resource;
mod role;
mod rules;
mod scope;
#[cfg(test)]
pub(crate) mod tests;

pub use certificate::{CertificateRole, CertificateRoles};
pub use grants::{BadPattern, Grants, Pattern};
pub use id_token::{IdToken, verify_id_token};
pub use jwks::{BadJwks, Jwks};
pub use jwt::{Claims, Issuer, JwtFault, verify};
pub use key::{
    ApiKey, KeyFault, KeyId, Mac, NoRandom, Pepper, Secret, Seed, Use, id_of, make_admin_token,
    make_key, random,
};
pub use label::{label, read_label};
pub use people::{GroupRoles, GroupsPath, NoPerson, PeopleRules, decide_person};
pub(crate) use principal::CERTIFICATES;
pub use principal::{
    Credential, Credentials, Principal, Refusal, WithoutToken, bearer_of, decide, decide_with,
};
pub use remembered::{RememberedPrincipal, recall};
pub use resource::{Resource, challenge};
pub use role::{Action, Role, allows};
pub use rules::{CallerRules, Rules};
pub use scope::{SCOPES, role_of, scope_for};

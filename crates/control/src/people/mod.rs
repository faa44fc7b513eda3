//! People who sign in to the dashboard at an issuer of the operator's (`OpenID` Connect, code flow with PKCE).
//!
//! Who has which role, `access` decides; here is the way to the issuer and back. Decisions are pure (`settings`,
//! `provider`, `seed`); `PeopleDesk` asks the issuer. Nothing of a sign-in under way is kept here: the browser holds
//! all of it, so that any replica can finish what another has begun, and strangers fill no table.

mod desk;
mod error;
mod exchanges;
mod provider;
mod seed;
mod settings;
#[cfg(test)]
mod tests;

pub use desk::{Account, BegunSignIn, PeopleDesk};
pub use error::SignInFault;
pub use provider::BadProvider;
pub use seed::SignInSeed;
pub use settings::{BadPeople, PeopleOptions, PeopleSettings, SIGN_IN_CALLBACK};

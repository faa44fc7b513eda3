//! ID tokens (`OpenID` Connect Core, 3.1.3.7): who has signed in at the issuer, in answer to which sign-in of ours.

use super::json::{Object, WrongType, text};
use super::jwt::{self, Claims, Issuer, JwtFault};

/// What an issuer says of somebody who has signed in there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdToken {
    pub claims: Claims,
    /// How people call them; their subject, if the issuer says no more.
    pub name: String,
}

/// Claims with a name for people, the best one first.
const NAMES: [&str; 4] = ["preferred_username", "email", "upn", "name"];
/// Longer ones are nobody's name.
const LONGEST_NAME: usize = 120;

/// Checks everything. The audience of `trusted` is our client there; `nonce` is what this sign-in was begun with;
/// `now` in seconds since 1970.
pub fn verify_id_token(
    token: &str,
    trusted: &Issuer,
    nonce: &str,
    now: u64,
) -> Result<IdToken, JwtFault> {
    let signed = jwt::signed_claims(token, &trusted.keys, is_jwt)?;
    let object = Object::read(&signed)?;
    let claims = jwt::read_claims(&object, trusted, now)?;
    // Without it a token of another sign-in, perhaps of somebody else's, could be put in the place of this one's.
    let answered = object.raw("nonce").and_then(text).ok_or(JwtFault::Claim("nonce"))?;
    if answered != nonce {
        return Err(JwtFault::Nonce);
    }
    check_client(&object, trusted)?;
    // Keycloak marks its tokens: an access token is signed by the same keys.
    let kind = object.optional("typ", text).map_err(|WrongType| JwtFault::Claim("typ"))?;
    if kind.is_some_and(|kind| kind != "ID") {
        return Err(JwtFault::NotIdToken);
    }
    let named = |name: &&str| object.raw(name).and_then(text).filter(|name| is_shown(name));
    let name = NAMES.iter().find_map(named).unwrap_or_else(|| claims.subject.clone());
    Ok(IdToken { claims, name })
}

/// A token for several audiences names the client that it was issued to.
fn check_client(object: &Object<'_>, trusted: &Issuer) -> Result<(), JwtFault> {
    let client = object.optional("azp", text).map_err(|WrongType| JwtFault::Claim("azp"))?;
    let audiences = object.raw("aud").and_then(jwt::one_or_more).unwrap_or_default();
    match client {
        Some(client) if trusted.audiences.contains(&client) => Ok(()),
        None if audiences.len() == 1 => Ok(()),
        Some(_) | None => Err(JwtFault::OtherClient),
    }
}

fn is_jwt(kind: &str) -> bool {
    // An access token (`at+jwt`) or a logout token is not one.
    kind.eq_ignore_ascii_case("jwt")
}

fn is_shown(name: &str) -> bool {
    (1..=LONGEST_NAME).contains(&name.len())
        && name.trim() == name
        && !name.contains(char::is_control)
        && !name.starts_with(super::CERTIFICATES)
}

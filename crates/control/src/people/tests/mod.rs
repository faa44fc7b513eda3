//! The shapes of Keycloak's and Entra's documents and tokens, as their documentation describes them, and what
//! makes others unusable.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use trunkline_http::Url;

use super::provider::{self, BadProvider};
use super::{BadPeople, PeopleOptions, PeopleSettings};
use crate::access::tests::{NOW, Signer};
use crate::access::{
    Issuer, Jwks, JwtFault, NoPerson, PeopleRules, Principal, Role, decide_person, verify_id_token,
};

const KEYCLOAK: &str = include_str!("keycloak-discovery.json");
const KEYCLOAK_TOKEN: &str = include_str!("keycloak-id-token.json");
const ENTRA: &str = include_str!("entra-discovery.json");
const ENTRA_TOKEN: &str = include_str!("entra-id-token.json");
const ENTRA_OVERAGE: &str = include_str!("entra-overage.json");
const NONCE: &str = "n-0S6_WzA2Mj";

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn with(mut object: Value, other: &Value) -> Value {
    for (name, value) in other.as_object().unwrap() {
        match value {
            Value::Null => drop(object.as_object_mut().unwrap().shift_remove(name)),
            value => object[name] = value.clone(),
        }
    }
    object
}

fn options(issuer: &str) -> PeopleOptions {
    PeopleOptions {
        issuer: issuer.to_owned(),
        client_id: "trunkline".to_owned(),
        client_secret: None,
        groups_claim: "groups".to_owned(),
        roles: vec![("ops".to_owned(), Role::Operator)],
        scopes: Vec::new(),
        session: Duration::from_secs(3600),
    }
}

fn rules(document: &str, client: &str, claim: &str, roles: &[(&str, Role)]) -> PeopleRules {
    let options = PeopleOptions {
        client_id: client.to_owned(),
        groups_claim: claim.to_owned(),
        roles: roles.iter().map(|(group, role)| ((*group).to_owned(), *role)).collect(),
        ..options(value(document)["issuer"].as_str().unwrap())
    };
    PeopleSettings::new(options, &Url::parse("https://tools.example.com").unwrap()).unwrap().rules
}

/// What becomes of a token with these claims, signed as Entra and Keycloak do.
fn decided(rules: &PeopleRules, claims: &Value) -> Result<Result<Principal, NoPerson>, JwtFault> {
    let signer = Signer::new();
    let claims = with(json!({"nonce": NONCE}), claims);
    let header = r#"{"alg":"RS256","typ":"JWT","kid":"rsa"}"#;
    let token = signer.sign("RS256", header, &claims.to_string());
    let keys = Jwks::parse(signer.key_set().to_string().as_bytes()).unwrap();
    let trusted = Issuer {
        issuer: rules.issuer.clone(),
        audiences: vec![rules.client_id.clone()],
        keys: Arc::new(keys),
    };
    let token = verify_id_token(&token, &trusted, NONCE, NOW)?;
    Ok(decide_person(&token, rules, NOW + 60))
}

#[test]
fn the_documents_of_keycloak_and_entra_are_understood() {
    for (document, place, says_iss) in [
        (
            KEYCLOAK,
            "https://sso.example.com/realms/platform/.well-known/openid-configuration",
            true,
        ),
        (
            ENTRA,
            "https://login.microsoftonline.com/11111111-2222-3333-4444-555555555555/v2.0/.well-known/openid-configuration",
            false,
        ),
    ] {
        let name = value(document)["issuer"].as_str().unwrap().to_owned();
        let issuer = Url::parse(&name).unwrap();
        assert_eq!(provider::place(&issuer).unwrap().to_string(), place);
        let read = provider::read(document.as_bytes(), &name, &issuer).unwrap();
        assert_eq!(read.says_iss, says_iss, "{name}");
        for (found, key) in [
            (read.authorization, "authorization_endpoint"),
            (read.token, "token_endpoint"),
            (read.key_set, "jwks_uri"),
            (read.end_session.unwrap(), "end_session_endpoint"),
        ] {
            assert_eq!(found.to_string(), value(document)[key].as_str().unwrap());
        }
    }
}

#[test]
fn what_makes_a_document_unusable() {
    let name = value(KEYCLOAK)["issuer"].as_str().unwrap().to_owned();
    let issuer = Url::parse(&name).unwrap();
    for (other, bad) in [
        (json!({"issuer": format!("{name}/")}), BadProvider::Different),
        (json!({"issuer": null}), BadProvider::Different),
        (json!({"code_challenge_methods_supported": ["plain"]}), BadProvider::NoPkce),
        (json!({"response_types_supported": ["id_token"]}), BadProvider::NoCode),
        (
            json!({"token_endpoint": "http://sso.example.com/"}),
            BadProvider::Endpoint("token_endpoint"),
        ),
        (
            json!({"authorization_endpoint": "javascript:alert(1)"}),
            BadProvider::Endpoint("authorization_endpoint"),
        ),
        (json!({"jwks_uri": null}), BadProvider::Endpoint("jwks_uri")),
        (
            json!({"end_session_endpoint": "file:///"}),
            BadProvider::Endpoint("end_session_endpoint"),
        ),
    ] {
        let document = with(value(KEYCLOAK), &other).to_string();
        assert_eq!(provider::read(document.as_bytes(), &name, &issuer), Err(bad), "{other}");
    }
    assert_eq!(provider::read(b"<html>", &name, &issuer), Err(BadProvider::NotJson));
    let bare = with(value(KEYCLOAK), &json!({"end_session_endpoint": null})).to_string();
    assert_eq!(provider::read(bare.as_bytes(), &name, &issuer).unwrap().end_session, None);
}

#[test]
fn tokens_of_keycloak_have_their_groups_where_the_operator_says() {
    for (claim, group, groups) in [
        ("groups", "/platform/operators", 2),
        ("realm_access.roles", "platform-operator", 3),
        ("resource_access.trunkline.roles", "tool-admin", 1),
    ] {
        let rules = rules(KEYCLOAK, "trunkline", claim, &[(group, Role::Operator)]);
        let person = decided(&rules, &value(KEYCLOAK_TOKEN)).unwrap().unwrap();
        assert_eq!((person.name(), person.role()), ("alice", Role::Operator), "{claim}");
        assert_eq!((person.groups().len(), person.good_until()), (groups, Some(NOW + 60)));
        let credential = person.credential().to_string();
        let subject = "f0e8b3a4-8c1d-4a57-9a32-6b9f0c2d7e11";
        assert_eq!(credential, format!("oidc:https://sso.example.com/realms/platform#{subject}"));
        let claims = value(person.claims().unwrap());
        assert_eq!(
            (&claims["email"], &claims["nonce"]),
            (&json!("alice@example.com"), &Value::Null)
        );
    }
}

#[test]
fn tokens_of_entra_have_groups_by_their_ids_or_app_roles() {
    let client = "6731de76-14a6-49ae-97bc-6eba6914391e";
    let table = [
        ("3b2b0c93-acd8-4208-8eba-7a48db1cd4c0", Role::Admin),
        ("Platform.Operator", Role::Caller),
    ];
    for (claim, role) in [("groups", Role::Admin), ("roles", Role::Caller)] {
        let rules = rules(ENTRA, client, claim, &table);
        let person = decided(&rules, &value(ENTRA_TOKEN)).unwrap().unwrap();
        assert_eq!((person.name(), person.role()), ("alice@example.com", role), "{claim}");
    }
    // More than two hundred groups are not in the token.
    let many = with(with(value(ENTRA_TOKEN), &json!({"groups": null})), &value(ENTRA_OVERAGE));
    let no = decided(&rules(ENTRA, client, "groups", &table), &many).unwrap().unwrap_err();
    let name = "alice@example.com".to_owned();
    assert_eq!(no, NoPerson::TooManyGroups { name, path: "groups".to_owned() });
}

#[test]
fn who_has_no_role_learns_why() {
    let rules = rules(KEYCLOAK, "trunkline", "groups", &[("admins", Role::Admin)]);
    let no =
        |other: Value| decided(&rules, &with(value(KEYCLOAK_TOKEN), &other)).unwrap().unwrap_err();
    let name = || "alice".to_owned();
    let groups = ["/platform/operators", "/everybody"].map(str::to_owned).to_vec();
    assert_eq!(no(json!({})), NoPerson::NoRole { name: name(), groups });
    for none in [json!({"groups": null}), json!({"groups": []}), json!({"groups": 7})] {
        assert_eq!(no(none), NoPerson::NoGroups { name: name(), path: "groups".to_owned() });
    }
    let reserved = no(json!({"sub": "cert:ci", "groups": ["admins"]}));
    assert_eq!(reserved, NoPerson::Reserved { name: name() });
}

#[test]
fn which_id_tokens_are_no_answer_to_this_sign_in() {
    let rules = rules(KEYCLOAK, "trunkline", "groups", &[("*", Role::Viewer)]);
    let fault = |other: &Value| decided(&rules, &with(value(KEYCLOAK_TOKEN), other)).err();
    assert_eq!(fault(&json!({})), None);
    for (other, expected) in [
        (json!({"iss": "https://sso.example.com/realms/other"}), JwtFault::Issuer),
        (json!({"aud": "another"}), JwtFault::Audience),
        (json!({"aud": ["trunkline", "another"], "azp": "another"}), JwtFault::OtherClient),
        (json!({"aud": ["trunkline", "another"], "azp": null}), JwtFault::OtherClient),
        (json!({"azp": "another"}), JwtFault::OtherClient),
        (json!({"azp": 7}), JwtFault::Claim("azp")),
        (json!({"nonce": "another"}), JwtFault::Nonce),
        (json!({"nonce": ""}), JwtFault::Nonce),
        (json!({"exp": NOW - 60}), JwtFault::Expired),
        (json!({"iat": NOW + 61}), JwtFault::NotYet),
        (json!({"typ": "Bearer"}), JwtFault::NotIdToken),
        (json!({"sub": null}), JwtFault::Claim("sub")),
    ] {
        assert_eq!(fault(&other), Some(expected), "{other}");
    }
    assert_eq!(
        fault(&json!({"aud": ["trunkline", "another"]})),
        None,
        "`azp` says that it is ours"
    );
    assert_eq!(fault(&json!({"azp": null, "typ": null})), None);
}

#[test]
fn a_name_that_would_pass_for_something_else_is_not_shown() {
    let rules = rules(KEYCLOAK, "trunkline", "groups", &[("*", Role::Viewer)]);
    for (other, expected) in [
        (json!({"preferred_username": "cert:ci"}), "alice@example.com"),
        (json!({"preferred_username": " "}), "alice@example.com"),
        (json!({"preferred_username": "a\nb", "email": null}), "Alice Example"),
        (
            json!({"preferred_username": null, "email": null, "name": null}),
            "f0e8b3a4-8c1d-4a57-9a32-6b9f0c2d7e11",
        ),
    ] {
        let token = with(value(KEYCLOAK_TOKEN), &other);
        assert_eq!(decided(&rules, &token).unwrap().unwrap().name(), expected, "{other}");
    }
}

#[test]
fn settings_that_cannot_be_meant_are_refused() {
    let public = Url::parse("https://tools.example.com/").unwrap();
    let good = || options("https://id.example.com");
    let settings = PeopleSettings::new(good(), &public).unwrap();
    assert_eq!(settings.redirect_uri(), "https://tools.example.com/sign-in/callback");
    assert_eq!(settings.host(), "id.example.com");
    let made = |options: PeopleOptions| PeopleSettings::new(options, &public).err();
    let text = str::to_owned;
    for (options, bad) in [
        (PeopleOptions { client_id: text("a b"), ..good() }, BadPeople::ClientId),
        (PeopleOptions { client_id: text(""), ..good() }, BadPeople::ClientId),
        (PeopleOptions { groups_claim: text("a..b"), ..good() }, BadPeople::GroupsClaim),
        (PeopleOptions { roles: Vec::new(), ..good() }, BadPeople::NoRole),
        (PeopleOptions { scopes: vec![text("a b")], ..good() }, BadPeople::Scope),
    ] {
        assert_eq!(made(options), Some(bad));
    }
    for insecure in ["http://id.example.com", "id.example.com", "https://id.example.com/?a=b"] {
        assert!(matches!(made(options(insecure)), Some(BadPeople::Issuer(_))), "{insecure}");
    }
    let more = PeopleOptions { scopes: vec![text("groups"), text("email")], ..good() };
    assert_eq!(PeopleSettings::new(more, &public).unwrap().scope, "openid profile email groups");
}

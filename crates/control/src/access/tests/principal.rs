//! Who asks, for every kind of credential, and what they may then.

use super::{ISSUER, NOW, Signer, claims, header};
use crate::access::{
    Action, ApiKey, CertificateRole, CertificateRoles, Credential, Credentials, Grants, GroupRoles,
    GroupsPath, Issuer, JwtFault, KeyFault, PeopleRules, Pepper, Principal, Refusal,
    RememberedPrincipal, Role, Use, WithoutToken, bearer_of, decide, decide_person, decide_with,
    make_admin_token, make_key, recall, verify_id_token,
};
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};
use trunkline_catalog::config::LimitRules;
use trunkline_gateway::ClientCertificate;

struct Scene {
    signer: Signer,
    known: Credentials,
    admin: String,
    /// Good, expired, revoked.
    keys: [String; 3],
}

fn scene() -> Scene {
    let signer = Signer::new();
    let pepper = Pepper::new(&[9; 32]);
    let (admin_mac, admin) = make_admin_token(&pepper, &[1; 32]);
    let mut known = Credentials {
        admin_token: Some(admin_mac),
        static_token: Some(pepper.mac(Use::StaticToken, "static.token.x")),
        keys: [].into(),
        issuer: Some(signer.issuer()),
        without_token: WithoutToken::Refused,
        certificates: Arc::default(),
        people: None,
        is_stale: false,
        pepper: Arc::new(pepper),
    };
    let keys = [(1, None, None), (2, Some(NOW), None), (3, None, Some(NOW - 1))].map(
        |(seed, expires_at, revoked_at)| {
            let (id, mac, secret) = make_key(&known.pepper, &[seed; 42]);
            let key = ApiKey {
                id: id.clone(),
                name: "ci".to_owned(),
                role: Role::Operator,
                grants: Grants::read(["github.*"]).unwrap(),
                limits: LimitRules::default(),
                mac,
                expires_at,
                revoked_at,
            };
            known.keys.insert(id, key);
            secret.expose().to_owned()
        },
    );
    Scene { signer, known, admin: admin.expose().to_owned(), keys }
}

#[test]
fn each_credential_is_somebody() {
    let Scene { signer, known, admin, keys } = scene();
    let jwt = |scope: &str| {
        let claims = claims(&json!({"scope": scope}));
        signer.sign("ES256", &header("ES256", "p256", &json!({})), &claims)
    };
    let (viewer, operator) = (jwt("openid mcp:read"), jwt("mcp:call admin:write"));
    for (token, name, role, credential) in [
        (admin.as_str(), "admin", Role::Admin, "admin-token".to_owned()),
        ("static.token.x", "token", Role::Caller, "token".to_owned()),
        (&keys[0], "ci", Role::Operator, "key:bbbbbbbbbb".to_owned()),
        (&viewer, "alice", Role::Viewer, format!("jwt:{ISSUER}#alice")),
        (&operator, "alice", Role::Operator, format!("jwt:{ISSUER}#alice")),
    ] {
        let who = decide(Some(token), &known, NOW).unwrap_or_else(|why| panic!("{name}: {why}"));
        assert_eq!((who.name(), who.role()), (name, role));
        assert_eq!(who.credential().to_string(), credential);
        let only_github = matches!(who.credential(), Credential::Key(_));
        assert_eq!(who.grants().allows("jira", "search"), !only_github, "{name}");
    }
}

#[test]
fn nobody_else_is_somebody() {
    let Scene { signer, known, admin, keys } = scene();
    let sign = |kid: &str, other| {
        Some(signer.sign("ES256", &header("ES256", kid, &json!({})), &claims(&other)))
    };
    let (_, _, unknown_key) = make_key(&known.pepper, &[4; 42]);
    let wrong_secret = keys[0].replace("_AQEB", "_BQEB");
    for (token, expected) in [
        (None, Refusal::Missing),
        (Some(String::new()), Refusal::Unknown),
        (Some("guess".to_owned()), Refusal::Unknown),
        (Some(admin.chars().skip(1).collect()), Refusal::Unknown),
        (Some(admin.chars().take(46).collect()), Refusal::Unknown),
        (Some(format!("{admin}A")), Refusal::Unknown),
        (Some(admin.to_uppercase()), Refusal::Unknown),
        (Some("static.token.X".to_owned()), Refusal::Jwt(JwtFault::Base64)),
        (Some(unknown_key.expose().to_owned()), Refusal::Unknown),
        (Some(wrong_secret), Refusal::Key(KeyFault::Wrong)),
        (Some(keys[1].clone()), Refusal::Key(KeyFault::Expired)),
        (Some(keys[2].clone()), Refusal::Key(KeyFault::Revoked)),
        (sign("p256", json!({"scope": "openid"})), Refusal::NoScope),
        (sign("p256", json!({"exp": 1})), Refusal::Jwt(JwtFault::Expired)),
        (sign("new", json!({})), Refusal::NeedsKeys),
    ] {
        let who = decide(token.as_deref(), &known, NOW);
        assert_eq!(who, Err(expected), "{token:?}");
    }
}

#[test]
fn nothing_is_taken_that_is_not_set_up() {
    let Scene { signer, known, admin, keys } = scene();
    let jwt = signer.sign("ES256", &header("ES256", "p256", &json!({})), &claims(&json!({})));
    let bare = Credentials {
        admin_token: None,
        static_token: None,
        keys: [].into(),
        issuer: None,
        without_token: WithoutToken::Refused,
        certificates: Arc::default(),
        people: None,
        is_stale: false,
        pepper: known.pepper,
    };
    for token in [&admin, &keys[0], &jwt, "static.token.x", ""] {
        assert_eq!(decide(Some(token), &bare, NOW), Err(Refusal::Unknown), "{token}");
    }
    assert_eq!(decide(None, &bare, NOW), Err(Refusal::Missing));
}

#[test]
fn without_a_token_there_is_mcp_at_most() {
    let Scene { known, .. } = scene();
    let known = Credentials { without_token: WithoutToken::MayUseMcp, ..known };
    let who = decide(None, &known, NOW).unwrap();
    assert_eq!((who.name(), who.credential()), ("local", &Credential::Open));
    for action in Action::ALL {
        let expected = if action == Action::UseMcp { Ok(()) } else { Err(Refusal::Missing) };
        assert_eq!(who.require(action), expected, "{action}");
    }
    // A wrong token is worth less than none.
    assert_eq!(decide(Some("guess"), &known, NOW), Err(Refusal::Unknown));
}

#[test]
fn who_is_remembered_is_somebody_as_long_as_their_credential_is_good() {
    let Scene { signer, mut known, admin, keys } = scene();
    let claims = claims(&json!({"scope": "admin:write"}));
    let jwt = signer.sign("ES256", &header("ES256", "p256", &json!({})), &claims);
    let tokens = [&*admin, "static.token.x", &keys[0], &jwt];
    let kept = tokens.map(|token| {
        let who = decide(Some(token), &known, NOW).unwrap();
        let kept = who.remember(&known).unwrap();
        assert_eq!(recall(&kept, &known, NOW), Some(who.clone()), "{kept:?}");
        assert!(!kept.detail.contains(token) && !kept.credential.contains(token));
        (kept, who.good_until())
    });
    let later = kept[3].1.unwrap();
    assert_eq!(recall(&kept[3].0, &known, later), None, "the access token is over");
    // Other tokens, a revoked key, another issuer.
    known.admin_token = Some(known.pepper.mac(Use::AdminToken, "another"));
    known.static_token = None;
    known.keys.values_mut().for_each(|key| key.revoked_at = Some(NOW));
    known.issuer = None;
    for (kept, _) in &kept {
        assert_eq!(recall(kept, &known, NOW), None, "{kept:?}");
    }
    let odd = RememberedPrincipal { credential: "open".to_owned(), detail: "{}".to_owned() };
    assert_eq!(recall(&odd, &known, NOW), None);
    let open = Credentials { without_token: WithoutToken::MayUseMcp, ..known };
    assert_eq!(decide(None, &open, NOW).unwrap().remember(&open), None);
}

#[test]
fn a_person_is_remembered_with_their_groups_and_has_the_role_that_these_have_now() {
    let Scene { signer, mut known, .. } = scene();
    let rules = |client: &str, group: &str, role| {
        Some(Arc::new(PeopleRules {
            issuer: ISSUER.to_owned(),
            client_id: client.to_owned(),
            groups: GroupsPath::new("groups").unwrap(),
            roles: GroupRoles::new(vec![(group.to_owned(), role)]),
        }))
    };
    known.people = rules("t", "ops", Role::Operator);
    let claims = claims(&json!({"nonce": "n", "groups": ["ops"], "aud": "t", "email": "a@b"}));
    let jwt = signer.sign("ES256", &header("ES256", "p256", &json!({"typ": "JWT"})), &claims);
    let trusted = Issuer { audiences: vec!["t".to_owned()], ..signer.issuer() };
    let token = verify_id_token(&jwt, &trusted, "n", NOW).unwrap();
    let who = decide_person(&token, known.people.as_ref().unwrap(), NOW + 9).unwrap();
    assert_eq!((who.name(), who.groups()), ("a@b", &["ops".to_owned()][..]));
    let kept = who.remember(&known).unwrap();
    assert!(!kept.detail.contains(&jwt) && kept.credential == format!("oidc:{ISSUER}#alice"));
    assert_eq!(recall(&kept, &known, NOW), Some(who));
    assert_eq!(recall(&kept, &known, NOW + 9), None, "it is over");
    for (people, role) in [
        (rules("t", "ops", Role::Admin), Some(Role::Admin)),
        (rules("t", "*", Role::Viewer), Some(Role::Viewer)),
        (rules("t", "others", Role::Admin), None),
        (rules("another", "ops", Role::Admin), None),
        (None, None),
    ] {
        known.people = people;
        assert_eq!(recall(&kept, &known, NOW).map(|who| who.role()), role);
    }
}

#[test]
fn what_somebody_may_is_by_the_table() {
    let Scene { known, keys, .. } = scene();
    let who = decide(Some(&keys[0]), &known, NOW).unwrap();
    assert_eq!(who.require(Action::RegisterServer), Ok(()));
    let refused = who.require(Action::ManageKeys).unwrap_err();
    assert_eq!(refused.status(), 403);
    assert_eq!(
        refused.to_string(),
        "`manage-keys` needs the role admin, and the role here is operator"
    );
}

#[test]
fn the_authorization_header_is_read() {
    for (header, expected) in [
        (None, Ok(None)),
        (Some(&b"Bearer abc"[..]), Ok(Some("abc"))),
        (Some(b"bearer   a.b-c_~+/="), Ok(Some("a.b-c_~+/="))),
        (Some(b" BEARER abc "), Ok(Some("abc"))),
        (Some(b""), Err(Refusal::Malformed)),
        (Some(b"Bearer"), Err(Refusal::Malformed)),
        (Some(b"Bearer "), Err(Refusal::Malformed)),
        (Some(b"Bearer a b"), Err(Refusal::Malformed)),
        (Some(b"Bearer a\tb"), Err(Refusal::Malformed)),
        (Some(b"Bearer\tabc"), Err(Refusal::Malformed)),
        (Some(b"Bearer \xff"), Err(Refusal::Malformed)),
        (Some(b"Basic YTpi"), Err(Refusal::Malformed)),
        (Some(b"BearerX abc"), Err(Refusal::Malformed)),
        (Some(b"abc"), Err(Refusal::Malformed)),
    ] {
        assert_eq!(bearer_of(header), expected, "{header:?}");
    }
}

#[test]
fn a_certificate_is_somebody_where_no_token_is_shown() {
    let Scene { known, admin, .. } = scene();
    let roles = ["ci=operator", "guest=none"].map(|role| CertificateRole::parse(role).unwrap());
    let known =
        Credentials { certificates: Arc::new(CertificateRoles::new(roles.into())), ..known };
    let shown = |name: &str| ClientCertificate {
        name: name.to_owned(),
        not_after: UNIX_EPOCH + Duration::from_secs(NOW + 100),
    };
    for (bearer, name, expected) in [
        (None, "ci", Ok(("cert:ci", Role::Operator, "cert:ci".to_owned(), Some(NOW + 100)))),
        (None, "x y", Ok(("cert:x y", Role::Caller, "cert:x y".to_owned(), Some(NOW + 100)))),
        (None, "guest", Err(Refusal::NoRole)),
        (Some(&*admin), "guest", Ok(("admin", Role::Admin, "admin-token".to_owned(), None))),
        (Some("wrong"), "ci", Err(Refusal::Unknown)),
    ] {
        let who = decide_with((bearer, Some(&shown(name))), &known, NOW);
        let who = who
            .as_ref()
            .map(|who| (who.name(), who.role(), who.credential().to_string(), who.good_until()));
        assert_eq!(who.map_err(|refusal| *refusal), expected, "{bearer:?} {name}");
    }
    let late = decide_with((None, Some(&shown("ci"))), &known, NOW + 100);
    assert_eq!(late, Err(Refusal::CertificateEnded), "the connection is older than that");
    assert_eq!(decide_with((None, None), &known, NOW), Err(Refusal::Missing));
}

/// Policies and the audit log know users of an issuer and certificates by the names alone.
#[test]
fn no_token_of_an_issuer_is_taken_for_a_certificate() {
    let Scene { signer, known, .. } = scene();
    for (subject, expected) in [
        ("cert:ci", Err(Refusal::ReservedSubject)),
        ("cert:", Err(Refusal::ReservedSubject)),
        ("Cert:ci", Ok("Cert:ci")),
        ("cert", Ok("cert")),
        ("x cert:ci", Ok("x cert:ci")),
    ] {
        let token = signer.sign(
            "ES256",
            &header("ES256", "p256", &json!({})),
            &claims(&json!({"sub": subject, "scope": "admin:full"})),
        );
        let who = decide(Some(&token), &known, NOW);
        let name = who.as_ref().map(Principal::name).map_err(|refusal| *refusal);
        assert_eq!(name, expected, "{subject}");
        if let Err(refusal) = who {
            assert_eq!((refusal.status(), refusal.is_guess()), (403, false));
        }
    }
}

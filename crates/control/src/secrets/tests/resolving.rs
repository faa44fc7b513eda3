//! References at connect: all are resolved, or everything that is missing is named.

use std::collections::HashMap;

use trunkline_catalog::config::Transport;
use zeroize::Zeroizing;

use super::place::{remote, safe, stdio};
use crate::scratch::Folder;
use crate::secrets::{
    AllowedVariables, Connection, Resolved, Sources, Unresolved, forbidden, resolve, secrets_named,
};

fn environment(name: &str) -> Option<String> {
    let value = match name {
        "TOKEN" => "canary&1",
        "NESTED" => "${TOKEN} ${secret:db}",
        "BAD" => "canary\r\nEvil: one",
        "PATHS" => "a/b",
        "ELSEWHERE" => ".evil.example",
        "HIDDEN" => "canary",
        _ => return None,
    };
    Some(value.to_owned())
}

fn resolved(connection: &Connection) -> Result<Resolved, Vec<Unresolved>> {
    let allowed = ["TOKEN", "NESTED", "BAD", "PATHS", "ELSEWHERE", "UNSET"];
    let allowed = AllowedVariables::read(allowed).unwrap();
    let named = HashMap::from([("db".to_owned(), Zeroizing::new("canary-db".to_owned()))]);
    resolve(connection, Sources { environment: &environment, allowed: &allowed, named: &named })
}

#[test]
fn values_take_the_place_of_references_once() {
    let table = [
        ("plain", "plain"),
        ("Bearer ${TOKEN}", "Bearer canary&1"),
        ("${env:TOKEN}-${secret:db}", "canary&1-canary-db"),
        ("${UNSET:-default}", "default"),
        ("${TOKEN:-default}", "canary&1"),
        ("${NESTED}", "${TOKEN} ${secret:db}"),
        ("$TOKEN", "$TOKEN"),
    ];
    for (text, expected) in table {
        for connection in [remote("https://h/", &[("X", text)]), stdio(&[], &[("X", text)])] {
            let resolved = resolved(&connection).unwrap();
            let (Transport::Remote { headers: pairs, .. } | Transport::Stdio { env: pairs, .. }) =
                &resolved.connection.transport;
            assert_eq!(pairs[0].1, expected, "{text}");
            let log = resolved.secrets.redact(expected);
            assert!(!log.contains("canary"), "{log}");
        }
    }
}

#[test]
fn a_variable_may_have_several_lines_and_none_of_them_is_shown() {
    let connection = stdio(&[], &[("E", "${BAD}")]);
    let ready = resolved(&connection).unwrap();
    let Transport::Stdio { env, .. } = &ready.connection.transport else { panic!() };
    assert_eq!(env[0].1, "canary\r\nEvil: one");
    let log = ready.secrets.redact("Evil: one");
    assert!(!log.contains("Evil"), "{log}");
    assert_eq!(resolved(&stdio(&[], &[("E", "a\0b")])).unwrap_err().len(), 1);
}

#[test]
fn a_value_in_a_url_stays_in_its_place() {
    let table = [
        ("https://h/${PATHS}/mcp", "https://h/a/b/mcp"),
        ("https://h/mcp?key=${TOKEN}&x=1", "https://h/mcp?key=canary%261&x=1"),
        ("https://h/mcp?${secret:db}", "https://h/mcp?canary-db"),
    ];
    for (url, expected) in table {
        let mut connection = remote(url, &[]);
        connection.health_check_url = Some(url.to_owned());
        let resolved = resolved(&connection).unwrap().connection;
        let Transport::Remote { url, .. } = &resolved.transport else { panic!() };
        assert_eq!(url, expected);
        assert_eq!(resolved.health_check_url.as_deref(), Some(expected));
    }
}

#[test]
fn what_is_missing_is_named_and_no_value_is() {
    let table = [
        (
            remote("https://h", &[("X", "${UNSET}")]),
            "the variable `UNSET` is not set (in the header `X`)",
        ),
        (stdio(&[], &[("E", "a${HIDDEN}")]), "the variable `HIDDEN` may not be used"),
        (stdio(&[], &[("E", "${HIDDEN:-x}")]), "the variable `HIDDEN` may not be used"),
        (stdio(&[], &[("E", "${secret:none}")]), "there is no secret `none` (in the variable `E`)"),
        (stdio(&["--key", "${secret:db}"], &[]), "the secret `db` may not be used in argument 2"),
        (stdio(&["${UNSET}"], &[]), "`UNSET` is not set (in argument 1)"),
        (remote("https://h", &[("X", "${BAD}")]), "the header `X` cannot be used"),
        (remote("https://h${ELSEWHERE}", &[]), "the URL cannot be used"),
        (remote("https://h/${BAD}", &[]), "the URL cannot be used"),
        (remote("https://h", &[("X", "a${b")]), "a `${…}` in the header `X` is not a reference"),
    ];
    for (connection, expected) in table {
        let faults = resolved(&connection).unwrap_err();
        assert_eq!(faults.len(), 1, "{faults:?}");
        let said = format!("{} {faults:?}", faults[0]);
        assert!(said.contains(expected), "{said}");
        assert!(!said.contains("canary"), "{said}");
    }
    let many = remote("https://h?a=${UNSET}", &[("X", "${HIDDEN}"), ("Y", "${secret:none}")]);
    assert_eq!(resolved(&many).unwrap_err().len(), 3);
}

#[test]
fn what_can_never_be_resolved_is_known_when_it_is_registered() {
    let allowed = AllowedVariables::read(["TOKEN"]).unwrap();
    let fine = remote("https://h?k=${TOKEN}", &[("X", "${secret:later}")]);
    assert_eq!(forbidden(&fine, &allowed), []);
    let connection = stdio(&["${secret:db}"], &[("A", "${HOME}")]);
    let [exposed, forbidden] = &forbidden(&connection, &allowed)[..] else { panic!() };
    assert!(matches!(exposed, Unresolved::Exposed { .. }), "{exposed}");
    assert!(forbidden.to_string().contains("--allow-env HOME"), "{forbidden}");
    assert!(secrets_named(&fine).contains("later"));
}

#[tokio::test]
async fn secrets_with_names_are_kept_sealed_and_found() {
    let folder = Folder::new();
    let store = folder.store().await;
    let safe = safe(&store, 1).await;
    let put = safe.put_named("git.hub", "canary", "ci", 7).unwrap();
    store.commit(vec![put], vec![]).await.unwrap();
    let listed = crate::secrets::Safe::named(&store).await.unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!((listed[0].name.as_str(), listed[0].updated_at), ("git.hub", 7));
    assert_eq!(listed[0].updated_by.as_deref(), Some("ci"));
    let wanted = ["git.hub", "none"].map(str::to_owned).into();
    let values = safe.values_of(&store, &wanted).await.unwrap();
    assert_eq!(values.len(), 1);
    assert_eq!(values["git.hub"].as_str(), "canary");
    for (name, value) in [("a/b", "x"), ("", "x"), (".a", "x"), ("ok", "a\0b"), ("ok", "")] {
        assert!(safe.put_named(name, value, "ci", 1).unwrap_err().is_the_callers(), "{name}");
    }
    let delete = crate::secrets::Safe::delete_named("git.hub");
    store.commit(vec![delete], vec![]).await.unwrap();
    assert!(safe.values_of(&store, &wanted).await.unwrap().is_empty());
    store.close().await;
    assert!(!folder.bytes().windows(6).any(|part| part == b"canary"));
}

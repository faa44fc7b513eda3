//! Where the key comes from.

use std::path::Path;

use crate::scratch::Folder;
use crate::secrets::{KeySource, KeySourceError};

const TEXT: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

#[test]
fn what_is_given_counts_first_and_the_file_last() {
    let choose = |given: Option<&str>, ring: Option<&str>, file: Option<&str>| {
        let owned = |text: &str| text.to_owned();
        KeySource::choose(given.map(owned), ring.map(owned), file.map(Into::into), Path::new("/d"))
    };
    let table = [
        (choose(Some(TEXT), Some("r"), Some("/f")), "Given(***)"),
        (choose(None, Some("r"), Some("/f")), "Keyring(\"r\")"),
        (choose(None, None, Some("/f")), "File(\"/f\")"),
        (choose(None, None, None), "File(\"/d/key\")"),
    ];
    for (source, expected) in table {
        assert_eq!(format!("{source:?}"), expected);
    }
}

#[test]
fn a_key_file_is_made_once_and_used_from_then_on() {
    let folder = Folder::new();
    let source = KeySource::choose(None, None, None, folder.path());
    let first = source.resolve().unwrap();
    let again = source.resolve().unwrap();
    assert_eq!((first.is_new, again.is_new), (true, false));
    assert_eq!(first.key.id(), again.key.id());
}

#[test]
fn a_key_that_is_none_is_refused_without_being_shown() {
    let given = |text: &str| KeySource::Given(text.to_owned().into());
    assert!(!given(TEXT).resolve().unwrap().is_new);
    let error = given("hunter2").resolve().unwrap_err();
    assert!(matches!(error, KeySourceError::Given(_)));
    assert!(!error.to_string().contains("hunter2"), "{error}");
}

/// Whether or not the machine lets us at its keyring.
#[test]
fn a_key_that_is_in_no_keyring_is_an_error_that_names_it() {
    let source = KeySource::Keyring("trunkline-there-is-no-such-key".to_owned());
    let error = source.resolve().unwrap_err().to_string();
    assert!(error.contains("trunkline-there-is-no-such-key"), "{error}");
}

#[test]
fn a_key_of_the_keyring_is_used_where_the_machine_has_one() {
    use linux_keyutils::{KeyRing, KeyRingIdentifier};
    let description = format!("trunkline-test-{}", std::process::id());
    let ring = KeyRing::from_special_id(KeyRingIdentifier::Session, true);
    // Many containers have none: their system call filters do not let anybody at it.
    let Ok(added) = ring.and_then(|ring| ring.add_key(&description, TEXT)) else { return };
    let found = KeySource::Keyring(description).resolve();
    added.invalidate().unwrap();
    let found = found.unwrap();
    let given = KeySource::Given(TEXT.to_owned().into()).resolve().unwrap();
    assert_eq!((found.key.id(), found.is_new), (given.key.id(), false));
}

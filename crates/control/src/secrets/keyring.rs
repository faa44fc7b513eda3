//! The key from the kernel's keyring, where it is in no file and in no environment.

use linux_keyutils::{KeyError, KeyRing, KeyRingIdentifier};
use zeroize::Zeroizing;

/// Longer than any spelling of a key.
const LONGEST: usize = 1_024;

/// The payload of the key of type `user` with this description, in the session's keyring or, if it
/// is not there, in the user's. Put there with `keyctl padd user DESCRIPTION @u`.
pub(super) fn payload(description: &str) -> Result<Zeroizing<String>, String> {
    let mut last = KeyError::KeyDoesNotExist;
    for ring in [KeyRingIdentifier::Session, KeyRingIdentifier::User] {
        match read(ring, description) {
            Ok(bytes) => {
                let text = std::str::from_utf8(&bytes).map_err(|_| "it is not text".to_owned())?;
                return Ok(Zeroizing::new(text.to_owned()));
            }
            Err(error) => last = error,
        }
    }
    Err(last.to_string())
}

fn read(ring: KeyRingIdentifier, description: &str) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    let key = KeyRing::from_special_id(ring, false)?.search(description)?;
    let mut bytes = Zeroizing::new(vec![0; LONGEST]);
    let length = key.read(&mut *bytes)?;
    bytes.truncate(length);
    Ok(bytes)
}

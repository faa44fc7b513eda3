//! Ids of what the services make.

use crate::access;
use crate::fault::{Problem, ProblemKind};

/// Random, in the form of a UUID (version 4).
pub(super) fn new_id() -> Result<String, Problem> {
    let random = access::random::<16>();
    let bytes = random.map_err(|error| Problem::new(ProblemKind::Internal, error.to_string()))?;
    let number = u128::from_be_bytes(bytes);
    // RFC 9562, 5.4: four bits say the version, two the variant.
    let number = (number & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
    let digits = format!("{number:032x}");
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    let parts = [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)];
    Ok(parts.join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_uuids_and_never_the_same() {
        let (one, other) = (new_id().unwrap(), new_id().unwrap());
        assert_ne!(one, other);
        for id in [one, other] {
            let lengths: Vec<_> = id.split('-').map(str::len).collect();
            assert_eq!(lengths, [8, 4, 4, 4, 12], "{id}");
            let bytes = id.as_bytes();
            assert_eq!(bytes[14], b'4', "{id}");
            assert!(matches!(bytes[19], b'8' | b'9' | b'a' | b'b'), "{id}");
        }
    }
}

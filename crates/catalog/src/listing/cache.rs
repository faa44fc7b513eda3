//! How long and for whom a list may be kept: what servers say with their lists, joined. Pure.

use trunkline_wire::decode;

/// What is said with a list about keeping it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheHint {
    /// How long it is fresh, in milliseconds.
    pub ttl_ms: u64,
    /// Not to be shown to others than those who asked.
    pub private: bool,
}

/// Where nothing is said: stale at once, and nobody else's.
impl Default for CacheHint {
    fn default() -> Self {
        Self { ttl_ms: 0, private: true }
    }
}

impl CacheHint {
    /// What one page says: its `ttlMs` and its `cacheScope`.
    pub(super) fn read(ttl_ms: Option<&[u8]>, scope: Option<&[u8]>) -> Self {
        Self {
            ttl_ms: ttl_ms.and_then(whole).unwrap_or_default(),
            // Only a clear "public" lets others see it: a value that is not known counts as
            // private.
            private: scope.and_then(decode).as_deref() != Some("public"),
        }
    }

    /// What holds for both together.
    pub(crate) fn and(self, other: Self) -> Self {
        Self { ttl_ms: self.ttl_ms.min(other.ttl_ms), private: self.private || other.private }
    }
}

/// A number without a fraction, also where `.0` says so: some languages write every number like
/// that.
fn whole(number: &[u8]) -> Option<u64> {
    let number = std::str::from_utf8(number).ok()?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    fraction.bytes().all(|digit| digit == b'0').then(|| whole.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_page_says_is_read() {
        let table = [
            (r#"{}"#, 0, true),
            (r#"{"ttlMs":300000,"cacheScope":"public"}"#, 300_000, false),
            (r#"{"ttlMs":0,"cacheScope":"private"}"#, 0, true),
            (r#"{"ttlMs":5}"#, 5, true),
            (r#"{"cacheScope":"p\u0075blic"}"#, 0, false),
            (r#"{"ttlMs":-1,"cacheScope":"Public"}"#, 0, true),
            (r#"{"ttlMs":"5","cacheScope":["public"]}"#, 0, true),
            (r#"{"ttlMs":null,"cacheScope":null}"#, 0, true),
            (r#"{"ttlMs":60000.0}"#, 60_000, true),
            (r#"{"ttlMs":1.5}"#, 0, true),
            (r#"{"ttlMs":-0}"#, 0, true),
            (r#"{"ttlMs":1e3}"#, 0, true),
            (r#"{"ttlMs":18446744073709551616}"#, 0, true),
            (r#"{"_meta":{"ttlMs":5,"cacheScope":"public"}}"#, 0, true),
        ];
        for (page, ttl_ms, private) in table {
            let [ttl, scope] = trunkline_wire::pick(page.as_bytes(), ["ttlMs", "cacheScope"]);
            assert_eq!(CacheHint::read(ttl, scope), CacheHint { ttl_ms, private }, "{page}");
        }
    }

    #[test]
    fn the_stricter_holds() {
        let hint = |ttl_ms, private| CacheHint { ttl_ms, private };
        let table = [
            (hint(5, false), hint(7, false), hint(5, false)),
            (hint(7, true), hint(5, false), hint(5, true)),
            (hint(7, false), CacheHint::default(), hint(0, true)),
        ];
        for (one, other, expected) in table {
            assert_eq!(one.and(other), expected);
            assert_eq!(other.and(one), expected);
        }
    }
}

//! What the floor says itself in the modern era; calls and their answers pass as they are.

use crate::era::META;
use crate::scan;

/// The answer to `server/discover` behind the id.
pub(super) const DISCOVER: &[u8] = concat!(
    r#","result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","#,
    r#""supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"#,
    r#""_meta":{"io.modelcontextprotocol/serverInfo":{"name":"bench-floor","version":"1"}}}}"#,
)
.as_bytes();

/// The rest of a `tools/list` request behind the id.
pub(super) fn list() -> String {
    format!(r#","method":"tools/list","params":{{{META}}}}}"#)
}

/// Whether a server is modern: it does not know `initialize`. Every server is asked that first, so that the legacy
/// era's way to being ready, which is measured, has no detour.
pub(super) fn refused(initialize: &[u8]) -> bool {
    scan::field(initialize, 0, b"error").is_some()
}

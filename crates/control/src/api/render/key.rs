//! API keys.

use crate::api::schema::ShownLimits;
use crate::api::view::KeyView;
use crate::keys::KeyInfo;

/// `limited`: how many of its calls were refused because of its limits.
pub(crate) fn key_view(key: &KeyInfo, limited: u64) -> KeyView<'_> {
    KeyView {
        id: &key.id,
        name: &key.name,
        role: &key.role,
        tools: key.tools.as_deref(),
        limits: ShownLimits(key.limits),
        limited_calls: limited,
        created_at: key.created_at,
        expires_at: key.expires_at,
        last_used_at: key.last_used_at,
        revoked_at: key.revoked_at,
    }
}

//! API keys.

use crate::api::view::KeyView;
use crate::keys::KeyInfo;

pub(crate) fn key_view(key: &KeyInfo) -> KeyView<'_> {
    KeyView {
        id: &key.id,
        name: &key.name,
        role: &key.role,
        tools: key.tools.as_deref(),
        created_at: key.created_at,
        expires_at: key.expires_at,
        last_used_at: key.last_used_at,
        revoked_at: key.revoked_at,
    }
}

//! `SessionNames`: what clients call their sessions. Among replicas a name also says, sealed, which of them has the
//! session; nobody else can read that, nor make such a name.

use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use super::session_streams::SessionId;
use crate::era::{FOR_EVER, ReplicaId, Seal, SealUse};

/// The name of a session: its id, and among replicas who has it.
pub(crate) type SessionName = Box<[u8]>;

#[derive(Debug, Default)]
pub(crate) struct SessionNames {
    /// Of a gateway that has replicas.
    seal: Option<Arc<Seal>>,
}

impl SessionNames {
    pub(crate) fn new(seal: Option<Arc<Seal>>) -> Self {
        Self { seal }
    }

    /// The name of a session of this replica.
    pub(super) fn name(&self, id: &SessionId) -> SessionName {
        let sealed = self.seal.as_ref().and_then(|seal| {
            let own = seal.own().0.to_le_bytes();
            seal.seal_bytes(SealUse::Client, &own, FOR_EVER, &[SESSION, id])
        });
        // Without random numbers there is no seal, and then no other replica finds the session.
        let Some(sealed) = sealed else { return (*id).into() };
        [&id[..], BASE64_URL_SAFE_NO_PAD.encode(sealed).as_bytes()].concat().into()
    }

    /// The replica that has the session, if it is another one.
    pub(crate) fn holder_elsewhere(&self, name: &[u8]) -> Option<ReplicaId> {
        let seal = self.seal.as_ref()?;
        let (id, sealed) = name.split_first_chunk::<{ size_of::<SessionId>() }>()?;
        let sealed = BASE64_URL_SAFE_NO_PAD.decode(sealed).ok()?;
        let opened = seal.open_bytes(SealUse::Client, &sealed, &[SESSION, id]).ok()?;
        let holder = ReplicaId(u64::from_le_bytes(opened.try_into().ok()?));
        (holder != seal.own()).then_some(holder)
    }
}

/// So that nothing else that is sealed is taken for it.
const SESSION: &[u8] = b"session";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::era::SealKeys;

    fn names(own: u64, key: u8) -> SessionNames {
        let keys = SealKeys { current: [key; 32], others: Vec::new() };
        SessionNames::new(Seal::shared(ReplicaId(own), &keys))
    }

    #[test]
    fn a_name_says_to_other_replicas_who_has_the_session_and_nothing_to_anybody_else() {
        let id = [b'5'; 32];
        let (one, other) = (names(1, 7), names(2, 7));
        let name = one.name(&id);
        assert!(name.starts_with(&id) && name.iter().all(u8::is_ascii_graphic));
        assert_eq!(one.holder_elsewhere(&name), None);
        assert_eq!(other.holder_elsewhere(&name), Some(ReplicaId(1)));
        assert_eq!(names(2, 8).holder_elsewhere(&name), None);
        for place in 0..name.len() {
            let mut changed = name.to_vec();
            changed[place] = if changed[place] == b'0' { b'1' } else { b'0' };
            assert_eq!(other.holder_elsewhere(&changed), None, "{place}");
        }
        assert_eq!(other.holder_elsewhere(&id), None);
        assert_eq!(*SessionNames::default().name(&id), id);
        assert_eq!(SessionNames::default().holder_elsewhere(&name), None);
    }
}

//! `LockedKey`: the bytes of a key in a page of memory that the system never writes to a swap file.
#![expect(unsafe_code, reason = "a page is locked by its address")]

use zeroize::Zeroize as _;

const KEY: usize = 32;
/// The smallest page of any system. Where pages are larger the lock covers what lies around it, which does no harm.
const PAGE: usize = 4096;

/// A page that holds nothing else, so that its lock is nobody else's.
#[repr(C, align(4096))]
struct KeyPage {
    key: [u8; KEY],
    rest: [u8; PAGE - KEY],
}

pub(super) struct LockedKey(Box<KeyPage>);

impl LockedKey {
    /// A system that locks nothing (`RLIMIT_MEMLOCK` is 0) is told of once, and the key is kept all the same.
    pub(super) fn new(bytes: &[u8; KEY]) -> Self {
        let mut page = Box::new(KeyPage { key: [0; KEY], rest: [0; PAGE - KEY] });
        lock(&page);
        page.key.copy_from_slice(bytes);
        Self(page)
    }

    pub(super) fn bytes(&self) -> &[u8; KEY] {
        &self.0.key
    }
}

impl Drop for LockedKey {
    fn drop(&mut self) {
        self.0.key.zeroize();
        self.0.rest.zeroize(); // so that the page is one, not a key and an unused field
        unlock(&self.0);
    }
}

fn lock(page: &KeyPage) {
    // SAFETY: the address and the length are those of a live allocation; locking changes none of its bytes.
    let locked = unsafe { rustix::mm::mlock(std::ptr::from_ref(page).cast_mut().cast(), PAGE) };
    if let Err(error) = locked {
        static TOLD: std::sync::Once = std::sync::Once::new();
        TOLD.call_once(|| {
            tracing::warn!(%error, "the key cannot be locked in memory and may reach a swap file; raise `ulimit -l`");
        });
    }
}

fn unlock(page: &KeyPage) {
    // SAFETY: as for `lock`; the page is alive until after this call. An error: it was not locked.
    let _ = unsafe { rustix::mm::munlock(std::ptr::from_ref(page).cast_mut().cast(), PAGE) };
}

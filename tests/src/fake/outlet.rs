//! Writing to stdout without a buffer: one call is one `write`, unless the pipe is full.

use std::sync::Mutex;

#[derive(Debug, Default)]
pub(super) struct Outlet(Mutex<()>);

impl Outlet {
    pub(super) fn write(&self, bytes: &[u8]) {
        self.write_all([bytes]);
    }

    /// Several writes that no other thread's write comes between.
    pub(super) fn write_all<'a>(&self, pieces: impl IntoIterator<Item = &'a [u8]>) {
        let _turn = self.0.lock().expect("no holder panics");
        for piece in pieces {
            put(piece);
        }
    }
}

fn put(mut bytes: &[u8]) {
    while !bytes.is_empty() {
        match rustix::io::write(rustix::stdio::stdout(), bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(rustix::io::Errno::INTR) => {}
            // Nobody reads us any more; stdin tells the same.
            Err(_) => return,
        }
    }
}

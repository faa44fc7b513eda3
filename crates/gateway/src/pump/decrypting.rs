//! `Decrypting`: the reader of an encrypted stream. It decrypts what is read and hands it to the reader of the
//! plain bytes.

use std::cell::RefCell;

use crate::pump::handle::{Reader, SourceHandle};
use crate::pump::outbox::{FlushSet, Outbox};
use crate::stream::{Decrypted, Tls};

#[derive(Debug)]
pub(crate) struct Decrypting {
    tls: Tls,
    inner: Box<dyn Reader>,
    outbox: Outbox,
    sealed: Vec<u8>,
    goodbye: AtGoodbye,
    over: bool,
}

/// What the other side's goodbye (`close_notify`) means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtGoodbye {
    /// The connection is over.
    Close,
    /// Nothing more is asked; what is owed is still written (RFC 8446, 6.1).
    FinishWriting,
}

/// Room offered to one read: the longest record, and then some.
const ROOM: usize = 32 * 1024;

thread_local! {
    /// The room of the stream that was read last. There may be ten thousand streams, most of them idle: none keeps a
    /// room of its own between two reads.
    static SPARE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl Decrypting {
    /// `outbox` writes what the encryption itself has to say.
    pub(crate) fn new(
        tls: Tls,
        inner: Box<dyn Reader>,
        outbox: Outbox,
        goodbye: AtGoodbye,
    ) -> Self {
        Self { tls, inner, outbox, sealed: Vec::new(), goodbye, over: false }
    }

    fn end(&mut self, is_goodbye: bool, source: &SourceHandle, touched: &mut FlushSet) {
        if is_goodbye && self.goodbye == AtGoodbye::FinishWriting {
            self.inner.ended(touched);
            source.forget();
        } else {
            self.outbox.close(); // and with it the other side, which tells the reader
        }
    }
}

impl Reader for Decrypting {
    fn room(&mut self) -> &mut Vec<u8> {
        if self.sealed.capacity() == 0 {
            self.sealed = SPARE.take();
        }
        if self.sealed.capacity() - self.sealed.len() < ROOM {
            self.sealed.reserve(ROOM);
        }
        &mut self.sealed
    }

    fn take(&mut self, source: &SourceHandle, touched: &mut FlushSet) {
        let mut sealed = std::mem::take(&mut self.sealed);
        let mut left = sealed.as_slice();
        // A poke: the reader has bytes that it could not take before, or the handshake has brought some.
        let mut is_owed_a_look = sealed.is_empty();
        let mut is_goodbye = false;
        let was_over = self.over;
        while !self.over {
            match self.tls.decrypt(&mut left, self.inner.room()) {
                Ok(Decrypted::Some) => {
                    is_owed_a_look = false;
                    self.inner.take(source, touched);
                }
                Ok(Decrypted::Nothing) if left.is_empty() => break,
                Ok(Decrypted::Nothing) => {}
                Ok(Decrypted::End) => (self.over, is_goodbye) = (true, true),
                Err(error) => {
                    tracing::debug!(%error, "an encrypted stream cannot be read any further");
                    self.over = true;
                }
            }
        }
        if is_owed_a_look && !self.over {
            self.inner.take(source, touched);
        }
        if self.over && !was_over {
            self.end(is_goodbye, source, touched);
        } else if self.tls.wants_write() {
            // The encryption has something to say of its own (an alert, a key update): the outbox
            // writes it.
            touched.note(&self.outbox);
        }
        sealed.clear();
        SPARE.replace(sealed);
    }

    fn ended(&mut self, touched: &mut FlushSet) {
        self.inner.ended(touched);
    }

    fn panicked(&mut self, touched: &mut FlushSet) {
        self.inner.panicked(touched);
    }
}

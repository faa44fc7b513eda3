//! The encrypted side of a stream: what is written is encrypted on its way, what is read is
//! decrypted by whoever reads.

use std::io::{self, BufRead as _, IoSlice, Write};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;

use crate::lock::{Mutex, rank};
use rustix::io::Errno;
use rustls::Connection;

/// One encrypted connection, as both of its sides hold it.
#[derive(Clone, Debug)]
pub(crate) struct Tls(Arc<TlsShared>);

#[derive(Debug)]
struct TlsShared {
    fd: OwnedFd,
    // Held while bytes are encrypted and written: records must leave in the order in which they
    // were numbered. The stream never blocks.
    connection: Mutex<Connection, rank::TlsStream>,
}

/// What a piece of the stream has brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decrypted {
    /// Bytes for the reader.
    Some,
    /// More of the stream is needed.
    Nothing,
    /// The other side has said that nothing more comes.
    End,
}

impl Tls {
    /// Of a connection whose handshake is over; `fd` is for writing.
    pub(crate) fn new(fd: OwnedFd, connection: Connection) -> Self {
        Self(Arc::new(TlsShared { fd, connection: Mutex::new(connection) }))
    }

    /// Takes some of `slices` if what was taken before is on its way.
    pub(crate) fn write(&self, slices: &[IoSlice<'_>]) -> Result<usize, Errno> {
        let mut connection = self.0.connection.lock();
        self.send(&mut connection)?;
        let count = connection.writer().write_vectored(slices).map_err(|error| errno(&error))?;
        match self.send(&mut connection) {
            Ok(()) | Err(Errno::AGAIN) if count > 0 => Ok(count),
            Ok(()) => Err(Errno::AGAIN),
            Err(error) => Err(error),
        }
    }

    /// Writes what is encrypted and not yet on its way.
    pub(crate) fn flush(&self) -> Result<(), Errno> {
        self.send(&mut self.0.connection.lock())
    }

    fn send(&self, connection: &mut Connection) -> Result<(), Errno> {
        while connection.wants_write() {
            match connection.write_tls(&mut Raw(&self.0.fd)) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(errno(&error)),
            }
        }
        Ok(())
    }

    /// Says goodbye, as far as the stream takes it now, and ends the connection.
    pub(crate) fn shut(self) {
        let mut connection = self.0.connection.lock();
        connection.send_close_notify();
        // Who is gone already needs no goodbye.
        let _ = self.send(&mut connection);
        let _ = rustix::net::shutdown(&self.0.fd, rustix::net::Shutdown::Both);
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.fd.as_fd()
    }

    /// Does the connection itself have something to say?
    pub(crate) fn wants_write(&self) -> bool {
        self.0.connection.lock().wants_write()
    }

    /// Takes bytes of the stream from the front of `sealed` and appends what they say to `open`.
    pub(crate) fn decrypt(
        &self,
        sealed: &mut &[u8],
        open: &mut Vec<u8>,
    ) -> Result<Decrypted, rustls::Error> {
        let mut connection = self.0.connection.lock();
        if !sealed.is_empty() {
            // Reading from memory fails only for lack of room, and there is: all was taken out.
            if connection.read_tls(sealed).is_err() {
                return Err(rustls::Error::General("too much at once".to_owned()));
            }
            connection.process_new_packets()?;
        }
        let mut reader = connection.reader();
        let before = open.len();
        loop {
            let count = match reader.fill_buf() {
                Ok([]) => {
                    break Ok(if open.len() > before { Decrypted::Some } else { Decrypted::End });
                }
                Ok(chunk) => {
                    open.extend_from_slice(chunk);
                    chunk.len()
                }
                Err(_) if open.len() > before => break Ok(Decrypted::Some),
                Err(_) => break Ok(Decrypted::Nothing),
            };
            reader.consume(count);
        }
    }
}

/// The descriptor as the encryption writes to it.
struct Raw<'a>(&'a OwnedFd);

impl Write for Raw<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::write(self.0, bytes)?)
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        Ok(rustix::io::writev(self.0, slices)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn errno(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(match error.kind() {
        io::ErrorKind::WouldBlock => Errno::AGAIN,
        _ => Errno::IO,
    })
}

//! Passes bytes between an encrypted connection and a plain one, as either end of TLS.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::ops::DerefMut;
use std::sync::{Mutex, MutexGuard};

use rustls::{ConnectionCommon, SideData};

/// What is shut once the other side has come to its end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ends {
    pub(crate) of_plain: Shutdown,
    pub(crate) of_encrypted: Shutdown,
}

/// Passes bytes on in both directions until both have ended: two threads, one for each direction.
pub(crate) fn pass_on<C, S>(plain: &TcpStream, stream: TcpStream, connection: C, ends: Ends)
where
    C: DerefMut<Target = ConnectionCommon<S>> + Send,
    S: SideData,
{
    drop((plain.set_nodelay(true), stream.set_nodelay(true)));
    let sealed = Sealed { stream, connection: Mutex::new(connection), ends };
    std::thread::scope(|scope| {
        scope.spawn(|| sealed.inwards(plain));
        sealed.outwards(plain);
    });
}

/// The encrypted side, used by two threads: nobody waits while holding the lock.
struct Sealed<C> {
    stream: TcpStream,
    connection: Mutex<C>,
    ends: Ends,
}

impl<C, S> Sealed<C>
where
    C: DerefMut<Target = ConnectionCommon<S>>,
    S: SideData,
{
    /// What the peer says, in the clear.
    fn inwards(&self, mut plain: &TcpStream) {
        while let Some(bytes) = self.read() {
            if plain.write_all(&bytes).is_err() {
                break;
            }
        }
        drop(plain.shutdown(self.ends.of_plain));
    }

    /// What is said to the peer, encrypted; its end is a goodbye.
    fn outwards(&self, mut plain: &TcpStream) {
        let mut chunk = vec![0; 1 << 16];
        while let Ok(count @ 1..) = plain.read(&mut chunk) {
            let mut connection = self.lock();
            let written = connection.writer().write_all(&chunk[..count]);
            if written.is_err() || self.flush(&mut connection).is_err() {
                break;
            }
        }
        let mut connection = self.lock();
        connection.send_close_notify();
        drop(self.flush(&mut connection));
        drop(self.stream.shutdown(self.ends.of_encrypted));
    }

    /// The next bytes; `None` at the end.
    fn read(&self) -> Option<Vec<u8>> {
        loop {
            let mut connection = self.lock();
            let mut chunk = vec![0; 1 << 16];
            match connection.reader().read(&mut chunk) {
                Ok(0) => return None,
                Ok(count) => return Some(chunk[..count].to_vec()),
                Err(error) if error.kind() != ErrorKind::WouldBlock => return None,
                Err(_) => drop(connection),
            }
            self.stream.peek(&mut [0]).ok().filter(|count| *count > 0)?;
            let mut connection = self.lock();
            connection.read_tls(&mut &self.stream).ok()?;
            connection.process_new_packets().ok()?;
            self.flush(&mut connection).ok()?;
        }
    }

    fn flush(&self, connection: &mut C) -> std::io::Result<()> {
        while connection.wants_write() {
            connection.write_tls(&mut &self.stream)?;
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, C> {
        self.connection.lock().expect("no holder panics")
    }
}

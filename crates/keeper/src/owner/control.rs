//! The owner's end of a control socket.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;

use rustix::net::{SendFlags, Shutdown, send, shutdown};
use tokio::io::Interest;
use tokio::net::UnixStream;

use crate::descriptors;
use crate::message::{Order, RECORD_BYTES, Record, Report};
use crate::system;

/// When this is dropped, or its process dies, the shim kills its tree.
#[derive(Debug)]
pub(super) struct Control {
    socket: UnixStream,
    /// A record of which `filled` bytes have arrived; kept here so that reading can be cancelled.
    record: Record,
    filled: usize,
    ended: bool,
}

impl Control {
    /// Our end and the shim's.
    pub(super) fn pair() -> io::Result<(Control, OwnedFd)> {
        let (ours, shims) = StdUnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let socket = UnixStream::from_std(ours)?;
        Ok((Control { socket, record: [0; RECORD_BYTES], filled: 0, ended: false }, shims.into()))
    }

    /// The descriptors travel with the first bytes.
    pub(super) async fn send_parcel(
        &self,
        mut parcel: &[u8],
        stdio: [BorrowedFd<'_>; 3],
    ) -> io::Result<()> {
        let mut passed: &[BorrowedFd<'_>] = &stdio;
        while !parcel.is_empty() {
            let send = || Ok(descriptors::send(&self.socket, parcel, passed)?);
            let sent = self.socket.async_io(Interest::WRITABLE, send).await?;
            parcel = parcel.get(sent..).unwrap_or_default();
            passed = &[];
        }
        Ok(())
    }

    /// Never waits. If the order cannot be delivered, the shim is gone, or it sees the end of the
    /// socket, which is an order too.
    pub(super) fn send_order(&self, order: Order) {
        let flags = system::SEND | SendFlags::DONTWAIT;
        if send(&self.socket, &order.pack(), flags) != Ok(RECORD_BYTES) {
            let _ = shutdown(&self.socket, Shutdown::Write);
        }
    }

    /// `None`: the shim has ended, now or before. Cancel-safe.
    pub(super) async fn next_report(&mut self) -> Option<Report> {
        while !self.ended {
            let Ok(()) = self.socket.readable().await else {
                break;
            };
            let rest = self.record.get_mut(self.filled..).unwrap_or_default();
            match self.socket.try_read(rest) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // An error is a shim that ended with an order unread.
                Ok(0) | Err(_) => self.ended = true,
                Ok(count) => self.filled += count,
            }
            if self.filled == RECORD_BYTES {
                self.filled = 0;
                return Report::unpack(self.record);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::Control;
    use crate::exit::Exit;
    use crate::message::Report;

    #[tokio::test]
    async fn reports_survive_any_cut_and_cancellation() {
        let (mut control, shims_end) = Control::pair().unwrap();
        let mut shim = UnixStream::from(shims_end);
        let first = Report::Exited(Exit::Code(7)).pack();
        for byte in first.chunks(5) {
            tokio::select! {
                biased;
                _ = control.next_report() => panic!("a record that has not arrived"),
                () = tokio::task::yield_now() => {}
            }
            shim.write_all(byte).unwrap();
        }
        assert_eq!(control.next_report().await, Some(Report::Exited(Exit::Code(7))));
        shim.write_all(&[Report::Gone.pack(), Report::Gone.pack()].concat()).unwrap();
        drop(shim);
        assert_eq!(control.next_report().await, Some(Report::Gone));
        assert_eq!(control.next_report().await, Some(Report::Gone));
        assert_eq!(control.next_report().await, None);
        assert_eq!(control.next_report().await, None);
    }
}

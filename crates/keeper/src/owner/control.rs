//! The owner's end of a control socket.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;

use rustix::net::{Shutdown, send, shutdown};
use tokio::io::Interest;
use tokio::net::UnixStream;

use crate::descriptors;
use crate::message::{Order, RECORD_BYTES, Record, Report};
use crate::system;

/// When this is dropped, or its process dies, the keeper kills the tree.
#[derive(Debug)]
pub(super) struct Control {
    socket: UnixStream,
    /// A record of which `filled` bytes have arrived; kept here so that reading can be cancelled.
    record: Record,
    filled: usize,
    ended: bool,
}

impl Control {
    /// Our end and the keeper's.
    pub(super) fn pair() -> io::Result<(Control, OwnedFd)> {
        let (ours, keepers) = StdUnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let socket = UnixStream::from_std(ours)?;
        Ok((Control { socket, record: [0; RECORD_BYTES], filled: 0, ended: false }, keepers.into()))
    }

    /// Sends as much of the parcel as fits, with the descriptors, and says how much that was. To be
    /// called before the other end is handed over: then the keeper need not wait for it.
    pub(super) fn begin_parcel(
        &self,
        parcel: &[u8],
        stdio: [BorrowedFd<'_>; 3],
    ) -> io::Result<usize> {
        Ok(descriptors::send(&self.socket, parcel, &stdio)?)
    }

    pub(super) async fn finish_parcel(&self, mut rest: &[u8]) -> io::Result<()> {
        while !rest.is_empty() {
            let send = || Ok(send(&self.socket, rest, system::SEND)?);
            let sent = self.socket.async_io(Interest::WRITABLE, send).await?;
            rest = rest.get(sent..).unwrap_or_default();
        }
        Ok(())
    }

    /// Never waits. If the order cannot be delivered, the keeper is gone, or it sees the end of the
    /// socket, which is an order too.
    pub(super) fn send_order(&self, order: Order) {
        if send(&self.socket, &order.pack(), system::SEND) != Ok(RECORD_BYTES) {
            let _ = shutdown(&self.socket, Shutdown::Write);
        }
    }

    /// `None`: the keeper has nothing more to say, now or before. Cancel-safe.
    pub(super) async fn next_report(&mut self) -> Option<Report> {
        while !self.ended {
            let Ok(()) = self.socket.readable().await else {
                break;
            };
            let rest = self.record.get_mut(self.filled..).unwrap_or_default();
            match self.socket.try_read(rest) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // An error is a keeper that closed with an order unread.
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
        let (mut control, keepers_end) = Control::pair().unwrap();
        let mut keeper = UnixStream::from(keepers_end);
        let first = Report::Exited(Exit::Code(7)).pack();
        for byte in first.chunks(5) {
            tokio::select! {
                biased;
                _ = control.next_report() => panic!("a record that has not arrived"),
                () = tokio::task::yield_now() => {}
            }
            keeper.write_all(byte).unwrap();
        }
        assert_eq!(control.next_report().await, Some(Report::Exited(Exit::Code(7))));
        keeper.write_all(&[Report::Gone.pack(), Report::Gone.pack()].concat()).unwrap();
        drop(keeper);
        assert_eq!(control.next_report().await, Some(Report::Gone));
        assert_eq!(control.next_report().await, Some(Report::Gone));
        assert_eq!(control.next_report().await, None);
        assert_eq!(control.next_report().await, None);
    }
}

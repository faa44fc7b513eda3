//! The owner's end of a control socket.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{Shutdown, send, shutdown};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;

use crate::descriptors;
use crate::message::{KeeperReport, OwnerOrder, RECORD_BYTES, Record};
use crate::system;

/// When this is dropped, or its process dies, the keeper kills the tree.
#[derive(Debug)]
pub(super) struct Control {
    /// Not a pipe, but read like one: watched for what the keeper says only. That it has read what we
    /// said would wake us up for nothing, once for each server.
    socket: pipe::Receiver,
    /// What has arrived and was not taken yet; kept here so that reading can be cancelled.
    arrived: [u8; ARRIVALS],
    filled: usize,
    ended: bool,
}

/// Room for more than can come at once: then a read that leaves room has taken everything.
const ARRIVALS: usize = 8 * RECORD_BYTES;

impl Control {
    /// Our end and the keeper's.
    pub(super) fn pair() -> io::Result<(Control, OwnedFd)> {
        let (ours, keepers) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let socket = pipe::Receiver::from_owned_fd_unchecked(ours.into())?;
        Ok((Control { socket, arrived: [0; ARRIVALS], filled: 0, ended: false }, keepers.into()))
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

    pub(super) async fn finish_parcel(&self, rest: &[u8]) -> io::Result<()> {
        if rest.is_empty() {
            return Ok(()); // as nearly always
        }
        // A descriptor of its own: this one is watched for something else.
        let socket = self.socket.as_fd().try_clone_to_owned()?;
        pipe::Sender::from_owned_fd_unchecked(socket)?.write_all(rest).await
    }

    /// Never waits. If the order cannot be delivered, the keeper is gone, or it sees the end of the
    /// socket, which is an order too.
    pub(super) fn send_order(&self, order: OwnerOrder) {
        if send(&self.socket, &order.pack(), system::SEND) != Ok(RECORD_BYTES) {
            let _ = shutdown(&self.socket, Shutdown::Write);
        }
    }

    /// `None`: the keeper has nothing more to say, now or before. Cancel-safe.
    pub(super) async fn next_report(&mut self) -> Option<KeeperReport> {
        loop {
            if let Some(record) = self.take() {
                return KeeperReport::unpack(record);
            }
            if self.ended {
                return None;
            }
            self.fill().await;
        }
    }

    /// The first record, if it has arrived completely.
    fn take(&mut self) -> Option<Record> {
        let arrived = self.arrived.get_mut(..self.filled)?;
        let record = *arrived.first_chunk()?;
        arrived.rotate_left(RECORD_BYTES);
        self.filled -= RECORD_BYTES;
        Some(record)
    }

    /// Waits for more.
    async fn fill(&mut self) {
        let room = self.arrived.get_mut(self.filled..).unwrap_or_default();
        match self.socket.read(room).await {
            // An error is a keeper that closed with an order unread.
            Ok(0) | Err(_) => self.ended = true,
            Ok(count) => self.filled += count,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::Control;
    use crate::exit::ProcessExit;
    use crate::message::KeeperReport;

    #[tokio::test]
    async fn reports_survive_any_cut_and_cancellation() {
        let (mut control, keepers_end) = Control::pair().unwrap();
        let mut keeper = UnixStream::from(keepers_end);
        let first = KeeperReport::Exited(ProcessExit::Code(7)).pack();
        for byte in first.chunks(5) {
            tokio::select! {
                biased;
                _ = control.next_report() => panic!("a record that has not arrived"),
                () = tokio::task::yield_now() => {}
            }
            keeper.write_all(byte).unwrap();
        }
        assert_eq!(control.next_report().await, Some(KeeperReport::Exited(ProcessExit::Code(7))));
        keeper.write_all(&[KeeperReport::Gone.pack(), KeeperReport::Gone.pack()].concat()).unwrap();
        drop(keeper);
        assert_eq!(control.next_report().await, Some(KeeperReport::Gone));
        assert_eq!(control.next_report().await, Some(KeeperReport::Gone));
        assert_eq!(control.next_report().await, None);
        assert_eq!(control.next_report().await, None);
    }
}

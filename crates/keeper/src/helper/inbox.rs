//! What has arrived on a control socket: first a parcel with three descriptors, then orders.

use std::os::fd::{AsFd, OwnedFd};

use rustix::io::{Errno, Result};

use crate::launch::{LENGTH_BYTES, Launch};
use crate::message::{OwnerOrder, RECORD_BYTES};
use crate::{descriptors, limits};

/// Takes what is there and never waits for the rest: an owner that sends half of something holds up
/// nobody else.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    bytes: Vec<u8>,
    descriptors: Vec<OwnedFd>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnerLine {
    Open,
    /// Nothing more will come.
    Closed,
}

impl Inbox {
    /// Takes in what has arrived, one piece at a time, so that a long parcel leaves others a turn.
    pub(super) fn fill(&mut self, control: impl AsFd) -> OwnerLine {
        let mut piece = [0; limits::PIECE_BYTES];
        match descriptors::receive(control, &mut piece) {
            Ok((0, _)) => OwnerLine::Closed,
            Ok((count, passed)) => {
                self.bytes.extend_from_slice(piece.get(..count).unwrap_or_default());
                self.descriptors.extend(passed);
                OwnerLine::Open
            }
            Err(Errno::WOULDBLOCK) => OwnerLine::Open,
            // Any other error means that the socket is useless; the owner is treated as gone.
            Err(_) => OwnerLine::Closed,
        }
    }

    /// `None`: it has not arrived completely.
    pub(super) fn parcel(&mut self) -> Option<Result<(Launch, [OwnedFd; 3])>> {
        let (length, rest) = self.bytes.split_first_chunk::<LENGTH_BYTES>()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
        // Checked before anything is waited for: a wrong length would let the inbox grow without
        // end.
        if length > limits::PARCEL_BYTES {
            return Some(Err(Errno::INVAL));
        }
        let launch = Launch::unpack(rest.get(..length)?);
        // Also gives its memory back: it can be large, and a server may run for weeks.
        self.bytes = rest.get(length..).unwrap_or_default().to_vec();
        // Exactly three; descriptors beyond that are closed by being dropped.
        let stdio = std::mem::take(&mut self.descriptors).try_into().ok();
        Some(launch.zip(stdio).ok_or(Errno::INVAL))
    }

    /// `None`: it has not arrived completely.
    pub(super) fn order(&mut self) -> Option<Result<OwnerOrder>> {
        let record = *self.bytes.first_chunk::<RECORD_BYTES>()?;
        self.bytes.drain(..RECORD_BYTES);
        Some(OwnerOrder::unpack(record).ok_or(Errno::INVAL))
    }
}

#[cfg(test)]
mod tests {
    use std::io::pipe;
    use std::net::Shutdown;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    use rustix::io::Errno;

    use super::{Inbox, OwnerLine};
    use crate::descriptors::send;
    use crate::launch::Launch;
    use crate::message::OwnerOrder;

    #[test]
    fn a_parcel_and_orders_survive_any_cut() {
        let launch = Launch { command: "npx".into(), ..Launch::default() };
        let bytes = [launch.pack().unwrap(), OwnerOrder::Kill.pack().to_vec()].concat();
        for size in 1..=bytes.len() {
            let (here, there) = UnixStream::pair().unwrap();
            let (reader, writer) = pipe().unwrap();
            let mut passed = vec![reader.as_fd(), writer.as_fd(), writer.as_fd()];
            let (mut inbox, mut parcel) = (Inbox::default(), None);
            for piece in bytes.chunks(size) {
                send(&here, piece, &std::mem::take(&mut passed)).unwrap();
                assert_eq!(inbox.fill(&there), OwnerLine::Open);
                parcel = parcel.or_else(|| inbox.parcel());
            }
            assert_eq!(parcel.unwrap().unwrap().0, launch, "in pieces of {size}");
            assert_eq!(inbox.order(), Some(Ok(OwnerOrder::Kill)));
            assert_eq!(inbox.fill(&there), OwnerLine::Open, "nothing there is no end");
            // Not by dropping it: a process another test starts may hold a copy until it executes.
            here.shutdown(Shutdown::Both).unwrap();
            assert_eq!(inbox.fill(&there), OwnerLine::Closed);
        }
    }

    #[test]
    fn garbage_is_refused() {
        let (here, there) = UnixStream::pair().unwrap();
        let mut inbox = Inbox::default();
        send(&here, &u32::MAX.to_le_bytes(), &[]).unwrap();
        inbox.fill(&there);
        assert_eq!(inbox.parcel().map(Result::err), Some(Some(Errno::INVAL)));

        let mut inbox = Inbox::default();
        send(&here, &Launch::default().pack().unwrap(), &[]).unwrap();
        inbox.fill(&there);
        let refused = inbox.parcel().map(Result::err);
        assert_eq!(refused, Some(Some(Errno::INVAL)), "a parcel without descriptors");
    }
}

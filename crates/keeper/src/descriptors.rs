//! Passes open descriptors from one process to another over a unix socket.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, SendAncillaryBuffer, SendAncillaryMessage, recvmsg,
    sendmsg,
};

use crate::system;

/// stdin, stdout and stderr of a server.
const MOST: usize = 3;

/// Sends `bytes` and with the first of them `descriptors`. Like any send on a stream it may take
/// fewer bytes than offered; the descriptors go whole or not at all.
pub(crate) fn send(
    socket: impl AsFd,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::Errno::INVAL);
    }
    let flags = system::SEND;
    io::retry_on_intr(|| sendmsg(&socket, &[IoSlice::new(bytes)], &mut ancillary, flags))
}

/// Receives up to `bytes.len()` bytes and the descriptors that came with them, which no program
/// started later inherits. 0 bytes: the sender is gone.
pub(crate) fn receive(socket: impl AsFd, bytes: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let flags = system::RECEIVE;
    let received = io::retry_on_intr(|| {
        recvmsg(&socket, &mut [IoSliceMut::new(bytes)], &mut ancillary, flags)
    })?;
    let descriptors = ancillary.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
        _ => None,
    });
    Ok((received.bytes, descriptors.flatten().collect()))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write, pipe};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    use rustix::io::{FdFlags, fcntl_getfd};

    use super::{receive, send};

    #[test]
    fn a_passed_pipe_works_and_is_not_inherited() {
        let (here, there) = UnixStream::pair().unwrap();
        let (mut reader, writer) = pipe().unwrap();
        assert_eq!(send(&here, b"ab", &[writer.as_fd()]), Ok(2));
        drop(writer);

        let mut byte = [0];
        let (count, mut passed) = receive(&there, &mut byte).unwrap();
        assert_eq!((count, passed.len(), byte), (1, 1, *b"a"));
        let passed = passed.remove(0);
        assert!(fcntl_getfd(&passed).unwrap().contains(FdFlags::CLOEXEC));
        std::io::PipeWriter::from(passed).write_all(b"through").unwrap();
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "through");

        let (count, passed) = receive(&there, &mut byte).unwrap();
        assert_eq!((count, passed.len()), (1, 0), "descriptors come once, with the first byte");
        drop(here);
        assert_eq!(receive(&there, &mut byte).unwrap().0, 0);
    }
}

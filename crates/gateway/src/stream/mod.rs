//! Bytes in and out of a file descriptor without blocking: pipes, sockets, terminals, plain files.
//!
//! Standard input and output are not ours alone: their file description may be shared with the
//! shell or with stderr, and making *it* non-blocking would break the others. Pipes and terminals
//! are therefore opened anew. (A socket cannot be; a client that connects us by a socket pair
//! gives us our end alone.)

mod tls;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};

use rustix::fs::{FileType, Mode, OFlags};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;

pub(crate) use tls::{Decrypted, Tls};

/// A descriptor to read from without blocking.
#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) fd: OwnedFd,
    pub(crate) nature: Nature,
}

/// How a descriptor behaves when it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nature {
    /// A read that does not fill the buffer has emptied it.
    Pipe,
    /// A socket or a terminal: a read may be short although more is there.
    Piecemeal,
    /// Always ready, and epoll does not take it.
    File,
}

impl Input {
    pub(crate) fn stdin() -> io::Result<Self> {
        let (fd, nature) = own(io::stdin().as_fd(), OFlags::RDONLY)?;
        widen(&fd);
        Ok(Self { fd, nature })
    }

    /// A pipe that is already non-blocking.
    pub(crate) fn pipe(fd: OwnedFd) -> Self {
        Self { fd, nature: Nature::Pipe }
    }

    /// A connected socket.
    pub(crate) fn socket(fd: OwnedFd) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&fd, true)?;
        Ok(Self { fd, nature: Nature::Piecemeal })
    }
}

/// A stream that is read on the runtime, apart from the calls: stderr, a timer.
#[derive(Debug)]
pub(crate) struct Slow(pipe::Receiver);

impl Slow {
    /// A pipe (or a timer) that is already non-blocking.
    pub(crate) fn new(fd: OwnedFd) -> io::Result<Self> {
        Ok(Self(pipe::Receiver::from_file_unchecked(File::from(fd))?))
    }

    /// Waits until there is something to read, or may be.
    pub(crate) async fn readable(&self) -> io::Result<()> {
        self.0.readable().await
    }

    /// Appends what is there to `buffer`, waiting until something is. 0 = the stream has ended.
    /// Cancel-safe: nothing is lost when the future is dropped.
    pub(crate) async fn read(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        self.0.read_buf(buffer).await
    }
}

/// Standard input, to be read without blocking. Nobody else's use of it is changed.
pub fn own_stdin() -> io::Result<OwnedFd> {
    Input::stdin().map(|input| input.fd)
}

/// Standard output, to be written without blocking. Nobody else's use of it is changed.
pub fn own_stdout() -> io::Result<OwnedFd> {
    let (fd, _) = own(io::stdout().as_fd(), OFlags::WRONLY)?;
    widen(&fd);
    Ok(fd)
}

/// Gives a pipe more room, if the system lets us: a large message then needs a sixteenth of the
/// switches between writer and reader. The memory is used only while bytes wait in the pipe, but all
/// pipes of a user together may have 64 MiB of room; so those of servers are widened only when they
/// have been full.
pub(crate) fn widen(fd: &OwnedFd) -> bool {
    rustix::pipe::fcntl_setpipe_size(fd, PIPE_BYTES).is_ok()
}

const PIPE_BYTES: usize = 1024 * 1024;
/// What a pipe takes when nobody has asked for more.
pub(crate) const USUAL_PIPE_BYTES: usize = 64 * 1024;

/// A descriptor of our own for a stream that others may share, non-blocking where it matters.
fn own(fd: BorrowedFd<'_>, mode: OFlags) -> io::Result<(OwnedFd, Nature)> {
    match FileType::from_raw_mode(rustix::fs::fstat(fd)?.st_mode) {
        // A file description of our own: `O_NONBLOCK` belongs to the description, which the shell
        // and other programs may share.
        FileType::Fifo => Ok((reopened(fd, mode)?, Nature::Pipe)),
        FileType::Socket => Ok((unblocked(fd)?, Nature::Piecemeal)),
        FileType::CharacterDevice if rustix::termios::isatty(fd) => {
            Ok((reopened(fd, mode)?, Nature::Piecemeal))
        }
        _ => Ok((fd.try_clone_to_owned()?, Nature::File)),
    }
}

fn reopened(fd: BorrowedFd<'_>, mode: OFlags) -> io::Result<OwnedFd> {
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    let flags = mode | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(own) => Ok(own),
        // No /proc, or not ours to open: the shared description is all there is.
        Err(_) => unblocked(fd),
    }
}

fn unblocked(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let own = fd.try_clone_to_owned()?;
    let flags = rustix::fs::fcntl_getfl(&own)? | OFlags::NONBLOCK;
    rustix::fs::fcntl_setfl(&own, flags)?;
    Ok(own)
}

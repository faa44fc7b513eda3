//! A keeper without the owner's code: spoken to in bytes, which an owner would never send so.

use std::io::{IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command};

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::Pid;

use crate::PATIENCE;
use crate::owner::keep;
use crate::table::Table;

#[test]
fn half_a_launch_holds_up_nobody() {
    let keeper = BareKeeper::start();
    let parcel = parcel("exit 7");
    let (half, rest) = parcel.split_at(parcel.len() / 2);
    let (slow, silent, lost) = (keeper.tree(), keeper.tree(), keeper.tree());
    begin(&slow, half);
    begin(&lost, half);
    drop(lost);
    let runs_to_its_end = |control| {
        let kinds = [(); 4].map(|()| report(control));
        assert!(matches!(kinds, [(1, _), (2, _), (4, 7), (7, _)]), "{kinds:?}");
    };
    let whole = keeper.tree();
    begin(&whole, &parcel);
    runs_to_its_end(&whole);
    go_on(&slow, rest);
    runs_to_its_end(&slow);
    drop(silent);
    assert!(keeper.close().wait().unwrap().success());
}

#[test]
fn the_keeper_ends_after_its_last_tree() {
    let keeper = BareKeeper::start();
    let control = keeper.tree();
    begin(&control, &parcel("trap '' TERM; sleep 3600"));
    assert_eq!(report(&control).0, 1);
    let (kind, server) = report(&control);
    assert_eq!(kind, 2);
    let server = Pid::from_raw(server.cast_signed()).unwrap();
    let mut child = keeper.close();
    assert_eq!(child.try_wait().unwrap(), None);
    assert_eq!(Table::read().children(Pid::from_child(&child)), [server]);
    drop(control);
    assert!(child.wait().unwrap().success());
    assert!(!Path::new("/proc").join(server.to_string()).exists());
}

struct BareKeeper {
    child: Child,
    socket: UnixStream,
}

impl BareKeeper {
    #[expect(clippy::disallowed_methods, reason = "the keeper under test is no server")]
    fn start() -> BareKeeper {
        let (socket, keepers) = UnixStream::pair().unwrap();
        let mut command = Command::new(keep());
        command.arg("__keeper").arg("0").stdin(OwnedFd::from(keepers));
        BareKeeper { child: command.spawn().unwrap(), socket }
    }

    /// A new tree: the owner's end of its control socket.
    fn tree(&self) -> UnixStream {
        let (ours, keepers) = UnixStream::pair().unwrap();
        ours.set_read_timeout(Some(PATIENCE)).unwrap();
        pass(&self.socket, &[0], &[keepers.as_fd()]);
        ours
    }

    /// Asks for no more trees, and leaves the child.
    fn close(self) -> Child {
        self.child
    }
}

/// What to start: `sh -c SCRIPT`.
fn parcel(script: &str) -> Vec<u8> {
    let number = |number: usize| u32::try_from(number).unwrap().to_le_bytes().to_vec();
    // Two arguments, and no words about a sandbox or what is run afterwards.
    let mut body = [number(2), number(0), number(0)].concat();
    for string in ["/bin/sh", "", "-c", script] {
        body.extend([number(string.len()), string.into()].concat());
    }
    [number(body.len()), body].concat()
}

/// Sends the beginning of a parcel, with descriptors that are good for nothing.
fn begin(control: &UnixStream, bytes: &[u8]) {
    let null = std::fs::File::options().read(true).write(true).open("/dev/null").unwrap();
    pass(control, bytes, &[null.as_fd(), null.as_fd(), null.as_fd()]);
}

fn go_on(mut control: &UnixStream, bytes: &[u8]) {
    control.write_all(bytes).unwrap();
}

/// The kind and the first number of the next report.
fn report(mut control: &UnixStream) -> (u32, u32) {
    let mut record = [[0; 4]; 3];
    control.read_exact(record.as_flattened_mut()).unwrap();
    let [kind, number, _] = record.map(u32::from_le_bytes);
    (kind, number)
}

fn pass(socket: &UnixStream, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    assert!(ancillary.push(SendAncillaryMessage::ScmRights(descriptors)));
    let sent = sendmsg(socket, &[IoSlice::new(bytes)], &mut ancillary, SendFlags::empty());
    assert_eq!(sent, Ok(bytes.len()));
}

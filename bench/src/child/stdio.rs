//! Over stdio: reads what is there, answers all of it with one write.

use super::{Answer, CALL_END, CHANGED, Child};
use crate::lines::Lines;
use rustix::io::{Errno, write, writev};
use rustix::stdio::{stdin, stdout};
use std::io::IoSlice;
use std::os::fd::AsFd;

impl Child {
    /// Serves until stdin ends.
    pub fn serve(&mut self) -> Result<(), Errno> {
        let mut lines = Lines::default();
        while lines.fill(stdin())? > 0 {
            while let Some(span) = lines.next_line() {
                match self.answer(&lines.bytes()[span], None) {
                    Answer::None => {}
                    Answer::Large => {
                        write_slices(stdout(), &[&self.out, &self.large, CALL_END, b"\n"])?;
                        self.out.clear();
                    }
                    Answer::Changed => {
                        self.out.push(b'\n');
                        self.out.extend_from_slice(CHANGED);
                    }
                    _ => self.out.push(b'\n'),
                }
            }
            write_all(stdout(), &self.out)?;
            self.out.clear();
        }
        Ok(())
    }
}

/// Writes everything, waiting where the reader is slow.
pub(super) fn write_all(fd: impl AsFd, mut rest: &[u8]) -> Result<(), Errno> {
    while !rest.is_empty() {
        match write(fd.as_fd(), rest) {
            Ok(written) => rest = &rest[written..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Writes up to four pieces, waiting where the reader is slow.
pub(super) fn write_slices(fd: impl AsFd, pieces: &[&[u8]; 4]) -> Result<(), Errno> {
    let mut slices = pieces.map(IoSlice::new);
    let mut rest = &mut slices[..];
    while !rest.is_empty() {
        match writev(fd.as_fd(), rest) {
            Ok(written) => IoSlice::advance_slices(&mut rest, written),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

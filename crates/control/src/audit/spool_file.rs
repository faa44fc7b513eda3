//! What is opened and read in the directory of a spool: files and nothing else, in lines of a bounded length.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;

/// The longest line: a text of 1 MiB, and what stands around it.
pub(super) const LONGEST: u64 = (1 << 20) + 1024;

/// An error names the file.
pub(super) fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    // There may be a link in its place, to the key for instance, or a pipe that would be waited for.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let named = |error: io::Error| {
        let is_link = error.raw_os_error() == Some(Errno::LOOP.raw_os_error());
        let why = if is_link { "it is a link".to_owned() } else { error.to_string() };
        io::Error::new(error.kind(), format!("{}: {why}", path.display()))
    };
    let file = options.custom_flags(flags).open(path).map_err(named)?;
    match file.metadata().map_err(named)?.is_file() {
        true => Ok(file),
        false => Err(named(io::Error::other("it is not a regular file"))),
    }
}

/// A line that was read.
pub(super) struct SpoolLine {
    /// How long it is in the file, with its end.
    pub(super) bytes: u64,
    /// It has an end.
    pub(super) is_whole: bool,
}

/// Reads the next line, with its end. Of one that is longer than `LONGEST` nothing is kept.
pub(super) fn read_line(lines: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<SpoolLine> {
    let (mut bytes, mut is_long) = (0, false);
    loop {
        line.clear();
        let read = lines.by_ref().take(LONGEST).read_until(b'\n', line)? as u64;
        bytes += read;
        let is_whole = line.last() == Some(&b'\n');
        if is_whole || read < LONGEST {
            if is_long {
                line.clear();
            }
            return Ok(SpoolLine { bytes, is_whole });
        }
        is_long = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_up_to_their_bound() {
        let longest = usize::try_from(LONGEST).unwrap();
        let long = |length: usize| [&b"x".repeat(length - 1)[..], b"\n"].concat();
        let text = [&long(3)[..], &long(longest), &long(longest + 1), &long(3 * longest), b"yy"];
        let mut lines = io::BufReader::new(io::Cursor::new(text.concat()));
        let mut line = Vec::new();
        let mut next = || {
            let read = read_line(&mut lines, &mut line).unwrap();
            let bytes = usize::try_from(read.bytes).unwrap();
            (bytes, line.len(), line.capacity() <= 4 * longest, read.is_whole)
        };
        assert_eq!(next(), (3, 3, true, true));
        assert_eq!(next(), (longest, longest, true, true));
        assert_eq!(next(), (longest + 1, 0, true, true));
        assert_eq!(next(), (3 * longest, 0, true, true));
        assert_eq!(next(), (2, 2, true, false));
        assert_eq!(next(), (0, 0, true, false));
    }
}

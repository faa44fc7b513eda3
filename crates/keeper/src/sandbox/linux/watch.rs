//! Writes down what a watched server uses: files, programs, addresses. It decides nothing.

use std::collections::HashSet;
use std::ffi::{OsStr, c_long};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::memory::{Asker, SocketTarget, number};
use crate::limits;

/// What is written down, besides what is opened.
pub(super) const WATCHED: &[c_long] = &[
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_mkdirat,
    libc::SYS_unlinkat,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_truncate,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_creat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mkdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rmdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_link,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_symlink,
];

/// What a call does to what it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Use {
    Reads,
    Changes,
    /// A socket of the machine.
    Local,
    Connects,
    Listens,
}

impl Use {
    const fn letter(self) -> u8 {
        match self {
            Use::Reads => b'r',
            Use::Changes => b'w',
            Use::Local => b'u',
            Use::Connects => b'c',
            Use::Listens => b'b',
        }
    }
}

/// The record of one run: a line for each thing, `r /etc/hosts`.
#[derive(Debug)]
pub(super) struct Watch {
    file: File,
    seen: HashSet<(Use, PathBuf)>,
}

impl Watch {
    pub(super) fn open(path: &Path) -> std::io::Result<Watch> {
        Ok(Watch { file: File::options().append(true).open(path)?, seen: HashSet::new() })
    }

    /// Whether a call is one of those that are written down.
    pub(super) fn is_about(call: c_long) -> bool {
        is_open(call) || WATCHED.contains(&call)
    }

    pub(super) fn note(&mut self, asker: Asker, call: c_long, arguments: &[u64; 6]) {
        for (what, path) in used(asker, call, arguments) {
            if self.seen.len() < limits::WATCHED_USES && self.seen.insert((what, path.clone())) {
                let mut line = vec![what.letter(), b' '];
                line.extend_from_slice(path.as_os_str().as_bytes());
                line.push(b'\n');
                // A disk that is full is a record that is not complete; the server goes on.
                let _ = self.file.write_all(&line);
            }
        }
    }
}

fn is_open(call: c_long) -> bool {
    #[cfg(target_arch = "x86_64")]
    if call == libc::SYS_open {
        return true;
    }
    call == libc::SYS_openat
}

fn used(asker: Asker, call: c_long, arguments: &[u64; 6]) -> Vec<(Use, PathBuf)> {
    let [first, second, third, fourth, _, _] = *arguments;
    const HERE: i32 = libc::AT_FDCWD;
    let read = |path: Option<PathBuf>| path.map(|it| (Use::Reads, it));
    let change = |path: Option<PathBuf>| path.map(|it| (Use::Changes, it));
    let at = |directory: u64, pointer: u64| asker.path(number(directory), pointer);
    let found: Vec<Option<(Use, PathBuf)>> = match call {
        libc::SYS_openat => vec![opened(at(first, second), third)],
        libc::SYS_execve => with_interpreter(asker.path(HERE, first)).map(read).to_vec(),
        libc::SYS_execveat => with_interpreter(at(first, second)).map(read).to_vec(),
        libc::SYS_connect => {
            vec![asker.target(second, third).and_then(|it| reached(it, Use::Connects))]
        }
        libc::SYS_bind => {
            vec![asker.target(second, third).and_then(|it| reached(it, Use::Listens))]
        }
        libc::SYS_mkdirat | libc::SYS_unlinkat => vec![change(at(first, second))],
        libc::SYS_renameat | libc::SYS_renameat2 | libc::SYS_linkat => {
            vec![change(at(first, second)), change(at(third, fourth))]
        }
        libc::SYS_symlinkat => vec![change(at(second, third))],
        libc::SYS_truncate => vec![change(asker.path(HERE, first))],
        _ => older(asker, call, first, second),
    };
    found
        .into_iter()
        .flatten()
        .filter_map(|(what, path)| Some((what, settled(what, &path)?)))
        .collect()
}

#[cfg(target_arch = "x86_64")]
fn older(asker: Asker, call: c_long, first: u64, second: u64) -> Vec<Option<(Use, PathBuf)>> {
    let change = |pointer| asker.path(libc::AT_FDCWD, pointer).map(|it| (Use::Changes, it));
    match call {
        libc::SYS_open => vec![opened(asker.path(libc::AT_FDCWD, first), second)],
        libc::SYS_rename | libc::SYS_link => vec![change(first), change(second)],
        libc::SYS_symlink => vec![change(second)],
        libc::SYS_creat | libc::SYS_mkdir | libc::SYS_rmdir | libc::SYS_unlink => {
            vec![change(first)]
        }
        _ => Vec::new(),
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn older(_: Asker, _: c_long, _: u64, _: u64) -> Vec<Option<(Use, PathBuf)>> {
    Vec::new()
}

fn opened(path: Option<PathBuf>, flags: u64) -> Option<(Use, PathBuf)> {
    let flags = number(flags);
    let has = |flag: i32| flags & flag == flag;
    let changes = has(libc::O_CREAT)
        || has(libc::O_TRUNC)
        || has(libc::O_TMPFILE)
        || flags & libc::O_ACCMODE != libc::O_RDONLY;
    match () {
        // Only a name for it: no rights are needed.
        () if has(libc::O_PATH) => None,
        () if changes => path.map(|it| (Use::Changes, it)),
        () => path.map(|it| (Use::Reads, it)),
    }
}

fn reached(target: SocketTarget, what: Use) -> Option<(Use, PathBuf)> {
    match target {
        SocketTarget::Net(address) => Some((what, address.to_string().into())),
        SocketTarget::Local(path) if what == Use::Connects => Some((Use::Local, path)),
        SocketTarget::Local(path) => Some((Use::Changes, path)),
        SocketTarget::Other => None,
    }
}

/// A program, and the one that the first line of a script names.
fn with_interpreter(program: Option<PathBuf>) -> [Option<PathBuf>; 2] {
    let mut head = Vec::new();
    let read =
        program.as_ref().and_then(|it| File::open(it).ok()?.take(256).read_to_end(&mut head).ok());
    let line = read.and_then(|_| head.strip_prefix(b"#!")?.split(|it| *it == b'\n').next());
    let words = line.map(<[u8]>::trim_ascii).and_then(|line| line.split(|it| *it == b' ').next());
    let interpreter = words.map(|it| PathBuf::from(OsStr::from_bytes(it)));
    [program, interpreter]
}

/// Without links. What is read has to be there; what is changed may be made by it.
fn settled(what: Use, path: &Path) -> Option<PathBuf> {
    if path.as_os_str().as_bytes().contains(&b'\n') {
        return None;
    }
    match what {
        Use::Connects | Use::Listens => Some(path.to_path_buf()),
        Use::Reads | Use::Local => path.canonicalize().ok(),
        Use::Changes => path
            .canonicalize()
            .ok()
            .or_else(|| Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_opened_is_read_or_changed() {
        let flags = |flags: i32| u64::from(flags.cast_unsigned());
        for (given, expected) in [
            (libc::O_RDONLY, Some(Use::Reads)),
            (libc::O_RDONLY | libc::O_DIRECTORY, Some(Use::Reads)),
            (libc::O_WRONLY, Some(Use::Changes)),
            (libc::O_RDWR, Some(Use::Changes)),
            (libc::O_RDONLY | libc::O_CREAT, Some(Use::Changes)),
            (libc::O_PATH | libc::O_DIRECTORY, None),
        ] {
            let found = opened(Some("/x".into()), flags(given)).map(|(what, _)| what);
            assert_eq!(found, expected, "{given:o}");
        }
    }

    #[test]
    fn what_is_written_down_is_there_or_can_be() {
        let temporary = std::env::temp_dir().canonicalize().unwrap();
        let missing = temporary.join("tl-not-here");
        assert_eq!(settled(Use::Reads, &missing), None);
        assert_eq!(settled(Use::Changes, &missing), Some(missing.clone()));
        assert_eq!(settled(Use::Changes, &missing.join("x")), None);
        assert_eq!(settled(Use::Connects, Path::new("1.2.3.4:5")), Some("1.2.3.4:5".into()));
    }
}

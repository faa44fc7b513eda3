//! `Sandbox`: what a walled-in server may do, as plain data, and its words on the way to the keeper.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// What a server may do. What is not named here it may not; the program itself, the system's
/// libraries and devices have to be named as well.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sandbox {
    pub allowed: Vec<AllowedPath>,
    /// Left out of what is allowed, unless a path in `allowed` is named in full.
    pub hidden: Vec<PathBuf>,
    /// Left out of what is allowed, whoever names it.
    pub never: Vec<PathBuf>,
    /// Directories of its own: made if they are missing, written by it, and kept.
    pub own: Vec<PathBuf>,
    pub network: Network,
    /// Whether it may make sockets of the machine (`AF_UNIX`), which reach agents, buses and
    /// container engines. Landlock does not guard them by path.
    pub unix_sockets: bool,
    /// HOME is its private directory, and so is its working directory if the launch names none.
    pub private_home: bool,
    /// It is not started where the system cannot hold all of this.
    pub required: bool,
    /// It has no memory, semaphores and queues in common with other processes (System V).
    pub private_ipc: bool,
    /// Not only its first process reads about itself in /proc: the keeper opens that for those that it starts. For
    /// servers whose program is started by another one: each file they open for reading is asked about.
    pub reads_itself: bool,
    /// Where it is written down what it uses. Then files and the network are open to it.
    pub watched: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedPath {
    pub path: PathBuf,
    pub access: Access,
    /// A person has written this path: then `hidden` does not hold for it.
    pub named: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reading, listing and executing.
    Read,
    /// … and changing, making, removing.
    Write,
    /// Names only.
    List,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Network {
    #[default]
    None,
    /// TCP and UDP, to everywhere.
    Open,
    /// TCP to this port of the loopback address only, where a proxy decides.
    Proxy(u16),
}

impl Sandbox {
    /// As strings: the first is what is on, each other a letter and a path.
    pub(crate) fn words(&self) -> Vec<OsString> {
        let on = [
            (self.network == Network::Open, 'n'),
            (self.unix_sockets, 'u'),
            (self.private_home, 'h'),
            (self.required, 'r'),
            (self.private_ipc, 'i'),
            (self.reads_itself, 's'),
        ];
        let on: String = on.iter().filter(|(on, _)| *on).map(|(_, letter)| letter).collect();
        let mut words = vec![OsString::from(format!("f{on}"))];
        if let Network::Proxy(port) = self.network {
            words.push(OsString::from(format!("p{port}")));
        }
        words.extend(self.watched.iter().map(|path| word(b'@', path.as_os_str())));
        let lists = [(b'-', &self.hidden), (b'!', &self.never), (b'o', &self.own)];
        for (letter, paths) in lists {
            words.extend(paths.iter().map(|path| word(letter, path.as_os_str())));
        }
        words.extend(self.allowed.iter().map(|it| word(it.letter(), it.path.as_os_str())));
        words
    }

    pub(crate) fn of_words(words: &[OsString]) -> Option<Sandbox> {
        let (on, paths) = words.split_first()?;
        let on = on.as_bytes().strip_prefix(b"f")?;
        let mut sandbox = Sandbox {
            network: if on.contains(&b'n') { Network::Open } else { Network::None },
            unix_sockets: on.contains(&b'u'),
            private_home: on.contains(&b'h'),
            required: on.contains(&b'r'),
            private_ipc: on.contains(&b'i'),
            reads_itself: on.contains(&b's'),
            ..Sandbox::default()
        };
        for word in paths {
            let (&letter, path) = word.as_bytes().split_first()?;
            let path = PathBuf::from(OsString::from_vec(path.to_vec()));
            match letter {
                b'-' => sandbox.hidden.push(path),
                b'!' => sandbox.never.push(path),
                b'o' => sandbox.own.push(path),
                b'@' => sandbox.watched = Some(path),
                b'p' => sandbox.network = Network::Proxy(path.to_str()?.parse().ok()?),
                _ => sandbox.allowed.push(AllowedPath::of(letter, path)?),
            }
        }
        Some(sandbox)
    }
}

impl AllowedPath {
    const LETTERS: [(u8, Access, bool); 6] = [
        (b'r', Access::Read, false),
        (b'R', Access::Read, true),
        (b'w', Access::Write, false),
        (b'W', Access::Write, true),
        (b'l', Access::List, false),
        (b'L', Access::List, true),
    ];

    fn letter(&self) -> u8 {
        let is_it = |&&(_, access, named): &&(u8, Access, bool)| {
            access == self.access && named == self.named
        };
        Self::LETTERS.iter().find(is_it).map_or(b'l', |(letter, _, _)| *letter)
    }

    fn of(letter: u8, path: PathBuf) -> Option<AllowedPath> {
        let (_, access, named) =
            Self::LETTERS.into_iter().find(|(known, _, _)| *known == letter)?;
        Some(AllowedPath { path, access, named })
    }
}

fn word(letter: u8, path: &OsStr) -> OsString {
    OsString::from_vec([&[letter], path.as_bytes()].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrives_as_it_was_sent() {
        let allowed = AllowedPath::LETTERS
            .map(|(letter, access, named)| AllowedPath {
                path: PathBuf::from(format!("/p/{letter}")),
                access,
                named,
            })
            .to_vec();
        let full = Sandbox {
            allowed,
            hidden: vec!["/h".into()],
            never: vec!["/n".into()],
            own: vec!["/o".into()],
            network: Network::Open,
            unix_sockets: true,
            private_home: true,
            required: true,
            private_ipc: true,
            reads_itself: true,
            watched: Some("/w".into()),
        };
        let proxied = Sandbox { network: Network::Proxy(65_535), ..Sandbox::default() };
        for sandbox in [full, proxied, Sandbox::default()] {
            assert_eq!(Sandbox::of_words(&sandbox.words()), Some(sandbox));
        }
        for wrong in [
            vec![],
            vec!["x".into()],
            vec!["f".into(), "?/x".into()],
            vec!["f".into(), "".into()],
            vec!["f".into(), "p70000".into()],
        ] {
            assert_eq!(Sandbox::of_words(&wrong), None);
        }
    }
}

//! The directories in which a change can make a path lead to something else.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// As many links as the kernel follows.
const MOST_LINKS: usize = 40;

/// The directory of the file itself, and the one of every symlink on the way to it. They exist, or
/// did a moment ago.
pub(super) fn directories(file: &Path) -> Vec<PathBuf> {
    let start = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    let mut rest: VecDeque<OsString> = parts(&start);
    let mut here = PathBuf::from("/");
    let mut found: Vec<PathBuf> = Vec::new();
    let mut links = 0;
    while let Some(part) = rest.pop_front() {
        if part == ".." {
            here.pop();
            continue;
        }
        let next = here.join(&part);
        let link = fs::read_link(&next).ok().filter(|_| links < MOST_LINKS);
        if (link.is_some() || rest.is_empty()) && !found.contains(&here) {
            found.push(here.clone());
        }
        let Some(target) = link else {
            here = next;
            continue;
        };
        links += 1;
        if target.is_absolute() {
            here = PathBuf::from("/");
        }
        let mut onward = parts(&target);
        onward.append(&mut rest);
        rest = onward;
    }
    found
}

fn parts(path: &Path) -> VecDeque<OsString> {
    let wanted = |part: &Component<'_>| matches!(part, Component::Normal(_) | Component::ParentDir);
    path.components().filter(wanted).map(|part| part.as_os_str().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::watch::tests::Room;

    #[test]
    fn every_link_on_the_way_counts() {
        let room = Room::new("links");
        let at = |name: &str| fs::canonicalize(&room.0).unwrap().join(name);
        fs::create_dir_all(at("v1")).unwrap();
        fs::write(at("v1/mcp.json"), "{}").unwrap();
        symlink("v1", at("current")).unwrap();
        fs::create_dir(at("home")).unwrap();
        symlink("../current/mcp.json", at("home/mcp.json")).unwrap();
        let found = directories(&at("home/mcp.json"));
        assert_eq!(
            found,
            [at("home"), at(""), at("v1")].map(|path| path.components().collect::<PathBuf>())
        );
        assert_eq!(directories(&at("v1/new.json")), [at("v1")]);
    }

    #[test]
    fn a_ring_of_links_ends() {
        let room = Room::new("ring");
        symlink("b", room.0.join("a")).unwrap();
        symlink("a", room.0.join("b")).unwrap();
        assert_eq!(directories(&room.0.join("a")).len(), 1);
    }
}

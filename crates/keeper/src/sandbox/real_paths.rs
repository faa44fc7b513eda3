//! `RealPaths`: where paths lead, without links.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use rustix::fs::readlink;
use rustix::io::Errno;

/// Asks the system about each directory once: most of the paths of a sandbox are in the same few.
#[derive(Debug, Default)]
pub(super) struct RealPaths {
    known: HashMap<PathBuf, RealPath>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct RealPath {
    path: PathBuf,
    is_there: bool,
}

impl RealPaths {
    /// `None`: there is nothing.
    pub(super) fn existing(&mut self, path: &Path) -> Option<PathBuf> {
        Some(self.find(path)).filter(|real| real.is_there).map(|real| real.path)
    }

    /// Also where the end of the path does not exist.
    pub(super) fn resolve(&mut self, path: &Path) -> PathBuf {
        self.find(path).path
    }

    fn find(&mut self, path: &Path) -> RealPath {
        if let Some(known) = self.known.get(path) {
            return known.clone();
        }
        let real = match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) if path.is_absolute() => {
                let parent = self.find(parent);
                let joined = parent.path.join(name);
                let is_there = |is_there| RealPath { path: joined.clone(), is_there };
                match readlink(&joined, Vec::new()) {
                    _ if !parent.is_there => is_there(false),
                    // It is there, and no link.
                    Err(Errno::INVAL) => is_there(true),
                    Err(_) => is_there(false),
                    Ok(_) => match joined.canonicalize() {
                        Ok(path) => RealPath { path, is_there: true },
                        Err(_) => is_there(false),
                    },
                }
            }
            // The root, a path that ends in `..`, or one from here.
            _ => RealPath { path: as_far_as_it_exists(path), is_there: path.exists() },
        };
        self.known.insert(path.to_path_buf(), real.clone());
        real
    }
}

fn as_far_as_it_exists(path: &Path) -> PathBuf {
    match (path.canonicalize(), path.parent(), path.file_name()) {
        (Ok(real), _, _) => real,
        (Err(_), Some(parent), Some(name)) => as_far_as_it_exists(parent).join(name),
        // As the others are written: without spare slashes and dots.
        (Err(_), _, _) => path.components().collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn paths_lead_where_the_system_says() {
        let room = std::env::temp_dir().join(format!("tl-real-{}", std::process::id()));
        let at = |name: &str| room.join(name);
        fs::create_dir_all(at("a/b")).unwrap();
        fs::write(at("a/file"), "").unwrap();
        for (link, to) in [
            ("to-a", "a"),
            ("a/up", "../to-a/b"),
            ("nowhere", "missing/x"),
            ("round", "round"),
            ("a/b/out", "/etc"),
        ] {
            symlink(to, at(link)).unwrap();
        }
        let mut paths = RealPaths::default();
        for name in [
            "",
            "a",
            "a/",
            "a//b",
            "a/./b",
            "a/b/..",
            "a/../to-a/b",
            "a/b/../../to-a/file",
            "to-a",
            "to-a/b",
            "to-a/up",
            "to-a/up/x",
            "a/up/../b",
            "a/file",
            "a/file/x",
            "missing/x/y",
            "missing/../a",
            "nowhere",
            "nowhere/y",
            "round",
            "round/x",
            "a/b/out/passwd",
            "a/b/out/none",
        ] {
            let path = at(name);
            assert_eq!(paths.resolve(&path), as_far_as_it_exists(&path), "{name}");
            assert_eq!(paths.existing(&path), path.canonicalize().ok(), "{name}");
        }
        assert_eq!(paths.resolve(Path::new("/")), Path::new("/"));
        assert_eq!(paths.resolve(Path::new("src")), Path::new("src").canonicalize().unwrap());
        fs::remove_dir_all(room).unwrap();
    }
}

//! Decides which paths are allowed one by one where a tree is allowed but for something in it.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::rules::Access;

/// A path with everything below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Carved {
    pub(super) path: PathBuf,
    pub(super) access: Access,
}

/// `root` without what is `excepted`. Rules hold for whole trees, so a directory that contains
/// something excepted is replaced by its entries of now, and its own names can be listed only:
/// nothing can be made in it, and what others make there later is not allowed.
pub(super) fn carve(
    root: &Path,
    access: Access,
    excepted: &[&Path],
    entries: &dyn Fn(&Path) -> Vec<PathBuf>,
) -> Vec<Carved> {
    if excepted.iter().any(|out| is_within(root, out)) {
        return Vec::new();
    }
    // The others have nothing to do with it.
    let excepted: Vec<&Path> =
        excepted.iter().copied().filter(|out| is_within(out, root)).collect();
    let mut carved = Vec::new();
    let mut rest = vec![root.to_path_buf()];
    while let Some(path) = rest.pop() {
        if excepted.iter().any(|out| is_within(&path, out)) {
            continue;
        }
        if !excepted.iter().any(|out| is_within(out, &path)) {
            carved.push(Carved { path, access });
            continue;
        }
        rest.extend(entries(&path));
        carved.push(Carved { path, access: Access::List });
    }
    carved
}

/// Is it the tree, or in it? Both are without links, dots and spare slashes: comparing their bytes takes a tenth of the
/// time of comparing their names, of which a sandbox has ten thousand.
fn is_within(path: &Path, tree: &Path) -> bool {
    let (path, tree) = (path.as_os_str().as_bytes(), tree.as_os_str().as_bytes());
    match path.strip_prefix(tree) {
        Some(rest) => rest.is_empty() || rest.starts_with(b"/") || tree.ends_with(b"/"),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_within_a_tree_as_its_names_say() {
        let paths = ["/", "/a", "/ab", "/a/b", "/a/bc", "/a/b/c", "/b"];
        for (path, tree) in paths.iter().flat_map(|path| paths.map(|tree| (*path, tree))) {
            let (path, tree) = (Path::new(path), Path::new(tree));
            assert_eq!(is_within(path, tree), path.starts_with(tree), "{path:?} {tree:?}");
        }
    }

    fn entries(path: &Path) -> Vec<PathBuf> {
        let names: &[&str] = match path.to_str().unwrap() {
            "/home/me" => &[".ssh", ".config", "work"],
            "/home/me/.config" => &["trunkline", "git"],
            _ => &[],
        };
        names.iter().map(|name| path.join(name)).collect()
    }

    #[track_caller]
    fn check(root: &str, excepted: &[&str], expected: &[(&str, Access)]) {
        let excepted: Vec<&Path> = excepted.iter().map(Path::new).collect();
        let mut carved = carve(Path::new(root), Access::Write, &excepted, &entries);
        carved.sort_by(|one, other| one.path.cmp(&other.path));
        let carved: Vec<_> =
            carved.iter().map(|it| (it.path.to_str().unwrap(), it.access)).collect();
        assert_eq!(carved, expected, "{root} without {excepted:?}");
    }

    #[test]
    fn what_is_excepted_is_in_no_allowed_tree() {
        let (write, list) = (Access::Write, Access::List);
        check("/home/me", &[], &[("/home/me", write)]);
        check("/home/me", &["/home/you", "/home/me2"], &[("/home/me", write)]);
        check("/home/me/work", &["/home/me"], &[]);
        check("/home/me", &["/home/me"], &[]);
        check(
            "/home/me",
            &["/home/me/.ssh", "/home/me/.config/trunkline"],
            &[
                ("/home/me", list),
                ("/home/me/.config", list),
                ("/home/me/.config/git", write),
                ("/home/me/work", write),
            ],
        );
        // It does not exist yet: its directory cannot be given whole all the same.
        check(
            "/home/me/.config",
            &["/home/me/.config/later"],
            &[
                ("/home/me/.config", list),
                ("/home/me/.config/git", write),
                ("/home/me/.config/trunkline", write),
            ],
        );
    }
}

//! Decides which paths are allowed one by one where a tree is allowed but for something in it.

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
    let mut carved = Vec::new();
    let mut rest = vec![root.to_path_buf()];
    while let Some(path) = rest.pop() {
        if excepted.iter().any(|out| path.starts_with(out)) {
            continue;
        }
        if !excepted.iter().any(|out| out.starts_with(&path)) {
            carved.push(Carved { path, access });
            continue;
        }
        rest.extend(entries(&path));
        carved.push(Carved { path, access: Access::List });
    }
    carved
}

#[cfg(test)]
mod tests {
    use super::*;

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

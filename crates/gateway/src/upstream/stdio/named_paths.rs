//! Which files an entry names, in its command, its arguments and its variables, and what a server has to do with each.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use trunkline_keeper::Access;

/// A path that its entry names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedPath {
    pub(super) path: PathBuf,
    pub(super) access: Access,
}

/// A directory that belongs to nobody in particular: it is not given for one file in it.
pub fn is_broad(path: &Path, home: Option<&Path>) -> bool {
    const SHARED: [&str; 18] = [
        "/tmp",
        "/var",
        "/var/tmp",
        "/var/lib",
        "/etc",
        "/usr",
        "/usr/local",
        "/opt",
        "/srv",
        "/home",
        "/root",
        "/mnt",
        "/media",
        "/run",
        "/dev",
        "/proc",
        "/sys",
        "/data",
    ];
    let in_home = |home: &Path| {
        let ours = [".local", ".local/share", ".config", ".cache"];
        home.starts_with(path) || ours.iter().any(|it| home.join(it) == path)
    };
    path.parent().is_none()
        || SHARED.iter().any(|shared| path == Path::new(shared))
        || home.is_some_and(in_home)
}

/// What a program needs of its surroundings: its package, its prefix, or its folder.
pub fn install_root(program: &Path, home: Option<&Path>) -> PathBuf {
    const MARKERS: [&str; 7] = [
        "package.json",
        "node_modules",
        "pyproject.toml",
        "pyvenv.cfg",
        "requirements.txt",
        "deno.json",
        "Cargo.toml",
    ];
    let folder = program.parent().unwrap_or(Path::new("/"));
    let fits = |path: &&Path| !is_broad(path, home);
    // The outermost: packages lie beside each other in it.
    let modules =
        program.ancestors().filter(|it| it.file_name() == Some(OsStr::new("node_modules")));
    if let Some(modules) = modules.last() {
        return modules.parent().filter(fits).unwrap_or(modules).to_path_buf();
    }
    let is_bin = |name: &OsStr| ["bin", "sbin", ".bin"].iter().any(|bin| name == *bin);
    let prefix = folder.file_name().filter(|name| is_bin(name)).and_then(|_| folder.parent());
    if let Some(prefix) = prefix.filter(fits) {
        return prefix.to_path_buf();
    }
    let near = folder.ancestors().take(5).take_while(|it| !is_broad(it, home));
    let marked = near.filter(|it| MARKERS.iter().any(|marker| it.join(marker).exists()));
    match marked.last() {
        Some(root) => root.to_path_buf(),
        None if is_broad(folder, home) => program.to_path_buf(),
        None => folder.to_path_buf(),
    }
}

/// The files that words of an entry mean, seen from the directory the program starts in. `--x=/path` means
/// `/path`.
pub(super) fn named_paths<'w>(
    words: impl Iterator<Item = &'w str>,
    cwd: Option<&Path>,
    home: Option<&Path>,
) -> Vec<NamedPath> {
    let meant = |(path, is_absolute): (PathBuf, bool)| meant(&path, is_absolute, home);
    word_paths(words, cwd).into_iter().flat_map(meant).collect()
}

/// The directories that may have been given for a file in them, at this start or at one before: the file may be another
/// one now.
pub(super) fn named_folders<'w>(
    words: impl Iterator<Item = &'w str>,
    cwd: Option<&Path>,
    home: Option<&Path>,
) -> Vec<PathBuf> {
    let data = word_paths(words, cwd).into_iter().filter(|(path, _)| !is_code(path));
    let folders = data.filter_map(|(path, _)| path.parent().map(Path::to_path_buf));
    folders.filter(|it| !is_broad(it, home)).collect()
}

/// The paths that words mean, and whether each was written in full.
fn word_paths<'w>(
    words: impl Iterator<Item = &'w str>,
    cwd: Option<&Path>,
) -> Vec<(PathBuf, bool)> {
    let mut found = Vec::new();
    for word in words {
        let word = word.split_once('=').map_or(word, |(_, value)| value);
        let is_path = word.starts_with('/') || (cwd.is_some() && !word.starts_with('-'));
        if !is_path || word.contains("://") || word.is_empty() {
            continue;
        }
        let path = cwd.unwrap_or(Path::new("/")).join(word);
        if !path.components().any(|part| part == Component::ParentDir) {
            found.push((path, word.starts_with('/')));
        }
    }
    found
}

fn meant(path: &Path, is_absolute: bool, home: Option<&Path>) -> Vec<NamedPath> {
    let write = |path: &Path| NamedPath { path: path.to_path_buf(), access: Access::Write };
    if path.is_dir() {
        return vec![write(path)];
    }
    if path.is_file() && is_code(path) {
        return vec![NamedPath { path: install_root(path, home), access: Access::Read }];
    }
    // Data: a database needs a journal beside it, and many write a new file and rename it.
    let folder = path.parent().filter(|it| it.is_dir() && !is_broad(it, home));
    match folder {
        Some(folder) if path.is_file() || (is_absolute && path.extension().is_some()) => {
            vec![write(folder)]
        }
        _ if path.is_file() => vec![write(path)],
        _ => Vec::new(),
    }
}

fn is_code(path: &Path) -> bool {
    const ENDINGS: [&str; 13] =
        ["js", "mjs", "cjs", "ts", "mts", "cts", "py", "pyz", "jar", "rb", "sh", "wasm", "php"];
    let ending = path.extension().and_then(OsStr::to_str);
    ending.is_some_and(|ending| ENDINGS.contains(&ending)) || is_executable(path)
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|found| found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    struct Tree(PathBuf);

    impl Tree {
        fn new(name: &str, files: &[&str]) -> Tree {
            let root = std::env::temp_dir().join(format!("tl-named-{name}-{}", std::process::id()));
            for file in files {
                let file = root.join(file);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, "").unwrap();
            }
            Tree(root)
        }
    }

    impl Drop for Tree {
        fn drop(&mut self) {
            drop(fs::remove_dir_all(&self.0));
        }
    }

    #[test]
    fn a_program_is_given_with_what_it_was_installed_with() {
        let tree = Tree::new(
            "root",
            &[
                "h/p/package.json",
                "h/p/dist/deep/index.js",
                "h/p/node_modules/.bin/x",
                "h/bin/tool",
                "h/.local/bin/tool",
                "h/venv/bin/python",
                "h/alone.py",
                "h/some/alone.py",
            ],
        );
        let home = tree.0.join("h");
        for (program, root) in [
            ("p/dist/deep/index.js", "p"),
            ("p/node_modules/.bin/x", "p"),
            ("bin/tool", "bin"),
            (".local/bin/tool", ".local/bin"),
            ("venv/bin/python", "venv"),
            ("alone.py", "alone.py"),
            ("some/alone.py", "some"),
        ] {
            assert_eq!(
                install_root(&home.join(program), Some(&home)),
                home.join(root),
                "{program}"
            );
        }
    }

    #[test]
    fn words_that_are_paths_are_given() {
        let tree = Tree::new("words", &["h/data/x.db", "h/p/server.py", "h/notes.txt"]);
        let home = tree.0.join("h");
        let at = |rest: &str| home.join(rest);
        let (read, write) = (Access::Read, Access::Write);
        for (word, expected) in [
            (at("data").display().to_string(), vec![(at("data"), write)]),
            (format!("--dir={}", at("data").display()), vec![(at("data"), write)]),
            (at("data/x.db").display().to_string(), vec![(at("data"), write)]),
            (at("data/later.json").display().to_string(), vec![(at("data"), write)]),
            (at("p/server.py").display().to_string(), vec![(at("p"), read)]),
            (at("notes.txt").display().to_string(), vec![(at("notes.txt"), write)]),
            (at("later.txt").display().to_string(), vec![]),
            (at("p/../notes.txt").display().to_string(), vec![]),
            ("https://h/x".to_owned(), vec![]),
            ("-y".to_owned(), vec![]),
            ("plain".to_owned(), vec![]),
        ] {
            let named = named_paths([word.as_str()].into_iter(), None, Some(&home));
            let named: Vec<_> = named.into_iter().map(|it| (it.path, it.access)).collect();
            assert_eq!(named, expected, "{word}");
        }
        let relative = named_paths(["server.py"].into_iter(), Some(&at("p")), Some(&home));
        assert_eq!(relative, [NamedPath { path: at("p"), access: read }]);
    }
}

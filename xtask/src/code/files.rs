//! Finds the files of every crate by following its `mod` lines, and parses them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use syn::{Attribute, Item};

use super::lines;
use super::modules::Module;

/// One file of a crate.
pub struct File {
    /// From the root of the repository: `crates/gateway/src/upstream/pending.rs`.
    pub path: String,
    /// `gateway`.
    pub krate: String,
    pub syntax: syn::File,
    /// Its text without tests.
    pub code: String,
    /// How many lines of it have a `//` comment that is no doc comment.
    pub why_lines: usize,
}

impl File {
    /// The first name below `src`: a folder or a file. `None` for the root of the crate.
    pub fn room(&self) -> Option<&str> {
        let inside = self.path.split_once("/src/")?.1;
        let room = inside.split('/').next()?.trim_end_matches(".rs");
        (!matches!(room, "lib" | "main" | "bin")).then_some(room)
    }
}

/// Every production file, and the modules they declare.
pub struct Product {
    pub files: Vec<File>,
    pub(super) modules: Vec<Module>,
}

impl Product {
    /// Reads the crates below `root`, a checkout of the repository.
    pub fn read(root: &Path) -> Result<Self, String> {
        let place = root.join("crates");
        let entries = std::fs::read_dir(&place);
        let entries = entries.map_err(|error| format!("{}: {error}", place.display()))?;
        let names: BTreeSet<String> =
            entries.flatten().map(|it| it.file_name().to_string_lossy().into_owned()).collect();
        let mut product = Self { files: Vec::new(), modules: Vec::new() };
        for name in names {
            for start in ["lib.rs", "main.rs"] {
                let path = PathBuf::from(format!("crates/{name}/src/{start}"));
                if root.join(&path).exists() {
                    product.follow(&Source::Disk(root), &name, &path, None)?;
                }
            }
        }
        Ok(product)
    }

    /// Adds a file as a module, and those it declares. Returns the module's number.
    pub(super) fn follow(
        &mut self,
        source: &Source<'_>,
        krate: &str,
        path: &Path,
        parent: Option<(usize, &str)>,
    ) -> Result<usize, String> {
        let shown = path.display().to_string();
        let text = source.text(path)?;
        let syntax = syn::parse_file(&text).map_err(|error| {
            let at = error.span().start();
            format!("{shown}:{}: {error}", at.line)
        })?;
        let (code, why_lines) = lines::production(&text, &syntax);
        let file = self.files.len();
        let empty = syn::File { shebang: None, attrs: Vec::new(), items: Vec::new() };
        let krate_name = krate.to_owned();
        self.files.push(File { path: shown, krate: krate_name, syntax: empty, code, why_lines });
        let module = self.declare(file, &syntax.items, parent);
        self.descend(source, krate, module, &syntax.items, &folder_of(path))?;
        self.files[file].syntax = syntax;
        Ok(module)
    }

    /// Follows the `mod` lines among these items.
    fn descend(
        &mut self,
        source: &Source<'_>,
        krate: &str,
        module: usize,
        items: &[Item],
        folder: &Path,
    ) -> Result<(), String> {
        for item in items {
            let Item::Mod(declared) = item else { continue };
            if is_test(&declared.attrs) {
                continue;
            }
            let name = declared.ident.to_string();
            let parent = Some((module, name.as_str()));
            if let Some((_, inline)) = &declared.content {
                let file = self.modules[module].file;
                let child = self.declare(file, inline, parent);
                self.descend(source, krate, child, inline, &folder.join(&name))?;
                continue;
            }
            let flat = folder.join(format!("{name}.rs"));
            let nested = folder.join(&name).join("mod.rs");
            let found = if source.has(&flat) { flat } else { nested };
            self.follow(source, krate, &found, parent)?;
        }
        Ok(())
    }
}

/// Where the modules of this file are.
fn folder_of(path: &Path) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default();
    match stem.to_str() {
        Some("lib" | "main" | "mod") => path.parent().map(Path::to_owned).unwrap_or_default(),
        _ => path.with_extension(""),
    }
}

/// Is this behind `#[cfg(test)]`, or a test itself?
pub(super) fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let is_cfg = attribute.path().is_ident("cfg");
        let is_about_tests = is_cfg
            && attribute.meta.require_list().is_ok_and(|list| {
                let words = list.tokens.to_string();
                words == "test" || words.starts_with("all (test") || words.starts_with("any (test")
            });
        is_about_tests || attribute.path().is_ident("test")
    })
}

/// Where texts come from.
pub(super) enum Source<'a> {
    Disk(&'a Path),
    #[cfg(test)]
    Memory(&'a [(&'a str, &'a str)]),
}

impl Source<'_> {
    fn text(&self, path: &Path) -> Result<String, String> {
        match self {
            Self::Disk(root) => std::fs::read_to_string(root.join(path))
                .map_err(|error| format!("{}: {error}", path.display())),
            #[cfg(test)]
            Self::Memory(files) => files
                .iter()
                .find(|(name, _)| Path::new(name) == path)
                .map(|(_, text)| (*text).to_owned())
                .ok_or_else(|| format!("{}: there is no such file", path.display())),
        }
    }

    fn has(&self, path: &Path) -> bool {
        match self {
            Self::Disk(root) => root.join(path).exists(),
            #[cfg(test)]
            Self::Memory(files) => files.iter().any(|(name, _)| Path::new(name) == path),
        }
    }
}

/// A small product for tests: files by their paths, `crates/a/src/lib.rs` first.
#[cfg(test)]
pub fn product_of(files: &[(&str, &str)]) -> Product {
    let mut product = Product { files: Vec::new(), modules: Vec::new() };
    let roots = files.iter().filter(|(path, _)| path.ends_with("/src/lib.rs"));
    for (path, _) in roots {
        let krate = path.split('/').nth(1).unwrap();
        product.follow(&Source::Memory(files), krate, Path::new(path), None).unwrap();
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_by_their_mod_lines_and_tests_are_not_followed() {
        let product = product_of(&[
            ("crates/a/src/lib.rs", "mod one;\nmod two;\n#[cfg(test)]\nmod tests;\n"),
            ("crates/a/src/one.rs", "pub struct One;\n#[cfg(test)]\nmod tests { fn no() {} }\n"),
            ("crates/a/src/two/mod.rs", "mod inner { mod deep; }\n"),
            ("crates/a/src/two/inner/deep.rs", "fn deep() {}\n"),
        ]);
        let paths: Vec<_> = product.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(
            paths,
            [
                "crates/a/src/lib.rs",
                "crates/a/src/one.rs",
                "crates/a/src/two/mod.rs",
                "crates/a/src/two/inner/deep.rs"
            ]
        );
        let rooms: Vec<_> = product.files.iter().map(File::room).collect();
        assert_eq!(rooms, [None, Some("one"), Some("two"), Some("two")]);
    }
}

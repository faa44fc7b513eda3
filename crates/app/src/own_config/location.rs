//! Where the user's own config is, and its first content.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process;

use crate::environment::Environment;

/// What a new file says.
const FIRST: &str = "\
// Your Trunkline config: the MCP servers behind `trunkline` where no --config is given.
// `trunkline add`, `remove`, `enable`, `disable`, `tools` and `edit` change it; `undo` takes a change back.
// Every key: docs/config.md, or `trunkline schema`. Only you can read this file: it may hold secrets.
{
  \"mcpServers\": {}
}
";

/// `None`: neither `XDG_CONFIG_HOME` nor `HOME` names a folder.
pub(crate) fn own_path(environment: &Environment) -> Option<PathBuf> {
    let folder = user_folder(environment, "XDG_CONFIG_HOME", ".config")?;
    let (usual, earlier) = (folder.join("config.json"), folder.join("mcp.json"));
    // `consolidate` wrote the second before there was the first.
    let is_earlier = fs::symlink_metadata(&usual).is_err() && earlier.exists();
    Some(if is_earlier { earlier } else { usual })
}

/// Trunkline's folder for a purpose.
pub(super) fn user_folder(
    environment: &Environment,
    variable: &str,
    below_home: &str,
) -> Option<PathBuf> {
    // A relative path is none (XDG Base Directory Specification).
    let absolute = |name| environment.path(name).filter(|path| path.is_absolute());
    let base = absolute(variable).or_else(|| Some(absolute("HOME")?.join(below_home)))?;
    Some(base.join("trunkline"))
}

/// Makes the file with its first content if it is not there.
pub(crate) fn ensure(path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(path).is_ok() {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(Path::new("/"));
    private_folder(folder)?;
    // Whole or not at all: another command may read it at the same moment.
    let draft = path.with_file_name(format!(".config.trunkline-{}.tmp", process::id()));
    let written = write_private(&draft, FIRST).and_then(|()| match fs::hard_link(&draft, path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        // Some file systems have no links.
        Err(_) => fs::rename(&draft, path),
        Ok(()) => Ok(()),
    });
    let _ = fs::remove_file(&draft);
    written
}

/// Makes a folder that only its owner can look into.
pub(super) fn private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// A new file that only its owner can read.
pub(super) fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_in_the_users_config_folder() {
        for (variables, expected) in [
            (&[("HOME", "/h")][..], Some("/h/.config/trunkline/config.json")),
            (&[("HOME", "/h"), ("XDG_CONFIG_HOME", "/c")], Some("/c/trunkline/config.json")),
            (&[("HOME", "/h"), ("XDG_CONFIG_HOME", "c")], Some("/h/.config/trunkline/config.json")),
            (&[("HOME", "h")], None),
            (&[], None),
        ] {
            let found = own_path(&Environment::of(variables));
            assert_eq!(found, expected.map(PathBuf::from), "{variables:?}");
        }
    }

    #[test]
    fn the_first_content_is_a_config_without_servers() {
        use trunkline_catalog::config::{ConfigSource, Rules, load};
        let source = ConfigSource { name: "config.json", text: FIRST.as_bytes() };
        let config = load(&source, Rules::Full, &|_| None).unwrap();
        assert!(config.servers.is_empty() && config.warnings.len() == 1);
    }
}

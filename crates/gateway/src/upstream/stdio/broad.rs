//! Decides what a directory is given for that is named as a place to work in, but is far more than that.

use std::path::{Path, PathBuf};

use trunkline_keeper::Access;

/// What is given of a directory, and what to tell about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Given {
    pub(super) access: Access,
    pub(super) note: Option<String>,
}

/// `path` is a `cwd` or an argument; `ours` are Trunkline's own files. Who wants to write to all of a home directory
/// or of the machine has to say so in `sandbox`: an argument is too easily written.
pub(super) fn given(path: &Path, access: Access, home: Option<&Path>, ours: &[PathBuf]) -> Given {
    let folder = real(path);
    let is_above = |below: &Path| real(below).starts_with(&folder);
    // Without a slash at its end.
    let shown: PathBuf = path.components().collect();
    let shown = shown.display();
    let (access, what) = match home {
        _ if access != Access::Write => return Given { access, note: None },
        _ if folder.parent().is_none() => (Access::List, "is the root of everything"),
        Some(home) if real(home) == folder => (Access::Read, "is the home directory"),
        Some(home) if is_above(home) => (Access::List, "holds the home directory"),
        _ if ours.iter().any(|it| is_above(it)) => (Access::Read, "holds Trunkline's own files"),
        _ => return Given { access, note: None },
    };
    let rights = if access == Access::Read { "read" } else { "listed" };
    let note = format!(
        "`{shown}` {what}: it can be {rights}, not written; name what it may write with \"sandbox\": \
         {{\"write\": [\"{shown}/…\"]}}"
    );
    Given { access, note: Some(note) }
}

/// Without links, also where the end of the path is not there yet.
fn real(path: &Path) -> PathBuf {
    match (path.canonicalize(), path.parent(), path.file_name()) {
        (Ok(real), _, _) => real,
        (Err(_), Some(parent), Some(name)) => real(parent).join(name),
        (Err(_), _, _) => path.to_path_buf(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_writes_to_everything_because_of_an_argument() {
        let ours = [PathBuf::from("/srv/app/mcp.json")];
        let home = Some(Path::new("/home/nobody-here"));
        let (read, write, list) = (Access::Read, Access::Write, Access::List);
        for (path, wanted, expected, note) in [
            ("/", write, list, Some("root of everything")),
            ("/home", write, list, Some("holds the home directory")),
            ("/home/nobody-here", write, read, Some("is the home directory")),
            ("/home/nobody-here/notes", write, write, None),
            ("/srv/app", write, read, Some("Trunkline's own files")),
            ("/srv", write, read, Some("Trunkline's own files")),
            ("/srv/app/data", write, write, None),
            ("/", read, read, None),
        ] {
            let given = given(Path::new(path), wanted, home, &ours);
            assert_eq!(given.access, expected, "{path}");
            assert_eq!(given.note.is_some(), note.is_some(), "{given:?}");
            assert!(
                note.is_none_or(|words| given.note.as_ref().unwrap().contains(words)),
                "{given:?}"
            );
        }
    }
}

//! Links that a server may have made itself: what they lead to was named by the server, not by its entry.

use std::path::{Component, Path, PathBuf};

use trunkline_keeper::{Access, AllowedPath};

/// Leaves out the paths that lead through a link in a directory where the server may write, or may have written before
/// (`folders`). Walls are built anew at each start: a server that puts a link at a path of its entry, and ends, would be
/// given whatever the link leads to. `notes` gets a line for each link that is left out.
pub(super) fn without_planted_links(
    allowed: &mut Vec<AllowedPath>,
    folders: Vec<PathBuf>,
    notes: &mut Vec<String>,
) {
    let writes = allowed.iter().filter(|it| it.access == Access::Write).map(|it| it.path.clone());
    let writable = writes.chain(folders).flat_map(|it| [it.canonicalize().ok(), Some(it)]);
    let writable: Vec<PathBuf> = writable.flatten().collect();
    allowed.retain(|it| {
        let Some(link) = links(&it.path).into_iter().find(|link| is_within(link, &writable)) else {
            return true;
        };
        let note = format!(
            "the sandbox does not follow the link `{}`, which the server may have made: name what it leads to in \
             \"sandbox\": {{\"read\": [\u{2026}]}} or {{\"write\": [\u{2026}]}}",
            link.display()
        );
        if !notes.contains(&note) {
            notes.push(note);
        }
        false
    });
}

/// Can a server that writes below these directories make this link?
fn is_within(link: &Path, writable: &[PathBuf]) -> bool {
    // Not the link's own path: to replace it takes the directory that it is in.
    link.parent().is_some_and(|directory| writable.iter().any(|it| directory.starts_with(it)))
}

/// The links on the way of a path, each with all links before it resolved.
fn links(path: &Path) -> Vec<PathBuf> {
    /// As the kernel has it.
    const MOST: usize = 40;
    let mut found = Vec::new();
    let mut rest: Vec<PathBuf> = vec![path.to_path_buf()];
    while let Some(path) = rest.pop().filter(|_| found.len() < MOST) {
        let mut real = PathBuf::new();
        let mut parts = path.components();
        while let Some(part) = parts.next() {
            if part == Component::ParentDir {
                real.pop(); // there is no link in it any more
                continue;
            }
            real.push(part);
            let Ok(target) = real.read_link() else { continue };
            found.push(real.clone());
            real.pop();
            rest.push(real.join(target).join(parts.as_path()));
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// `(path, access, is kept)`, below a directory of the test.
    #[test]
    fn a_link_that_the_server_can_make_is_not_followed() {
        let root = std::env::temp_dir().join(format!("trunkline-planted-{}", std::process::id()));
        let at = |name: &str| root.join(name);
        for directory in ["work/sub", "secret", "apps/v2", "notes"] {
            fs::create_dir_all(at(directory)).unwrap();
        }
        for (link, target) in [
            ("work/planted", "secret"),
            ("work/chain", "work/planted"),
            ("apps/current", "apps/v2"),
            ("notes/data.db", "secret"),
            ("outside", "work"),
        ] {
            symlink(at(target), at(link)).unwrap();
        }
        symlink("../work/planted", at("apps/relative")).unwrap();
        let rows = [
            ("work", Access::Write, true),
            ("work/sub", Access::Write, true),
            ("work/planted", Access::Write, false),
            ("work/chain", Access::Read, false),
            ("work/planted/below", Access::Read, false),
            // Links that only a person can make.
            ("apps/current", Access::Read, true),
            ("outside", Access::Write, true),
            // A link in a directory that is reached by another name.
            ("outside/planted", Access::Read, false),
            // The directory was given for the file that was there before.
            ("notes/data.db", Access::Write, false),
            // A person's link, which leads to one of the server's.
            ("apps/relative", Access::Read, false),
            ("missing", Access::Read, true),
        ];
        let allowed = |(name, access, _): &(&str, Access, bool)| AllowedPath {
            path: at(name),
            access: *access,
            named: true,
        };
        let mut left: Vec<AllowedPath> = rows.iter().map(allowed).collect();
        let mut notes = Vec::new();
        without_planted_links(&mut left, vec![at("notes")], &mut notes);
        for row in &rows {
            assert_eq!(left.contains(&allowed(row)), row.2, "{}", row.0);
        }
        assert!(notes.iter().any(|it| it.contains("does not follow the link")), "{notes:?}");
        fs::remove_dir_all(root).unwrap();
    }
}

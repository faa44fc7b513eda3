//! Where the sockets of shared runtimes are: one place for all that a user starts, whatever its environment says.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::Access;
use rustix::process::geteuid;

use super::Environment;

/// `$XDG_RUNTIME_DIR/trunkline`; without one the directory that it names in every usual session, or else one in the
/// cache, or below `/tmp`.
pub(crate) fn runtime_place(environment: &Environment) -> PathBuf {
    // Many clients hand on `HOME`, `PATH` and little more. What they start has to be found from a terminal.
    let session = PathBuf::from(format!("/run/user/{}", geteuid().as_raw()));
    place(environment, usable(&session).then_some(session), is_another_s)
}

fn place(
    environment: &Environment,
    session: Option<PathBuf>,
    is_another_s: impl Fn(&Path) -> bool,
) -> PathBuf {
    // A relative path is none (XDG Base Directory Specification).
    let absolute = |name| environment.path(name).filter(|path| path.is_absolute());
    // Nor is another user's, which `su` leaves in the environment: what root made there, its owner could not use.
    let runtime = absolute("XDG_RUNTIME_DIR").filter(|path| !is_another_s(path));
    if let Some(runtime) = runtime.or(session) {
        return runtime.join("trunkline");
    }
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    match cache {
        Some(cache) => cache.join("trunkline/run"),
        None => PathBuf::from(format!("/tmp/trunkline-{}", geteuid().as_raw())),
    }
}

/// Does this directory belong to another user? One that is not there belongs to nobody.
fn is_another_s(directory: &Path) -> bool {
    std::fs::metadata(directory).is_ok_and(|about| about.uid() != geteuid().as_raw())
}

/// Is this a directory of this user alone, and can something be made in it? In a container it may be there and read-only.
fn usable(directory: &Path) -> bool {
    let is_own = std::fs::symlink_metadata(directory).is_ok_and(|about| {
        about.is_dir() && about.uid() == geteuid().as_raw() && about.mode() & 0o077 == 0
    });
    is_own && rustix::fs::access(directory, Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn it_is_the_session_s_or_in_the_cache_or_below_tmp() {
        let tmp = format!("/tmp/trunkline-{}", geteuid().as_raw());
        let (session, none) = (Some("/run/user/7"), None);
        for (variables, session, expected) in [
            (&[("XDG_RUNTIME_DIR", "/run/me"), ("HOME", "/h")][..], session, "/run/me/trunkline"),
            (&[("XDG_RUNTIME_DIR", "run"), ("HOME", "/h")], session, "/run/user/7/trunkline"),
            (&[("XDG_RUNTIME_DIR", "/theirs"), ("HOME", "/h")], session, "/run/user/7/trunkline"),
            (&[("XDG_RUNTIME_DIR", "/theirs"), ("HOME", "/h")], none, "/h/.cache/trunkline/run"),
            (&[("XDG_CACHE_HOME", "/c"), ("HOME", "/h")], session, "/run/user/7/trunkline"),
            (&[("XDG_RUNTIME_DIR", "run"), ("HOME", "/h")], none, "/h/.cache/trunkline/run"),
            (&[("XDG_CACHE_HOME", "/c"), ("HOME", "/h")], none, "/c/trunkline/run"),
            (&[], none, tmp.as_str()),
        ] {
            let environment = Environment::of(variables);
            let is_another_s = |path: &Path| path == Path::new("/theirs");
            let found = place(&environment, session.map(PathBuf::from), is_another_s);
            assert_eq!(found, PathBuf::from(expected), "{variables:?} {session:?}");
        }
    }

    #[test]
    fn a_session_s_directory_is_of_this_user_alone_and_no_link() {
        let root = std::env::temp_dir().join(format!("trunkline-session-{}", std::process::id()));
        drop(std::fs::remove_dir_all(&root));
        std::fs::create_dir(&root).unwrap();
        let set = |mode| {
            std::fs::set_permissions(&root, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        for (mode, expected) in [(0o700, true), (0o755, false), (0o770, false)] {
            set(mode);
            assert_eq!(usable(&root), expected, "{mode:o}");
        }
        set(0o700);
        let link = root.join("link");
        std::os::unix::fs::symlink(&root, &link).unwrap();
        assert!(!usable(&link) && !usable(&root.join("none")) && !usable(Path::new("/proc/self")));
        assert!(!is_another_s(&root) && !is_another_s(&root.join("none")));
        std::fs::remove_dir_all(&root).unwrap();
    }
}

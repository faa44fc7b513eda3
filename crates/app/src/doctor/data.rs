//! Checks that a data directory exists and that only its owner can read it, as well as a config with secrets.

use std::fs;
use std::path::Path;

use trunkline_catalog::config::literal_secrets;

use super::finding::{Finding, Grade};

/// Files with secrets in them.
const PRIVATE: [&str; 3] = ["key", "admin-token", "trunkline.db"];

pub(crate) fn data_dir(dir: &Path) -> Vec<Finding> {
    let about = dir.display().to_string();
    let found = match fs::metadata(dir) {
        Ok(found) => found,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let problem = "it is not there yet; `serve` makes it".to_owned();
            return vec![Finding::new(Grade::Note, "data", &about, problem)];
        }
        Err(error) => {
            let problem = format!("it cannot be looked at: {error}");
            return vec![Finding::new(Grade::Error, "data", &about, problem)];
        }
    };
    if !found.is_dir() {
        let problem = "it is no directory".to_owned();
        return vec![Finding::new(Grade::Error, "data", &about, problem).fix("name another")];
    }
    let mut findings = Vec::new();
    findings.extend(open_to_others(dir, "700"));
    findings.extend(PRIVATE.iter().filter_map(|name| open_to_others(&dir.join(name), "600")));
    findings.extend(not_writable(dir));
    findings
}

/// A config that others may read should refer to its secrets, not hold them.
#[cfg(unix)]
pub(crate) fn readable_secrets(path: &Path, text: &str) -> Option<Finding> {
    use std::os::unix::fs::PermissionsExt;
    let mode = fs::metadata(path).ok()?.permissions().mode();
    let literal = literal_secrets(text);
    let (first, others) = literal.split_first()?;
    let more =
        if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
    (mode & 0o044 != 0).then(|| {
        let about = path.display().to_string();
        let problem = format!("other users of this machine may read its secrets ({first}{more})");
        let fix = format!("chmod 600 {about}, or write ${{NAME}} and set the variable");
        Finding::new(Grade::Warning, "config", &about, problem).fix(fix)
    })
}

#[cfg(not(unix))]
pub(crate) fn readable_secrets(_path: &Path, _text: &str) -> Option<Finding> {
    None
}

#[cfg(unix)]
fn open_to_others(path: &Path, mode: &str) -> Option<Finding> {
    use std::os::unix::fs::PermissionsExt;
    let bits = fs::metadata(path).ok()?.permissions().mode() & 0o077;
    (bits != 0).then(|| {
        let about = path.display().to_string();
        let problem = "other users of this machine may get at it".to_owned();
        Finding::new(Grade::Error, "data", &about, problem).fix(format!("chmod {mode} {about}"))
    })
}

#[cfg(not(unix))]
fn open_to_others(_path: &Path, _mode: &str) -> Option<Finding> {
    None
}

/// Asked of the system, not tried: nothing is left behind.
#[cfg(unix)]
fn not_writable(dir: &Path) -> Option<Finding> {
    use rustix::fs::{Access, access};
    let denied = access(dir, Access::WRITE_OK | Access::EXEC_OK).err()?;
    let about = dir.display().to_string();
    let problem = format!("nothing can be written there: {denied}");
    let fix = "let `serve` run as the user it belongs to";
    Some(Finding::new(Grade::Error, "data", &about, problem).fix(fix))
}

#[cfg(not(unix))]
fn not_writable(_dir: &Path) -> Option<Finding> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_config_that_others_read_should_hold_no_secrets() {
        let dir = std::env::temp_dir().join(format!("trunkline-config-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let path = dir.join("mcp.json");
        let literal = r#"{"mcpServers":{"a":{"command":"x","env":{"API_KEY":"hunter2"}}}}"#;
        let referred = r#"{"mcpServers":{"a":{"command":"x","env":{"API_KEY":"${KEY}"}}}}"#;
        for (text, mode, is_told) in [
            (literal, 0o644, true),
            (literal, 0o640, true),
            (literal, 0o600, false),
            (referred, 0o644, false),
        ] {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let found = readable_secrets(&path, text);
            assert_eq!(found.is_some(), is_told, "{mode:o} {text}");
            assert!(found.is_none_or(|it| it.problem.contains("a: env.API_KEY")
                && !it.problem.contains("hunter2")
                && it.fix.starts_with("chmod 600 ")));
        }
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn what_others_can_read_is_told_with_the_command_that_ends_it() {
        let dir = std::env::temp_dir().join(format!("trunkline-data-{}", std::process::id()));
        assert_eq!(data_dir(&dir)[0].grade, Grade::Note);
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("key"), "x").unwrap();
        let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
        set(&dir, 0o700).unwrap();
        set(&dir.join("key"), 0o600).unwrap();
        assert_eq!(data_dir(&dir), []);
        set(&dir, 0o755).unwrap();
        set(&dir.join("key"), 0o644).unwrap();
        let found = data_dir(&dir);
        assert_eq!(found.len(), 2);
        assert!(found[0].fix.starts_with("chmod 700 ") && found[1].fix.starts_with("chmod 600 "));
        fs::remove_dir_all(&dir).unwrap();
    }
}

//! Which files are Trunkline's own, so that no walled-in server reads them.

use std::path::{Path, PathBuf};

use trunkline_catalog::config::SandboxProfile;
use trunkline_control::audit::{AuditExport, LineExport};
use trunkline_control::secrets::KeySource;
use trunkline_control::services::{AuditSettings, StorageSettings};
use trunkline_gateway::SandboxPolicy;

use crate::environment::{Environment, runtime_place};
use crate::logging;

/// For servers of a config: no walls where their entries want none.
pub(crate) fn policy(config: Option<&Path>, environment: &Environment) -> SandboxPolicy {
    // A relative path is none (XDG Base Directory Specification).
    let absolute = |name| environment.path(name).filter(|path| path.is_absolute());
    let folder = |variable, below: &str| {
        let base = absolute(variable).or_else(|| Some(absolute("HOME")?.join(below)));
        base.map(|base| base.join("trunkline"))
    };
    let cache = environment.path("TRUNKLINE_CACHE").filter(|it| it.as_os_str() != "off");
    let cache = cache.or_else(|| folder("XDG_CACHE_HOME", ".cache"));
    let own = cache.clone().map(|cache| cache.join("servers"));
    let folders = [
        folder("XDG_CONFIG_HOME", ".config"),
        folder("XDG_STATE_HOME", ".local/state"),
        folder("XDG_DATA_HOME", ".local/share"),
        cache,
        absolute("TRUNKLINE_PINS"),
        Some(runtime_place(environment)),
        config.map(Path::to_path_buf),
    ];
    let logs = logging::files(environment);
    // An empty path, such as that of no config, would be above every other one.
    let named = folders.into_iter().flatten().chain(logs).filter(|it| !it.as_os_str().is_empty());
    let never = named.map(absolute_path).collect();
    SandboxPolicy { default: SandboxProfile::Off, never, own, watch: None }
}

/// What a relative path names is another file for a server that works elsewhere.
fn absolute_path(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

/// What a platform adds for its audit log: the file it is passed on to, and its anchor. Whoever could write there could
/// change what they prove.
pub(crate) fn add_audit(policy: &mut SandboxPolicy, audit: &AuditSettings) {
    let export = match &audit.export {
        Some(AuditExport::Lines(LineExport::File(file))) => Some(file.clone()),
        _ => None,
    };
    let kept = audit.anchor.iter().chain(&audit.archive).cloned();
    policy.never.extend(export.into_iter().chain(kept).map(absolute_path));
}

/// Policies say who may use what: no server is to change them.
pub(crate) fn add_policies(policy: &mut SandboxPolicy, files: &[PathBuf]) {
    policy.never.extend(files.iter().cloned().map(absolute_path));
}

/// What a platform adds: its data directory, its store and its key.
pub(crate) fn add_platform(policy: &mut SandboxPolicy, storage: &StorageSettings) {
    policy.never.push(absolute_path(storage.data_dir.clone()));
    policy.own = Some(storage.data_dir.join("servers"));
    if let Some(file) = storage.store.file() {
        // SQLite keeps its journals beside it.
        let beside = |ending: &str| {
            let mut name = file.as_os_str().to_owned();
            name.push(ending);
            absolute_path(PathBuf::from(name))
        };
        policy.never.extend(["", "-wal", "-shm", "-journal", ".lock"].map(beside));
    }
    if let KeySource::File(key) = &storage.key {
        // While it is changed, the next one lies beside it.
        let mut next = key.as_os_str().to_owned();
        next.push(".next");
        policy.never.extend([key.clone(), next.into()].map(absolute_path));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ours_is_never_given() {
        let environment = Environment::of(&[
            ("HOME", "/h"),
            ("XDG_RUNTIME_DIR", "/run/user/1"),
            ("MCP_PROXY_LOG_DIRECTORY_PATH", "/srv/logs"),
        ]);
        let policy = policy(Some(Path::new("/etc/mcp.json")), &environment);
        for path in [
            "/h/.config/trunkline",
            "/h/.local/state/trunkline",
            "/h/.cache/trunkline",
            "/run/user/1/trunkline",
            "/etc/mcp.json",
            "/srv/logs/trunkline.log",
            "/srv/logs/trunkline.log.4",
        ] {
            assert!(policy.never.iter().any(|it| it == Path::new(path)), "{path}: {policy:?}");
        }
        assert_eq!(policy.own, Some(PathBuf::from("/h/.cache/trunkline/servers")));
        assert_eq!(policy.default, SandboxProfile::Off);
        let without = super::policy(Some(Path::new("")), &environment);
        assert!(without.never.iter().all(|it| it.is_absolute()), "{without:?}");
    }
}

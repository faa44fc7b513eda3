//! Checks that the commands of servers exist, also for a client that was started from the desktop.

use std::path::{Path, PathBuf};

use trunkline_catalog::config::{ContainerRules, ServerSpec, Transport};

use super::finding::{Finding, Grade};

/// What a program has that was not started from a shell.
const DESKTOP: [&str; 5] = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"];

/// `path` is ours; `desktop` says whether a client that is started from the desktop is meant to start
/// Trunkline.
pub(crate) fn programs(servers: &[ServerSpec], path: &str, desktop: bool) -> Vec<Finding> {
    let enabled = servers.iter().filter(|server| !server.disabled);
    let found = enabled.filter_map(|server| match &server.transport {
        // What runs in a container is looked for there; its engine is started here.
        Transport::Stdio { .. } if container(server).is_some() => {
            let engine = container(server).and_then(|it| it.engine)?;
            look(&server.key, engine.word(), None, path, desktop)
        }
        Transport::Stdio { command, cwd, .. } => {
            look(&server.key, command, cwd.as_deref().map(Path::new), path, desktop)
        }
        Transport::Remote { .. } => None,
    });
    found.collect()
}

fn container(server: &ServerSpec) -> Option<&ContainerRules> {
    server.sandbox.as_ref().and_then(|it| it.container.as_ref())
}

fn look(
    server: &str,
    command: &str,
    cwd: Option<&Path>,
    path: &str,
    desktop: bool,
) -> Option<Finding> {
    if let Some(cwd) = cwd.filter(|cwd| !cwd.is_dir()) {
        let problem = format!("its folder {} is not there", cwd.display());
        return Some(Finding::new(Grade::Error, "command", server, problem).fix("correct `cwd`"));
    }
    if command.contains('/') {
        let file = cwd.unwrap_or(Path::new("")).join(command);
        if is_program(&file) {
            return None;
        }
        let problem = match file.exists() {
            true => format!("{command} cannot be run: it has no permission for that"),
            false => format!("{command} is not there"),
        };
        let fix = match file.exists() {
            true => format!("chmod +x {command}"),
            false => "install it, or correct `command`".to_owned(),
        };
        return Some(Finding::new(Grade::Error, "command", server, problem).fix(fix));
    }
    let Some(found) = on_path(command, path) else {
        let problem = format!("the command `{command}` was not found on PATH");
        let fix = format!("install it, or write its absolute path as `command`{}", origin(command));
        return Some(Finding::new(Grade::Error, "command", server, problem).fix(fix));
    };
    let folder = found.parent().unwrap_or(Path::new("/"));
    if !desktop || DESKTOP.iter().any(|usual| folder == Path::new(usual)) {
        return None;
    }
    let problem = format!(
        "`{command}` is in {}, which a client started from the desktop may not have in its PATH",
        folder.display()
    );
    let fix = format!("write {} as `command`", found.display());
    Some(Finding::new(Grade::Warning, "command", server, problem).fix(fix))
}

/// Where the usual runners come from.
fn origin(command: &str) -> &'static str {
    match command {
        "npx" | "node" | "npm" => " (it comes with Node.js)",
        "uvx" | "uv" => " (it comes with uv)",
        "docker" => " (it comes with Docker)",
        _ => "",
    }
}

fn on_path(command: &str, path: &str) -> Option<PathBuf> {
    let folders = path.split(':').filter(|folder| !folder.is_empty());
    folders.map(|folder| Path::new(folder).join(command)).find(|file| is_program(file))
}

#[cfg(unix)]
fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(file)
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(file: &Path) -> bool {
    file.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_looked_for_where_they_are_started_from() {
        let table = [
            ("sh", None, true, None),
            ("/bin/sh", None, true, None),
            ("no-such-program-here", None, false, Some("was not found on PATH")),
            ("/no/such/program", None, false, Some("is not there")),
            ("/etc/passwd", None, false, Some("has no permission")),
            ("sh", Some("/no/such/folder"), false, Some("its folder")),
        ];
        for (command, cwd, desktop, expected) in table {
            let found = look("s", command, cwd.map(Path::new), "/usr/bin:/bin", desktop);
            let problem = found.map(|found| found.problem);
            match (problem, expected) {
                (None, None) => {}
                (Some(problem), Some(part)) => assert!(problem.contains(part), "{problem}"),
                (got, _) => panic!("{command}: {got:?}"),
            }
        }
    }

    #[test]
    fn what_only_the_shell_finds_is_told_for_the_desktop() {
        let dir = std::env::temp_dir().join(format!("trunkline-doctor-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::copy("/bin/sh", dir.join("only-here")).unwrap();
        let path = format!("/bin:{}", dir.display());
        assert_eq!(look("s", "only-here", None, &path, false), None);
        let found = look("s", "only-here", None, &path, true).unwrap();
        assert_eq!(found.grade, Grade::Warning);
        assert!(found.fix.contains("only-here as `command`"), "{}", found.fix);
        std::fs::remove_dir_all(&dir).unwrap();
    }
}

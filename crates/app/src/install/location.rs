//! Where each client keeps its servers: which file, in which format, under which key.

use std::fs;
use std::path::{Path, PathBuf};

use trunkline_catalog::client::{CandidatePath, Client, ConfigFile, FileFormat, UserPaths};

use super::error::InstallError;
use super::request::{EntryTarget, UserFolders};

/// The spot our entry goes to.
#[derive(Debug, Clone)]
pub(crate) struct ConfigLocation {
    pub(crate) file: PathBuf,
    pub(crate) format: FileFormat,
    /// The object that holds one member for each server.
    pub(crate) key: &'static str,
    /// The folder of the project whose file it is; `None`: the user's file.
    pub(crate) project: Option<PathBuf>,
    /// The client's row.
    pub(crate) spec: &'static ConfigFile,
}

pub(crate) fn locate(
    target: &EntryTarget,
    folders: &UserFolders,
) -> Result<ConfigLocation, InstallError> {
    let client = target.client;
    let spec = client.config().ok_or(InstallError::NoConfigFile { client })?;
    let file = match (&target.file, &target.project) {
        (Some(file), _) => file.clone(),
        (None, Some(folder)) => {
            folder.join(spec.project.ok_or(InstallError::NoProjectFile { client })?)
        }
        (None, None) => user_file(spec, folders).ok_or(InstallError::NoHome)?,
    };
    let project = target.project.as_deref().map(|folder| folders.absolute(folder));
    let (format, key) = (spec.format, spec.key);
    Ok(ConfigLocation { file: folders.absolute(&file), format, key, project, spec })
}

/// Another file of the client than its usual one. `None`: it is no client with a file.
pub(crate) fn location_of(
    client: Client,
    file: &Path,
    project: Option<PathBuf>,
) -> Option<ConfigLocation> {
    let spec = client.config()?;
    let format = match file.extension().and_then(|extension| extension.to_str()) {
        Some("yaml" | "yml") => FileFormat::Yaml,
        _ => spec.format,
    };
    Some(ConfigLocation { file: file.to_owned(), format, key: spec.key, project, spec })
}

/// The user's file that is there, or else the one the client would make.
fn user_file(spec: &ConfigFile, folders: &UserFolders) -> Option<PathBuf> {
    let files = user_files(spec, folders);
    files.iter().find(|file| file.exists()).or(files.first()).cloned()
}

/// Every file of the user that the client may have had, the newest place first.
pub(crate) fn user_files(spec: &ConfigFile, folders: &UserFolders) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = Vec::new();
    for candidate in folders.paths(|user| user.candidates(&spec.paths)) {
        let mut there = on_disk(&candidate).into_iter();
        if candidate.is_only {
            match there.next() {
                // The client itself looks nowhere else then.
                Some(file) => return vec![file],
                None => continue,
            }
        }
        let new: Vec<PathBuf> = there.filter(|file| !files.contains(file)).collect();
        files.extend(new);
    }
    files
}

/// The further files that `import` reads, with each `*` filled in.
pub(crate) fn more_user_files(spec: &ConfigFile, folders: &UserFolders) -> Vec<PathBuf> {
    folders.paths(|user| user.also_read(&spec.paths)).iter().flat_map(on_disk).collect()
}

/// The paths that a candidate stands for.
fn on_disk(candidate: &CandidatePath) -> Vec<PathBuf> {
    if candidate.needs.as_ref().is_some_and(|folder| !folder.is_dir()) {
        return Vec::new();
    }
    let mut found = vec![PathBuf::new()];
    for part in &candidate.pattern {
        found = match part.to_str().and_then(|part| part.strip_suffix('*')) {
            Some(start) => found.iter().flat_map(|folder| subfolders(folder, start)).collect(),
            None => found.iter().map(|folder| folder.join(part)).collect(),
        };
    }
    found
}

/// The folders in this one whose names begin so, sorted.
fn subfolders(folder: &Path, start: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_it = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(start) && path.is_dir()
    };
    let mut found: Vec<PathBuf> = entries.map(|it| it.path()).filter(is_it).collect();
    found.sort();
    found
}

impl UserFolders {
    fn paths<T>(&self, ask: impl FnOnce(&UserPaths<'_>) -> T) -> T {
        let variable = |name: &str| {
            let set = self.variables.iter().find(|(known, _)| *known == name);
            set.map(|(_, folder)| folder.clone())
        };
        let (system, home) = (self.system, self.home.as_deref());
        ask(&UserPaths { system, home, variable: &variable })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use trunkline_catalog::client::System;

    use super::*;

    /// A folder with these folders in it.
    fn home(folders: &[&str]) -> PathBuf {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("trunkline-location-{}-{count}", std::process::id());
        let home = std::env::temp_dir().join(name);
        for folder in folders {
            fs::create_dir_all(home.join(folder)).unwrap();
        }
        home
    }

    fn chosen(system: System, client: Client, folders: &[&str]) -> String {
        let home = home(folders);
        let chosen = user_file(client.config().unwrap(), &UserFolders::in_home(system, &home));
        drop(fs::remove_dir_all(&home));
        chosen.unwrap().strip_prefix(&home).unwrap().display().to_string()
    }

    #[test]
    fn who_has_only_the_insiders_build_has_its_file_there() {
        for (system, settings) in [
            (System::Linux, ".config"),
            (System::Mac, "Library/Application Support"),
            (System::Windows, "AppData/Roaming"),
        ] {
            let stable = format!("{settings}/Code/User");
            let insiders = format!("{settings}/Code - Insiders/User");
            let chosen = |folders: &[&str]| chosen(system, Client::VsCode, folders);
            assert_eq!(chosen(&[&insiders]), format!("{insiders}/mcp.json"));
            assert_eq!(chosen(&[&stable, &insiders]), format!("{stable}/mcp.json"));
            assert_eq!(chosen(&[]), format!("{stable}/mcp.json"));
        }
    }

    #[test]
    fn the_package_of_the_windows_app_is_found_by_the_start_of_its_name() {
        let packages = "AppData/Local/Packages";
        let package = format!("{packages}/Claude_pzs8sxrjxfjjc");
        let file = "Claude/claude_desktop_config.json";
        let chosen = |folders: &[&str]| chosen(System::Windows, Client::ClaudeDesktop, folders);
        assert_eq!(chosen(&[&package]), format!("{package}/LocalCache/Roaming/{file}"));
        let other = format!("{packages}/NotClaude_x");
        assert_eq!(chosen(&[&other]), format!("AppData/Roaming/{file}"));
    }
}

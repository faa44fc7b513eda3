//! Where each client keeps its servers: which file, in which format, under which key.

use std::fs;
use std::path::{Path, PathBuf};

use trunkline_catalog::client::{Client, ConfigFile, FileFormat, FilePath, PathBase};

use super::error::InstallError;
use super::request::{EntryTarget, Os, UserFolders};

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
    let paths = match folders.os {
        Os::Linux => spec.paths.linux,
        Os::Mac => spec.paths.mac,
        Os::Windows => spec.paths.windows,
    };
    let mut files = Vec::new();
    for path in paths {
        let Some(base) = folders.base(path.base) else { continue };
        let file = base.join(path.path);
        // The client itself looks nowhere else then.
        if matches!(path.base, PathBase::Variable(_) | PathBase::Package(_)) {
            return vec![file];
        }
        files.push(file);
    }
    files
}

/// The further files that `import` reads, with each `*` filled in.
pub(crate) fn more_user_files(spec: &ConfigFile, folders: &UserFolders) -> Vec<PathBuf> {
    let found = |path: &FilePath| Some(expand(&folders.base(path.base)?, path.path));
    spec.paths.also_read.iter().filter_map(found).flatten().collect()
}

fn expand(base: &Path, path: &str) -> Vec<PathBuf> {
    let Some((before, after)) = path.split_once("/*/") else {
        return vec![base.join(path)];
    };
    subfolders(&base.join(before)).into_iter().map(|folder| folder.join(after)).collect()
}

fn subfolders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries.map(|it| it.path()).filter(|it| it.is_dir()).collect();
    found.sort();
    found
}

impl UserFolders {
    pub(crate) fn xdg_config(&self) -> Option<PathBuf> {
        // The XDG specification says to ignore a relative one.
        let given = self.variable("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
        given.or_else(|| Some(self.home.as_deref()?.join(".config")))
    }

    fn variable(&self, name: &str) -> Option<PathBuf> {
        let set = self.variables.iter().find(|(known, _)| *known == name);
        set.map(|(_, folder)| folder.clone())
    }

    fn base(&self, base: PathBase) -> Option<PathBuf> {
        let home = self.home.as_deref();
        match (base, self.os) {
            (PathBase::Home, _) => home.map(Path::to_owned),
            (PathBase::XdgConfig, _) | (PathBase::Settings, Os::Linux) => self.xdg_config(),
            (PathBase::Settings, Os::Mac) => Some(home?.join("Library/Application Support")),
            (PathBase::Settings, Os::Windows) => {
                self.variable("APPDATA").or_else(|| Some(home?.join("AppData/Roaming")))
            }
            (PathBase::Variable(name), _) => self.variable(name),
            (PathBase::Package(prefix), _) => {
                let packages = subfolders(&self.variable("LOCALAPPDATA")?.join("Packages"));
                let is_it = |folder: &PathBuf| {
                    folder.file_name().is_some_and(|it| it.to_string_lossy().starts_with(prefix))
                };
                packages.into_iter().find(is_it)
            }
        }
    }
}

/// Every variable that says where a client's file is.
pub(crate) fn path_variables() -> Vec<&'static str> {
    let mut names = vec!["XDG_CONFIG_HOME", "APPDATA", "LOCALAPPDATA"];
    for (_, spec) in Client::with_config() {
        for path in [spec.paths.linux, spec.paths.mac, spec.paths.windows].into_iter().flatten() {
            match path.base {
                PathBase::Variable(name) if !names.contains(&name) => names.push(name),
                _ => {}
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders(os: Os) -> UserFolders {
        UserFolders {
            os,
            home: Some("/h".into()),
            variables: vec![("APPDATA", "/h/AppData/Roaming".into())],
            current_dir: "/work".into(),
            inherited: Vec::new(),
        }
    }

    fn file(client: Client, folders: &UserFolders) -> Option<PathBuf> {
        user_file(client.config()?, folders)
    }

    #[test]
    fn every_client_has_its_file_on_every_system() {
        let mac = "/h/Library/Application Support";
        let win = "/h/AppData/Roaming";
        let table = [
            (
                Client::ClaudeDesktop,
                Os::Linux,
                "/h/.config/Claude/claude_desktop_config.json".into(),
            ),
            (Client::ClaudeDesktop, Os::Mac, format!("{mac}/Claude/claude_desktop_config.json")),
            (
                Client::ClaudeDesktop,
                Os::Windows,
                format!("{win}/Claude/claude_desktop_config.json"),
            ),
            (Client::ClaudeCode, Os::Linux, "/h/.claude.json".into()),
            (Client::Cursor, Os::Mac, "/h/.cursor/mcp.json".into()),
            (Client::VsCode, Os::Linux, "/h/.config/Code/User/mcp.json".into()),
            (Client::VsCode, Os::Mac, format!("{mac}/Code/User/mcp.json")),
            (Client::VsCode, Os::Windows, format!("{win}/Code/User/mcp.json")),
            (Client::Zed, Os::Linux, "/h/.config/zed/settings.json".into()),
            (Client::Zed, Os::Mac, "/h/.config/zed/settings.json".into()),
            (Client::Zed, Os::Windows, format!("{win}/Zed/settings.json")),
            (Client::Codex, Os::Linux, "/h/.codex/config.toml".into()),
            (Client::Gemini, Os::Linux, "/h/.gemini/settings.json".into()),
            (Client::Windsurf, Os::Linux, "/h/.codeium/windsurf/mcp_config.json".into()),
            (Client::Cline, Os::Mac, "/h/.cline/data/settings/cline_mcp_settings.json".into()),
            (Client::Goose, Os::Linux, "/h/.config/goose/config.yaml".into()),
            (Client::Goose, Os::Mac, "/h/.config/goose/config.yaml".into()),
            (Client::Goose, Os::Windows, format!("{win}/Block/goose/config/config.yaml")),
        ];
        for (client, os, expected) in table {
            assert_eq!(file(client, &folders(os)), Some(PathBuf::from(expected)), "{client}");
        }
        assert_eq!(file(Client::OpenAi, &folders(Os::Linux)), None);
    }

    #[test]
    fn the_clients_own_variables_move_the_file() {
        let mut folders = folders(Os::Linux);
        folders.variables =
            [("XDG_CONFIG_HOME", "/x"), ("CLAUDE_CONFIG_DIR", "/c"), ("CODEX_HOME", "/o")]
                .map(|(name, folder)| (name, folder.into()))
                .to_vec();
        let file = |client| file(client, &folders).unwrap().display().to_string();
        assert_eq!(file(Client::ClaudeDesktop), "/x/Claude/claude_desktop_config.json");
        assert_eq!(file(Client::VsCode), "/x/Code/User/mcp.json");
        assert_eq!(file(Client::Zed), "/x/zed/settings.json");
        assert_eq!(file(Client::ClaudeCode), "/c/.claude.json");
        assert_eq!(file(Client::Codex), "/o/config.toml");
        for name in ["CLAUDE_CONFIG_DIR", "CODEX_HOME"] {
            assert!(path_variables().contains(&name), "{name}");
        }
    }
}

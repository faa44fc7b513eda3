//! Where each client keeps its servers: which file, in which format, under which key.
//!
//! From `notes/clients.md` §1.1 and §1.4.

use std::fs;
use std::path::{Path, PathBuf};

use trunkline_catalog::name::Client;

use super::document::{Dialect, Format};
use super::error::InstallError;
use super::request::{Environment, Os, Wanted};

/// The spot our entry goes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) file: PathBuf,
    pub(crate) format: Format,
    /// The object that holds one member for each server.
    pub(crate) key: &'static str,
    pub(crate) scope: Scope,
    folder: Option<PathBuf>,
}

impl Place {
    /// The folder of the project whose file it is.
    pub(crate) fn project(&self) -> Option<PathBuf> {
        self.folder.clone()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    User,
    Project,
}

pub(crate) fn place(wanted: &Wanted, env: &Environment) -> Result<Place, InstallError> {
    let client = wanted.client;
    let (format, key) = shape(client).ok_or(InstallError::NoConfigFile { client })?;
    let scope = if wanted.project.is_some() { Scope::Project } else { Scope::User };
    let file = match (&wanted.file, &wanted.project) {
        (Some(file), _) => file.clone(),
        (None, Some(folder)) => {
            folder.join(project_file(client).ok_or(InstallError::NoProjectFile { client })?)
        }
        (None, None) => user_file(client, env).ok_or(InstallError::NoHome)?,
    };
    let folder = wanted.project.as_deref().map(|folder| env.absolute(folder));
    Ok(Place { file: env.absolute(&file), format, key, scope, folder })
}

pub(crate) fn shape(client: Client) -> Option<(Format, &'static str)> {
    let strict = Format::Json(Dialect::Strict);
    let lenient = Format::Json(Dialect::Comments);
    match client {
        Client::ClaudeDesktop | Client::ClaudeCode => Some((strict, "mcpServers")),
        Client::Cursor | Client::Gemini | Client::Windsurf | Client::Cline => {
            Some((lenient, "mcpServers"))
        }
        Client::VsCode => Some((lenient, "servers")),
        Client::Zed => Some((lenient, "context_servers")),
        Client::Codex => Some((Format::Toml, "mcp_servers")),
        Client::Goose => Some((Format::Yaml, "extensions")),
        Client::OpenAi => None,
    }
}

pub(crate) fn project_file(client: Client) -> Option<&'static str> {
    match client {
        Client::ClaudeCode => Some(".mcp.json"),
        Client::Cursor => Some(".cursor/mcp.json"),
        Client::VsCode => Some(".vscode/mcp.json"),
        Client::Gemini => Some(".gemini/settings.json"),
        Client::Zed => Some(".zed/settings.json"),
        Client::Codex => Some(".codex/config.toml"),
        Client::ClaudeDesktop
        | Client::Windsurf
        | Client::Cline
        | Client::Goose
        | Client::OpenAi => None,
    }
}

pub(crate) fn user_file(client: Client, env: &Environment) -> Option<PathBuf> {
    let home = env.home.as_deref();
    match client {
        Client::ClaudeDesktop => {
            Some(claude_desktop_folder(env)?.join("claude_desktop_config.json"))
        }
        Client::ClaudeCode => Some(env.claude_config_dir.as_deref().or(home)?.join(".claude.json")),
        Client::Cursor => Some(home?.join(".cursor/mcp.json")),
        Client::Gemini => Some(home?.join(".gemini/settings.json")),
        Client::VsCode => Some(app_folder(env)?.join("Code/User/mcp.json")),
        Client::Zed => Some(zed_folder(env)?.join("settings.json")),
        Client::Codex => {
            let folder = env.codex_home.clone().or_else(|| Some(home?.join(".codex")));
            Some(folder?.join("config.toml"))
        }
        Client::Goose => Some(goose_folder(env)?.join("config.yaml")),
        // They have moved: the file that is there, or else the newest place.
        Client::Windsurf | Client::Cline => {
            let files = moved_files(client, env);
            files.iter().find(|file| file.exists()).or(files.first()).cloned()
        }
        Client::OpenAi => None,
    }
}

/// The places of clients that have had several, the newest first.
pub(crate) fn moved_files(client: Client, env: &Environment) -> Vec<PathBuf> {
    let at_home = |path: &str| env.home.as_deref().map(|home| home.join(path));
    let files = match client {
        // the second is that of the plugin for JetBrains
        Client::Windsurf => {
            vec![at_home(".codeium/windsurf/mcp_config.json"), at_home(".codeium/mcp_config.json")]
        }
        Client::Cline => {
            let inside = "Code/User/globalStorage/saoudrizwan.claude-dev/settings";
            let old = app_folder(env).map(|app| app.join(inside).join("cline_mcp_settings.json"));
            vec![
                at_home(".cline/data/settings/cline_mcp_settings.json"),
                at_home(".cline/mcp.json"),
                old,
            ]
        }
        _ => Vec::new(),
    };
    files.into_iter().flatten().collect()
}

/// Where desktop programs keep their settings.
pub(crate) fn app_folder(env: &Environment) -> Option<PathBuf> {
    let home = env.home.as_deref();
    match env.os {
        Os::Linux => xdg_config(env),
        Os::Mac => Some(home?.join("Library/Application Support")),
        Os::Windows => env.appdata.clone().or_else(|| Some(home?.join("AppData/Roaming"))),
    }
}

pub(crate) fn xdg_config(env: &Environment) -> Option<PathBuf> {
    // the specification says to ignore a relative one
    let given = env.xdg_config.clone().filter(|path| path.is_absolute());
    given.or_else(|| Some(env.home.as_deref()?.join(".config")))
}

/// Zed keeps to `~/.config` on macOS too.
fn zed_folder(env: &Environment) -> Option<PathBuf> {
    match env.os {
        Os::Linux => Some(xdg_config(env)?.join("zed")),
        Os::Mac => Some(env.home.as_deref()?.join(".config/zed")),
        Os::Windows => Some(app_folder(env)?.join("Zed")),
    }
}

/// As Zed, but for Windows.
fn goose_folder(env: &Environment) -> Option<PathBuf> {
    match env.os {
        Os::Linux => Some(xdg_config(env)?.join("goose")),
        Os::Mac => Some(env.home.as_deref()?.join(".config/goose")),
        Os::Windows => Some(app_folder(env)?.join("Block/goose/config")),
    }
}

fn claude_desktop_folder(env: &Environment) -> Option<PathBuf> {
    let packaged = match env.os {
        Os::Windows => env.local_appdata.as_deref().and_then(packaged_claude),
        Os::Linux | Os::Mac => None,
    };
    packaged.or_else(|| Some(app_folder(env)?.join("Claude")))
}

/// Since February 2026 the Windows app is an MSIX package and reads this folder only
/// (anthropics/claude-code#26073).
fn packaged_claude(local_appdata: &Path) -> Option<PathBuf> {
    let packages = fs::read_dir(local_appdata.join("Packages")).ok()?;
    let mut found: Vec<PathBuf> = packages
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("Claude_"))
        .map(|entry| entry.path().join("LocalCache/Roaming/Claude"))
        .collect();
    found.sort();
    found.into_iter().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(os: Os) -> Environment {
        Environment {
            os,
            home: Some("/h".into()),
            xdg_config: None,
            appdata: Some("/h/AppData/Roaming".into()),
            local_appdata: None,
            claude_config_dir: None,
            codex_home: None,
            current_dir: "/work".into(),
        }
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
            assert_eq!(
                user_file(client, &environment(os)),
                Some(PathBuf::from(expected)),
                "{client}"
            );
        }
        assert_eq!(user_file(Client::OpenAi, &environment(Os::Linux)), None);
    }

    #[test]
    fn the_clients_own_variables_move_the_file() {
        let mut env = environment(Os::Linux);
        env.xdg_config = Some("/x".into());
        env.claude_config_dir = Some("/c".into());
        env.codex_home = Some("/o".into());
        let file = |client| user_file(client, &env).unwrap().display().to_string();
        assert_eq!(file(Client::ClaudeDesktop), "/x/Claude/claude_desktop_config.json");
        assert_eq!(file(Client::VsCode), "/x/Code/User/mcp.json");
        assert_eq!(file(Client::Zed), "/x/zed/settings.json");
        assert_eq!(file(Client::ClaudeCode), "/c/.claude.json");
        assert_eq!(file(Client::Codex), "/o/config.toml");
    }
}

//! Where a client's file may be on each system. Pure: of the system, the home folder and the variables.

use std::path::{Path, PathBuf};

use super::Client;
use super::spec::{FilePath, PathBase, Paths};

/// A system, as far as it decides where programs keep their files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    Linux,
    Mac,
    Windows,
}

/// A path that a client's file may have; the disk decides the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CandidatePath {
    /// A part `*` stands for every folder there, `Claude_*` for those whose names begin so.
    pub pattern: PathBuf,
    /// It counts only if this folder is there.
    pub needs: Option<PathBuf>,
    /// If it counts, the client looks nowhere else.
    pub is_only: bool,
}

/// What decides where the files of a user are.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "a closure has none")]
pub struct UserPaths<'u> {
    pub system: System,
    pub home: Option<&'u Path>,
    /// The folder that a variable names.
    pub variable: &'u dyn Fn(&str) -> Option<PathBuf>,
}

/// Variables that say on some system where programs keep their files.
const OF_SYSTEMS: [&str; 3] = ["XDG_CONFIG_HOME", "APPDATA", "LOCALAPPDATA"];

impl System {
    pub const ALL: [Self; 3] = [Self::Linux, Self::Mac, Self::Windows];

    /// The variable with the user's home folder, which programs on Node, Rust and Go read.
    pub const fn home_variable(self) -> &'static str {
        match self {
            Self::Linux | Self::Mac => "HOME",
            Self::Windows => "USERPROFILE",
        }
    }
}

impl UserPaths<'_> {
    /// Every path that the client's file may have, the newest place first.
    pub fn candidates(&self, paths: &Paths) -> Vec<CandidatePath> {
        let of_system = match self.system {
            System::Linux => paths.linux,
            System::Mac => paths.mac,
            System::Windows => paths.windows,
        };
        of_system.iter().filter_map(|path| self.candidate(path)).collect()
    }

    /// The further paths that `import` reads.
    pub fn also_read(&self, paths: &Paths) -> Vec<CandidatePath> {
        paths.also_read.iter().filter_map(|path| self.candidate(path)).collect()
    }

    /// `$XDG_CONFIG_HOME`, else `~/.config`.
    pub fn xdg_config(&self) -> Option<PathBuf> {
        // The XDG specification says to ignore a relative one.
        let given = (self.variable)("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
        given.or_else(|| Some(joined(self.home?, ".config")))
    }

    fn candidate(&self, path: &FilePath) -> Option<CandidatePath> {
        let base = self.base(path.base)?;
        let needs = matches!(path.base, PathBase::Program(_)).then(|| base.clone());
        let is_only = matches!(path.base, PathBase::Variable(_) | PathBase::Package(_));
        Some(CandidatePath { pattern: joined(&base, path.path), needs, is_only })
    }

    fn base(&self, base: PathBase) -> Option<PathBuf> {
        match base {
            PathBase::Home => self.home.map(Path::to_owned),
            PathBase::XdgConfig => self.xdg_config(),
            PathBase::Settings => self.settings(),
            PathBase::Program(folder) => Some(joined(&self.settings()?, folder)),
            PathBase::Variable(name) => (self.variable)(name),
            PathBase::Package(prefix) => {
                let packages = (self.variable)("LOCALAPPDATA")?.join("Packages");
                Some(packages.join(format!("{prefix}*")))
            }
        }
    }

    /// Where desktop programs keep their settings.
    fn settings(&self) -> Option<PathBuf> {
        match self.system {
            System::Linux => self.xdg_config(),
            System::Mac => Some(joined(self.home?, "Library/Application Support")),
            System::Windows => {
                (self.variable)("APPDATA").or_else(|| Some(joined(self.home?, "AppData/Roaming")))
            }
        }
    }
}

/// Part by part, so that the separators are those of the system this program runs on.
fn joined(folder: &Path, path: &str) -> PathBuf {
    path.split('/').fold(folder.to_owned(), |whole, part| whole.join(part))
}

/// Every variable that says where a client's file is.
pub fn path_variables() -> Vec<&'static str> {
    let mut names = OF_SYSTEMS.to_vec();
    for (_, spec) in Client::with_config() {
        let paths = &spec.paths;
        let all = [paths.linux, paths.mac, paths.windows, paths.also_read];
        for path in all.into_iter().flatten() {
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

    /// Client, then the paths on Linux, macOS and Windows: `~` is the home folder, `S` the folder for
    /// settings of desktop programs, `L` `%LOCALAPPDATA%`. A path in brackets counts only if its
    /// program's folder is there, or the package; one behind `=` needs its variable.
    const TABLE: &str = "
claude-desktop  | S/Claude/claude_desktop_config.json | = | [L/Packages/Claude_*/LocalCache/Roaming/Claude/claude_desktop_config.json] S/Claude/claude_desktop_config.json
claude-code     | ~/.claude.json | = | =
cursor          | ~/.cursor/mcp.json | = | =
vscode          | [S/Code/User/mcp.json] [S/Code - Insiders/User/mcp.json] S/Code/User/mcp.json | = | =
windsurf        | ~/.codeium/windsurf/mcp_config.json ~/.codeium/mcp_config.json | = | =
zed             | ~/.config/zed/settings.json | = | S/Zed/settings.json
codex           | ~/.codex/config.toml | = | =
gemini          | ~/.gemini/settings.json | = | =
goose           | ~/.config/goose/config.yaml | = | S/Block/goose/config/config.yaml
cline           | ~/.cline/data/settings/cline_mcp_settings.json ~/.cline/mcp.json S/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json S/Code - Insiders/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json | = | =
copilot         | ~/.copilot/mcp-config.json | = | =
qwen            | ~/.qwen/settings.json | = | =
opencode        | ~/.config/opencode/opencode.json ~/.config/opencode/opencode.jsonc | = | =
amp             | ~/.config/amp/settings.json ~/.config/amp/settings.jsonc | = | =
crush           | ~/.config/crush/crush.json | = | [L/crush/crush.json] ~/AppData/Local/crush/crush.json
continue        | ~/.continue/mcpServers/mcp.json | = | =
kiro            | ~/.kiro/settings/mcp.json | = | =
lmstudio        | ~/.lmstudio/mcp.json ~/.cache/lm-studio/mcp.json | = | =
";

    fn home(system: System) -> &'static str {
        match system {
            System::Linux => "/home/me",
            System::Mac => "/Users/me",
            System::Windows => "/C/Users/me",
        }
    }

    fn found(system: System, client: Client) -> Vec<String> {
        let home = Path::new(home(system));
        let variable = |name: &str| match (system, name) {
            (System::Windows, "APPDATA") => Some(home.join("AppData/Roaming")),
            (System::Windows, "LOCALAPPDATA") => Some(home.join("AppData/Local")),
            _ => None,
        };
        let user = UserPaths { system, home: Some(home), variable: &variable };
        let paths = user.candidates(&client.config().unwrap().paths);
        let shown = |it: CandidatePath| match it.needs.is_some() || it.is_only {
            true => format!("[{}]", it.pattern.display()),
            false => it.pattern.display().to_string(),
        };
        paths.into_iter().map(shown).collect()
    }

    fn expected(system: System, cell: &str) -> Vec<String> {
        let home = home(system);
        let settings = match system {
            System::Linux => format!("{home}/.config"),
            System::Mac => format!("{home}/Library/Application Support"),
            System::Windows => format!("{home}/AppData/Roaming"),
        };
        let path = |path: &str| {
            let (open, bare) = path.strip_prefix('[').map_or(("", path), |bare| ("[", bare));
            let (base, rest) = bare.split_once('/').unwrap();
            let base = match base {
                "~" => home,
                "S" => &settings,
                "L" => &format!("{home}/AppData/Local"),
                other => panic!("{other}"),
            };
            format!("{open}{base}/{rest}")
        };
        // One path has a space in it.
        cell.replace("Code - Ins", "Code-Ins")
            .split_whitespace()
            .map(|it| path(it).replace("Code-Ins", "Code - Ins"))
            .collect()
    }

    #[test]
    fn every_client_has_its_paths_on_every_system() {
        let mut rows = TABLE.trim().lines();
        for (client, _) in Client::with_config() {
            let row = rows.by_ref().find(|row| row.starts_with(&format!("{client} ")));
            let cells: Vec<&str> =
                row.unwrap_or_else(|| panic!("{client}")).split('|').map(str::trim).collect();
            for (at, system) in System::ALL.into_iter().enumerate() {
                let cell = if cells[at + 1] == "=" { cells[1] } else { cells[at + 1] };
                assert_eq!(found(system, client), expected(system, cell), "{client} {system:?}");
            }
            rows = TABLE.trim().lines();
        }
    }

    #[test]
    fn the_clients_own_variables_move_the_file() {
        let table = [
            (Client::ClaudeDesktop, "/XDG_CONFIG_HOME/Claude/claude_desktop_config.json"),
            (Client::Zed, "/XDG_CONFIG_HOME/zed/settings.json"),
            (Client::ClaudeCode, "/CLAUDE_CONFIG_DIR/.claude.json"),
            (Client::Codex, "/CODEX_HOME/config.toml"),
            (Client::Gemini, "/GEMINI_CLI_HOME/.gemini/settings.json"),
            (Client::Qwen, "/QWEN_HOME/settings.json"),
            (Client::Copilot, "/COPILOT_HOME/mcp-config.json"),
            (Client::Goose, "/GOOSE_PATH_ROOT/config/config.yaml"),
            (Client::Crush, "/CRUSH_GLOBAL_CONFIG/crush.json"),
            (Client::Continue, "/CONTINUE_GLOBAL_DIR/mcpServers/mcp.json"),
        ];
        let variable = |name: &str| {
            assert!(path_variables().contains(&name), "{name} would not be read");
            Some(PathBuf::from(format!("/{name}")))
        };
        let home = Some(Path::new("/h"));
        let user = UserPaths { system: System::Linux, home, variable: &variable };
        for (client, expected) in table {
            let first = user.candidates(&client.config().unwrap().paths).swap_remove(0);
            assert_eq!(first.pattern, Path::new(expected), "{client}");
        }
    }

    #[test]
    fn a_relative_xdg_folder_is_ignored() {
        let variable = |name: &str| (name == "XDG_CONFIG_HOME").then(|| "relative".into());
        for system in System::ALL {
            let user = UserPaths { system, home: Some(Path::new("/h")), variable: &variable };
            assert_eq!(user.xdg_config().as_deref(), Some(Path::new("/h/.config")));
        }
    }

    #[test]
    fn without_a_home_folder_nothing_is_guessed() {
        let user = |system| UserPaths { system, home: None, variable: &|_| None };
        for (client, spec) in Client::with_config() {
            for system in System::ALL {
                assert_eq!(user(system).candidates(&spec.paths), [], "{client} {system:?}");
            }
        }
    }
}

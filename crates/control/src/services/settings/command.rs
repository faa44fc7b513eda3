//! What a registered command may be where only some programs may run: which one is run is decided by
//! Trunkline's own environment, and nothing that is registered has a say in it.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use trunkline_catalog::config::{ContainerEngine, Transport};

use super::StdioRegistration;

/// Why a command is not run. Names the variable, never its value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CommandRefused {
    #[error("this Trunkline does not run commands that are registered over REST")]
    Any,
    #[error("of the commands that are registered over REST, this Trunkline runs only {0}")]
    Other(String),
    #[error(
        "the variable `{0}` may not be set here: it decides which code a program runs, and this \
         Trunkline runs only some programs"
    )]
    Variable(String),
    #[error("`{0}` is not a program in Trunkline's own PATH")]
    NotFound(String),
}

impl StdioRegistration {
    /// May this be registered?
    pub(crate) fn judge(&self, transport: &Transport) -> Result<(), CommandRefused> {
        let Transport::Stdio { command, env, .. } = transport else { return Ok(()) };
        match self {
            Self::Refused => Err(CommandRefused::Any),
            Self::Allowed => Ok(()),
            Self::Only(commands) if commands.contains(command) => no_loader(env),
            Self::Only(commands) => {
                let listed: Vec<String> = commands.iter().map(|it| format!("`{it}`")).collect();
                Err(CommandRefused::Other(listed.join(", ")))
            }
        }
    }

    /// Whether containers may be run by this engine; `None`: by the one that is found.
    pub(crate) fn judge_engine(
        &self,
        engine: Option<ContainerEngine>,
    ) -> Result<(), CommandRefused> {
        let engines = engine.map_or(ContainerEngine::ALL.to_vec(), |engine| vec![engine]);
        let judge = |engine: ContainerEngine| {
            let (command, args, env) = (engine.word().to_owned(), Vec::new(), Vec::new());
            self.judge(&Transport::Stdio { command, args, env, cwd: None })
        };
        engines.into_iter().try_for_each(judge)
    }

    /// The program that is meant, before it is started: a name of the list is the program that
    /// Trunkline itself finds under it. Judged once more, since it may have been registered when
    /// something else was allowed; what was registered without any list stays as it is.
    pub(crate) fn resolve_program(
        &self,
        transport: &mut Transport,
        own: &ProgramSearch,
    ) -> Result<(), CommandRefused> {
        let Transport::Stdio { command, env, .. } = transport else { return Ok(()) };
        let Self::Only(commands) = self else { return Ok(()) };
        if !commands.contains(command) {
            return Ok(());
        }
        no_loader(env)?;
        let found = own.find(command).ok_or_else(|| CommandRefused::NotFound(command.clone()))?;
        *command =
            found.to_str().ok_or_else(|| CommandRefused::NotFound(command.clone()))?.to_owned();
        Ok(())
    }
}

/// Where Trunkline itself looks for programs.
#[derive(Debug, Clone, Default)]
pub struct ProgramSearch {
    /// Its `PATH`.
    pub path: String,
    pub directory: PathBuf,
}

impl ProgramSearch {
    /// Absolute: the directory a server is started in must not matter.
    fn find(&self, command: &str) -> Option<PathBuf> {
        if command.contains('/') {
            return Some(self.directory.join(command));
        }
        let places = std::env::split_paths(&self.path);
        let mut candidates = places.map(|place| self.directory.join(place).join(command));
        candidates.find(|candidate| is_program(candidate))
    }
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

fn no_loader(env: &[(String, String)]) -> Result<(), CommandRefused> {
    match env.iter().find(|(name, _)| chooses_code(name)) {
        Some((name, _)) => Err(CommandRefused::Variable(name.clone())),
        None => Ok(()),
    }
}

/// Does this variable decide which code runs, in a program that is itself harmless?
fn chooses_code(name: &str) -> bool {
    // Some are read in either case (npm, uv).
    let name = name.to_ascii_uppercase();
    NAMES.contains(&&*name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Of loaders, shells, interpreters and package runners.
const NAMES: [&str; 58] = [
    "PATH",
    "HOME",
    "SHELL",
    "IFS",
    "ENV",
    "PS4",
    "SHELLOPTS",
    "BASHOPTS",
    "PROMPT_COMMAND",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "BROWSER",
    "LESSOPEN",
    "LESSCLOSE",
    "GCONV_PATH",
    "GLIBC_TUNABLES",
    "LOCPATH",
    "NLSPATH",
    "OPENSSL_CONF",
    "OPENSSL_ENGINES",
    "OPENSSL_MODULES",
    "XDG_CONFIG_HOME",
    "XDG_CONFIG_DIRS",
    "XDG_DATA_HOME",
    "XDG_DATA_DIRS",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONSTARTUP",
    "PYTHONUSERBASE",
    "PYTHONEXECUTABLE",
    "PYTHONPLATLIBDIR",
    "PYTHONINSPECT",
    "PYTHONBREAKPOINT",
    "PYTHONWARNINGS",
    "PYTHONPYCACHEPREFIX",
    "VIRTUAL_ENV",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NODE_REPL_EXTERNAL_MODULE",
    "BUN_OPTIONS",
    "PERL5LIB",
    "PERLLIB",
    "PERL5OPT",
    "PERL5DB",
    "RUBYOPT",
    "RUBYLIB",
    "GEM_HOME",
    "GEM_PATH",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "JAVA_HOME",
    "CLASSPATH",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "DOCKER_HOST",
    "DOCKER_CONFIG",
];
const PREFIXES: [&str; 16] = [
    "LD_", "DYLD_", "BASH_", "GIT_", "NPM_", "PNPM_", "YARN_", "UV_", "PIP_", "PIPX_", "BUNDLE_",
    "LUA_", "DOTNET_", "CORECLR_", "COR_", "DENO_",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn running(command: &str, env: &[&str]) -> Transport {
        Transport::Stdio {
            command: command.to_owned(),
            args: Vec::new(),
            env: env.iter().map(|name| ((*name).to_owned(), "x".to_owned())).collect(),
            cwd: Some("/elsewhere".to_owned()),
        }
    }

    #[test]
    fn what_may_be_registered() {
        let only = StdioRegistration::Only(vec!["npx".to_owned(), "/opt/server".to_owned()]);
        let variable = |name: &str| Err(CommandRefused::Variable(name.to_owned()));
        let other = Err(CommandRefused::Other("`npx`, `/opt/server`".to_owned()));
        for (rule, transport, expected) in [
            (&StdioRegistration::Refused, running("npx", &[]), Err(CommandRefused::Any)),
            (&StdioRegistration::Allowed, running("npx", &["PATH"]), Ok(())),
            (&only, running("npx", &["TOKEN", "PYTHONUNBUFFERED", "NODE_ENV"]), Ok(())),
            (&only, running("/opt/server", &[]), Ok(())),
            (&only, running("/usr/bin/npx", &[]), other.clone()),
            (&only, running("./npx", &[]), other.clone()),
            (&only, running("npx ", &[]), other),
            (&only, running("npx", &["PATH"]), variable("PATH")),
            (&only, running("npx", &["TOKEN", "LD_PRELOAD"]), variable("LD_PRELOAD")),
            (&only, running("npx", &["NODE_OPTIONS"]), variable("NODE_OPTIONS")),
            (&only, running("npx", &["npm_config_prefix"]), variable("npm_config_prefix")),
            (&only, running("npx", &["BASH_FUNC_ls%%"]), variable("BASH_FUNC_ls%%")),
            (&only, running("npx", &["PYTHONPATH"]), variable("PYTHONPATH")),
            (&only, running("npx", &["_JAVA_OPTIONS"]), variable("_JAVA_OPTIONS")),
        ] {
            assert_eq!(rule.judge(&transport), expected, "{rule:?} {transport:?}");
        }
    }

    #[test]
    fn a_name_of_the_list_is_the_program_trunkline_finds() {
        let own = ProgramSearch { path: "/nowhere:/bin".to_owned(), directory: "/opt".into() };
        let commands = ["sh", "bin/server", "/opt/x", "no-such-program"].map(str::to_owned);
        let only = StdioRegistration::Only(commands.to_vec());
        let settled = |rule: &StdioRegistration, command: &str, env: &[&str]| {
            let mut transport = running(command, env);
            rule.resolve_program(&mut transport, &own)?;
            let Transport::Stdio { command, .. } = transport else { panic!("it is a command") };
            Ok(command)
        };
        for (command, expected) in [
            ("sh", "/bin/sh"),
            ("bin/server", "/opt/bin/server"),
            ("/opt/x", "/opt/x"),
            // Registered when that was allowed.
            ("before", "before"),
        ] {
            assert_eq!(settled(&only, command, &[]), Ok(expected.to_owned()));
        }
        let missing = CommandRefused::NotFound("no-such-program".to_owned());
        assert_eq!(settled(&only, "no-such-program", &[]), Err(missing));
        let bent = CommandRefused::Variable("PATH".to_owned());
        assert_eq!(settled(&only, "sh", &["PATH"]), Err(bent));
        assert_eq!(settled(&StdioRegistration::Allowed, "sh", &["PATH"]), Ok("sh".to_owned()));
    }
}

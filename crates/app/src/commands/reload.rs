//! Hot reload: applies an edited config; a broken one changes nothing and is reported.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;

use tokio::signal::unix::{Signal, SignalKind, signal};
use trunkline_catalog::config::{
    Config, CustomTool, Problem, Problems, ServerSpec, SharedLimits, Style,
};
use trunkline_gateway::Applied;

use crate::commands::runtime::{config_path, read_config};
use crate::environment::Environment;
use crate::settings::{self, SettingsError, StartOptions};
use crate::watch::{Pace, Watch};

/// What is needed to load the config again.
#[derive(Debug)]
pub(super) struct Reload<'r> {
    wanted: &'r StartOptions<'r>,
    environment: &'r Environment,
    /// `None`: never reload.
    watched: Option<(PathBuf, Watch)>,
    /// SIGHUP reads the config again, whether or not the file has changed.
    hangup: Option<Signal>,
    told: ReportedWarnings,
    /// Where the config had policies when it was first read.
    policies: Option<String>,
    /// Told which variables an edited config has looked up, before it is applied.
    on_variables: Option<VariablesHook<'r>>,
}

/// Takes the names of variables. The config is applied when it is done with them.
type NamesTaker<'r> = dyn Fn(BTreeSet<String>) -> Pin<Box<dyn Future<Output = ()> + 'r>> + 'r;

/// What is done about the variables of an edited config.
struct VariablesHook<'r>(Box<NamesTaker<'r>>);

impl std::fmt::Debug for VariablesHook<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VariablesHook").finish_non_exhaustive()
    }
}

/// The warnings about the config that were told last: an edit elsewhere does not repeat them.
#[derive(Debug, Default)]
struct ReportedWarnings(Vec<String>);

impl ReportedWarnings {
    /// One line for each warning that is new.
    fn news(&mut self, warnings: &Problems) -> Vec<String> {
        let lines = warnings.to_string();
        // Not by its line: that moves when something above it is edited.
        let what = |warning: &Problem| format!("{} {}", warning.path, warning.message);
        let now: Vec<String> = warnings.iter().map(what).collect();
        let said = now.iter().zip(lines.lines()).filter(|(what, _)| !self.0.contains(what));
        let said = said.map(|(_, line)| line.to_owned()).collect();
        self.0 = now;
        said
    }
}

impl<'r> Reload<'r> {
    /// To be called before the config is read for the first time. The simple aggregator reads it
    /// once.
    pub(super) fn prepare(wanted: &'r StartOptions<'r>, environment: &'r Environment) -> Self {
        let path = config_path(wanted, environment).ok();
        Self::watching(path, wanted, environment)
    }

    /// For a platform, which needs no config: only one that is named is read.
    pub(super) fn prepare_named(
        wanted: &'r StartOptions<'r>,
        environment: &'r Environment,
    ) -> Self {
        let named = settings::given_config_path(wanted.servers.config.as_deref(), environment);
        Self::watching(named.ok(), wanted, environment)
    }

    fn watching(
        path: Option<PathBuf>,
        wanted: &'r StartOptions<'r>,
        environment: &'r Environment,
    ) -> Self {
        let watched = path.filter(|_| !wanted.simple).map(|path| {
            let watch = Watch::new(&path, Pace::default());
            (path, watch)
        });
        Self {
            wanted,
            environment,
            watched,
            hangup: None,
            told: ReportedWarnings::default(),
            policies: None,
            on_variables: None,
        }
    }

    /// The config as it is read first. What is odd about it is told.
    ///
    /// Where it `may_be_missing`, no config at all is an empty one.
    pub(super) fn first(
        &mut self,
        may_be_missing: bool,
    ) -> Result<(PathBuf, Config), SettingsError> {
        if may_be_missing && self.watched.is_none() {
            return settings::empty(self.wanted).map(|config| (PathBuf::new(), config));
        }
        let (path, config) = read_config(self.wanted, self.environment)?;
        self.told.news(&config.warnings);
        Ok((path, config))
    }

    /// Like `first`, for a runtime: each of its fronts has told what is odd about the config. Also names the
    /// variables that it looks up.
    pub(super) fn first_quietly(
        &mut self,
    ) -> Result<(PathBuf, Config, BTreeSet<String>), SettingsError> {
        let path = settings::config_path(self.wanted.servers.config.as_deref(), self.environment)?;
        let (config, used) = self.load(&path);
        let config = config?;
        self.told.news(&config.warnings);
        Ok((path, config, used))
    }

    /// Reads the config, and notes the variables that it looks up.
    fn load(&self, path: &Path) -> (Result<Config, SettingsError>, BTreeSet<String>) {
        let used = RefCell::new(BTreeSet::new());
        let look_up = |name: &str| {
            used.borrow_mut().insert(name.to_owned());
            self.environment.get(name)
        };
        let config = settings::load_with(path, self.wanted, self.environment, &look_up);
        (config, used.into_inner())
    }

    /// The config had policies there.
    pub(super) fn with_policies(self, policies: Option<String>) -> Self {
        Self { policies, ..self }
    }

    /// From now on SIGHUP asks for the config to be read again.
    pub(super) fn on_hangup(mut self) -> io::Result<Self> {
        self.hangup = Some(signal(SignalKind::hangup())?);
        Ok(self)
    }

    /// From now on `hook` is told which variables an edited config looks up, before it is applied.
    pub(super) fn on_variables<F: Future<Output = ()> + 'r>(
        mut self,
        hook: impl Fn(BTreeSet<String>) -> F + 'r,
    ) -> Self {
        self.on_variables = Some(VariablesHook(Box::new(move |used| Box::pin(hook(used)))));
        self
    }

    /// Watches and applies until it is dropped. `apply` says what came of it, if it knows.
    pub(super) async fn run(
        mut self,
        apply: impl Fn(Vec<ServerSpec>, Vec<CustomTool>, SharedLimits) -> Option<Applied>,
    ) -> Infallible {
        let Some((path, mut watch)) = self.watched.take() else {
            loop {
                asked(&mut self.hangup).await;
                tracing::warn!("SIGHUP: there is no config file to read again (--config)");
            }
        };
        loop {
            tokio::select! {
                () = watch.changed() => {}
                () = asked(&mut self.hangup) => {
                    tracing::info!("SIGHUP: the config is read again");
                    watch.acknowledge();
                }
            }
            let (config, used) = self.load(&path);
            match config {
                Ok(config) => {
                    if let Some(VariablesHook(hook)) = &self.on_variables {
                        hook(used).await;
                    }
                    for warning in self.told.news(&config.warnings) {
                        tracing::warn!("{warning}");
                    }
                    if config.policies != self.policies {
                        self.policies.clone_from(&config.policies);
                        tracing::warn!(
                            "`policies` of the config has changed: restart Trunkline to use it; until then the \
                             policies of the start hold"
                        );
                    }
                    match apply(config.servers, config.custom, config.limits) {
                        Some(applied) => tracing::info!("{}", news(&applied)),
                        // Who applies it says what comes of it.
                        None => tracing::info!("the config was read again"),
                    }
                }
                Err(SettingsError::Invalid(problems)) => tracing::error!("{}", broken(&problems)),
                Err(error) => tracing::error!("the edited config is not used: {error}"),
            }
        }
    }
}

/// Waits for SIGHUP, which asks for the config to be read again.
async fn asked(hangup: &mut Option<Signal>) {
    let signalled = match hangup {
        Some(hangup) => hangup.recv().await.is_some(),
        None => false,
    };
    if !signalled {
        std::future::pending::<()>().await; // without a signal handler there is nothing to wait for
    }
}

/// What an edit has changed, on one line.
fn news(applied: &Applied) -> String {
    let parts = [("started", &applied.started), ("stopped", &applied.stopped)];
    let said: Vec<String> = parts
        .iter()
        .filter(|(_, keys)| !keys.is_empty())
        .map(|(word, keys)| format!("{word} {}", keys.join(", ")))
        .collect();
    match said.as_slice() {
        [] => "the config was read again; no server had to be started or stopped".to_owned(),
        said => format!("the config was read again: {}", said.join("; ")),
    }
}

/// The problems as `check` shows them. Their last line says that nothing was started, which is
/// about a start.
fn broken(problems: &Problems) -> String {
    let rendered = problems.render(Style::Plain);
    let blocks = rendered.trim_end().rsplit_once('\n').map_or("", |(blocks, _)| blocks);
    let headline = "the edited config is not valid; everything stays as it was";
    format!("{headline}\n{}", blocks.trim_end())
}

#[cfg(test)]
mod tests {
    use trunkline_catalog::config::{self, ConfigSource, Rules};

    use super::*;

    #[test]
    fn an_edit_is_told_in_one_line() {
        let applied = |started: &[&str], stopped: &[&str]| Applied {
            started: started.iter().map(ToString::to_string).collect(),
            stopped: stopped.iter().map(ToString::to_string).collect(),
            kept: Vec::new(),
        };
        for (started, stopped, expected) in [
            (vec!["a", "b"], vec![], "the config was read again: started a, b"),
            (vec!["a"], vec!["c"], "the config was read again: started a; stopped c"),
            (vec![], vec![], "the config was read again; no server had to be started or stopped"),
        ] {
            assert_eq!(news(&applied(&started, &stopped)), expected);
        }
    }

    #[test]
    fn a_broken_edit_is_told_with_its_places() {
        let source =
            ConfigSource { name: "mcp.json", text: br#"{"mcpServers": {"a": {"command": 5}}}"# };
        let problems = config::load(&source, Rules::Full, &|_| None).unwrap_err();
        let text = broken(&problems);
        assert!(text.starts_with("the edited config is not valid; everything stays as it was\n"));
        assert!(text.contains("--> mcp.json:1:"), "{text}");
        assert!(text.contains("^"), "{text}");
        assert!(!text.contains("nothing was started"), "{text}");
    }

    #[test]
    fn the_same_warning_is_not_repeated() {
        let warnings = |text: &str| {
            let source = ConfigSource { name: "mcp.json", text: text.as_bytes() };
            config::load(&source, Rules::Full, &|_| None).unwrap().warnings
        };
        let one = warnings(r#"{"mcpServers": {"a": {"command": "x", "arg": []}}}"#);
        assert_eq!(one.len(), 1);
        let mut told = ReportedWarnings::default();
        let said = told.news(&one);
        assert!(said.len() == 1 && said[0].starts_with("mcp.json:1:"), "{said:?}");
        assert!(told.news(&one).is_empty());
        let moved = "{\n\"mcpServers\": {\"a\": {\"command\": \"y\", \"arg\": []}, \"b\": {\"command\": \"x\", \"arg\": []}}}";
        let said = told.news(&warnings(moved));
        assert!(said.len() == 1 && said[0].contains("mcpServers.b"), "{said:?}");
        assert!(told.news(&warnings(r#"{"mcpServers": {"a": {"command": "x"}}}"#)).is_empty());
        assert_eq!(told.news(&one).len(), 1, "it is back");
    }
}

//! Plans a change of a config, checks what comes of it, and makes it.

use std::path::PathBuf;

use serde_json::{Value, json};
use trunkline_catalog::config::Style;
use trunkline_gateway::Gateway;

use super::failure::ChangeFailure;
use crate::cli::{ConfigArg, Servers, StartCheck};
use crate::client::line;
use crate::commands::check::{PATIENCE, Row, started_and};
use crate::environment::Environment;
use crate::own_config::{
    ChangedConfig, ConfigChange, ConfigServers, OwnConfigError, change_config, read_config_text,
};
use crate::settings::{self, SettingsError, StartOptions};
use crate::{OK, console, listing_cache};

/// A config that is to be changed.
pub(super) struct TargetConfig<'e> {
    pub(super) path: PathBuf,
    json: bool,
    pub(super) environment: &'e Environment,
}

/// A change and the servers that must start for it.
pub(super) struct PlannedChange<'p> {
    /// `add git`
    pub(super) what: String,
    pub(super) edit: &'p dyn Fn(&str) -> Result<String, OwnConfigError>,
    pub(super) start: Vec<String>,
}

impl<'e> TargetConfig<'e> {
    pub(super) fn new(at: &ConfigArg, environment: &'e Environment) -> Result<Self, ChangeFailure> {
        let path = settings::config_path(at.config.as_deref(), environment)?;
        Ok(Self { path, json: at.json, environment })
    }

    pub(super) fn text(&self) -> Result<String, ChangeFailure> {
        Ok(read_config_text(&self.path)?)
    }

    pub(super) fn servers(&self) -> Result<ConfigServers, ChangeFailure> {
        Ok(ConfigServers::parse(&self.path, &self.text()?)?)
    }

    /// Checks the change and makes it; what was seen of the servers that were started.
    pub(super) fn make(
        &self,
        planned: &PlannedChange<'_>,
        check: Option<&StartCheck>,
    ) -> Result<(ChangedConfig, Vec<Row>), ChangeFailure> {
        let text = self.text()?;
        let new = (planned.edit)(&text)?;
        if new == text {
            return Ok((ChangedConfig::Unchanged, Vec::new()));
        }
        self.validate(&text, &new)?;
        let check = check.filter(|check| !check.no_check && !planned.start.is_empty());
        let rows = match check {
            Some(check) => self.start(&new, &planned.start, check, |_| ())?.0,
            None => Vec::new(),
        };
        let change = ConfigChange { what: planned.what.clone(), edit: planned.edit };
        Ok((change_config(&self.path, &change, self.environment)?, rows))
    }

    /// Refuses a text with problems that the old one has not; tells warnings that are new.
    pub(super) fn validate(&self, old: &str, new: &str) -> Result<(), ChangeFailure> {
        let servers = Servers::default();
        let wanted = StartOptions::once(&servers);
        let load = |text: &str| {
            settings::load_text(&self.path, text.as_bytes(), &wanted, self.environment)
        };
        match (load(new), load(old)) {
            (Ok(new), old) => {
                let told = old.map(|old| old.warnings).ok();
                let news = match &told {
                    Some(told) => new.warnings.without(told),
                    None => new.warnings,
                };
                // Who takes the last server out knows that there is none.
                if !news.is_empty() && !new.servers.is_empty() {
                    console::problem(&news.render(Style::Plain), OK);
                }
                Ok(())
            }
            // A variable that is not set now, of another server, is no reason to refuse this one.
            (Err(SettingsError::Invalid(new)), Err(SettingsError::Invalid(old))) => {
                match new.without(&old) {
                    news if news.is_empty() => Ok(()),
                    news => Err(ChangeFailure::Invalid(news)),
                }
            }
            (Err(SettingsError::Invalid(new)), _) => Err(ChangeFailure::Invalid(new)),
            (Err(error), _) => Err(error.into()),
        }
    }

    /// Starts these servers of a text as `check` does, without the filters of their tools, and looks at them.
    pub(super) fn start<T>(
        &self,
        text: &str,
        names: &[String],
        check: &StartCheck,
        look: impl FnOnce(&Gateway) -> T,
    ) -> Result<(Vec<Row>, T), ChangeFailure> {
        let all = ConfigServers::parse(&self.path, text)?;
        let entries: serde_json::Map<String, Value> =
            names.iter().filter_map(|name| Some((name.clone(), all.get(name)?))).collect();
        let alone = json!({ "mcpServers": entries }).to_string();
        let start_timeout = check.start_timeout;
        let servers = Servers { start_timeout, log: check.log.clone(), ..Servers::default() };
        let wanted = StartOptions { patience: Some(PATIENCE), ..StartOptions::once(&servers) };
        let mut config =
            settings::load_text(&self.path, alone.as_bytes(), &wanted, self.environment)?;
        for spec in &mut config.servers {
            spec.filter = Default::default();
        }
        let listings = listing_cache::listings_for(Some(&self.path), self.environment);
        let (rows, seen) =
            started_and(&wanted, &self.path, config, self.environment, listings, look)??;
        // A login needs the server in the config first.
        match rows.iter().all(|row| row.is_good() || row.needs_login()) {
            true => Ok((rows, seen)),
            false => Err(ChangeFailure::NotStarted(rows)),
        }
    }

    /// Says what was done, as words or as JSON.
    pub(super) fn tell(&self, told: &ChangeReport<'_>) -> u8 {
        let ChangeReport { done: (done, to), names, changed, rows, notes } = told;
        let path = self.path.display();
        if self.json {
            let rows: Vec<Value> = rows.iter().map(Row::json).collect();
            let written = **changed != ChangedConfig::Unchanged;
            let report = json!({ "config": path.to_string(), "done": done, "names": names,
                "written": written, "servers": rows, "notes": notes });
            return console::out(&format!("{report}\n"));
        }
        let all: Vec<String> = names.iter().map(|name| format!("`{}`", line(name))).collect();
        let all = if all.is_empty() { "the text".to_owned() } else { all.join(", ") };
        let mut words = match changed {
            ChangedConfig::Unchanged => format!("{all}: {path} says so already\n"),
            ChangedConfig::Written { .. } => format!("{done} {all} {to} {path}\n"),
        };
        for row in *rows {
            words.push_str(&format!("  {}: {}\n", line(&row.key), row.summary()));
        }
        for note in *notes {
            words.push_str(&format!("note: {}\n", line(note)));
        }
        if let ChangedConfig::Written { not_kept: Some(why) } = changed {
            words.push_str(&format!("note: `trunkline undo` will not know this change: {why}\n"));
        }
        console::out(&words)
    }
}

/// What is said about a change.
pub(super) struct ChangeReport<'r> {
    /// Around the names: `added` … `to`.
    pub(super) done: (&'static str, &'r str),
    /// The servers or tools.
    pub(super) names: &'r [String],
    pub(super) changed: &'r ChangedConfig,
    pub(super) rows: &'r [Row],
    pub(super) notes: &'r [String],
}

//! Whether the names in the file can be told from those of the servers' tools.

use super::harmless::shown_key;
use super::path::Path;
use super::problem::{Problem, Problems};
use super::spec::Config;
use crate::name::{DEFAULT_SEPARATOR, Naming};
use crate::place::Span;

/// Reserved in every file: the usual separator, whatever the command line says now, and the one for
/// clients that take no other.
pub(crate) const SEPARATORS: [&str; 2] = [DEFAULT_SEPARATOR, "__"];

impl Config {
    /// A custom tool must not have a name that a tool of a configured server has or could have.
    /// Disabled servers count: enabling one must not take a name away. The usual separators were
    /// checked when the file was read; this is for the one that the command line gives.
    pub fn check_names(&self, naming: &Naming) -> Result<(), Problems> {
        let problem = |(tool, at): (&str, &Problem)| {
            let keys = self.servers.iter().map(|server| server.key.as_str());
            let key = clash(tool, keys, &[naming.separator()])?;
            Some(Problem { message: message(tool, key), ..at.clone() }.help(HELP))
        };
        let names = self.custom.iter().map(|tool| tool.name.as_str());
        let list: Vec<Problem> = names.zip(&self.custom_at).filter_map(problem).collect();
        match list.is_empty() {
            true => Ok(()),
            false => Err(Problems { file: self.warnings.file.clone(), list }),
        }
    }
}

const HELP: &str = "give it a name of its own";

/// The server whose tools have names like this one.
pub(crate) fn clash<'k>(
    name: &str,
    mut keys: impl Iterator<Item = &'k str>,
    separators: &[&str],
) -> Option<&'k str> {
    keys.find(|key| {
        let rest = name.strip_prefix(*key);
        rest.is_some_and(|rest| separators.iter().any(|separator| rest.starts_with(separator)))
    })
}

pub(crate) fn named_alike(at: &Path, span: Span, tool: &str, key: &str) -> Problem {
    Problem::schema(at, span, message(tool, key)).help(HELP)
}

fn message(tool: &str, key: &str) -> String {
    let (tool, key) = (shown_key(tool), shown_key(key));
    format!("the custom tool `{tool}` is named like a tool of server `{key}`")
}

//! Whether the names in the file can be told from those of the servers' tools.

use super::escape::shown;
use super::problem::{Problem, Problems};
use super::spec::Config;
use crate::name::Naming;

/// How tools are named for clients that take no other separator.
const CLIENT_SEPARATOR: &str = "__";

impl Config {
    /// A custom tool must not have a name that a tool of a configured server has or could have.
    /// Disabled servers count: enabling one must not take a name away.
    pub fn check_names(&self, naming: &Naming) -> Result<(), Problems> {
        let separators = [naming.separator(), CLIENT_SEPARATOR];
        let clash = |name: &str| {
            let mut keys = self.servers.iter().map(|server| server.key.as_str());
            keys.find(|key| {
                let rest = name.strip_prefix(*key);
                rest.is_some_and(|rest| separators.iter().any(|part| rest.starts_with(part)))
            })
        };
        let problem = |(tool, at): (&str, &Problem)| {
            let key = clash(tool)?;
            let message = format!(
                "the custom tool `{}` is named like a tool of server `{}`",
                shown(tool),
                shown(key)
            );
            Some(Problem { message, ..at.clone() }.help("give it a name of its own"))
        };
        let names = self.custom.iter().map(|tool| tool.name.as_str());
        let list: Vec<Problem> = names.zip(&self.custom_at).filter_map(problem).collect();
        match list.is_empty() {
            true => Ok(()),
            false => Err(Problems { file: self.warnings.file.clone(), list }),
        }
    }
}

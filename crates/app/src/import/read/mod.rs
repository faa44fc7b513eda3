//! A client's file, read: its servers in the words of Trunkline's config, and what is to be said of each.

mod entry;
mod transport;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::owner::FileOwner;
use super::parse::parse;
use super::variables::VariableContext;
use crate::install::leads_to_trunkline;

pub(super) use entry::number;

/// One server, as Trunkline's config would have it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ImportedServer {
    pub(crate) name: String,
    pub(crate) entry: Map<String, Value>,
}

/// Something that its reader should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ImportProblem {
    /// `None`: of the file as a whole.
    pub(crate) server: Option<String>,
    pub(crate) message: String,
    /// The server is not imported.
    pub(crate) left_out: bool,
}

/// What one file, or one part of it, has.
#[derive(Debug, Clone)]
pub(crate) struct Imported {
    pub(crate) owner: FileOwner,
    pub(crate) file: PathBuf,
    /// `user`, `project`, or the folder whose servers these are.
    pub(crate) scope: String,
    pub(crate) servers: Vec<ImportedServer>,
    pub(crate) problems: Vec<ImportProblem>,
}

/// What is looked for in a file.
#[derive(Debug, Clone)]
pub(crate) struct Section {
    pub(crate) scope: String,
    /// The names on the way to the object of the servers.
    pub(crate) path: Vec<String>,
    pub(crate) project: Option<PathBuf>,
}

impl Section {
    /// The servers of the file itself.
    pub(crate) fn main(owner: FileOwner, project: Option<PathBuf>) -> Self {
        let scope = if project.is_some() { "project" } else { "user" };
        Self { scope: scope.to_owned(), path: vec![owner.key().to_owned()], project }
    }
}

/// Reads the servers of one section. A file that cannot be read is a trouble, not an end.
pub(crate) fn read_file(owner: FileOwner, file: &Path, text: &str, section: &Section) -> Imported {
    let mut imported = Imported {
        owner,
        file: file.to_owned(),
        scope: section.scope.clone(),
        servers: Vec::new(),
        problems: Vec::new(),
    };
    let root = match parse(text, owner.format_of(file)) {
        Ok(root) => root,
        Err(why) => {
            imported.complain(None, format!("cannot be read: {why}"));
            return imported;
        }
    };
    let context = VariableContext { project: section.project.clone(), inputs: inputs(&root) };
    let found = section.path.iter().try_fold(&root, |value, key| value.get(key));
    match found {
        None | Some(Value::Null) => {}
        Some(Value::Object(servers)) => {
            for (name, entry) in servers {
                imported.take(name, entry, &context);
            }
        }
        // Continue's own file has a list, and each item its name.
        Some(Value::Array(servers)) if servers.iter().all(|it| name_of(it).is_some()) => {
            for server in servers {
                let mut entry = server.clone();
                if let Some(members) = entry.as_object_mut() {
                    members.shift_remove("name");
                }
                imported.take(name_of(server).unwrap_or_default(), &entry, &context);
            }
        }
        Some(_) => {
            imported.complain(None, format!("`{}` is not an object", section.path.join(".")));
        }
    }
    imported
}

/// The name of a server in a list of servers.
fn name_of(server: &Value) -> Option<&str> {
    server.get("name")?.as_str()
}

impl Imported {
    fn complain(&mut self, server: Option<&str>, words: String) {
        let server = server.map(str::to_owned);
        self.problems.push(ImportProblem { server, message: words, left_out: false });
    }

    fn take(&mut self, name: &str, entry: &Value, context: &VariableContext) {
        let taken = match entry {
            _ if leads_to_trunkline(entry) => Err("is Trunkline itself".to_owned()),
            Value::Object(members) => entry::read(self.owner, members, context),
            _ => Err("is not an object".to_owned()),
        };
        match taken {
            Ok((entry, notes)) => {
                self.servers.push(ImportedServer { name: name.to_owned(), entry });
                for note in notes {
                    self.complain(Some(name), note);
                }
            }
            Err(words) => {
                let server = Some(name.to_owned());
                self.problems.push(ImportProblem { server, message: words, left_out: true });
            }
        }
    }
}

/// The inputs of VS Code's file with their defaults.
fn inputs(root: &Value) -> BTreeMap<String, Option<String>> {
    let inputs = root.get("inputs").and_then(Value::as_array).into_iter().flatten();
    let input = |input: &Value| {
        let default = input.get("default").and_then(Value::as_str).map(str::to_owned);
        Some((input.get("id")?.as_str()?.to_owned(), default))
    };
    inputs.filter_map(input).collect()
}

//! `trunkline import`: the servers that clients already have, read from their files into one config, and
//! written back in any client's words.

mod behind;
mod discover;
mod merge;
mod owner;
mod parse;
mod read;
mod report;
mod run;
mod variables;
mod words;
mod write;

pub(crate) use behind::{Double, behind, config_servers, known_as, twice};
pub(crate) use discover::{Candidate, Projects, candidates, sections};
pub(crate) use merge::{Merged, merge};
pub(crate) use owner::FileOwner;
pub(crate) use read::{ImportProblem, Imported, ImportedServer, Section, read_file};
pub(crate) use report::{ImportReport, problem_line, table};
pub(crate) use run::{ImportRequest, Sources, import};
pub(crate) use variables::{literal_text, tolerant};
pub(crate) use write::{Exported, client_entry, config_text, export};

#[cfg(test)]
mod tests;

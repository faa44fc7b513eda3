//! Checks how each client takes the names and the number of tools.

use trunkline_catalog::client::Client;
use trunkline_catalog::name::{Identity, NameWarning, Naming, assign};

use super::finding::{Finding, Grade};
use crate::client::counted;

/// A tool as it is offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Offered {
    pub(crate) server: String,
    pub(crate) tool: String,
}

/// What one kind of client is served, with `--for` as `install` writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Served {
    pub(crate) client: Client,
    /// Its entry says `--expose full`.
    pub(crate) lists_all: bool,
    /// How many tools its list has otherwise, and how long the list is.
    pub(crate) tools: usize,
    pub(crate) bytes: usize,
}

/// Models count tokens in their own ways; of JSON in English a token is about so many bytes.
const BYTES_PER_TOKEN: usize = 4;

pub(crate) fn names(tools: &[Offered], clients: &[Served], separator: &str) -> Vec<Finding> {
    let identities: Vec<Identity<'_>> =
        tools.iter().map(|it| Identity::of(&it.server, &it.tool)).collect();
    let mut findings = Vec::new();
    for served in clients {
        let title = served.client.title();
        let naming = Naming::for_client(separator, served.client);
        let assigned = assign(&identities, &naming);
        let cut = assigned.names.iter().zip(&identities);
        let cut: Vec<String> = cut
            .filter(|(name, identity)| is_marked(&name.wire, identity.tool))
            .map(|(_, identity)| naming.exposed(identity.server.unwrap_or_default(), identity.tool))
            .collect();
        for warning in &assigned.warnings {
            findings.push(of(title, warning, served));
        }
        let clashes =
            assigned.warnings.iter().any(|it| matches!(it, NameWarning::Collision { .. }));
        if let (Some(first), false) = (cut.first(), clashes) {
            let others = match cut.len() {
                1 => String::new(),
                many => format!(" and {} more", many - 1),
            };
            let problem = format!("`{first}`{others} is too long for it and gets a shorter name");
            let fix = "a shorter key for the server in the config keeps the names whole";
            findings.push(Finding::new(Grade::Note, "names", title, problem).fix(fix));
        }
    }
    findings
}

fn of(title: &str, warning: &NameWarning, served: &Served) -> Finding {
    let (grade, problem, fix) = match warning {
        NameWarning::Ambiguous { .. } => (
            Grade::Warning,
            warning.to_string(),
            "rename one of the servers, or its tool with `exposedTools`",
        ),
        NameWarning::Collision { .. } => (
            Grade::Warning,
            warning.to_string(),
            "rename one of them with `exposedTools`, so that both keep plain names",
        ),
        NameWarning::OverBudget { tools, budget, beyond, .. } => {
            let over = format!("{tools} tools: above {budget} {title} {beyond}");
            match served.lists_all {
                true => (
                    Grade::Warning,
                    format!("{over}, and its entry says `--expose full`"),
                    "leave `--expose full` out, so that it gets a short list and searches the rest",
                ),
                false => (
                    Grade::Note,
                    format!(
                        "{over}; so it gets a short list ({}, about {} tokens) and searches the rest",
                        counted(served.tools, "tool"),
                        served.bytes.div_ceil(BYTES_PER_TOKEN)
                    ),
                    "nothing has to be done; `pinnedTools` lists tools all the same",
                ),
            }
        }
    };
    Finding::new(grade, "names", title, problem).fix(fix)
}

/// Ends in the eight digits that a name gets which does not fit.
fn is_marked(wire: &str, tool: &str) -> bool {
    let digits = wire.rsplit('_').next().unwrap_or_default();
    let is_hash = digits.len() == 8 && digits.bytes().all(|b| b.is_ascii_hexdigit());
    is_hash && !tool.ends_with(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(names: &[(&str, &str)]) -> Vec<Offered> {
        let one = |(server, tool): &(&str, &str)| Offered {
            server: (*server).to_owned(),
            tool: (*tool).to_owned(),
        };
        names.iter().map(one).collect()
    }

    fn served(client: Client) -> Served {
        Served { client, lists_all: false, tools: 4, bytes: 2_243 }
    }

    #[test]
    fn each_client_has_its_own_troubles() {
        let long = "create_pull_request_review_comment_reply_in_thread";
        let tools = offered(&[("github", long), ("fs", "read-it"), ("fs", "read_it")]);
        let found = names(&tools[..1], &[served(Client::ClaudeDesktop)], ":");
        assert!(found[0].problem.contains("too long"), "{found:?}");
        let found = names(&tools[1..], &[served(Client::Codex)], ":");
        assert!(found[0].problem.contains("cannot tell these tools apart"), "{found:?}");
        assert_eq!(names(&tools[1..2], &[Client::Codex, Client::Zed].map(served), ":"), []);
    }

    #[test]
    fn too_many_are_told_by_what_is_really_listed() {
        let many: Vec<Offered> = (0..81)
            .map(|number| Offered { server: "s".to_owned(), tool: format!("t{number}") })
            .collect();
        let found = names(&many, &[Client::Cursor, Client::Gemini].map(served), ":");
        assert_eq!((found.len(), found[0].grade), (1, Grade::Note));
        assert!(found[0].problem.starts_with("81 tools: above 80 Cursor"), "{found:?}");
        assert!(found[0].problem.contains("(4 tools, about 561 tokens)"), "{found:?}");
        let full = Served { lists_all: true, ..served(Client::Cursor) };
        let found = names(&many, &[full], ":");
        assert_eq!((found.len(), found[0].grade), (1, Grade::Warning));
        assert!(found[0].fix.contains("`--expose full`"), "{found:?}");
    }
}

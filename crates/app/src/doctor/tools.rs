//! What clients will make of the tools' names and of their number.

use trunkline_catalog::name::{Client, Identity, NameWarning, Naming, assign};

use super::finding::{Finding, Grade};

/// A tool as it is offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Offered {
    pub(crate) server: String,
    pub(crate) tool: String,
}

/// For these clients, with `--for` as `install` writes it.
pub(crate) fn names(tools: &[Offered], clients: &[Client], separator: &str) -> Vec<Finding> {
    let identities: Vec<Identity<'_>> =
        tools.iter().map(|it| Identity::of(&it.server, &it.tool)).collect();
    let mut findings = Vec::new();
    for client in clients {
        let title = client.profile().title;
        let naming = Naming::for_client(separator, *client);
        let assigned = assign(&identities, &naming);
        let cut = assigned.names.iter().zip(&identities);
        let cut: Vec<String> = cut
            .filter(|(name, identity)| is_marked(name.wire.as_str(), identity.tool))
            .map(|(_, identity)| naming.exposed(identity.server.unwrap_or_default(), identity.tool))
            .collect();
        for warning in &assigned.warnings {
            findings.push(of(title, warning));
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

fn of(title: &str, warning: &NameWarning) -> Finding {
    let (grade, fix) = match warning {
        NameWarning::Ambiguous { .. } => {
            (Grade::Warning, "rename one of the servers, or its tool with `exposedTools`")
        }
        NameWarning::Collision { .. } => (
            Grade::Warning,
            "rename one of them with `exposedTools`, so that both keep plain names",
        ),
        NameWarning::OverBudget { .. } => {
            (Grade::Warning, "hide some with `hiddenTools`, or offer only some with `exposedTools`")
        }
    };
    Finding::new(grade, "names", title, warning.to_string()).fix(fix)
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

    #[test]
    fn each_client_has_its_own_troubles() {
        let long = "create_pull_request_review_comment_reply_in_thread";
        let tools = offered(&[("github", long), ("fs", "read-it"), ("fs", "read_it")]);
        let found = names(&tools[..1], &[Client::ClaudeDesktop], ":");
        assert!(found[0].problem.contains("too long"), "{found:?}");
        let found = names(&tools[1..], &[Client::Codex], ":");
        assert!(found[0].problem.contains("cannot tell these tools apart"), "{found:?}");
        assert_eq!(names(&tools[1..2], &[Client::Codex, Client::Zed], ":"), []);
    }

    #[test]
    fn too_many_are_told() {
        let many: Vec<Offered> = (0..81)
            .map(|number| Offered { server: "s".to_owned(), tool: format!("t{number}") })
            .collect();
        let found = names(&many, &[Client::Cursor, Client::Gemini], ":");
        assert_eq!(found.len(), 1);
        assert!(found[0].problem.starts_with("81 tools: above 80 Cursor"), "{found:?}");
    }
}

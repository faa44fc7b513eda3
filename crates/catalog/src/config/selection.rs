//! `Selection`: what presets take of a server or a custom tool, and what of it is off for some clients.

use std::collections::BTreeMap;

use super::spec::fits;
use crate::client::Client;

/// The whole of a server, or some of its tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolPatterns {
    pub whole: bool,
    /// The server's own names of tools, in which `*` is anything.
    pub tools: Vec<String>,
}

impl ToolPatterns {
    fn has(&self, tool: &str) -> bool {
        self.whole || self.tools.iter().any(|pattern| fits(pattern, tool))
    }

    fn is_empty(&self) -> bool {
        !self.whole && self.tools.is_empty()
    }
}

/// What the file's `presets` and `clients` say about one server or custom tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// A preset that is not here takes nothing.
    pub(crate) presets: BTreeMap<String, ToolPatterns>,
    pub(crate) clients: Vec<(Client, ClientSelection)>,
}

/// What `clients` says about one client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClientSelection {
    pub(crate) preset: Option<String>,
    pub(crate) hidden: ToolPatterns,
}

impl Selection {
    /// What clients of this kind are shown. A preset of the command line stands in for the client's own.
    pub fn seen_by(&self, client: Option<Client>, preset: Option<&str>) -> SelectedTools {
        let rules = client.and_then(|client| self.clients.iter().find(|(it, _)| *it == client));
        let rules = rules.map(|(_, rules)| rules);
        let preset = preset.or_else(|| rules?.preset.as_deref());
        SelectedTools {
            taken: preset.map(|name| self.presets.get(name).cloned().unwrap_or_default()),
            hidden: rules.map(|rules| rules.hidden.clone()).unwrap_or_default(),
        }
    }
}

/// What is left of a server's tools for one kind of client. The default is everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SelectedTools {
    /// `None`: no preset chooses.
    pub taken: Option<ToolPatterns>,
    pub hidden: ToolPatterns,
}

impl SelectedTools {
    /// Is the tool that its server calls so among them?
    pub fn shows(&self, tool: &str) -> bool {
        self.taken.as_ref().is_none_or(|taken| taken.has(tool)) && !self.hidden.has(tool)
    }

    /// Is nothing of the server there, neither its tools nor its resources and prompts?
    pub fn is_nothing(&self) -> bool {
        self.hidden.whole || self.taken.as_ref().is_some_and(ToolPatterns::is_empty)
    }

    pub fn is_everything(&self) -> bool {
        self.taken.as_ref().is_none_or(|taken| taken.whole) && self.hidden.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(tools: &[&str]) -> ToolPatterns {
        ToolPatterns { whole: false, tools: tools.iter().map(ToString::to_string).collect() }
    }

    #[test]
    fn a_preset_of_the_command_line_comes_before_the_clients_own() {
        let selection = Selection {
            presets: [("work".to_owned(), patterns(&["read_*"]))].into(),
            clients: vec![(
                Client::Cursor,
                ClientSelection {
                    preset: Some("work".to_owned()),
                    hidden: patterns(&["read_secret"]),
                },
            )],
        };
        let shown = |client, preset| {
            let seen = selection.seen_by(client, preset);
            ["read_file", "read_secret", "write"].map(|tool| seen.shows(tool))
        };
        assert_eq!(shown(None, None), [true, true, true]);
        assert_eq!(shown(None, Some("work")), [true, true, false]);
        assert_eq!(shown(Some(Client::Cursor), None), [true, false, false]);
        assert_eq!(shown(Some(Client::Zed), None), [true, true, true]);
        assert_eq!(shown(Some(Client::Cursor), Some("home")), [false, false, false]);
        assert!(selection.seen_by(None, Some("home")).is_nothing());
        assert!(selection.seen_by(None, None).is_everything());
    }
}

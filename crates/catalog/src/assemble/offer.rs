//! What a server brings into a catalog, and the way back to it.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::config::{SelectedTools, ToolFilter};
use crate::listing::{ListKind, Listing, ListingEntry, ParamHeader};

/// What one server contributes.
#[derive(Clone, Copy, Debug)]
pub struct Offer<'a> {
    pub server: usize,
    pub key: &'a str,
    /// `None`: it does not run now.
    pub listing: Option<&'a Listing>,
    /// Every tool name it has offered so far, as the server spells it.
    pub known: &'a BTreeSet<String>,
    /// Every prompt name it has offered so far.
    pub known_prompts: &'a BTreeSet<String>,
    pub filter: &'a ToolFilter,
    /// What presets and clients leave of it.
    pub selected: &'a SelectedTools,
    pub scope: Scope<'a>,
}

impl Offer<'_> {
    /// May whoever looks see the tool that the server calls so?
    pub(super) fn sees(&self, tool: &str) -> bool {
        self.scope.has(tool) && self.selected.shows(tool)
    }
}

/// How much of a server may be seen. What is out of sight keeps its names all the same, if it is
/// among the known ones: whoever sees less sees the same names.
#[derive(Clone, Copy, Debug)]
pub enum Scope<'a> {
    Whole,
    /// These tools, by the server's own names, and nothing else of it.
    Tools(&'a BTreeSet<String>),
    /// What policies leave of it.
    Parts(&'a SeenParts),
}

/// What policies leave of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeenParts {
    /// By the server's own names.
    pub tools: BTreeSet<String>,
    /// May anything of it be seen that is no tool?
    pub is_whole: bool,
    /// Resources, templates and prompts that may not.
    pub hidden: BTreeSet<(ListKind, String)>,
}

impl Scope<'_> {
    pub(super) fn is_whole(self) -> bool {
        match self {
            Self::Whole => true,
            Self::Tools(_) => false,
            Self::Parts(parts) => parts.is_whole,
        }
    }

    /// May this resource, template or prompt be seen, if the server is whole?
    pub(super) fn shows(self, kind: ListKind, entry: &ListingEntry) -> bool {
        match self {
            Self::Whole | Self::Tools(_) => true,
            Self::Parts(parts) if parts.hidden.is_empty() => true,
            Self::Parts(parts) => !parts.hidden.contains(&(kind, entry.name.clone())),
        }
    }

    pub(super) fn has(self, tool: &str) -> bool {
        match self {
            Self::Whole => true,
            Self::Tools(tools) => tools.contains(tool),
            Self::Parts(parts) => parts.tools.contains(tool),
        }
    }
}

/// Where a call, a read or a prompt goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    pub server: usize,
    /// The name or URI as its server spelt it, with quotes.
    pub name_token: Box<[u8]>,
    /// The arguments that a tool's calls repeat in headers.
    pub headers: Option<Arc<[ParamHeader]>>,
    /// Its server may hold state for whoever calls it.
    pub keeps_state: bool,
}

impl Route {
    pub(super) fn to(server: usize, entry: &ListingEntry) -> Self {
        Self {
            server,
            name_token: entry.name_token().into(),
            headers: entry.headers.clone(),
            keeps_state: entry.declares_effects,
        }
    }
}

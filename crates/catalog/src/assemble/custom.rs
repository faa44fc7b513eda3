//! Custom tools: one name for tools of several servers; the call's arguments say which is meant.

use trunkline_wire::{encode_into, member};

use super::offer::{Offer, Route};
use super::page::{spliced, value_of};
use crate::config::{CustomTool, Subtool};
use crate::listing::{Tool, param_headers};
use crate::name::escaped;

/// Where the calls of a custom tool go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustomRoute {
    name: String,
    subtools: Vec<RoutedSubtool>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct RoutedSubtool {
    server: String,
    tool: String,
    leads: Leads,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Leads {
    To(Route),
    ToNoServer,
    ToNoTool,
}

/// Why a subtool cannot be called.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubtoolRefusal {
    #[error(
        "custom tool \"{}\" has no subtool \"{}\" of server \"{}\"; it has {has}",
        escaped(custom),
        escaped(tool),
        escaped(server)
    )]
    NotListed {
        custom: String,
        server: String,
        tool: String,
        /// The ones there are, ready to be shown.
        has: String,
    },
    #[error("server \"{}\" is not running", escaped(server))]
    NotRunning { server: String },
    #[error("server \"{}\" does not offer the tool \"{}\" now", escaped(server), escaped(tool))]
    NotOffered { server: String, tool: String },
}

/// Names and definitions of the custom tools that can be called now, under their own names, sorted by
/// them: what the catalog lists of them where no client wants other names, without the rest of it.
pub fn custom_tools(offers: &[Offer<'_>], custom: &[CustomTool]) -> Vec<(String, Vec<u8>)> {
    let made = |tool: &CustomTool| {
        let route = CustomRoute::new(tool, offers, &mut Vec::new());
        Some((tool.name.clone(), route.definition(tool, &tool.name, offers)?))
    };
    let mut tools: Vec<_> = custom.iter().filter_map(made).collect();
    tools.sort_by(|a, b| a.0.cmp(&b.0));
    tools
}

impl CustomRoute {
    pub(super) fn new(tool: &CustomTool, offers: &[Offer<'_>], warnings: &mut Vec<String>) -> Self {
        let ways = tool.subtools.iter().map(|subtool| RoutedSubtool {
            server: subtool.server.clone(),
            tool: subtool.tool.clone(),
            leads: leads(subtool, offers),
        });
        let route = Self { name: tool.name.clone(), subtools: ways.collect() };
        for way in route.subtools.iter().filter(|way| way.leads == Leads::ToNoTool) {
            let (custom, server, tool) =
                (escaped(&route.name), escaped(&way.server), escaped(&way.tool));
            warnings.push(format!(
                "custom tool \"{custom}\": server \"{server}\" offers no tool \"{tool}\""
            ));
        }
        route
    }

    /// Where a call of `tool` of `server` goes. Only what the config lists may be called.
    pub fn subtool(&self, server: &str, tool: &str) -> Result<&Route, SubtoolRefusal> {
        // Searched in the config's list, not in the catalog: a custom tool must not lead to what it
        // does not name.
        let way = self.subtools.iter().find(|way| way.server == server && way.tool == tool);
        let (server, tool) = (server.to_owned(), tool.to_owned());
        match way.map(|way| &way.leads) {
            Some(Leads::To(route)) => Ok(route),
            Some(Leads::ToNoServer) => Err(SubtoolRefusal::NotRunning { server }),
            Some(Leads::ToNoTool) => Err(SubtoolRefusal::NotOffered { server, tool }),
            None => {
                let has = self.subtools.iter().map(|way| shown(&way.server, &way.tool));
                let has = has.collect::<Vec<_>>().join(", ");
                Err(SubtoolRefusal::NotListed { custom: self.name.clone(), server, tool, has })
            }
        }
    }

    /// The tool as it is listed; `None` while no subtool of it can be called. The subtools are
    /// those of the config, running or not, so that a restart changes as little as it can.
    pub(super) fn definition(
        &self,
        tool: &CustomTool,
        name: &str,
        offers: &[Offer<'_>],
    ) -> Option<Vec<u8>> {
        // A tool whose every call would fail is not offered.
        self.subtools.iter().find(|way| matches!(way.leads, Leads::To(_)))?;
        let mut out = b"{\"name\":".to_vec();
        encode_into(name, &mut out);
        out.extend_from_slice(b",\"description\":");
        encode_into(&description(tool), &mut out);
        out.extend_from_slice(
            br#","inputSchema":{"type":"object","properties":{"server":{"type":"string","enum":"#,
        );
        push_names(tool.subtools.iter().map(|subtool| &subtool.server), &mut out);
        out.extend_from_slice(br#"},"tool":{"type":"string","enum":"#);
        push_names(tool.subtools.iter().map(|subtool| &subtool.tool), &mut out);
        out.extend_from_slice(
            br#"},"args":{"type":"object","description":"the arguments of the tool","anyOf":["#,
        );
        for (index, subtool) in tool.subtools.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            let definition = find(subtool, offers).map(|(_, tool)| &*tool.definition);
            push_schema(subtool, definition.unwrap_or_default(), &mut out);
        }
        out.extend_from_slice(
            br#"]}},"required":["server","tool"],"additionalProperties":false}}"#,
        );
        Some(out)
    }
}

fn leads(subtool: &Subtool, offers: &[Offer<'_>]) -> Leads {
    let offer = offers.iter().find(|offer| offer.key == subtool.server);
    if offer.is_none_or(|offer| offer.listing.is_none()) {
        return Leads::ToNoServer;
    }
    match find(subtool, offers) {
        Some((server, tool)) => Leads::To(Route::to(server, tool)),
        None => Leads::ToNoTool,
    }
}

fn find<'a>(subtool: &Subtool, offers: &[Offer<'a>]) -> Option<(usize, &'a Tool)> {
    let offer = offers.iter().find(|offer| offer.key == subtool.server)?;
    let tool = offer.listing?.tools().iter().find(|tool| tool.name == subtool.tool)?;
    Some((offer.server, tool))
}

/// What the config says, and one line for each subtool.
fn description(tool: &CustomTool) -> String {
    let mut text = tool.description.clone();
    for subtool in &tool.subtools {
        text.push_str("\n- ");
        text.push_str(&format!("{} / {}", subtool.server, subtool.tool));
        if let Some(description) = &subtool.description {
            text.push_str(": ");
            text.push_str(description);
        }
    }
    text
}

/// An array of the names, each once.
fn push_names<'a>(names: impl Iterator<Item = &'a String>, out: &mut Vec<u8>) {
    let mut seen: Vec<&str> = Vec::new();
    for name in names {
        if seen.contains(&name.as_str()) {
            continue;
        }
        out.push(if seen.is_empty() { b'[' } else { b',' });
        encode_into(name, out);
        seen.push(name);
    }
    out.extend_from_slice(if seen.is_empty() { b"[]" } else { b"]" });
}

/// The subtool's own schema under a title, or, where that cannot stand inside another one, any
/// object: a schema left out would make its arguments invalid.
fn push_schema(subtool: &Subtool, definition: &[u8], out: &mut Vec<u8>) {
    let mut title = Vec::new();
    encode_into(&format!("{}/{}", subtool.server, subtool.tool), &mut title);
    let schema = member(definition, "inputSchema").filter(|schema| fits_inside(schema));
    let titled = schema.and_then(|schema| Some((schema, value_of(schema, "title")?)));
    match (schema, titled) {
        (_, Some((schema, at))) => out.extend_from_slice(&spliced(schema, &[(at, &title)])),
        (Some([b'{', rest @ ..]), None) => {
            out.extend_from_slice(b"{\"title\":");
            out.extend_from_slice(&title);
            out.push(b',');
            out.extend_from_slice(rest);
        }
        _ => {
            out.extend_from_slice(b"{\"title\":");
            out.extend_from_slice(&title);
            out.extend_from_slice(b",\"type\":\"object\"}");
        }
    }
}

/// A reference means another place once its schema stands inside another one. Looked for as bytes:
/// one too many found costs a schema its place, nothing else. A header's name must not be there at
/// all: clients would have to refuse the custom tool.
fn fits_inside(schema: &[u8]) -> bool {
    let references = ["$ref", "$dynamicRef", "$recursiveRef", "\\u0024"];
    let has = |word: &str| schema.windows(word.len()).any(|part| part == word.as_bytes());
    member(schema, "type") == Some(b"\"object\"")
        && !references.into_iter().any(has)
        && param_headers(schema).is_ok_and(|headers| headers.is_empty())
}

fn shown(server: &str, tool: &str) -> String {
    format!("\"{}\" of \"{}\"", escaped(tool), escaped(server))
}

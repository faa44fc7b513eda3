//! Trunkline's own tools, for clients that are not shown every tool: they find, describe and call the
//! others.

use std::collections::HashSet;

use trunkline_wire::encode_into;

/// How much of what there is the list of tools shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Exposure {
    /// Every tool.
    #[default]
    Full,
    /// Pinned tools and custom ones, and Trunkline's own, which lead to the others.
    Search,
    /// Every tool, unless there are more than the client is known to carry.
    Auto,
}

/// A tool of Trunkline itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetaTool {
    Search,
    Describe,
    Call,
    /// Calls only tools with `readOnlyHint`, so that a client may approve it by itself.
    CallReadOnly,
}

impl MetaTool {
    pub const ALL: [Self; 4] = [Self::Search, Self::Describe, Self::Call, Self::CallReadOnly];

    fn plain_name(self) -> &'static str {
        match self {
            Self::Search => "search_tools",
            Self::Describe => "describe_tools",
            Self::Call => "call_tool",
            Self::CallReadOnly => "call_read_only_tool",
        }
    }
}

/// What they are called: the names have a prefix only where one of them is somebody else's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetaNames {
    prefix: String,
}

impl MetaNames {
    /// Names that are nobody's, whatever a client takes for the same.
    pub(super) fn beside<'a>(others: impl Iterator<Item = &'a str>) -> Self {
        let taken: HashSet<String> = others.map(folded).collect();
        let is_free =
            |names: &Self| MetaTool::ALL.iter().all(|tool| !taken.contains(&names.name(*tool)));
        // Stable: the same set of tools always gives the same names, which clients store in
        // permissions.
        let numbered = (2_u32..).map(|number| format!("trunkline{number}_"));
        let prefixes = [String::new(), "trunkline_".to_owned()].into_iter().chain(numbered);
        let mut names = prefixes.map(|prefix| Self { prefix });
        names.find(is_free).unwrap_or_default() // there is always one more
    }

    pub fn name(&self, tool: MetaTool) -> String {
        format!("{}{}", self.prefix, tool.plain_name())
    }

    /// The tool as it is listed.
    pub(super) fn definition(&self, tool: MetaTool) -> Vec<u8> {
        let [search, describe, call, read] = MetaTool::ALL.map(|tool| self.name(tool));
        let (title, description, schema, annotations) = match tool {
            MetaTool::Search => (
                "Search tools",
                format!(
                    "Finds tools by what they do. Most tools are not in this list: say in plain words \
                     what you need, then call what fits with `{call}`, or with `{read}` if it is \
                     read_only."
                ),
                SEARCH,
                r#"{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}"#,
            ),
            MetaTool::Describe => (
                "Describe tools",
                format!(
                    "The whole definitions of tools that `{search}` has found: what they do and \
                     which arguments they take."
                ),
                DESCRIBE,
                r#"{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}"#,
            ),
            MetaTool::Call => (
                "Call a tool",
                format!(
                    "Calls any tool that `{search}` has found, by its name, with its own arguments \
                     (`{describe}` says which)."
                ),
                CALL,
                r#"{"readOnlyHint":false,"destructiveHint":true,"openWorldHint":true}"#,
            ),
            MetaTool::CallReadOnly => (
                "Call a tool that only reads",
                format!("The same as `{call}` for tools that are read_only; others are refused."),
                CALL,
                r#"{"readOnlyHint":true,"destructiveHint":false,"openWorldHint":true}"#,
            ),
        };
        let mut out = b"{\"name\":".to_vec();
        encode_into(&self.name(tool), &mut out);
        out.extend_from_slice(b",\"title\":");
        encode_into(title, &mut out);
        out.extend_from_slice(b",\"description\":");
        encode_into(&description, &mut out);
        out.extend_from_slice(b",\"inputSchema\":");
        out.extend_from_slice(schema.as_bytes());
        out.extend_from_slice(b",\"annotations\":");
        out.extend_from_slice(annotations.as_bytes());
        out.push(b'}');
        out
    }
}

/// Case and dashes: what one client or another does not tell apart.
fn folded(name: &str) -> String {
    name.to_lowercase().replace('-', "_")
}

const SEARCH: &str = r#"{"type":"object","properties":{"query":{"type":"string","description":"What the tool is to do, in plain words, or its name"},"limit":{"type":"integer","minimum":1,"maximum":50,"default":10,"description":"How many tools at most"},"server":{"type":"string","description":"Only tools of this server"}},"required":["query"],"additionalProperties":false}"#;

const DESCRIBE: &str = r#"{"type":"object","properties":{"names":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":20,"description":"Names of tools as they were found"}},"required":["names"],"additionalProperties":false}"#;

const CALL: &str = r#"{"type":"object","properties":{"name":{"type":"string","description":"The tool's name as it was found"},"arguments":{"type":"object","description":"The tool's own arguments","additionalProperties":true}},"required":["name"],"additionalProperties":false}"#;

#[cfg(test)]
mod tests {
    use trunkline_wire::{decode, is_json, member};

    use super::*;

    #[test]
    fn names_are_plain_unless_somebody_else_has_one() {
        let called =
            |others: &[&str]| MetaNames::beside(others.iter().copied()).name(MetaTool::Call);
        for (others, expected) in [
            (&[][..], "call_tool"),
            (&["fs:call_tool", "fs__search_tools"], "call_tool"),
            (&["search_tools"], "trunkline_call_tool"),
            (&["Call-Tool"], "trunkline_call_tool"),
            (&["call_tool", "trunkline_describe_tools"], "trunkline2_call_tool"),
        ] {
            assert_eq!(called(others), expected, "{others:?}");
        }
    }

    #[test]
    fn definitions_are_json_and_say_what_they_do() {
        let names = MetaNames { prefix: "x_".to_owned() };
        for (tool, reads, destroys) in [
            (MetaTool::Search, true, false),
            (MetaTool::Describe, true, false),
            (MetaTool::Call, false, true),
            (MetaTool::CallReadOnly, true, false),
        ] {
            let definition = names.definition(tool);
            assert!(is_json(&definition), "{}", String::from_utf8_lossy(&definition));
            let name = member(&definition, "name").and_then(decode).unwrap().into_owned();
            assert_eq!(name, names.name(tool));
            let annotations = member(&definition, "annotations").unwrap();
            let says = |key| member(annotations, key) == Some(b"true");
            assert_eq!((says("readOnlyHint"), says("destructiveHint")), (reads, destroys));
        }
    }
}

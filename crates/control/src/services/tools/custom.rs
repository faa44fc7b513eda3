//! Custom tools of the config file over REST: which of its tools a call is for.

use trunkline_catalog::config::CustomTool;
use trunkline_wire::{decode, member};

use super::service::ToolService;
use crate::access::Grants;
use crate::fault::{Pointer, Problem, RequestFault};
use crate::services::grants::grant_of;
use trunkline_gateway::CustomInfo;

/// One of the tools behind a custom tool, and what it is called with.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ChosenSubtool<'a> {
    pub(super) server: String,
    pub(super) tool: String,
    pub(super) arguments: &'a [u8],
}

impl ToolService {
    /// As the asker may see and call them, by name.
    pub(super) fn custom_tools(&self, grants: &Grants) -> Vec<CustomInfo> {
        let Some(fleet) = self.live.fleet() else { return Vec::new() };
        // Without a credential: callers with the same grants see the same tools.
        let mut tools = fleet.custom_tools(grant_of(grants, "").as_deref());
        tools.sort_by(|a, b| a.tool().name.cmp(b.tool().name));
        tools
    }

    /// What a call under this name is for, if it is a custom tool that the grants allow.
    pub(super) fn custom_call<'a>(
        &self,
        name: &str,
        arguments: Option<&'a [u8]>,
        grants: &Grants,
    ) -> Option<Result<ChosenSubtool<'a>, Problem>> {
        let mut tool = self.live.known.file().custom_tool(name)?;
        tool.subtools.retain(|subtool| grants.allows(&subtool.server, &subtool.tool));
        (!tool.subtools.is_empty()).then(|| choose(&tool, arguments.unwrap_or_default()))
    }
}

fn choose<'a>(custom: &CustomTool, arguments: &'a [u8]) -> Result<ChosenSubtool<'a>, Problem> {
    let at = Pointer::root().key("arguments");
    let invalid =
        |at: &Pointer, why: String| Err(Problem::invalid(vec![RequestFault::at(at, why)]));
    let text = |key| member(arguments, key).and_then(decode);
    let (Some(server), Some(tool)) = (text("server"), text("tool")) else {
        let why = "a custom tool needs `server`, `tool` and `args`".to_owned();
        return invalid(&at, why);
    };
    let is_listed = custom.subtools.iter().any(|it| it.server == *server && it.tool == *tool);
    if !is_listed {
        let has: Vec<String> =
            custom.subtools.iter().map(|it| format!("`{}` of `{}`", it.tool, it.server)).collect();
        return invalid(&at.key("tool"), format!("it has {}", has.join(", ")));
    }
    let args = member(arguments, "args").filter(|args| *args != b"null").unwrap_or(b"{}");
    if !args.starts_with(b"{") {
        return invalid(&at.key("args"), "must be an object".to_owned());
    }
    Ok(ChosenSubtool { server: server.into_owned(), tool: tool.into_owned(), arguments: args })
}

#[cfg(test)]
mod tests {
    use trunkline_catalog::config::Subtool;

    use super::*;

    #[test]
    fn the_arguments_say_which_tool_is_meant() {
        let subtool = |server: &str, tool: &str| Subtool {
            server: server.to_owned(),
            tool: tool.to_owned(),
            description: None,
        };
        let custom = CustomTool {
            name: "both".to_owned(),
            description: String::new(),
            subtools: vec![subtool("a", "x"), subtool("b", "y")],
            selection: None,
        };
        let chosen = |arguments: &'static [u8]| ChosenSubtool {
            server: "b".to_owned(),
            tool: "y".to_owned(),
            arguments,
        };
        for (arguments, expected) in [
            (r#"{"server":"b","tool":"y","args":{"n":1.0}}"#, Some(chosen(br#"{"n":1.0}"#))),
            (r#"{"server":"b","tool":"y"}"#, Some(chosen(b"{}"))),
            (r#"{"server":"b","tool":"y","args":null}"#, Some(chosen(b"{}"))),
            (r#"{"server":"b","tool":"y","args":[]}"#, None),
            (r#"{"server":"a","tool":"y","args":{}}"#, None),
            (r#"{"tool":"y"}"#, None),
            ("", None),
        ] {
            assert_eq!(choose(&custom, arguments.as_bytes()).ok(), expected, "{arguments}");
        }
    }
}

//! Tools as the API shows them: grouped by server, with what their servers say about them.

use super::skill::{ASSIGNED_SKILLS, IS_CLASSIFIED, SKILL_IDS};
use super::{NEXT_CURSOR, Status};
use crate::api::schema::{
    ObjectSchema, RawObject, Schema, answer, any_text, list, number, optional, required,
};
use crate::skills::AssignedSkills;

answer! {
    /// A tool of a server.
    pub struct ToolView<'a> as "Tool" {
        #[example = "0d9c4c5e-8a2b-4a9e-9d62-8f4f2f1f2a10/create_issue"] pub id: &'a str,
        /// `server.tool`: what it is called with.
        #[example = "github-mcp.create_issue"] pub name: &'a str,
        /// As its server calls it.
        #[example = "create_issue"] pub original_name: &'a str,
        #[example = "Create a new GitHub issue"] pub description: Option<&'a str>,
        #[hidden] pub input_schema: Option<&'a [u8]>,
        /// The JSON Schema of its arguments.
        #[example = {"type":"object"}]
        input_schema?: RawObject<'_> = |it| it.input_schema.and_then(RawObject::of),
        #[hidden] pub annotations: Option<&'a [u8]>,
        /// What its server says about what it does.
        annotations?: RawObject<'_> = |it| it.annotations.and_then(RawObject::of),
        #[hidden] pub assigned: Option<&'a AssignedSkills>,
        /// The likeliest first.
        skill_ids?: Vec<String> = |it| it.assigned.map(AssignedSkills::ids) => SKILL_IDS,
        /// What it is mostly about.
        primary_skill_id?: Option<&str> = |it| it.assigned.map(AssignedSkills::primary),
        #[doc = IS_CLASSIFIED]
        is_classified?: Option<bool> = |it| it.assigned.map(AssignedSkills::is_classified),
        /// Its skills, with how sure each is.
        skills?: Value = |it| it.assigned.map(AssignedSkills::json) => ASSIGNED_SKILLS,
        /// Whose it is, where one is asked for.
        pub server?: ToolServer<'a>,
    }
}

answer! {
    /// The server of a tool.
    pub struct ToolServer<'a> as "ToolServer" {
        #[example = "0d9c4c5e-8a2b-4a9e-9d62-8f4f2f1f2a10"] pub id: &'a str,
        #[example = "github-mcp"] pub name: &'a str,
        pub status: Status,
    }
}

answer! {
    /// The tools of one server.
    pub struct ToolGroup<'a> as "ToolGroup" {
        /// The server's id.
        #[example = "0d9c4c5e-8a2b-4a9e-9d62-8f4f2f1f2a10"] pub id: &'a str,
        /// The server's name.
        #[example = "github-mcp"] pub name: &'a str,
        pub status: Status,
        pub tools: Vec<ToolView<'a>>,
    }
}

answer! {
    /// Tools, grouped by server.
    pub struct ToolList<'a> as "ToolList" {
        pub servers: &'a [ToolGroup<'a>],
        /// Tools on all pages.
        #[example = 1] pub total: usize,
        #[doc = NEXT_CURSOR]
        pub next_cursor: Option<&'a str>,
    }
}

answer! {
    /// The tools of one server.
    pub struct ServerTools<'a> as "ServerTools" {
        #[hidden] pub group: &'a ToolGroup<'a>,
        /// The server's id.
        #[example = "0d9c4c5e-8a2b-4a9e-9d62-8f4f2f1f2a10"] id: &str = |it| it.group.id,
        /// The server's name.
        #[example = "github-mcp"] name: &str = |it| it.group.name,
        status: Status = |it| it.group.status,
        tools: Vec<ToolView<'_>> = |it| it.group.tools,
        /// Tools on all pages.
        #[example = 1] pub total: usize,
        #[doc = NEXT_CURSOR]
        pub next_cursor: Option<&'a str>,
    }
}

/// The body of `GET /tools`. `total` counts the tools on all pages.
pub fn tool_list(groups: &[ToolGroup<'_>], total: usize, next_cursor: Option<&str>) -> Vec<u8> {
    bytes(&ToolList { servers: groups, total, next_cursor })
}

/// The body of `GET /aggregator/servers/{id}/tools`.
pub fn server_tools(group: &ToolGroup<'_>, total: usize, next_cursor: Option<&str>) -> Vec<u8> {
    bytes(&ServerTools { group, total, next_cursor })
}

/// The body of `GET /tools/{id}`: the only tool of a group.
pub fn one_tool(group: &ToolGroup<'_>) -> Option<Vec<u8>> {
    let ToolGroup { id, name, status, tools } = group;
    let server = Some(ToolServer { id, name, status: *status });
    Some(bytes(&ToolView { server, ..tools.first()?.clone() }))
}

/// Straight to bytes: there may be ten thousand tools, and their schemas stay as their servers wrote
/// them, which a `Value` would not keep.
fn bytes(answer: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(answer).unwrap_or_default()
}

pub const METADATA: ObjectSchema = ObjectSchema::answer(
    "CallMetadata",
    "What Trunkline says about the call.",
    &[
        required("routed_to", any_text(), "The server's name."),
        required("routing_time_ms", number(), "Spent in Trunkline."),
        required("execution_time_ms", number(), "Spent in the server."),
    ],
);

/// Whatever else the server has put into its result is there, too.
pub const TOOL_RESULT: ObjectSchema = ObjectSchema::answer(
    "ToolResult",
    "The tool's result as its server wrote it, and `metadata` as a last member. A tool whose \
     result has a `metadata` of its own keeps it; ours is then called `_trunkline`.",
    &[
        optional("content", list(&Schema::AnyObject), "")
            .example(r#"[{"type":"text","text":"{\"issue_number\": 123}"}]"#),
        optional("structuredContent", Schema::Anything, ""),
        optional("isError", Schema::Bool, "The tool itself says that it failed.").example("false"),
        optional("metadata", Schema::Anything, "As `_trunkline`, unless it is the tool's own.")
            .example(
                r#"{"routed_to":"github-mcp","routing_time_ms":12.5,"execution_time_ms":450.2}"#,
            ),
        optional("_trunkline", Schema::Object(&METADATA), "Where the tool has its own `metadata`."),
    ],
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::view::tests::assert_fits;

    fn group() -> ToolGroup<'static> {
        let tool = ToolView {
            id: "1",
            name: "github-mcp.create_issue",
            original_name: "create_issue",
            description: Some("Create a \"new\" issue\n"),
            input_schema: Some(br#"{"type": "object", "maximum":1.0}"#),
            annotations: None,
            assigned: None,
            server: None,
        };
        let odd = ToolView { description: None, input_schema: Some(b"{broken"), ..tool.clone() };
        ToolGroup { id: "s", name: "github-mcp", status: Status::Connected, tools: vec![tool, odd] }
    }

    #[test]
    fn lists_have_their_shape_and_schemas_stay_as_written() {
        let list = String::from_utf8(tool_list(&[group(), group()], 4, Some("c"))).unwrap();
        assert_fits(&list, &ToolList::SCHEMA);
        assert!(list.contains(r#""input_schema":{"type": "object", "maximum":1.0}}"#), "{list}");
        assert!(list.ends_with(r#","total":4,"next_cursor":"c"}"#));
        let one = String::from_utf8(server_tools(&group(), 2, None)).unwrap();
        assert_fits(&one, &ServerTools::SCHEMA);
        let tool = String::from_utf8(one_tool(&group()).unwrap()).unwrap();
        assert_fits(&tool, &ToolView::SCHEMA);
        assert!(tool.ends_with(r#""server":{"id":"s","name":"github-mcp","status":"CONNECTED"}}"#));
        let none = String::from_utf8(tool_list(&[], 0, None)).unwrap();
        assert_eq!(none, r#"{"servers":[],"total":0,"next_cursor":null}"#);
    }
}

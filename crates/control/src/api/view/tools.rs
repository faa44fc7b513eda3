//! Tools as the API shows them: grouped by server, with what their servers say about them.

use trunkline_wire::{encode_into, is_json};

use super::skill::{ASSIGNED, IS_CLASSIFIED, skill_members};
use super::status::STATUSES;
use super::{NEXT_CURSOR, Status};
use crate::api::shape::{Object, Shape, any_text, count, optional, required};
use crate::skills::AssignedSkills;

#[derive(Debug, Clone, PartialEq)]
pub struct ToolView<'a> {
    pub id: &'a str,
    /// As clients say it: `server.tool`.
    pub name: &'a str,
    pub original_name: &'a str,
    pub description: Option<&'a str>,
    /// JSON, as the server wrote it.
    pub input_schema: Option<&'a [u8]>,
    pub annotations: Option<&'a [u8]>,
    /// `None`: they are not known (yet).
    pub assigned: Option<&'a AssignedSkills>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ToolGroup<'a> {
    pub id: &'a str,
    pub name: &'a str,
    pub status: Status,
    pub tools: Vec<ToolView<'a>>,
}

/// The body of `GET /tools`. `total` counts the tools on all pages. Written as bytes: there may be
/// ten thousand, and schemas stay as their servers wrote them.
pub fn tool_list(groups: &[ToolGroup<'_>], total: usize, next_cursor: Option<&str>) -> Vec<u8> {
    let mut out = b"{\"servers\":[".to_vec();
    for (index, group) in groups.iter().enumerate() {
        comma(index, &mut out);
        out.push(b'{');
        write_group(group, &mut out);
        out.push(b'}');
    }
    out.push(b']');
    write_end(total, next_cursor, &mut out);
    out
}

/// The body of `GET /aggregator/servers/{id}/tools`.
pub fn server_tools(group: &ToolGroup<'_>, total: usize, next_cursor: Option<&str>) -> Vec<u8> {
    let mut out = b"{".to_vec();
    write_group(group, &mut out);
    write_end(total, next_cursor, &mut out);
    out
}

/// The body of `GET /tools/{id}`: the only tool of a group.
pub fn one_tool(group: &ToolGroup<'_>) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    write_tool(group.tools.first()?, &mut out);
    out.pop();
    out.extend_from_slice(b",\"server\":{");
    write_server(group, &mut out);
    out.extend_from_slice(b"}}");
    Some(out)
}

fn write_group(group: &ToolGroup<'_>, out: &mut Vec<u8>) {
    write_server(group, out);
    out.extend_from_slice(b",\"tools\":[");
    for (index, tool) in group.tools.iter().enumerate() {
        comma(index, out);
        write_tool(tool, out);
    }
    out.push(b']');
}

fn write_server(group: &ToolGroup<'_>, out: &mut Vec<u8>) {
    let status = group.status.as_str();
    for (key, value) in
        [("\"id\":", group.id), (",\"name\":", group.name), (",\"status\":", status)]
    {
        out.extend_from_slice(key.as_bytes());
        encode_into(value, out);
    }
}

fn write_tool(tool: &ToolView<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"id\":");
    encode_into(tool.id, out);
    out.extend_from_slice(b",\"name\":");
    encode_into(tool.name, out);
    out.extend_from_slice(b",\"original_name\":");
    encode_into(tool.original_name, out);
    out.extend_from_slice(b",\"description\":");
    match tool.description {
        Some(description) => encode_into(description, out),
        None => out.extend_from_slice(b"null"),
    }
    for (key, value) in
        [(",\"input_schema\":", tool.input_schema), (",\"annotations\":", tool.annotations)]
    {
        // What is not an object would make the whole list useless.
        if let Some(value) = value.filter(|value| value.starts_with(b"{") && is_json(value)) {
            out.extend_from_slice(key.as_bytes());
            out.extend_from_slice(value);
        }
    }
    if let Some(assigned) = tool.assigned {
        for (key, value) in skill_members(Some(assigned)) {
            out.extend_from_slice(format!(",\"{key}\":{value}").as_bytes());
        }
    }
    out.push(b'}');
}

fn write_end(total: usize, next_cursor: Option<&str>, out: &mut Vec<u8>) {
    out.extend_from_slice(format!(",\"total\":{total},\"next_cursor\":").as_bytes());
    match next_cursor {
        Some(cursor) => encode_into(cursor, out),
        None => out.extend_from_slice(b"null"),
    }
    out.push(b'}');
}

fn comma(index: usize, out: &mut Vec<u8>) {
    if index > 0 {
        out.push(b',');
    }
}

pub static TOOL: Object = Object::answer(
    "Tool",
    "A tool of a server.",
    &[
        required("id", any_text(), ""),
        required("name", any_text(), "`server.tool`: what it is called with."),
        required("original_name", any_text(), "As its server calls it."),
        required("description", Shape::OrNull(&any_text()), ""),
        optional("input_schema", Shape::AnyObject, "The JSON Schema of its arguments."),
        optional("annotations", Shape::AnyObject, "What its server says about what it does."),
        optional("skill_ids", Shape::List { of: &any_text(), most: 3 }, "The likeliest first."),
        optional("primary_skill_id", Shape::OrNull(&any_text()), "What it is mostly about."),
        optional("is_classified", Shape::OrNull(&Shape::Flag), IS_CLASSIFIED),
        optional(
            "skills",
            Shape::List { of: &Shape::Object(&ASSIGNED), most: 3 },
            "Its skills, with how sure each is.",
        ),
        optional("server", Shape::Object(&OF_SERVER), "Whose it is, where one is asked for."),
    ],
);

static OF_SERVER: Object = Object::answer(
    "ToolServer",
    "The server of a tool.",
    &[
        required("id", any_text(), ""),
        required("name", any_text(), ""),
        required("status", Shape::Word(&STATUSES), ""),
    ],
);

static GROUP: Object = Object::answer(
    "ToolGroup",
    "The tools of one server.",
    &[
        required("id", any_text(), "The server's id."),
        required("name", any_text(), "The server's name."),
        required("status", Shape::Word(&STATUSES), ""),
        required("tools", Shape::List { of: &Shape::Object(&TOOL), most: usize::MAX }, ""),
    ],
);

pub static TOOL_LIST: Object = Object::answer(
    "ToolList",
    "Tools, grouped by server.",
    &[
        required("servers", Shape::List { of: &Shape::Object(&GROUP), most: usize::MAX }, ""),
        required("total", count(), "Tools on all pages."),
        required("next_cursor", Shape::OrNull(&any_text()), NEXT_CURSOR),
    ],
);

pub static SERVER_TOOLS: Object = Object::answer(
    "ServerTools",
    "The tools of one server.",
    &[
        required("id", any_text(), "The server's id."),
        required("name", any_text(), "The server's name."),
        required("status", Shape::Word(&STATUSES), ""),
        required("tools", Shape::List { of: &Shape::Object(&TOOL), most: usize::MAX }, ""),
        required("total", count(), "Tools on all pages."),
        required("next_cursor", Shape::OrNull(&any_text()), NEXT_CURSOR),
    ],
);

pub static METADATA: Object = Object::answer(
    "CallMetadata",
    "What Trunkline says about the call.",
    &[
        required("routed_to", any_text(), "The server's name."),
        required("routing_time_ms", Shape::Number, "Spent in Trunkline."),
        required("execution_time_ms", Shape::Number, "Spent in the server."),
    ],
);

/// Whatever else the server has put into its result is there, too.
pub static TOOL_RESULT: Object = Object::answer(
    "ToolResult",
    "The tool's result as its server wrote it, and `metadata` as a last member. A tool whose \
     result has a `metadata` of its own keeps it; ours is then called `_trunkline`.",
    &[
        optional("content", Shape::List { of: &Shape::AnyObject, most: usize::MAX }, ""),
        optional("structuredContent", Shape::Anything, ""),
        optional("isError", Shape::Flag, "The tool itself says that it failed."),
        optional("metadata", Shape::Anything, "As `_trunkline`, unless it is the tool's own."),
        optional("_trunkline", Shape::Object(&METADATA), "Where the tool has its own `metadata`."),
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
        };
        let odd = ToolView { description: None, input_schema: Some(b"{broken"), ..tool.clone() };
        ToolGroup { id: "s", name: "github-mcp", status: Status::Connected, tools: vec![tool, odd] }
    }

    #[test]
    fn lists_have_their_shape_and_schemas_stay_as_written() {
        let list = String::from_utf8(tool_list(&[group(), group()], 4, Some("c"))).unwrap();
        assert_fits(&list, &Shape::Object(&TOOL_LIST));
        assert!(list.contains(r#""input_schema":{"type": "object", "maximum":1.0}}"#), "{list}");
        assert!(list.ends_with(r#","total":4,"next_cursor":"c"}"#));
        let one = String::from_utf8(server_tools(&group(), 2, None)).unwrap();
        assert_fits(&one, &Shape::Object(&SERVER_TOOLS));
        let tool = String::from_utf8(one_tool(&group()).unwrap()).unwrap();
        assert_fits(&tool, &Shape::Object(&TOOL));
        assert!(tool.ends_with(r#""server":{"id":"s","name":"github-mcp","status":"CONNECTED"}}"#));
        let none = String::from_utf8(tool_list(&[], 0, None)).unwrap();
        assert_eq!(none, r#"{"servers":[],"total":0,"next_cursor":null}"#);
    }
}

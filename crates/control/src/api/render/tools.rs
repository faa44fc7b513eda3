//! Tools in their groups. Definitions stay as the servers wrote them, so bodies are bytes.

use trunkline_wire::member;

use crate::api::paging::{List, cursor};
use crate::api::view::{self, ToolView};
use crate::services::{ListedTool, ToolGroup, ToolPage};

/// The body of `GET /tools`.
pub(crate) fn tool_page(page: &ToolPage) -> Vec<u8> {
    let groups: Vec<_> = page.groups.iter().map(group).collect();
    view::tool_list(&groups, page.total, next(page).as_deref())
}

/// The body of `GET /aggregator/servers/{id}/tools`; `None` without a group.
pub(crate) fn server_tools(page: &ToolPage) -> Option<Vec<u8>> {
    let group = group(page.groups.first()?);
    Some(view::server_tools(&group, page.total, next(page).as_deref()))
}

/// The body of `GET /tools/{id}`; `None` of a group without a tool.
pub(crate) fn one_tool(of: &ToolGroup) -> Option<Vec<u8>> {
    view::one_tool(&group(of))
}

fn next(page: &ToolPage) -> Option<String> {
    page.next.as_deref().map(|place| cursor(List::TOOLS, place))
}

fn group(group: &ToolGroup) -> view::ToolGroup<'_> {
    view::ToolGroup {
        id: &group.id,
        name: &group.name,
        status: group.status,
        tools: group.tools.iter().map(tool).collect(),
    }
}

fn tool(tool: &ListedTool) -> ToolView<'_> {
    ToolView {
        id: &tool.id,
        name: &tool.name,
        original_name: &tool.original_name,
        description: tool.description.as_deref(),
        input_schema: member(&tool.definition, "inputSchema"),
        annotations: member(&tool.definition, "annotations"),
        assigned: tool.assigned.as_ref(),
        server: None,
    }
}

//! The fixture as rmcp wants it: every method, answered from plain JSON.

use std::borrow::Cow;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    GetPromptRequestParams, GetPromptResponse, GetPromptResult, InitializeResult,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, ServerConfig, SubscribeRequestParams, UnsubscribeRequestParams,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};

use crate::{listing, prompts, resources, tools};

/// The server itself; it has no state.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fixture;

type Context = RequestContext<RoleServer>;

#[expect(deprecated, reason = "up to 2025-11-25 clients subscribe and set a log level this way")]
impl ServerHandler for Fixture {
    fn get_info(&self) -> ServerConfig {
        let info = typed::<InitializeResult>(json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {
                "completions": {},
                "logging": {},
                "prompts": {},
                "resources": { "subscribe": true },
                "tools": {},
            },
            "serverInfo": { "name": "conformance-fixture", "version": "1.0.0" },
            "instructions": "Offers what the conformance suite asks for.",
        }));
        info.unwrap_or_default()
    }

    // What is judged is what lies between the suite and this server, and that speaks these.
    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(ProtocolVersion::known_up_to(&ProtocolVersion::V_2025_11_25))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        typed(listing::tools())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let result = tools::call(&request.name, &arguments, &context).await;
        let result = result.ok_or_else(|| unknown("tool", &request.name))?;
        typed::<CallToolResult>(result).map(CallToolResponse::from)
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        typed(listing::resources())
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        typed(listing::templates())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let result = resources::read(&request.uri).ok_or_else(|| no_resource(&request.uri))?;
        typed::<ReadResourceResult>(result).map(ReadResourceResponse::from)
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _: Context,
    ) -> Result<(), ErrorData> {
        resources::read(&request.uri).map(drop).ok_or_else(|| no_resource(&request.uri))
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: Context,
    ) -> Result<(), ErrorData> {
        resources::read(&request.uri).map(drop).ok_or_else(|| no_resource(&request.uri))
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListPromptsResult, ErrorData> {
        typed(listing::prompts())
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let result = prompts::get(&request.name, &arguments);
        let result = result.ok_or_else(|| unknown("prompt", &request.name))?;
        typed::<GetPromptResult>(result).map(GetPromptResponse::from)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: Context,
    ) -> Result<CompleteResult, ErrorData> {
        typed(prompts::complete(&request.argument.value))
    }

    async fn set_level(
        &self,
        _: rmcp::model::SetLevelRequestParams,
        _: Context,
    ) -> Result<(), ErrorData> {
        Ok(())
    }
}

/// rmcp's structs cannot be written down field by field (they are open), but they can be read.
fn typed<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value)
        .map_err(|error| ErrorData::internal_error(format!("the fixture is wrong: {error}"), None))
}

fn unknown(what: &str, name: &str) -> ErrorData {
    ErrorData::invalid_params(format!("Unknown {what}: {name}"), None)
}

fn no_resource(uri: &str) -> ErrorData {
    ErrorData::resource_not_found(format!("Unknown resource: {uri}"), Some(json!({ "uri": uri })))
}

//! The fixture as rmcp wants it: every method, answered from plain JSON.

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    GetPromptRequestParams, GetPromptResponse, GetPromptResult, InitializeResult,
    InputRequiredResult, InputResponses, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ServerConfig,
    SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};

use crate::changes::{Changes, List};
use crate::era::{Era, is_modern};
use crate::rounds::{self, Said, Step};
use crate::scripts::{self, Refusal, Script};
use crate::{asking, listing, prompts, resources, tools};

/// The server itself. Over HTTP there is one per request or session; what changes is shared.
#[derive(Debug, Clone)]
pub(crate) struct Fixture {
    era: Era,
    changes: Arc<Changes>,
}

impl Fixture {
    pub(crate) fn new(era: Era) -> Self {
        Self { era, changes: Arc::default() }
    }
}

type Context = RequestContext<RoleServer>;

#[expect(deprecated, reason = "up to 2025-11-25 clients subscribe and set a log level this way")]
impl ServerHandler for Fixture {
    fn get_info(&self) -> ServerConfig {
        let info = typed::<InitializeResult>(json!({
            "protocolVersion": self.era.preferred(),
            "capabilities": {
                "completions": {},
                "logging": {},
                "prompts": { "listChanged": true },
                "resources": { "listChanged": true, "subscribe": true },
                "tools": { "listChanged": true },
            },
            "serverInfo": { "name": "conformance-fixture", "version": "1.0.0" },
            "instructions": "Offers what the conformance suite asks for.",
        }));
        info.unwrap_or_default()
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        self.era.versions()
    }

    // By this rmcp knows which arguments it must find in the headers.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        let mut tools = listing::tools(true);
        let tools = tools.get_mut("tools").and_then(Value::as_array_mut).map(std::mem::take);
        let tool = tools?.into_iter().find(|tool| tool.get("name") == Some(&json!(name)))?;
        typed(tool).ok()
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        complete(listing::tools(self.changes.has_more(List::Tools)))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = request.name;
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        if let Some(script) = scripts::of_tool(&name, &arguments) {
            let (responses, state) = (request.input_responses, request.request_state);
            let outcome = play(&script, &name, responses.as_ref(), state.as_deref(), &context);
            return match outcome.await? {
                Outcome::Asks(result) => Ok(result.into()),
                Outcome::Ends(text) => {
                    complete::<CallToolResult>(tools::saying(&text)).map(Into::into)
                }
                Outcome::Refused(why) => {
                    complete::<CallToolResult>(tools::failed(&why)).map(Into::into)
                }
            };
        }
        let result = tools::call(&name, &arguments, &context, &self.changes).await;
        let result = result.ok_or_else(|| unknown("tool", &name))?;
        complete::<CallToolResult>(result).map(CallToolResponse::from)
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        complete(listing::resources())
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        complete(listing::templates())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let result = resources::read(&request.uri).ok_or_else(|| no_resource(&request.uri))?;
        complete::<ReadResourceResult>(result).map(ReadResourceResponse::from)
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

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.changes.listen(&context).await;
        Ok(())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListPromptsResult, ErrorData> {
        complete(listing::prompts(self.changes.has_more(List::Prompts)))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        let name = request.name;
        if let Some(script) = scripts::of_prompt(&name) {
            let (responses, state) = (request.input_responses, request.request_state);
            let outcome = play(&script, &name, responses.as_ref(), state.as_deref(), &context);
            return match outcome.await? {
                Outcome::Asks(result) => Ok(result.into()),
                Outcome::Ends(text) => {
                    complete::<GetPromptResult>(prompts::saying(&text)).map(Into::into)
                }
                Outcome::Refused(why) => Err(ErrorData::internal_error(why, None)),
            };
        }
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let result = prompts::get(&name, &arguments);
        let result = result.ok_or_else(|| unknown("prompt", &name))?;
        complete::<GetPromptResult>(result).map(GetPromptResponse::from)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: Context,
    ) -> Result<CompleteResult, ErrorData> {
        complete(prompts::complete(&request.argument.value))
    }

    async fn set_level(
        &self,
        _: rmcp::model::SetLevelRequestParams,
        _: Context,
    ) -> Result<(), ErrorData> {
        Ok(())
    }
}

/// What comes of a tool or a prompt that asks first.
enum Outcome {
    Asks(InputRequiredResult),
    Ends(String),
    Refused(String),
}

async fn play(
    script: &Script,
    name: &str,
    responses: Option<&InputResponses>,
    state: Option<&str>,
    context: &Context,
) -> Result<Outcome, ErrorData> {
    if is_modern(context) {
        let capabilities = serde_json::to_value(context.client_capabilities().unwrap_or_default());
        let capabilities = capabilities.unwrap_or_default();
        return match rounds::next(
            script,
            name,
            Said { responses, state, capabilities: &capabilities },
        )? {
            Step::Ask(result) => typed(result).map(Outcome::Asks),
            Step::Done(answers) => Ok(Outcome::Ends((script.end)(&answers))),
        };
    }
    match (asking::play(&context.peer, script).await, script.refusal) {
        (Ok(answers), _) => Ok(Outcome::Ends((script.end)(&answers))),
        (Err(why), Refusal::Result) => Ok(Outcome::Refused(why)),
        (Err(why), Refusal::Error) => Err(ErrorData::internal_error(why, None)),
    }
}

/// A result that asks nothing. rmcp takes the mark off again before legacy clients.
fn complete<T: serde::de::DeserializeOwned>(mut result: Value) -> Result<T, ErrorData> {
    if let Some(result) = result.as_object_mut() {
        result.insert("resultType".to_owned(), json!("complete"));
    }
    typed(result)
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

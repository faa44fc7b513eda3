//! Message + catalog -> `Route`: the closed list of everything that can happen to a request. Pure.

use std::borrow::Cow;

use trunkline_catalog::{
    Catalog, CustomRoute, ListKind, Route as Owner, SubtoolRefusal, ToolRoute,
};
use trunkline_wire::{Message, Span, decode, find};

use crate::call::Level;
use crate::error::CallError;
use crate::router::meta::{MetaToolQuery, meta};

#[derive(Debug)]
pub(crate) enum Route<'a> {
    Initialize,
    Ping,
    List(ListKind),
    SetLevel(Level),
    /// A call for one server.
    Call(&'a Owner),
    /// A call for one of the tools behind a custom tool.
    Subtool(Subtool<'a>),
    /// A call under a name the catalog does not have (now).
    UnknownTool(Cow<'a, str>),
    /// A call through one of Trunkline's own tools, under a name the catalog does not have.
    UnknownBehind(Cow<'a, str>),
    /// A call of one of Trunkline's own tools that is answered here.
    Seek(MetaToolQuery),
    /// One that cannot be carried out: the tool it is about, and why.
    Mistaken {
        about: Option<String>,
        why: String,
    },
    /// Anything else for one server.
    Forward(Forward<'a>),
    /// A resource or prompt the catalog does not have (now), and what to say then.
    Missing(CallError),
    /// A method this version does not know.
    Other,
}

#[derive(Debug)]
pub(crate) struct Forward<'a> {
    /// Its place in the catalog's list.
    pub(crate) server: usize,
    /// What is replaced by the server's own name for it.
    pub(crate) at: Span,
    pub(crate) token: Cow<'a, [u8]>,
    pub(crate) action: ResourceAction,
    /// It names a prompt; else it names a resource.
    pub(crate) is_prompt: bool,
}

/// What the request is for, where that matters on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResourceAction {
    Plain,
    Subscribe,
    Unsubscribe,
}

#[derive(Debug)]
pub(crate) struct Subtool<'a> {
    pub(crate) owner: &'a Owner,
    /// `params.arguments`, and `args` in it: what the subtool gets instead.
    pub(crate) arguments: Span,
    pub(crate) args: &'a [u8],
}

pub(crate) fn route<'a>(
    message: &Message<'a>,
    catalog: &'a Catalog,
) -> Result<Route<'a>, CallError> {
    match &*message.method() {
        b"tools/call" => call(message, catalog),
        b"tools/list" => list(message, ListKind::Tools),
        b"resources/list" => list(message, ListKind::Resources),
        b"resources/templates/list" => list(message, ListKind::Templates),
        b"prompts/list" => list(message, ListKind::Prompts),
        b"resources/read" => resource(message, catalog, ResourceAction::Plain),
        b"resources/subscribe" => resource(message, catalog, ResourceAction::Subscribe),
        b"resources/unsubscribe" => resource(message, catalog, ResourceAction::Unsubscribe),
        b"prompts/get" => prompt(message, catalog, message.params.name),
        b"completion/complete" => complete(message, catalog),
        b"logging/setLevel" => set_level(message),
        b"initialize" => Ok(Route::Initialize),
        b"ping" => Ok(Route::Ping),
        // Of the stateless era, and about Trunkline: no server's to answer.
        method @ (b"server/discover" | b"subscriptions/listen") => {
            Err(CallError::UnknownMethod(String::from_utf8_lossy(method).into_owned()))
        }
        _ => Ok(Route::Other),
    }
}

/// Each list is one page: no cursor ever came from here.
fn list<'a>(message: &Message<'a>, kind: ListKind) -> Result<Route<'a>, CallError> {
    match message.text(message.params.cursor) {
        b"" | b"null" => Ok(Route::List(kind)),
        _ => Err(CallError::InvalidParams("unknown cursor".to_owned())),
    }
}

fn call<'a>(message: &Message<'a>, catalog: &'a Catalog) -> Result<Route<'a>, CallError> {
    let params = message.text(message.params.span);
    if !params.starts_with(b"{") {
        return Err(CallError::InvalidParams("tools/call needs `params`, an object".to_owned()));
    }
    let token = message.text(message.params.name);
    // 2025-11-25, Tools, Calling Tools: `name` is a required string.
    if !token.starts_with(b"\"") {
        return Err(CallError::InvalidParams("tools/call needs `name`, a string".to_owned()));
    }
    let name = text(token);
    match catalog.route(&name) {
        Some(ToolRoute::Server(owner)) => Ok(Route::Call(owner)),
        Some(ToolRoute::Custom(custom)) => {
            let arguments =
                message.params.span.and_then(|at| find(message.bytes, at, &["arguments"]));
            let replaced = arguments.ok_or_else(|| CallError::InvalidParams(CUSTOM.to_owned()))?;
            subtool(message, custom, replaced, arguments)
        }
        Some(ToolRoute::Meta(tool)) => Ok(meta(message, *tool, catalog)),
        None => Ok(Route::UnknownTool(name)),
    }
}

/// A string as text. One with a lone surrogate is no text, and nobody's name.
fn text(token: &[u8]) -> Cow<'_, str> {
    decode(token).unwrap_or_else(|| String::from_utf8_lossy(token))
}

const CUSTOM: &str = "a custom tool needs `arguments`: {\"server\": …, \"tool\": …, \"args\": {…}}";

/// `replaced`: where the subtool's arguments go; `arguments`: where those of the custom tool are.
pub(super) fn subtool<'a>(
    message: &Message<'a>,
    custom: &'a CustomRoute,
    replaced: Span,
    arguments: Option<Span>,
) -> Result<Route<'a>, CallError> {
    let needed = || CallError::InvalidParams(CUSTOM.to_owned());
    let arguments = arguments.ok_or_else(needed)?;
    let name =
        |key| find(message.bytes, arguments, &[key]).and_then(|at| decode(at.of(message.bytes)));
    let (Some(server), Some(tool)) = (name("server"), name("tool")) else {
        return Err(needed());
    };
    let owner = custom.subtool(&server, &tool).map_err(|refusal| match refusal {
        SubtoolRefusal::NotRunning { .. } => {
            CallError::ServerAbsent { server: server.into_owned(), why: refusal.to_string().into() }
        }
        _ => CallError::InvalidParams(refusal.to_string()),
    })?;
    let args = find(message.bytes, arguments, &["args"]).map(|at| at.of(message.bytes));
    let args = args.filter(|args| *args != b"null").unwrap_or(b"{}");
    if !args.starts_with(b"{") {
        return Err(CallError::InvalidParams("`args` of a custom tool is an object".to_owned()));
    }
    Ok(Route::Subtool(Subtool { owner, arguments: replaced, args }))
}

fn resource<'a>(
    message: &Message<'a>,
    catalog: &'a Catalog,
    action: ResourceAction,
) -> Result<Route<'a>, CallError> {
    let method = message.method();
    let owner = |uri: &str| catalog.resource(uri);
    resource_at(message, message.params.uri, action, owner).unwrap_or_else(|| {
        let method = String::from_utf8_lossy(&method);
        Err(CallError::InvalidParams(format!("{method} needs `uri`, a string")))
    })
}

/// `None`: there is no string at `at`.
fn resource_at<'a>(
    message: &Message<'a>,
    at: Option<Span>,
    action: ResourceAction,
    owner: impl Fn(&str) -> Option<Cow<'a, Owner>>,
) -> Option<Result<Route<'a>, CallError>> {
    let at = at.filter(|at| at.of(message.bytes).starts_with(b"\""))?;
    let uri = text(at.of(message.bytes));
    Some(Ok(match owner(&uri) {
        Some(owner) => {
            let token = Cow::Owned(owner.name_token.to_vec());
            Route::Forward(Forward { server: owner.server, at, token, action, is_prompt: false })
        }
        None => Route::Missing(CallError::UnknownResource(uri.into_owned())),
    }))
}

fn prompt<'a>(
    message: &Message<'a>,
    catalog: &'a Catalog,
    at: Option<Span>,
) -> Result<Route<'a>, CallError> {
    let Some(at) = at.filter(|at| at.of(message.bytes).starts_with(b"\"")) else {
        let method = message.method();
        let method = String::from_utf8_lossy(&method);
        return Err(CallError::InvalidParams(format!("{method} needs `name`, a string")));
    };
    let name = text(at.of(message.bytes));
    Ok(match catalog.prompt(&name) {
        Some(owner) => {
            let token = Cow::Borrowed(&*owner.name_token);
            Route::Forward(Forward {
                server: owner.server,
                at,
                token,
                action: ResourceAction::Plain,
                is_prompt: true,
            })
        }
        None => Route::Missing(CallError::UnknownPrompt(name.into_owned())),
    })
}

/// A completion belongs to a prompt or to a resource template.
fn complete<'a>(message: &Message<'a>, catalog: &'a Catalog) -> Result<Route<'a>, CallError> {
    let within = |key| find(message.bytes, message.params.span?, &["ref", key]);
    let kind = within("type").and_then(|at| decode(at.of(message.bytes)));
    match kind.as_deref() {
        Some("ref/prompt") => prompt(message, catalog, within("name")),
        Some("ref/resource") => {
            let owner = |uri: &str| catalog.template(uri);
            let found = resource_at(message, within("uri"), ResourceAction::Plain, owner);
            let found = found.unwrap_or_else(|| {
                let why = "completion/complete needs `ref.uri`, a string";
                Err(CallError::InvalidParams(why.to_owned()))
            })?;
            Ok(match found {
                // What is wrong is a parameter: nothing is read (Completion, Error handling).
                Route::Missing(CallError::UnknownResource(uri)) => {
                    let why = format!("no server has the resource template {uri}");
                    Route::Missing(CallError::InvalidParams(why))
                }
                found => found,
            })
        }
        _ => Err(CallError::InvalidParams(
            "completion/complete needs `ref` of type ref/prompt or ref/resource".to_owned(),
        )),
    }
}

fn set_level<'a>(message: &Message<'a>) -> Result<Route<'a>, CallError> {
    let level = message.params.span.and_then(|params| find(message.bytes, params, &["level"]));
    let level = level.and_then(|at| decode(at.of(message.bytes)));
    match level.and_then(|level| Level::known(&level)) {
        Some(level) => Ok(Route::SetLevel(level)),
        None => Err(CallError::InvalidParams(
            "logging/setLevel needs `level`: debug, info, notice, warning, error, critical, alert \
             or emergency"
                .to_owned(),
        )),
    }
}

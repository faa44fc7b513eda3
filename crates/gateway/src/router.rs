//! Message + catalog -> `Route`: the closed list of everything that can happen to a request. Pure.

use std::borrow::Cow;

use trunkline_catalog::{Catalog, CustomRoute, ListKind, Refusal, Route as Owner, ToolRoute};
use trunkline_wire::{Message, Span, decode, find};

use crate::call::Level;
use crate::error::CallError;

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
    pub(crate) deed: Deed,
}

/// What the request is for, where that matters on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
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
        b"resources/read" => resource(message, catalog, Deed::Plain),
        b"resources/subscribe" => resource(message, catalog, Deed::Subscribe),
        b"resources/unsubscribe" => resource(message, catalog, Deed::Unsubscribe),
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
    if !token.starts_with(b"\"") {
        return Err(CallError::InvalidParams("tools/call needs `name`, a string".to_owned()));
    }
    let name = text(token);
    match catalog.route(&name) {
        Some(ToolRoute::Server(owner)) => Ok(Route::Call(owner)),
        Some(ToolRoute::Custom(custom)) => subtool(message, custom),
        None => Ok(Route::UnknownTool(name)),
    }
}

/// A string as text. One with a lone surrogate is no text, and nobody's name.
fn text(token: &[u8]) -> Cow<'_, str> {
    decode(token).unwrap_or_else(|| String::from_utf8_lossy(token))
}

fn subtool<'a>(message: &Message<'a>, custom: &'a CustomRoute) -> Result<Route<'a>, CallError> {
    let needed = "a custom tool needs `arguments`: {\"server\": …, \"tool\": …, \"args\": {…}}";
    let arguments =
        message.params.span.and_then(|params| find(message.bytes, params, &["arguments"]));
    let arguments = arguments.ok_or_else(|| CallError::InvalidParams(needed.to_owned()))?;
    let name =
        |key| find(message.bytes, arguments, &[key]).and_then(|at| decode(at.of(message.bytes)));
    let (Some(server), Some(tool)) = (name("server"), name("tool")) else {
        return Err(CallError::InvalidParams(needed.to_owned()));
    };
    let owner = custom.subtool(&server, &tool).map_err(|refusal| match refusal {
        Refusal::NotRunning { .. } => {
            CallError::ServerAbsent { server: server.into_owned(), why: refusal.to_string() }
        }
        _ => CallError::InvalidParams(refusal.to_string()),
    })?;
    let args = find(message.bytes, arguments, &["args"]).map(|at| at.of(message.bytes));
    let args = args.filter(|args| *args != b"null").unwrap_or(b"{}");
    if !args.starts_with(b"{") {
        return Err(CallError::InvalidParams("`args` of a custom tool is an object".to_owned()));
    }
    Ok(Route::Subtool(Subtool { owner, arguments, args }))
}

fn resource<'a>(
    message: &Message<'a>,
    catalog: &'a Catalog,
    deed: Deed,
) -> Result<Route<'a>, CallError> {
    let method = message.method();
    let owner = |uri: &str| catalog.resource(uri);
    resource_at(message, message.params.uri, deed, owner).unwrap_or_else(|| {
        let method = String::from_utf8_lossy(&method);
        Err(CallError::InvalidParams(format!("{method} needs `uri`, a string")))
    })
}

/// `None`: there is no string at `at`.
fn resource_at<'a>(
    message: &Message<'a>,
    at: Option<Span>,
    deed: Deed,
    owner: impl Fn(&str) -> Option<Cow<'a, Owner>>,
) -> Option<Result<Route<'a>, CallError>> {
    let at = at.filter(|at| at.of(message.bytes).starts_with(b"\""))?;
    let uri = text(at.of(message.bytes));
    Some(Ok(match owner(&uri) {
        Some(owner) => {
            let token = Cow::Owned(owner.name_token.to_vec());
            Route::Forward(Forward { server: owner.server, at, token, deed })
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
            Route::Forward(Forward { server: owner.server, at, token, deed: Deed::Plain })
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
            resource_at(message, within("uri"), Deed::Plain, owner).unwrap_or_else(|| {
                let why = "completion/complete needs `ref.uri`, a string";
                Err(CallError::InvalidParams(why.to_owned()))
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use trunkline_catalog::name::Naming;
    use trunkline_catalog::{Listing, Offer, Scope};
    use trunkline_wire::scan;

    use super::*;

    const PAGES: [(ListKind, &str); 4] = [
        (ListKind::Tools, r#"{"tools":[{"name":"log"}]}"#),
        (ListKind::Resources, r#"{"resources":[{"uri":"a://x","name":"x"}]}"#),
        (ListKind::Templates, r#"{"resourceTemplates":[{"uriTemplate":"a://t/{id}","name":"t"}]}"#),
        (ListKind::Prompts, r#"{"prompts":[{"name":"hi"}]}"#),
    ];

    /// The one place that knows how to ask; the tests below are data.
    #[track_caller]
    fn check(method: &str, params: &str, expected: &str) {
        let mut listing = Listing::default();
        for (kind, page) in PAGES {
            listing.add_page(kind, page.as_bytes(), 9).unwrap();
        }
        let (known, filter) = (BTreeSet::new(), trunkline_catalog::config::ToolFilter::default());
        let offer = Offer {
            server: 7,
            key: "git",
            listing: Some(&listing),
            known: &known,
            known_prompts: &known,
            filter: &filter,
            scope: Scope::Whole,
        };
        let catalog = Catalog::assemble(&[offer], &[], &Naming::default());
        let params =
            if params.is_empty() { String::new() } else { format!(",\"params\":{params}") };
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"{params}}}"#);
        let message = scan(text.as_bytes()).unwrap();
        let got = match route(&message, &catalog) {
            Ok(Route::Call(route)) => format!("server {}", route.server),
            Ok(Route::Forward(to)) => format!(
                "{} -> {} at {} {:?}",
                String::from_utf8_lossy(to.at.of(text.as_bytes())),
                String::from_utf8_lossy(&to.token),
                to.server,
                to.deed
            ),
            Ok(route) => format!("{route:?}"),
            Err(error) => error.to_string(),
        };
        assert_eq!(got, expected);
    }

    #[test]
    fn what_is_answered_here() {
        check("initialize", "{}", "Initialize");
        check("ping", "", "Ping");
        check("tools/list", "", "List(Tools)");
        check("tools/list", "{}", "List(Tools)");
        check("tools/list", r#"{"cursor":null}"#, "List(Tools)");
        check("tools/list", r#"{"cursor":"x"}"#, "Invalid params: unknown cursor");
        check("tools/list", r#"{"cursor":""}"#, "Invalid params: unknown cursor");
        check("resources/list", "{}", "List(Resources)");
        check("resources/templates/list", "{}", "List(Templates)");
        check("prompts/list", "{}", "List(Prompts)");
        check("logging/setLevel", r#"{"level":"debug"}"#, "SetLevel(Level(0))");
        check("tasks/get", "{}", "Other");
        check("server/discover", "{}", "Method not found: server/discover");
        check("subscriptions/listen", "{}", "Method not found: subscriptions/listen");
    }

    #[test]
    fn a_call_goes_to_its_owner() {
        check("tools/call", r#"{"name":"git:log"}"#, "server 7");
        check("tools/call", r#"{"name":"git:\u006cog"}"#, "server 7");
    }

    #[test]
    fn what_is_no_call_goes_to_its_owner() {
        check("resources/read", r#"{"uri":"a://x"}"#, r#""a://x" -> "a://x" at 7 Plain"#);
        check("resources/read", r#"{"uri":"a://t/5"}"#, r#""a://t/5" -> "a://t/5" at 7 Plain"#);
        check("resources/subscribe", r#"{"uri":"a://x"}"#, r#""a://x" -> "a://x" at 7 Subscribe"#);
        let alias = r#"{"uri":"trunkline://git/a://x"}"#;
        let expected = r#""trunkline://git/a://x" -> "a://x" at 7 Unsubscribe"#;
        check("resources/unsubscribe", alias, expected);
        check("prompts/get", r#"{"name":"hi"}"#, r#""hi" -> "hi" at 7 Plain"#);
        check("prompts/get", r#"{"name":"git:hi"}"#, r#""git:hi" -> "hi" at 7 Plain"#);
        check(
            "completion/complete",
            r#"{"ref":{"type":"ref/prompt","name":"git:hi"}}"#,
            r#""git:hi" -> "hi" at 7 Plain"#,
        );
        check(
            "completion/complete",
            r#"{"ref":{"type":"ref/resource","uri":"a://t/{id}"}}"#,
            r#""a://t/{id}" -> "a://t/{id}" at 7 Plain"#,
        );
    }

    #[test]
    fn what_is_wrong_with_a_request() {
        check("tools/call", r#"{"name":"git:nope"}"#, r#"UnknownTool("git:nope")"#);
        check("tools/call", "", "Invalid params: tools/call needs `params`, an object");
        check("tools/call", "[]", "Invalid params: tools/call needs `params`, an object");
        check("tools/call", "{}", "Invalid params: tools/call needs `name`, a string");
        check("tools/call", r#"{"name":5}"#, "Invalid params: tools/call needs `name`, a string");
        check("prompts/get", r#"{"name":"no"}"#, r#"Missing(UnknownPrompt("no"))"#);
        check("prompts/get", "", "Invalid params: prompts/get needs `name`, a string");
        check("resources/read", "{}", "Invalid params: resources/read needs `uri`, a string");
        let level = "Invalid params: logging/setLevel needs `level`: debug, info, notice, warning, \
                     error, critical, alert or emergency";
        check("logging/setLevel", r#"{"level":"loud"}"#, level);
        let completion =
            "Invalid params: completion/complete needs `ref` of type ref/prompt or ref/resource";
        check("completion/complete", r#"{"ref":{}}"#, completion);
    }
}

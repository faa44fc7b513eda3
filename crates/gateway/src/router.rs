//! Message + catalog -> `Route`: the closed list of everything that can happen to a request. Pure.

use std::borrow::Cow;

use trunkline_catalog::{Catalog, Route as ToolRoute};
use trunkline_wire::{Message, decode};

use crate::error::CallError;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Route<'a> {
    Initialize,
    Ping,
    ListTools,
    /// A call for one server.
    Call(&'a ToolRoute),
    /// A call under a name the catalog does not have (now).
    UnknownTool(Cow<'a, str>),
}

pub(crate) fn route<'a>(
    message: &Message<'a>,
    catalog: &'a Catalog,
) -> Result<Route<'a>, CallError> {
    match &*message.method() {
        b"tools/call" => call(message, catalog),
        b"tools/list" => match message.text(message.params.cursor) {
            b"" | b"null" => Ok(Route::ListTools),
            // The list is one page: no cursor ever came from here.
            _ => Err(CallError::InvalidParams("unknown cursor".to_owned())),
        },
        b"initialize" => Ok(Route::Initialize),
        b"ping" => Ok(Route::Ping),
        other => Err(CallError::UnknownMethod(String::from_utf8_lossy(other).into_owned())),
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
    // A name with a lone surrogate is no text, and no tool's.
    let name = decode(token).unwrap_or_else(|| String::from_utf8_lossy(token));
    Ok(match catalog.route(&name) {
        Some(route) => Route::Call(route),
        None => Route::UnknownTool(name),
    })
}

#[cfg(test)]
mod tests {
    use trunkline_catalog::name::Naming;
    use trunkline_catalog::{Listing, Offer};
    use trunkline_wire::scan;

    use super::*;

    /// The one place that knows how to ask; the tests below are data.
    #[track_caller]
    fn check(method: &str, params: &str, expected: &str) {
        let mut listing = Listing::default();
        listing.add_page(br#"{"tools":[{"name":"log"}]}"#, 9).unwrap();
        let known = std::collections::BTreeSet::new();
        let offer = Offer { server: 7, key: "git", listing: Some(&listing), known: &known };
        let catalog = Catalog::assemble(&[offer], &Naming::default());
        let params =
            if params.is_empty() { String::new() } else { format!(",\"params\":{params}") };
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"{params}}}"#);
        let message = scan(text.as_bytes()).unwrap();
        let got = match route(&message, &catalog) {
            Ok(Route::Call(route)) => format!("server {}", route.server),
            Ok(route) => format!("{route:?}"),
            Err(error) => error.to_string(),
        };
        assert_eq!(got, expected);
    }

    #[test]
    fn what_is_answered_here() {
        check("initialize", "{}", "Initialize");
        check("ping", "", "Ping");
        check("tools/list", "", "ListTools");
        check("tools/list", "{}", "ListTools");
        check("tools/list", r#"{"cursor":null}"#, "ListTools");
        check("tools/list", r#"{"cursor":"x"}"#, "Invalid params: unknown cursor");
        check("tools/list", r#"{"cursor":""}"#, "Invalid params: unknown cursor");
    }

    #[test]
    fn a_call_goes_to_its_owner() {
        check("tools/call", r#"{"name":"git:log"}"#, "server 7");
        check("tools/call", r#"{"name":"git:\u006cog"}"#, "server 7");
    }

    #[test]
    fn what_is_wrong_with_a_call() {
        check("tools/call", r#"{"name":"git:nope"}"#, r#"UnknownTool("git:nope")"#);
        check("tools/call", "", "Invalid params: tools/call needs `params`, an object");
        check("tools/call", "[]", "Invalid params: tools/call needs `params`, an object");
        check("tools/call", "{}", "Invalid params: tools/call needs `name`, a string");
        check("tools/call", r#"{"name":5}"#, "Invalid params: tools/call needs `name`, a string");
        check("resources/list", "", "Method not found: resources/list");
    }
}

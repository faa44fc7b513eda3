//! The table of routes. The router, `OpenAPI`, the docs and the test of who may do what read it.
//!
//! The rows stand by subject.

mod about;
mod keys;
mod lifecycle;
mod logins;
mod search;
mod secrets;
mod servers;
mod skills;
mod tools;

use super::route::{Header, Parameter, Place, Route};
use super::schema::{Schema, TextFormat, any_text, text};

pub fn all() -> impl Iterator<Item = &'static Route> {
    [
        servers::ROUTES,
        lifecycle::ROUTES,
        logins::ROUTES,
        tools::ROUTES,
        search::ROUTES,
        skills::ROUTES,
        secrets::ROUTES,
        keys::ROUTES,
        about::ROUTES,
    ]
    .into_iter()
    .flatten()
}

const ID: Schema = text(1, 200, TextFormat::Line);

const SERVER_ID: Parameter =
    Parameter { name: "id", place: Place::Path, schema: ID, doc: "The server's id." };

const TOOL_ID: Parameter = Parameter {
    name: "id",
    place: Place::Path,
    schema: text(1, 1200, TextFormat::Line),
    doc: "The tool's id, its `/` written as %2F, or its name: `server.tool`.",
};

// A tag that is none fits nothing and is no mistake (RFC 9110, 13.1).
const IF_NONE_MATCH: Parameter = Parameter {
    name: "If-None-Match",
    place: Place::Header,
    schema: any_text(),
    doc: "The ETag of what you have: if it is still so, the answer is 304.",
};

const IF_MATCH: Parameter = Parameter {
    name: "If-Match",
    place: Place::Header,
    schema: any_text(),
    doc: "The ETag of what you have read: if it has been changed since, nothing is done (412).",
};

const ETAG: Header = Header {
    name: "ETag",
    doc: "For `If-None-Match`, and where something can be changed for `If-Match`.",
};

#[cfg(test)]
mod tests;

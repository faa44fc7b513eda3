//! Parameters, headers and answers that several routes share.

use super::route::{Header, Parameter, Response};
use super::schema::{Schema, TextFormat, any_text, text};

pub(super) const ID: Schema = text(1, 200, TextFormat::Line);

pub(super) const SERVER_ID: Parameter = Parameter::path("id", ID, "The server's id.");

pub(super) const TOOL_ID: Parameter = Parameter::path(
    "id",
    text(1, 1200, TextFormat::Line),
    "The tool's id, its `/` written as %2F, or its name: `server.tool`.",
);

// A tag that is none fits nothing and is no mistake (RFC 9110, 13.1).
pub(super) const IF_NONE_MATCH: Parameter = Parameter::header(
    "If-None-Match",
    any_text(),
    "The ETag of what you have: if it is still so, the answer is 304.",
);

pub(super) const IF_MATCH: Parameter = Parameter::header(
    "If-Match",
    any_text(),
    "The ETag of what you have read: if it has been changed since, nothing is done (412).",
);

pub(super) const ETAG: Header = Header {
    name: "ETag",
    doc: "For `If-None-Match`, and where something can be changed for `If-Match`.",
};

pub(super) const NOT_MODIFIED: Response =
    Response::empty(304, "It is as you have it.").with(&[ETAG]);

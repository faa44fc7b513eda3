//! The targets, one file for a parser.

pub(crate) mod config;
pub(crate) mod http_body;
pub(crate) mod http_head;
pub(crate) mod json;
pub(crate) mod jsonc;
pub(crate) mod jwt;
pub(crate) mod lines;
pub(crate) mod listing;
pub(crate) mod percent;
pub(crate) mod policy_uri;
pub(crate) mod protobuf;
pub(crate) mod proxy_protocol;
pub(crate) mod sse;
pub(crate) mod uri_template;
pub(crate) mod url;

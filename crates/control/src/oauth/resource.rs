//! The metadata of a protected server (RFC 9728): what it calls itself, and whose tokens it takes.

use serde_json::Value;
use trunkline_http::Url;

use crate::oauth::places::may_name;

/// Most authorization servers of one server that are looked at.
const MOST: usize = 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Resource {
    /// As the server spells it, for the `resource` parameter.
    pub(super) id: String,
    /// Issuers as the server spells them: they are compared byte for byte.
    pub(super) issuers: Vec<String>,
    pub(super) scopes: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadResource {
    #[error("it is not a JSON object")]
    NotJson,
    #[error("it does not say which resource it is about")]
    NoResource,
    #[error("it is about another server")]
    OtherResource,
    #[error("it names no authorization server")]
    NoIssuer,
    #[error("it names no authorization server that is reached over https")]
    InsecureIssuer,
}

pub(super) fn read(body: &[u8], server: &Url) -> Result<Resource, BadResource> {
    let document: Value = serde_json::from_slice(body).map_err(|_| BadResource::NotJson)?;
    if !document.is_object() {
        return Err(BadResource::NotJson);
    }
    let id = document.get("resource").and_then(Value::as_str).ok_or(BadResource::NoResource)?;
    if !covers(id, server) {
        return Err(BadResource::OtherResource);
    }
    let named = strings(document.get("authorization_servers"));
    if named.is_empty() {
        return Err(BadResource::NoIssuer);
    }
    let safe = |issuer: &String| Url::parse(issuer).is_ok_and(|url| may_name(server, &url));
    let issuers: Vec<String> = named.into_iter().filter(safe).take(MOST).collect();
    if issuers.is_empty() {
        return Err(BadResource::InsecureIssuer);
    }
    let scopes = strings(document.get("scopes_supported"));
    Ok(Resource { id: id.to_owned(), issuers, scopes })
}

/// Is the server part of this resource? RFC 9728 wants them equal; servers that serve one document
/// for all their paths name a parent, which is as safe: a token for it is for the same origin.
pub(super) fn covers(resource: &str, server: &Url) -> bool {
    let Ok(url) = Url::parse(resource) else { return false };
    if resource.contains('#') || url.origin() != server.origin() {
        return false;
    }
    if url.target().contains('?') {
        return url.target() == server.target();
    }
    let parent = url.path().trim_end_matches('/');
    let below = server.path().strip_prefix(parent);
    // A path with steps in it may mean another one to the server.
    let steps = server.path().split('/').any(|step| step == "..");
    !steps && below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
}

pub(super) fn strings(list: Option<&Value>) -> Vec<String> {
    let members = list.and_then(Value::as_array).into_iter().flatten();
    members.filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_belongs_to_its_resource() {
        for (resource, server, belongs) in [
            ("https://h/mcp", "https://h/mcp", true),
            ("https://H:443/mcp", "https://h/mcp", true),
            ("https://h/mcp/", "https://h/mcp", true),
            ("https://h", "https://h/mcp", true),
            ("https://h/", "https://h/", true),
            ("https://h/a", "https://h/a/mcp?x=1", true),
            ("https://h/mcp?t=1", "https://h/mcp?t=1", true),
            ("https://h/mcp?t=1", "https://h/mcp?t=2", false),
            ("https://h/mc", "https://h/mcp", false),
            ("https://h/mcp", "https://h/", false),
            ("https://h/other", "https://h/mcp", false),
            ("https://h/a", "https://h/a/../b", false),
            ("https://evil/mcp", "https://h/mcp", false),
            ("http://h/mcp", "https://h/mcp", false),
            ("https://h:8/mcp", "https://h/mcp", false),
            ("https://h/mcp#f", "https://h/mcp", false),
            ("h/mcp", "https://h/mcp", false),
            ("", "https://h/mcp", false),
        ] {
            let server = Url::parse(server).unwrap();
            assert_eq!(covers(resource, &server), belongs, "{resource} {server}");
        }
    }

    #[test]
    fn documents() {
        use BadResource::{InsecureIssuer, NoIssuer, NoResource, NotJson, OtherResource};
        let server = Url::parse("https://h/mcp").unwrap();
        for (body, expected) in [
            ("", Err(NotJson)),
            ("[]", Err(NotJson)),
            ("<html>", Err(NotJson)),
            (r#"{"authorization_servers":["https://a"]}"#, Err(NoResource)),
            (r#"{"resource":7,"authorization_servers":["https://a"]}"#, Err(NoResource)),
            (
                r#"{"resource":"https://e/mcp","authorization_servers":["https://a"]}"#,
                Err(OtherResource),
            ),
            (r#"{"resource":"https://h/mcp"}"#, Err(NoIssuer)),
            (r#"{"resource":"https://h/mcp","authorization_servers":[]}"#, Err(NoIssuer)),
            (
                r#"{"resource":"https://h/mcp","authorization_servers":["http://a","ftp://b"]}"#,
                Err(InsecureIssuer),
            ),
            (
                r#"{"resource":"https://h/mcp","authorization_servers":["http://a","https://b/t/"],"scopes_supported":["r",1,"w"]}"#,
                Ok(("https://h/mcp", vec!["https://b/t/"], vec!["r", "w"])),
            ),
        ] {
            let got = read(body.as_bytes(), &server);
            let expected = expected.map(|(id, issuers, scopes)| Resource {
                id: id.to_owned(),
                issuers: issuers.into_iter().map(str::to_owned).collect(),
                scopes: scopes.into_iter().map(str::to_owned).collect(),
            });
            assert_eq!(got, expected, "{body}");
        }
    }
}

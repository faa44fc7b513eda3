//! What a client is told about getting a token: the metadata of the protected resource (RFC 9728)
//! and the challenge in a refusal (RFC 6750).

use super::key::KeyFault;
use super::principal::Refusal;
use super::role::Role;
use super::scope::{SCOPES, scope_for};
use serde_json::json;
use trunkline_http::Url;

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// The path of the resource as this process serves it; a proxy may have put something before it.
const LOCAL_PATH: &str = "/mcp";

/// The MCP endpoint as its clients know it, and who issues tokens for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    url: Url,
    issuers: Vec<String>,
}

impl Resource {
    /// `url` is the endpoint's public one: `https://tools.example.com/mcp`.
    pub fn new(url: Url, issuers: Vec<String>) -> Self {
        Self { url, issuers }
    }

    /// What tokens have to name as their audience.
    pub fn audience(&self) -> String {
        self.url.to_string()
    }

    /// Is the metadata asked for? Clients look below the well-known path first, then at it.
    pub fn is_metadata_path(&self, path: &str) -> bool {
        let rest = path.strip_prefix(WELL_KNOWN);
        rest.is_some_and(|rest| ["", LOCAL_PATH, self.url.path()].contains(&rest))
    }

    /// Where the metadata is: the well-known path is put between host and path.
    pub fn metadata_url(&self) -> String {
        let path = match self.url.path() {
            "/" => "",
            path => path,
        };
        format!("{}{WELL_KNOWN}{path}", self.url.origin())
    }

    pub fn metadata(&self) -> String {
        json!({
            "resource": self.audience(),
            "authorization_servers": self.issuers,
            "scopes_supported": SCOPES.map(|(name, _)| name),
            "bearer_methods_supported": ["header"],
            "resource_name": "Trunkline",
        })
        .to_string()
    }
}

/// The value of `WWW-Authenticate` for a refusal. `resource` where an issuer's tokens are taken;
/// `needed` is the role for what was asked. Of what is wrong with a token it says only what its
/// owner can mend.
pub fn challenge(refusal: Refusal, needed: Role, resource: Option<&Resource>) -> String {
    let mut out = String::from("Bearer realm=\"trunkline\"");
    let (error, description) = match refusal {
        Refusal::Missing | Refusal::CertificateEnded => (None, None),
        Refusal::Malformed => (Some("invalid_request"), None),
        Refusal::Key(KeyFault::Expired | KeyFault::Revoked) => {
            (Some("invalid_token"), Some(refusal.to_string()))
        }
        Refusal::Key(KeyFault::Wrong) | Refusal::Unknown | Refusal::Jwt(_) | Refusal::NeedsKeys => {
            (Some("invalid_token"), None)
        }
        Refusal::NoScope | Refusal::NotAllowed { .. } => (Some("insufficient_scope"), None),
        // More scope would not help.
        Refusal::Stale | Refusal::ShutOut | Refusal::NoRole | Refusal::ReservedSubject => {
            (None, None)
        }
    };
    let mut add = |name: &str, value: &str| {
        out.extend([", ", name, "=\"", value, "\""]);
    };
    if let Some(error) = error {
        add("error", error);
    }
    if let Some(description) = description {
        add("error_description", &description);
    }
    if let Some(resource) = resource {
        if matches!(error, None | Some("insufficient_scope")) {
            add("scope", scope_for(needed));
        }
        add("resource_metadata", &resource.metadata_url());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{Action, JwtFault};
    use serde_json::Value;

    fn resource(url: &str) -> Resource {
        Resource::new(Url::parse(url).unwrap(), vec!["https://id.example.com".to_owned()])
    }

    #[test]
    fn metadata_is_found_and_says_who_issues_tokens() {
        let resource = resource("https://tools.example.com/mcp");
        let document: Value = serde_json::from_str(&resource.metadata()).unwrap();
        assert_eq!(document["resource"], "https://tools.example.com/mcp");
        assert_eq!(document["authorization_servers"], json!(["https://id.example.com"]));
        assert_eq!(document["bearer_methods_supported"], json!(["header"]));
        assert_eq!(document["scopes_supported"][1], "mcp:call");
    }

    #[test]
    fn the_well_known_path_goes_between_host_and_path() {
        let root = "/.well-known/oauth-protected-resource";
        for (url, metadata, own_path) in [
            ("https://h/mcp", "https://h/.well-known/oauth-protected-resource/mcp", "/mcp"),
            ("https://h:8443/", "https://h:8443/.well-known/oauth-protected-resource", ""),
            ("https://h/a/mcp", "https://h/.well-known/oauth-protected-resource/a/mcp", "/a/mcp"),
        ] {
            let resource = resource(url);
            assert_eq!(resource.metadata_url(), metadata);
            for path in ["", "/mcp", own_path] {
                assert!(resource.is_metadata_path(&format!("{root}{path}")), "{url} {path}");
            }
            for path in ["", "/", "/mcp", "/.well-known", "/.well-known/oauth-protected-resource2"]
            {
                assert!(!resource.is_metadata_path(path), "{url} {path}");
            }
            assert!(!resource.is_metadata_path(&format!("{root}/other")), "{url}");
        }
    }

    #[test]
    fn a_challenge_says_what_is_needed_and_no_more() {
        let resource = resource("https://h/mcp");
        let not_allowed =
            Refusal::NotAllowed { role: Role::Viewer, action: Action::RegisterServer };
        let at = r#"resource_metadata="https://h/.well-known/oauth-protected-resource/mcp""#;
        for (refusal, needed, status, expected) in [
            (Refusal::Missing, Role::Caller, 401, r#", scope="mcp:call""#),
            (Refusal::Malformed, Role::Caller, 401, r#", error="invalid_request""#),
            (Refusal::Unknown, Role::Caller, 401, r#", error="invalid_token""#),
            (Refusal::NeedsKeys, Role::Caller, 401, r#", error="invalid_token""#),
            (Refusal::Key(KeyFault::Wrong), Role::Caller, 401, r#", error="invalid_token""#),
            (Refusal::Jwt(JwtFault::Audience), Role::Caller, 401, r#", error="invalid_token""#),
            (
                Refusal::Key(KeyFault::Revoked),
                Role::Caller,
                401,
                r#", error="invalid_token", error_description="the key is revoked""#,
            ),
            (
                Refusal::NoScope,
                Role::Caller,
                403,
                r#", error="insufficient_scope", scope="mcp:call""#,
            ),
            (
                not_allowed,
                Role::Operator,
                403,
                r#", error="insufficient_scope", scope="admin:write""#,
            ),
        ] {
            let told = challenge(refusal, needed, Some(&resource));
            assert_eq!(told, format!("Bearer realm=\"trunkline\"{expected}, {at}"));
            assert_eq!(refusal.status(), status, "{refusal}");
        }
        assert_eq!(challenge(Refusal::Missing, Role::Admin, None), "Bearer realm=\"trunkline\"");
    }
}

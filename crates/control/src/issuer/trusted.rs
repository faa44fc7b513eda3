//! `Trusted`: the issuer the operator has named, and what this Trunkline is called by its clients.

use trunkline_http::{Scheme, Url};

use crate::access::Resource;
use crate::oauth::places::is_loopback;

/// Whose tokens are taken, and for what. Made of what the operator says, checked once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trusted {
    name: String,
    url: Url,
    key_set: Option<Url>,
    audiences: Vec<String>,
    resource: Resource,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadTrust {
    #[error("the issuer: {0}")]
    Url(trunkline_http::BadUrl),
    #[error(
        "the {0} must be https, or http on this machine: who changes it on its way lets himself in"
    )]
    Insecure(&'static str),
    #[error("the {0} has no query and no fragment")]
    Query(&'static str),
    #[error("an audience is not empty and has no blank in it")]
    Audience,
}

/// Where MCP is spoken, below the address of this Trunkline.
const ENDPOINT: &str = "/mcp";

impl Trusted {
    /// `issuer` as it stands in `iss`; `key_set` if it is not to be looked up in the issuer's
    /// metadata; `public` is how clients reach this Trunkline, with or without `/mcp`. Without
    /// audiences, the public address of `/mcp` is the only one.
    pub fn new(
        issuer: &str,
        key_set: Option<Url>,
        audiences: Vec<String>,
        public: &Url,
    ) -> Result<Self, BadTrust> {
        if issuer.contains(['?', '#']) {
            return Err(BadTrust::Query("issuer"));
        }
        let url = Url::parse(issuer).map_err(BadTrust::Url)?;
        let is_safe = |url: &Url| url.scheme() == Scheme::Https || is_loopback(url);
        if !is_safe(&url) {
            return Err(BadTrust::Insecure("issuer"));
        }
        if key_set.as_ref().is_some_and(|url| !is_safe(url)) {
            return Err(BadTrust::Insecure("address of its keys"));
        }
        let is_name = |name: &String| {
            !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c.is_control())
        };
        if !audiences.iter().all(is_name) {
            return Err(BadTrust::Audience);
        }
        let resource = Resource::new(endpoint(public)?, vec![issuer.to_owned()]);
        let audiences = match audiences.is_empty() {
            true => vec![resource.audience()],
            false => audiences,
        };
        Ok(Self { name: issuer.to_owned(), url, key_set, audiences, resource })
    }

    /// As it stands in `iss`, byte for byte.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn audiences(&self) -> &[String] {
        &self.audiences
    }

    pub fn resource(&self) -> &Resource {
        &self.resource
    }

    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    pub(super) fn key_set(&self) -> Option<&Url> {
        self.key_set.as_ref()
    }

    /// Has the operator named this host himself? Then it may be anywhere.
    pub(super) fn names_host_of(&self, url: &Url) -> bool {
        [Some(&self.url), self.key_set.as_ref()]
            .into_iter()
            .flatten()
            .any(|named| named.host() == url.host())
    }
}

/// The public address of `/mcp`.
fn endpoint(public: &Url) -> Result<Url, BadTrust> {
    let target = public.target();
    if target.contains('?') {
        return Err(BadTrust::Query("public address"));
    }
    let path = target.trim_end_matches('/');
    let path = path.strip_suffix(ENDPOINT).unwrap_or(path);
    public.join(&format!("{path}{ENDPOINT}")).map_err(BadTrust::Url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    fn trust(issuer: &str, keys: Option<&str>, audiences: &[&str]) -> Result<Trusted, BadTrust> {
        let audiences = audiences.iter().map(|&name| name.to_owned()).collect();
        Trusted::new(issuer, keys.map(url), audiences, &url("https://tools.example.com"))
    }

    #[test]
    fn an_issuer_is_reached_safely_and_named_as_it_names_itself() {
        const INSECURE: Option<BadTrust> = Some(BadTrust::Insecure("issuer"));
        for (issuer, keys, bad) in [
            ("https://id.example.com", None, None),
            ("https://id.example.com/tenant/", None, None),
            ("http://127.0.0.1:9000", None, None),
            ("http://[::1]:9000", None, None),
            ("http://localhost:9000", Some("http://127.0.0.1:1/keys"), None),
            ("http://id.example.com", None, INSECURE),
            ("http://10.0.0.1", None, INSECURE),
            ("http://127.0.0.1.example.com", None, INSECURE),
            ("https://a?x", None, Some(BadTrust::Query("issuer"))),
            ("https://a#x", None, Some(BadTrust::Query("issuer"))),
            ("id.example.com", None, Some(BadTrust::Url(trunkline_http::BadUrl::Scheme))),
            ("https://a", Some("http://b/"), Some(BadTrust::Insecure("address of its keys"))),
        ] {
            let made = trust(issuer, keys, &[]);
            assert_eq!(made.as_ref().err().copied(), bad, "{issuer}");
            assert!(made.is_err() || made.is_ok_and(|trusted| trusted.name() == issuer));
        }
    }

    #[test]
    fn without_an_audience_it_is_the_public_address_of_mcp() {
        for (public, expected) in [
            ("https://h", "https://h/mcp"),
            ("https://h/", "https://h/mcp"),
            ("https://h/mcp", "https://h/mcp"),
            ("https://h/mcp/", "https://h/mcp"),
            ("https://h:8443/tools/", "https://h:8443/tools/mcp"),
            ("http://127.0.0.1:3006", "http://127.0.0.1:3006/mcp"),
        ] {
            let trusted = Trusted::new("https://a", None, Vec::new(), &url(public)).unwrap();
            assert_eq!(trusted.audiences(), [expected], "{public}");
            assert_eq!(trusted.resource().audience(), expected);
        }
        let refused = Trusted::new("https://a", None, Vec::new(), &url("https://h/?a=1"));
        assert_eq!(refused, Err(BadTrust::Query("public address")));
    }

    #[test]
    fn audiences_that_are_named_are_the_only_ones() {
        let trusted = trust("https://a", None, &["api://tools", "b"]).unwrap();
        assert_eq!(trusted.audiences(), ["api://tools", "b"]);
        for bad in ["", "a b", "a\n"] {
            assert_eq!(trust("https://a", None, &[bad]), Err(BadTrust::Audience), "{bad:?}");
        }
    }

    #[test]
    fn hosts_that_the_operator_has_named() {
        let trusted = trust("https://id.corp:8443/t", Some("https://keys.corp/k"), &[]).unwrap();
        for (named, expected) in [
            ("https://id.corp/x", true),
            ("https://keys.corp:9/", true),
            ("https://other.corp/", false),
            ("https://corp/", false),
        ] {
            assert_eq!(trusted.names_host_of(&url(named)), expected, "{named}");
        }
    }
}

//! Where metadata is looked for, and which URLs a server may name at all.

use std::net::IpAddr;

use trunkline_http::{Scheme, Url};

/// Where the metadata of the server may be, in the order of the specification.
pub(super) fn of_resource(server: &Url, named: Option<&Url>) -> Vec<Url> {
    if let Some(named) = named {
        return vec![named.clone()];
    }
    let inserted = well_known(server, "oauth-protected-resource", server.path());
    let root = well_known(server, "oauth-protected-resource", "/");
    distinct([inserted, root])
}

/// Where the metadata of an issuer may be: RFC 8414 first, OIDC after it.
pub(crate) fn of_issuer(issuer: &Url) -> Vec<Url> {
    let path = issuer.path();
    let appended = format!("{}/.well-known/openid-configuration", path.trim_end_matches('/'));
    distinct([
        well_known(issuer, "oauth-authorization-server", path),
        well_known(issuer, "openid-configuration", path),
        issuer.join(&appended).ok(),
    ])
}

/// May the server at `server` name this URL? Plain HTTP is for programs on one machine that talk
/// to each other: a server elsewhere cannot send us to our own loopback with it.
pub(crate) fn may_name(server: &Url, url: &Url) -> bool {
    match url.scheme() {
        Scheme::Https => true,
        Scheme::Http => is_loopback(url) && is_loopback(server),
    }
}

pub(crate) fn is_loopback(url: &Url) -> bool {
    let host = url.host();
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn well_known(base: &Url, name: &str, path: &str) -> Option<Url> {
    base.join(&format!("/.well-known/{name}{}", path.trim_end_matches('/'))).ok()
}

fn distinct<const N: usize>(places: [Option<Url>; N]) -> Vec<Url> {
    let mut kept: Vec<Url> = Vec::new();
    for place in places.into_iter().flatten() {
        if !kept.contains(&place) {
            kept.push(place);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    fn texts(places: &[Url]) -> Vec<String> {
        places.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn metadata_of_a_server() {
        let well = "https://h/.well-known/oauth-protected-resource";
        for (server, named, places) in [
            ("https://h/public/mcp", None, vec![format!("{well}/public/mcp"), well.to_owned()]),
            ("https://h/mcp/?q=1", None, vec![format!("{well}/mcp"), well.to_owned()]),
            ("https://h", None, vec![well.to_owned()]),
            ("https://h/", None, vec![well.to_owned()]),
            ("https://h/mcp", Some("https://h/meta"), vec!["https://h/meta".to_owned()]),
        ] {
            let named = named.map(url);
            assert_eq!(texts(&of_resource(&url(server), named.as_ref())), places, "{server}");
        }
    }

    #[test]
    fn metadata_of_an_issuer() {
        for (issuer, places) in [
            (
                "https://a/tenant1",
                &[
                    "https://a/.well-known/oauth-authorization-server/tenant1",
                    "https://a/.well-known/openid-configuration/tenant1",
                    "https://a/tenant1/.well-known/openid-configuration",
                ][..],
            ),
            (
                "https://a",
                &[
                    "https://a/.well-known/oauth-authorization-server",
                    "https://a/.well-known/openid-configuration",
                ],
            ),
            (
                "https://a:8/t/",
                &[
                    "https://a:8/.well-known/oauth-authorization-server/t",
                    "https://a:8/.well-known/openid-configuration/t",
                    "https://a:8/t/.well-known/openid-configuration",
                ],
            ),
        ] {
            assert_eq!(texts(&of_issuer(&url(issuer))), places, "{issuer}");
        }
    }

    #[test]
    fn plain_http_only_between_programs_of_one_machine() {
        for (server, named, may) in [
            ("https://h/", "https://elsewhere/", true),
            ("http://127.0.0.1:1/", "https://elsewhere/", true),
            ("http://127.0.0.1:1/", "http://127.0.0.1:2/", true),
            ("http://localhost:1/", "http://[::1]:2/", true),
            ("https://h/", "http://h/", false),
            ("https://h/", "http://127.0.0.1/", false),
            ("http://127.0.0.1/", "http://10.0.0.1/", false),
            ("http://127.0.0.1/", "http://127.0.0.1.example/", false),
            ("http://10.0.0.1/", "http://10.0.0.1/", false),
        ] {
            assert_eq!(may_name(&url(server), &url(named)), may, "{server} {named}");
        }
    }
}

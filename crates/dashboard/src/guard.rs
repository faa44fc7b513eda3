//! Whether a request comes from one of our own pages, and what its cookies are called. Pure.
//!
//! Host and Origin against the outside are the gateway's to check, for everything on the listener. Here
//! it is about a browser that is signed in and is made to send something by another page.

use std::net::IpAddr;

use sha2::{Digest as _, Sha256};
use trunkline_gateway::WebHeaders;

/// Why something that would change something is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CrossSite {
    /// Another site, or something that does not say where it comes from as a browser does.
    Site,
    /// Without the session's token, or with another one.
    Token,
}

impl CrossSite {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Site => {
                "This was sent by another page, and not by this dashboard. Nothing was done."
            }
            Self::Token => {
                "The form was not one of this session; it may have been open for a long time. \
                 Nothing was done. Go back, load the page again, and repeat it."
            }
        }
    }
}

/// Did one of our pages send this? Browsers say so in headers that pages cannot set; who sends none
/// of them is no browser. `public`: how the operator says that this is reached, which a proxy in front may
/// keep to itself.
pub(crate) fn is_own_page(headers: &WebHeaders, public: Option<&str>) -> Result<(), CrossSite> {
    // `none` is an address typed by a person; `same-site` is another host of the same domain and
    // not ours.
    if let Some(site) = headers.get("sec-fetch-site")
        && !matches!(site, b"same-origin" | b"none")
    {
        return Err(CrossSite::Site);
    }
    // A request without it is judged by the header above, and by the token of its form.
    let Some(origin) = headers.get("origin") else { return Ok(()) };
    let Some(origin) = std::str::from_utf8(origin).ok() else { return Err(CrossSite::Site) };
    let is_same = |one: Option<&str>, other: Option<&str>| {
        one.zip(other).is_some_and(|(one, other)| one.eq_ignore_ascii_case(other))
    };
    let is_here = match public.filter(|public| is_same(authority(public), authority(origin))) {
        // The operator has named the scheme: whoever is on the way can change a page that came without TLS.
        Some(public) => is_same(scheme(public), scheme(origin)),
        None => is_same(headers.text("host"), authority(origin)),
    };
    if is_here { Ok(()) } else { Err(CrossSite::Site) }
}

/// `host:port` of a URL or an origin.
fn authority(url: &str) -> Option<&str> {
    url.split_once("://").and_then(|(_, rest)| rest.split('/').next())
}

fn scheme(url: &str) -> Option<&str> {
    url.split_once("://").map(|(scheme, _)| scheme)
}

/// Is this the session's token? Digests are compared: how far two of them agree says nothing about the
/// token.
pub(crate) fn has_token(shown: Option<&str>, expected: &str) -> Result<(), CrossSite> {
    let shown = Sha256::digest(shown.unwrap_or_default());
    // Digests have one length: comparing them leaks neither the length nor the beginning of the
    // token.
    if shown == Sha256::digest(expected) { Ok(()) } else { Err(CrossSite::Token) }
}

/// The cookie of the session. Browsers keep the cookies of all ports of a host together: two Trunklines
/// on one machine must not take each other's. Over TLS its name has the prefix that binds it to this host:
/// neither another host of the domain nor a page without TLS can set it (RFC 6265bis, 4.1.3.2).
pub(crate) fn session_cookie(headers: &WebHeaders, is_secure: bool) -> String {
    named("trunkline_session", headers, is_secure)
}

/// The cookie of a sign-in that is under way at an issuer.
pub(crate) fn sign_in_cookie(headers: &WebHeaders, is_secure: bool) -> String {
    named("trunkline_sign_in", headers, is_secure)
}

fn named(name: &str, headers: &WebHeaders, is_secure: bool) -> String {
    let prefix = if is_secure { "__Host-" } else { "" };
    format!("{prefix}{name}{}", port(headers))
}

/// Was this address opened by a page of another site?
pub(crate) fn is_from_elsewhere(headers: &WebHeaders) -> bool {
    headers.get("sec-fetch-site").is_some_and(|site| !matches!(site, b"same-origin" | b"none"))
}

pub(crate) const THEME_COOKIE: &str = "trunkline_theme";

fn port(headers: &WebHeaders) -> String {
    let host = headers.text("host").unwrap_or_default();
    let port = host.rsplit_once(':').map(|(_, port)| port);
    let is_port = |port: &&str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    port.filter(is_port).map(|port| format!("_{port}")).unwrap_or_default()
}

/// The value of a cookie; the first, if there are several.
pub(crate) fn cookie<'a>(headers: &'a WebHeaders, name: &str) -> Option<&'a str> {
    let texts = headers.all("cookie").filter_map(|value| std::str::from_utf8(value).ok());
    let mut pairs = texts.flat_map(|text| text.split(';')).filter_map(|pair| pair.split_once('='));
    // The first: a browser sends the cookie of the longest path first (RFC 6265, 5.4).
    pairs.find(|(known, _)| known.trim() == name).map(|(_, value)| value.trim())
}

/// Which requests carry a cookie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SiteRule {
    /// Those of our own pages. A link from elsewhere opens signed out: for a page that changes servers that is right.
    OwnPages,
    /// Also those that another site leads to.
    Links,
}

/// The header that sets a cookie which no script reads.
pub(crate) fn set_cookie(
    name: &str,
    value: &str,
    rule: SiteRule,
    more: &str,
    is_secure: bool,
) -> String {
    let secure = if is_secure { "; Secure" } else { "" };
    let site = match rule {
        SiteRule::OwnPages => "Strict",
        SiteRule::Links => "Lax",
    };
    format!("{name}={value}; Path=/; HttpOnly; SameSite={site}{more}{secure}")
}

/// Does the browser speak TLS, with whoever stands in front of us? `public`: how the operator says that
/// this is reached. Where that is over TLS, nobody comes without but somebody on this machine.
pub(crate) fn is_secure(headers: &WebHeaders, public: Option<&str>) -> bool {
    // Only decides whether the cookie says `Secure`: a forged header gains nothing.
    let forwarded = headers.text("x-forwarded-proto").unwrap_or_default();
    let first = forwarded.split(',').next().unwrap_or_default().trim();
    let host = headers.text("host").unwrap_or_default();
    let is_public = public.is_some_and(|public| public.starts_with("https://"));
    // A proxy may send a Host of its own; one that sends that of the loopback is known by what it adds.
    let is_passed_on = ["x-forwarded-for", "x-real-ip", "forwarded", "via"]
        .iter()
        .any(|name| headers.get(name).is_some());
    first.eq_ignore_ascii_case("https") || (is_public && (is_passed_on || !is_loopback(host)))
}

/// Does this Host name the loopback?
fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&str, &str)]) -> WebHeaders {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), value.as_bytes().to_vec());
        WebHeaders::new(pairs.iter().map(owned).collect())
    }

    #[test]
    fn only_our_own_pages_may_send_forms() {
        let here = ("Host", "127.0.0.1:3006");
        for (sent, expected) in [
            (vec![here], Ok(())),
            (vec![here, ("Origin", "http://127.0.0.1:3006")], Ok(())),
            (vec![here, ("Sec-Fetch-Site", "same-origin")], Ok(())),
            (vec![here, ("Sec-Fetch-Site", "none")], Ok(())),
            (vec![here, ("Sec-Fetch-Site", "same-site")], Err(CrossSite::Site)),
            (vec![here, ("Sec-Fetch-Site", "cross-site")], Err(CrossSite::Site)),
            (vec![here, ("Origin", "null")], Err(CrossSite::Site)),
            (vec![here, ("Origin", "http://127.0.0.1:3007")], Err(CrossSite::Site)),
            (vec![here, ("Origin", "http://localhost:3006")], Err(CrossSite::Site)),
            (vec![here, ("Origin", "http://127.0.0.1:3006.evil")], Err(CrossSite::Site)),
            (vec![("Origin", "http://127.0.0.1:3006")], Err(CrossSite::Site)),
            (vec![("Host", "a.example"), ("Origin", "https://A.example")], Ok(())),
        ] {
            assert_eq!(is_own_page(&headers(&sent), None), expected, "{sent:?}");
        }
        let behind = headers(&[here, ("Origin", "https://a.example")]);
        assert_eq!(is_own_page(&behind, Some("https://a.example/x")), Ok(()), "behind a proxy");
        assert_eq!(is_own_page(&behind, Some("https://b.example")), Err(CrossSite::Site));
        let plain = headers(&[("Host", "a.example"), ("Origin", "http://a.example")]);
        assert_eq!(is_own_page(&plain, Some("https://a.example")), Err(CrossSite::Site));
        assert_eq!(is_own_page(&plain, Some("http://a.example")), Ok(()));
    }

    #[test]
    fn a_token_is_right_or_wrong() {
        assert_eq!(has_token(Some("abc"), "abc"), Ok(()));
        for wrong in [None, Some(""), Some("ab"), Some("abd"), Some("abcd")] {
            assert_eq!(has_token(wrong, "abc"), Err(CrossSite::Token), "{wrong:?}");
        }
    }

    #[test]
    fn cookies_are_found_by_their_whole_name() {
        let sent = headers(&[("Cookie", "a=1; trunkline_session_3006=x; b=2"), ("cookie", "c=3")]);
        for (name, expected) in [
            ("a", Some("1")),
            ("c", Some("3")),
            ("trunkline_session_3006", Some("x")),
            ("session_3006", None),
            ("d", None),
        ] {
            assert_eq!(cookie(&sent, name), expected, "{name}");
        }
        for (host, expected) in [
            ("127.0.0.1:3006", "trunkline_session_3006"),
            ("[::1]:80", "trunkline_session_80"),
            ("a.example", "trunkline_session"),
            ("[::1]", "trunkline_session"),
        ] {
            assert_eq!(session_cookie(&headers(&[("Host", host)]), false), expected, "{host}");
        }
        let secure = session_cookie(&headers(&[("Host", "a.example")]), true);
        assert_eq!(secure, "__Host-trunkline_session");
    }

    #[test]
    fn cookies_are_secure_where_the_browser_speaks_tls() {
        for (sent, public, expected) in [
            (vec![("Host", "a:1")], None, false),
            (vec![("Host", "a:1")], Some("http://a:1"), false),
            (vec![("Host", "a")], Some("https://a"), true),
            (vec![("Host", "127.0.0.1:3006")], Some("https://a"), false),
            (vec![("Host", "localhost:3006")], Some("https://a"), false),
            (vec![("Host", "[::1]:3006")], Some("https://a"), false),
            // Behind a proxy that sends a Host of its own, and does not say how it was reached.
            (vec![("Host", "inside:3006")], Some("https://a"), true),
            (vec![("Host", "10.0.0.1:3006")], Some("https://a"), true),
            (vec![("Host", "10.0.0.1:3006")], Some("http://a"), false),
            (
                vec![("Host", "127.0.0.1:3006"), ("X-Forwarded-For", "192.0.2.1")],
                Some("https://a"),
                true,
            ),
            (vec![("Host", "127.0.0.1:3006"), ("X-Forwarded-For", "192.0.2.1")], None, false),
            (vec![("Host", "b"), ("X-Forwarded-Proto", "https")], None, true),
            (vec![("Host", "b"), ("X-Forwarded-Proto", "http, https")], None, false),
        ] {
            assert_eq!(is_secure(&headers(&sent), public), expected, "{sent:?} {public:?}");
        }
        let own = |rule| set_cookie("a", "b", rule, "", true);
        assert!(own(SiteRule::OwnPages).ends_with("HttpOnly; SameSite=Strict; Secure"));
        assert!(own(SiteRule::Links).ends_with("HttpOnly; SameSite=Lax; Secure"));
    }
}

//! Which proxy a request goes through: what a server's entry says, else the environment's variables.

mod address;
mod bypass;

pub use address::{BadProxy, Proxy, ProxyKind};

use std::ffi::{OsStr, OsString};
use std::fmt::{self, Display, Formatter};
use std::net::IpAddr;

use crate::reach::Host;
use crate::url::{Scheme, Url};
use bypass::Bypass;

/// The proxies that the environment names. As curl reads it: the lower-case name of a variable goes
/// before the upper-case one, and an empty one counts as not set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proxies {
    http: Option<ChosenProxy>,
    https: Option<ChosenProxy>,
    bypass: Bypass,
}

/// What a server's entry says about proxies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ProxySetting {
    /// Nothing: the environment decides.
    #[default]
    Environment,
    /// It is connected to directly.
    Direct,
    Through(Proxy),
}

/// A proxy, and who says that it is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenProxy {
    pub proxy: Proxy,
    pub named_by: NamedBy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedBy {
    /// The server's entry.
    Entry,
    /// This variable of the environment.
    Variable(&'static str),
}

/// A variable that says nothing that can be used. Its value is not shown: it may hold a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{variable}: {why}")]
pub struct BadVariable {
    pub variable: &'static str,
    pub why: String,
}

const HTTP: [&str; 2] = ["http_proxy", "HTTP_PROXY"];
const HTTPS: [&str; 2] = ["https_proxy", "HTTPS_PROXY"];
const ALL: [&str; 2] = ["all_proxy", "ALL_PROXY"];
const NO: [&str; 2] = ["no_proxy", "NO_PROXY"];

impl Proxies {
    /// What these variables say, and which of them cannot be used.
    pub fn read(variables: &[(OsString, OsString)]) -> (Self, Vec<BadVariable>) {
        let mut faults = Vec::new();
        let all = proxy_in(variables, ALL, &mut faults);
        let http = proxy_in(variables, HTTP, &mut faults).or_else(|| all.clone());
        let https = proxy_in(variables, HTTPS, &mut faults).or(all);
        let bypass = bypass_in(variables, &mut faults);
        (Self { http, https, bypass }, faults)
    }

    /// The proxy for a request to `url`, if it goes through one.
    pub fn choose(&self, url: &Url, setting: &ProxySetting) -> Option<ChosenProxy> {
        match setting {
            ProxySetting::Direct => None,
            ProxySetting::Through(proxy) => {
                Some(ChosenProxy { proxy: proxy.clone(), named_by: NamedBy::Entry })
            }
            ProxySetting::Environment => self.of_environment(url).cloned(),
        }
    }

    fn of_environment(&self, url: &Url) -> Option<&ChosenProxy> {
        let named = match url.scheme() {
            Scheme::Http => self.http.as_ref(),
            Scheme::Https => self.https.as_ref(),
        };
        named.filter(|_| !is_this_machine(url.host()) && !self.bypass.covers(url))
    }
}

/// A proxy would take it for its own machine.
fn is_this_machine(host: &str) -> bool {
    Host::read(host).is_ok_and(|read| {
        let known = read.leads_to(host);
        !known.is_empty() && known.iter().all(IpAddr::is_loopback)
    })
}

/// The first of the two names that is set to something.
fn set_one<'v>(
    variables: &'v [(OsString, OsString)],
    names: [&'static str; 2],
) -> Option<(&'static str, &'v OsStr)> {
    names.into_iter().find_map(|name| {
        let (_, value) = variables.iter().find(|(held, _)| held == name)?;
        (!value.is_empty()).then_some((name, value.as_os_str()))
    })
}

fn proxy_in(
    variables: &[(OsString, OsString)],
    names: [&'static str; 2],
    faults: &mut Vec<BadVariable>,
) -> Option<ChosenProxy> {
    let (variable, value) = set_one(variables, names)?;
    let read = match value.to_str() {
        Some(text) => Proxy::parse(text.trim()).map_err(|bad| bad.to_string()),
        None => Err(NOT_UTF8.to_owned()),
    };
    match read {
        Ok(proxy) => Some(ChosenProxy { proxy, named_by: NamedBy::Variable(variable) }),
        Err(why) => {
            faults.push(BadVariable { variable, why });
            None
        }
    }
}

fn bypass_in(variables: &[(OsString, OsString)], faults: &mut Vec<BadVariable>) -> Bypass {
    let Some((variable, value)) = set_one(variables, NO) else { return Bypass::default() };
    let Some(text) = value.to_str() else {
        faults.push(BadVariable { variable, why: NOT_UTF8.to_owned() });
        return Bypass::default();
    };
    let (bypass, unread) = Bypass::read(text);
    for entry in unread {
        let why = format!("its entry {entry} is no host, `.suffix`, address, network or `*`");
        faults.push(BadVariable { variable, why });
    }
    bypass
}

const NOT_UTF8: &str = "its value is no valid text";

/// Without user name and password.
impl Display for ChosenProxy {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.proxy, self.named_by)
    }
}

impl Display for NamedBy {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entry => f.write_str("`proxy` in its config"),
            Self::Variable(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    fn chosen(pairs: &[(&str, &str)], url: &str, setting: &ProxySetting) -> Option<String> {
        let (proxies, faults) = Proxies::read(&variables(pairs));
        assert_eq!(faults, [], "{pairs:?}");
        proxies.choose(&Url::parse(url).expect(url), setting).map(|chosen| chosen.to_string())
    }

    #[test]
    fn which_variable_decides() {
        let (h, s) = ("http://h.example/", "https://h.example/");
        for (pairs, url, expected) in [
            (&[][..], h, None),
            (&[("HTTP_PROXY", "http://p:1")], h, Some("http://p:1 (HTTP_PROXY)")),
            (&[("HTTP_PROXY", "http://p:1")], s, None),
            (&[("HTTPS_PROXY", "http://p:1")], h, None),
            (&[("HTTPS_PROXY", "http://p:1")], s, Some("http://p:1 (HTTPS_PROXY)")),
            (&[("ALL_PROXY", "socks5://p")], h, Some("socks5://p:1080 (ALL_PROXY)")),
            (&[("ALL_PROXY", "socks5://p")], s, Some("socks5://p:1080 (ALL_PROXY)")),
            (
                &[("ALL_PROXY", "socks5://p"), ("HTTPS_PROXY", "q:3128")],
                s,
                Some("http://q:3128 (HTTPS_PROXY)"),
            ),
            // The lower-case name wins, and an empty one is none.
            (
                &[("HTTP_PROXY", "http://upper"), ("http_proxy", "http://lower")],
                h,
                Some("http://lower:80 (http_proxy)"),
            ),
            (
                &[("HTTP_PROXY", "http://upper"), ("http_proxy", "")],
                h,
                Some("http://upper:80 (HTTP_PROXY)"),
            ),
            (&[("ALL_PROXY", "http://p:1"), ("NO_PROXY", "h.example")], h, None),
            (
                &[("ALL_PROXY", "http://p:1"), ("no_proxy", "other"), ("NO_PROXY", "h.example")],
                h,
                Some("http://p:1 (ALL_PROXY)"),
            ),
        ] {
            let got = chosen(pairs, url, &ProxySetting::Environment);
            assert_eq!(got.as_deref(), expected, "{pairs:?} {url}");
        }
    }

    #[test]
    fn this_machine_is_never_asked_for_through_a_proxy_of_the_environment() {
        let all = [("ALL_PROXY", "http://p:1")];
        for url in [
            "http://127.0.0.1:8080/",
            "http://127.8.8.8/",
            "https://[::1]:3/",
            "http://localhost/",
            "https://a.localhost/",
        ] {
            assert_eq!(chosen(&all, url, &ProxySetting::Environment), None, "{url}");
            let explicit = ProxySetting::Through(Proxy::parse("http://u:s3cret@q:2").unwrap());
            let said = chosen(&all, url, &explicit);
            assert_eq!(said.as_deref(), Some("http://q:2 (`proxy` in its config)"), "{url}");
        }
        assert!(chosen(&all, "http://10.0.0.1/", &ProxySetting::Environment).is_some());
    }

    #[test]
    fn an_entry_goes_before_the_environment() {
        let all = [("ALL_PROXY", "http://p:1"), ("NO_PROXY", "*")];
        let explicit = ProxySetting::Through(Proxy::parse("socks5h://q").unwrap());
        let url = "https://h.example/";
        let said = chosen(&all, url, &explicit);
        assert_eq!(said.as_deref(), Some("socks5://q:1080 (`proxy` in its config)"));
        assert_eq!(chosen(&all[..1], url, &ProxySetting::Direct), None);
    }

    #[test]
    fn a_bad_variable_is_named_and_its_value_is_not() {
        for (pairs, expected) in [
            (&[("HTTP_PROXY", "ftp://s3cret:s3cret@h")][..], "HTTP_PROXY"),
            (&[("https_proxy", "http://u:s3cret@h:port")], "https_proxy"),
            (&[("ALL_PROXY", "http://u:s3cret@")], "ALL_PROXY"),
            (&[("NO_PROXY", "a.example, s3cret!")], "NO_PROXY: its entry 2 is no host"),
        ] {
            let (proxies, faults) = Proxies::read(&variables(pairs));
            let [fault] = faults.as_slice() else { panic!("{pairs:?}: {faults:?}") };
            let said = fault.to_string();
            assert!(said.starts_with(expected) && !said.contains("s3cret"), "{said}");
            assert!(!format!("{proxies:?}").contains("s3cret"), "{proxies:?}");
        }
        use std::os::unix::ffi::OsStringExt as _;
        let odd = vec![("HTTP_PROXY".into(), OsString::from_vec(vec![0xff]))];
        assert_eq!(Proxies::read(&odd).1.len(), 1);
    }
}

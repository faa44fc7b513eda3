//! Whether a remote server's address can be one.

use std::fmt;
use std::net::Ipv6Addr;

/// What is wrong with an address, said behind its key. Never shows the address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AddressFault {
    Scheme,
    Credentials,
    NoHost,
    Host,
    Unicode,
    Port,
}

/// Judges as the transport does later, which has no file to point at.
pub(crate) fn address_fault(url: &str) -> Option<AddressFault> {
    let Some((scheme, rest)) = url.split_once("://") else {
        return Some(AddressFault::Scheme);
    };
    let known = ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
    if !known || url.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Some(AddressFault::Scheme);
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Some(AddressFault::Credentials);
    }
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let Some((address, port)) = rest.split_once(']') else {
                return Some(AddressFault::Host);
            };
            (address.parse::<Ipv6Addr>().err().map(|_| AddressFault::Host), port)
        }
        None => {
            let (name, port) =
                authority.split_at_checked(authority.find(':').unwrap_or(authority.len()))?;
            (name_fault(name), port)
        }
    };
    host.or_else(|| port_fault(port))
}

fn name_fault(name: &str) -> Option<AddressFault> {
    let belongs = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    match name {
        "" => Some(AddressFault::NoHost),
        name if !name.is_ascii() => Some(AddressFault::Unicode),
        name if !name.bytes().all(belongs) => Some(AddressFault::Host),
        _ => None,
    }
}

/// What stands behind the host, with its colon.
fn port_fault(port: &str) -> Option<AddressFault> {
    let Some(digits) = port.strip_prefix(':') else {
        return (!port.is_empty()).then_some(AddressFault::Host);
    };
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    let usual = digits.is_empty();
    let fits = is_number && digits.parse::<u16>().is_ok_and(|port| port > 0);
    (!usual && !fits).then_some(AddressFault::Port)
}

impl AddressFault {
    pub(crate) fn help(self) -> &'static str {
        match self {
            AddressFault::Scheme | AddressFault::NoHost => "write \"https://HOST/PATH\"",
            AddressFault::Credentials => "put them in `headers`, as \"Authorization\"",
            AddressFault::Host => {
                "write a name or an address; IPv6 stands in brackets: http://[::1]:8080/"
            }
            AddressFault::Unicode => "write it in punycode (xn--…)",
            AddressFault::Port => "write http://HOST:8080/PATH, or leave the port out",
        }
    }
}

impl fmt::Display for AddressFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AddressFault::Scheme => "must be an http:// or https:// address",
            AddressFault::Credentials => "must not hold a user name or password",
            AddressFault::NoHost => "names no host",
            AddressFault::Host => "has a host that is not a valid name or address",
            AddressFault::Unicode => "has a host with letters beyond ASCII",
            AddressFault::Port => "has a port that is not a number from 1 to 65535",
        })
    }
}

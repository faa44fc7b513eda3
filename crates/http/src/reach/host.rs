//! The host of a URL: an address, or a name to be resolved. Spellings that a resolver takes for an
//! address and a reader does not are neither.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What a URL's host is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {
    Address(IpAddr),
    /// To be resolved when it is connected to.
    Name,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadHost {
    #[error("a host that ends in a number is an IPv4 address; write it as four numbers, a.b.c.d")]
    Number,
    #[error(
        "the parts of a host name have 1 to 63 letters, digits, `-` and `_`, and 253 in all \
             at most"
    )]
    Name,
}

/// A name as in the DNS, RFC 1035.
const LONGEST_NAME: usize = 253;
const LONGEST_LABEL: usize = 63;

impl Host {
    /// `host` as `Url::host` gives it: lower case, ASCII, an IPv6 address without brackets.
    pub fn read(host: &str) -> Result<Self, BadHost> {
        if let Ok(address) = host.parse() {
            return Ok(Self::Address(address));
        }
        let name = host.strip_suffix('.').unwrap_or(host);
        // Before the form of the labels: for `127.0.0.1..` the number is what matters.
        let last = name.trim_end_matches('.').rsplit('.').next().unwrap_or_default();
        if is_number(last) {
            return Err(BadHost::Number);
        }
        let labels_fit = name.split('.').all(|label| {
            let valid = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
            (1..=LONGEST_LABEL).contains(&label.len()) && label.bytes().all(valid)
        });
        if labels_fit && name.len() <= LONGEST_NAME { Ok(Self::Name) } else { Err(BadHost::Name) }
    }

    /// Where `host`, which was read as this, leads as far as its text tells.
    pub fn leads_to(&self, host: &str) -> &[IpAddr] {
        match self {
            Self::Address(address) => std::slice::from_ref(address),
            Self::Name => well_known(host),
        }
    }
}

/// Resolvers take decimal, octal (`0177`) and hexadecimal (`0x7f`) numbers for parts of an IPv4
/// address, one to four of them. Browsers go by the last part, and so do we: no top-level domain
/// is a number.
fn is_number(label: &str) -> bool {
    let digits = |text: &str, digit: fn(&u8) -> bool| text.as_bytes().iter().all(digit);
    match label.strip_prefix("0x") {
        Some(hex) => digits(hex, u8::is_ascii_hexdigit),
        None => !label.is_empty() && digits(label, u8::is_ascii_digit),
    }
}

/// Where names lead that are known without asking: the loopback (RFC 6761), and what clouds call
/// the place of their credentials.
fn well_known(name: &str) -> &'static [IpAddr] {
    const LOOPBACK: &[IpAddr] = &[IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
    const METADATA: &[IpAddr] = &[IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254))];
    let name = name.strip_suffix('.').unwrap_or(name);
    match name.rsplit('.').next() {
        Some("localhost") => return LOOPBACK,
        // What distributions write into /etc/hosts.
        _ if matches!(name, "localhost.localdomain" | "ip6-localhost" | "ip6-loopback") => {
            return LOOPBACK;
        }
        _ => {}
    }
    match name {
        "metadata"
        | "metadata.goog"
        | "metadata.google.internal"
        | "instance-data"
        | "instance-data.ec2.internal" => METADATA,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_addresses_or_names_or_neither() {
        let long_label = "a".repeat(64);
        let long_name = "a.".repeat(127);
        for (text, expected) in [
            ("127.0.0.1", Ok(Host::Address([127, 0, 0, 1].into()))),
            ("::1", Ok(Host::Address(Ipv6Addr::LOCALHOST.into()))),
            ("example.com", Ok(Host::Name)),
            ("example.com.", Ok(Host::Name)),
            ("a_b.example", Ok(Host::Name)),
            ("1.1.1.1.example", Ok(Host::Name)),
            ("7f000001", Ok(Host::Name)),
            ("0xg", Ok(Host::Name)),
            ("2130706433", Err(BadHost::Number)),
            ("0x7f000001", Err(BadHost::Number)),
            ("0x", Err(BadHost::Number)),
            ("0177.0.0.1", Err(BadHost::Number)),
            ("127.1", Err(BadHost::Number)),
            ("127.0.0.1.", Err(BadHost::Number)),
            ("127.0.0.1..", Err(BadHost::Number)),
            ("1.2.3.4.5", Err(BadHost::Number)),
            ("256.1.1.1", Err(BadHost::Number)),
            ("a.0x7f", Err(BadHost::Number)),
            ("..", Err(BadHost::Name)),
            (".a", Err(BadHost::Name)),
            ("a..b", Err(BadHost::Name)),
            ("a..", Err(BadHost::Name)),
            (&long_label, Err(BadHost::Name)),
            (&long_name, Ok(Host::Name)),
            (&format!("{long_name}b.c"), Err(BadHost::Name)),
        ] {
            assert_eq!(Host::read(text), expected, "{text:?}");
        }
    }
}

//! A network as `--allow-net` names it: an address and the number of its bits that count.

use std::fmt::{self, Display, Formatter};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// `10.0.0.0/8`, `fd00::/8`, or one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cidr {
    address: IpAddr,
    length: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadCidr {
    #[error("a network is written like 10.0.0.0/8, fd00::/8 or 192.168.1.7")]
    Address,
    #[error("the number behind the / is from 0 to {0}")]
    Length(u8),
    #[error("the address has bits behind those that count; the network is {0}")]
    HostBits(Cidr),
    #[error("an IPv4 network is written as IPv4")]
    Mapped,
}

impl Cidr {
    /// The network that holds this address only.
    pub fn only(address: IpAddr) -> Self {
        Self { address, length: width(address) }
    }

    /// IPv4 and IPv6 are apart, except that a mapped address (`::ffff:a.b.c.d`) is its IPv4 one.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        width(address) == width(self.address)
            && (bits(address) ^ bits(self.address)) & self.mask() == 0
    }

    pub fn is_one_address(&self) -> bool {
        self.length == width(self.address)
    }

    /// The bits that count, in the place where `bits` has them.
    fn mask(&self) -> u128 {
        let free = u32::from(width(self.address).saturating_sub(self.length));
        u128::MAX.checked_shl(free).unwrap_or(0)
    }
}

impl FromStr for Cidr {
    type Err = BadCidr;

    fn from_str(text: &str) -> Result<Self, BadCidr> {
        let (address, length) =
            text.split_once('/').map_or((text, None), |(address, length)| (address, Some(length)));
        let address: IpAddr = address.parse().map_err(|_| BadCidr::Address)?;
        if address.to_canonical() != address {
            return Err(BadCidr::Mapped);
        }
        let most = width(address);
        let length = match length {
            None => most,
            Some(digits) => read_length(digits, most).ok_or(BadCidr::Length(most))?,
        };
        let given = Self { address, length };
        let network = Self { address: masked(address, given.mask()), length };
        if network == given { Ok(given) } else { Err(BadCidr::HostBits(network)) }
    }
}

impl Display for Cidr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

fn read_length(digits: &str, most: u8) -> Option<u8> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    let padded = digits.len() > 1 && digits.starts_with('0');
    let length = digits.parse().ok().filter(|length| *length <= most)?;
    (plain && !padded).then_some(length)
}

fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_bits().into(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

fn masked(address: IpAddr, mask: u128) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let [.., a, b, c, d] = mask.to_be_bytes();
            IpAddr::V4(address & Ipv4Addr::new(a, b, c, d))
        }
        IpAddr::V6(address) => IpAddr::V6(address & Ipv6Addr::from_bits(mask)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_holds_its_addresses_and_no_other() {
        for (net, inside, outside) in [
            ("10.0.0.0/8", "10.255.0.1", "11.0.0.0"),
            ("192.168.1.7", "192.168.1.7", "192.168.1.6"),
            ("192.168.1.7/32", "::ffff:192.168.1.7", "192.168.1.8"),
            ("172.16.0.0/12", "172.31.255.255", "172.32.0.0"),
            ("0.0.0.0/0", "255.255.255.255", "::1"),
            ("::/0", "fe80::1", "127.0.0.1"),
            ("::1", "::1", "::2"),
            ("fd00::/8", "fdff:ffff::1", "fc00::1"),
            ("fe80::/10", "febf::1", "fec0::1"),
            ("2001:db8::/33", "2001:db8:7fff::", "2001:db8:8000::"),
        ] {
            let net: Cidr = net.parse().expect(net);
            assert!(net.contains(inside.parse().unwrap()), "{net} holds {inside}");
            assert!(!net.contains(outside.parse().unwrap()), "{net} does not hold {outside}");
        }
    }

    #[test]
    fn a_network_is_shown_as_it_is_written() {
        for text in ["10.0.0.0/8", "0.0.0.0/0", "fd00::/8", "::1/128"] {
            assert_eq!(text.parse::<Cidr>().unwrap().to_string(), text);
        }
        assert_eq!("127.0.0.1".parse::<Cidr>().unwrap().to_string(), "127.0.0.1/32");
    }

    #[test]
    fn what_is_no_network() {
        for (text, why) in [
            ("", BadCidr::Address),
            ("/8", BadCidr::Address),
            ("10.0.0/8", BadCidr::Address),
            ("010.0.0.0/8", BadCidr::Address),
            ("localhost", BadCidr::Address),
            ("10.0.0.0 /8", BadCidr::Address),
            ("10.0.0.0/", BadCidr::Length(32)),
            ("10.0.0.0/33", BadCidr::Length(32)),
            ("10.0.0.0/+8", BadCidr::Length(32)),
            ("10.0.0.0/08", BadCidr::Length(32)),
            ("10.0.0.0/8/8", BadCidr::Length(32)),
            ("10.0.0.0/255.0.0.0", BadCidr::Length(32)),
            ("fd00::/129", BadCidr::Length(128)),
            ("::ffff:10.0.0.0/104", BadCidr::Mapped),
            ("10.1.2.3/8", BadCidr::HostBits("10.0.0.0/8".parse().unwrap())),
            ("fd00::1/8", BadCidr::HostBits("fd00::/8".parse().unwrap())),
        ] {
            assert_eq!(text.parse::<Cidr>(), Err(why), "{text:?}");
        }
    }
}

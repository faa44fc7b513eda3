//! What kind of place an IP address is: whose network, and which IPv4 address hides in an IPv6 one.
//!
//! By hand: no library finds an IPv4 address hidden in an IPv6 one, nor knows where clouds keep
//! credentials.

use std::fmt::{self, Display, Formatter};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Ordered from harmless to worst: of several ways to read an address the last one counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reach {
    /// Anybody's: the only addresses used without being allowed.
    Public,
    /// Set aside for something else than servers (IANA special-purpose registries).
    Reserved,
    Documentation,
    /// Between a carrier and its customers (100.64.0.0/10).
    Shared,
    Private,
    LinkLocal,
    Loopback,
    Multicast,
    /// `0.0.0.0` and `::`, which many systems take for the loopback.
    Unspecified,
    /// Where a machine of a cloud asks for its credentials.
    Metadata,
}

impl Reach {
    pub fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => of_v4(address),
            IpAddr::V6(address) => of_v6(address),
        }
    }
}

impl Display for Reach {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Public => "a public address",
            Self::Reserved => "a reserved address",
            Self::Documentation => "an address for documentation",
            Self::Shared => "a carrier's shared address",
            Self::Private => "a private address",
            Self::LinkLocal => "a link-local address",
            Self::Loopback => "a loopback address",
            Self::Multicast => "a multicast address",
            Self::Unspecified => "the unspecified address",
            Self::Metadata => "a metadata address",
        })
    }
}

/// AWS, Azure, Google, Oracle and others share the first; then containers on AWS,
/// Azure's wire server, Alibaba, Oracle's second one.
const METADATA_V4: [Ipv4Addr; 6] = [
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(169, 254, 170, 2),
    Ipv4Addr::new(169, 254, 170, 23),
    Ipv4Addr::new(168, 63, 129, 16),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(192, 0, 0, 192),
];

/// AWS, containers on AWS, Google, Scaleway.
const METADATA_V6: [Ipv6Addr; 4] = [
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42),
];

fn of_v4(address: Ipv4Addr) -> Reach {
    if METADATA_V4.contains(&address) {
        return Reach::Metadata;
    }
    match address.octets() {
        [0, 0, 0, 0] => Reach::Unspecified,
        [127, ..] => Reach::Loopback,
        [10, ..] | [192, 168, ..] | [172, 16..=31, ..] => Reach::Private,
        [100, 64..=127, ..] => Reach::Shared,
        [169, 254, ..] => Reach::LinkLocal,
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => Reach::Documentation,
        [224..=239, ..] => Reach::Multicast,
        // "this network", protocol assignments, the old 6to4 relays, benchmarks, the future
        [0, ..] | [192, 0, 0, _] | [192, 88, 99, _] | [198, 18..=19, ..] | [240..=255, ..] => {
            Reach::Reserved
        }
        _ => Reach::Public,
    }
}

fn of_v6(address: Ipv6Addr) -> Reach {
    if METADATA_V6.contains(&address) {
        return Reach::Metadata;
    }
    let own = own_v6(address);
    hidden_v4(address).into_iter().flatten().map(of_v4).fold(own, Ord::max)
}

/// Without regard to what hides in it.
fn own_v6(address: Ipv6Addr) -> Reach {
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => Reach::Unspecified,
        [0, 0, 0, 0, 0, 0, 0, 1] => Reach::Loopback,
        // NAT64: how hosts without IPv4 reach all of it
        [0x64, 0xff9b, 0, 0, 0, 0, _, _] => Reach::Public,
        // NAT64 of one network, by its own rules (RFC 8215)
        [0x64, 0xff9b, 1, ..] => Reach::Private,
        // unique local, and site-local, which is deprecated but still routed by some
        [0xfc00..=0xfdff, ..] | [0xfec0..=0xfeff, ..] => Reach::Private,
        [0xfe80..=0xfebf, ..] => Reach::LinkLocal,
        [0xff00..=0xffff, ..] => Reach::Multicast,
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0x0fff, ..] => Reach::Documentation,
        // protocol assignments: Teredo, benchmarks, identifiers that are no addresses
        [0x2001, 0..=0x01ff, ..] => Reach::Reserved,
        // all that is handed out so far
        [0x2000..=0x3fff, ..] => Reach::Public,
        _ => Reach::Reserved,
    }
}

/// The IPv4 addresses that a router, a translator or a tunnel may find in this one.
fn hidden_v4(address: Ipv6Addr) -> [Option<Ipv4Addr>; 4] {
    let bits = address.to_bits();
    let at = |shift: u32| Some(v4(bits >> shift));
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0..=1] => [None; 4],
        // compatible (::a.b.c.d) and translated (::ffff:0:a.b.c.d); mapped ones are IPv4 already
        [0, 0, 0, 0, 0, 0, ..] | [0, 0, 0, 0, 0xffff, 0, ..] => [at(0), None, None, None],
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => [at(0), None, None, None],
        [0x64, 0xff9b, 1, ..] => local_nat64(bits),
        // Teredo: the server, and the client with its bits turned
        [0x2001, 0, ..] => [at(64), Some(v4(!bits)), None, None],
        // 6to4
        [0x2002, ..] => [at(80), isatap(address), None, None],
        _ => [isatap(address), None, None, None],
    }
}

/// Nothing says how long the prefix is, so each of the lengths that RFC 6052 knows is tried. All
/// leave out bits 64 to 71. Only what is not zero was meant.
fn local_nat64(bits: u128) -> [Option<Ipv4Addr>; 4] {
    let around = |high: u32, low: u32| {
        let mask = (1 << high) - 1;
        let joined =
            ((bits >> 64) & mask) << (32 - high) | (bits >> low) & ((1 << (32 - high)) - 1);
        Some(v4(joined))
    };
    let all = [around(16, 40), around(8, 32), around(0, 24), Some(v4(bits))];
    all.map(|found| found.filter(|address| !address.is_unspecified()))
}

/// An interface identifier of ISATAP ends in `0:5efe:a.b.c.d`, with the "universal" bit or without.
fn isatap(address: Ipv6Addr) -> Option<Ipv4Addr> {
    match address.segments() {
        [_, _, _, _, 0 | 0x200, 0x5efe, ..] => Some(v4(address.to_bits())),
        _ => None,
    }
}

fn v4(bits: u128) -> Ipv4Addr {
    let [.., a, b, c, d] = bits.to_be_bytes();
    Ipv4Addr::new(a, b, c, d)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_network_is_known_to_its_edges() {
        use Reach::{
            Documentation, LinkLocal, Loopback, Metadata, Multicast, Private, Public, Reserved,
            Shared, Unspecified,
        };
        for (text, reach) in [
            ("1.1.1.1", Public),
            ("8.8.8.8", Public),
            ("0.0.0.0", Unspecified),
            ("0.0.0.1", Reserved),
            ("0.255.255.255", Reserved),
            ("1.0.0.0", Public),
            ("9.255.255.255", Public),
            ("10.0.0.0", Private),
            ("10.255.255.255", Private),
            ("11.0.0.0", Public),
            ("100.63.255.255", Public),
            ("100.64.0.0", Shared),
            ("100.100.100.200", Metadata),
            ("100.127.255.255", Shared),
            ("100.128.0.0", Public),
            ("126.255.255.255", Public),
            ("127.0.0.1", Loopback),
            ("127.255.255.255", Loopback),
            ("128.0.0.0", Public),
            ("168.63.129.16", Metadata),
            ("169.253.255.255", Public),
            ("169.254.0.0", LinkLocal),
            ("169.254.169.254", Metadata),
            ("169.254.170.2", Metadata),
            ("169.254.170.23", Metadata),
            ("169.255.0.0", Public),
            ("172.15.255.255", Public),
            ("172.16.0.0", Private),
            ("172.31.255.255", Private),
            ("172.32.0.0", Public),
            ("192.0.0.1", Reserved),
            ("192.0.0.192", Metadata),
            ("192.0.1.0", Public),
            ("192.0.2.7", Documentation),
            ("192.88.99.1", Reserved),
            ("192.168.0.1", Private),
            ("192.169.0.0", Public),
            ("198.17.255.255", Public),
            ("198.18.0.0", Reserved),
            ("198.19.255.255", Reserved),
            ("198.20.0.0", Public),
            ("198.51.100.1", Documentation),
            ("203.0.113.9", Documentation),
            ("223.255.255.255", Public),
            ("224.0.0.1", Multicast),
            ("239.255.255.255", Multicast),
            ("240.0.0.0", Reserved),
            ("255.255.255.255", Reserved),
            ("::", Unspecified),
            ("::1", Loopback),
            ("::2", Reserved),
            ("2606:4700:4700::1111", Public),
            ("2001:4860:4860::8888", Public),
            ("fc00::1", Private),
            ("fdff::1", Private),
            ("fd00:ec2::254", Metadata),
            ("fd20:ce::254", Metadata),
            ("fe80::1", LinkLocal),
            ("febf::1", LinkLocal),
            ("fec0::1", Private),
            ("feff::1", Private),
            ("ff02::1", Multicast),
            ("2001:db8::1", Documentation),
            ("3fff::1", Documentation),
            ("3fff:1000::1", Public),
            ("2001:2::1", Reserved),
            ("2001:20::1", Reserved),
            ("2001:200::1", Public),
            ("100::1", Reserved),
            ("4000::1", Reserved),
            ("5f00::1", Reserved),
            ("1000::1", Reserved),
        ] {
            assert_eq!(Reach::of(text.parse().unwrap()), reach, "{text}");
        }
    }

    #[test]
    fn an_ipv4_address_does_not_hide_in_an_ipv6_one() {
        use Reach::{
            LinkLocal, Loopback, Metadata, Multicast, Private, Public, Reserved, Unspecified,
        };
        for (text, reach) in [
            // mapped
            ("::ffff:127.0.0.1", Loopback),
            ("::ffff:a9fe:a9fe", Metadata),
            ("::ffff:8.8.8.8", Public),
            ("::ffff:0.0.0.0", Unspecified),
            // compatible
            ("::127.0.0.1", Loopback),
            ("::10.0.0.1", Private),
            ("::8.8.8.8", Reserved),
            // translated
            ("::ffff:0:127.0.0.1", Loopback),
            ("::ffff:0:8.8.8.8", Reserved),
            // NAT64
            ("64:ff9b::8.8.8.8", Public),
            ("64:ff9b::10.0.0.1", Private),
            ("64:ff9b::169.254.169.254", Metadata),
            ("64:ff9b::224.0.0.1", Multicast),
            // NAT64 of one network: prefix of 96, 48, 56 and 64 bits
            ("64:ff9b:1::8.8.8.8", Private),
            ("64:ff9b:1::127.0.0.1", Loopback),
            ("64:ff9b:1:a9fe:a9:fe00::", Metadata),
            ("64:ff9b:1:7f00:0:100::", Loopback),
            ("64:ff9b:1:ffa9:fe:a9fe::", Metadata),
            ("64:ff9b:1:ffff:a9:fea9:fe00:0", Metadata),
            // 6to4
            ("2002:7f00:1::1", Loopback),
            ("2002:a9fe:a9fe::", Metadata),
            ("2002:808:808::1", Public),
            // Teredo: a loopback server; a client that is 127.0.0.1; both public
            ("2001:0:7f00:1::f7f7:f7f7", Loopback),
            ("2001:0:808:808::80ff:fffe", Loopback),
            ("2001:0:808:808::f7f7:f7f7", Reserved),
            // ISATAP
            ("2606:4700::5efe:127.0.0.1", Loopback),
            ("2606:4700::200:5efe:169.254.169.254", Metadata),
            ("2606:4700::5efe:8.8.8.8", Public),
            ("fe80::5efe:8.8.8.8", LinkLocal),
        ] {
            assert_eq!(Reach::of(text.parse().unwrap()), reach, "{text}");
        }
    }
}

//! `PeerNetwork`: where a connection comes from, as far as strangers can be told apart by their address.

use std::net::IpAddr;

/// An IPv4 address, or the network of an IPv6 one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PeerNetwork(pub(crate) IpAddr);

impl PeerNetwork {
    pub fn of(address: IpAddr) -> Self {
        // Canonical: `::ffff:192.0.2.1` is 192.0.2.1 on a socket for both.
        match address.to_canonical() {
            // RFC 4291, 2.5.4: whoever has one address of such a network has 2⁶⁴ of them.
            IpAddr::V6(v6) => Self(IpAddr::V6((u128::from(v6) >> 64 << 64).into())),
            v4 => Self(v4),
        }
    }

    /// Its only address, or its first.
    pub fn address(self) -> IpAddr {
        self.0
    }

    /// This machine: all its users, and proxies that pass on requests from elsewhere.
    pub(crate) fn is_loopback(self) -> bool {
        // `::1` is in no network with others: `of` leaves zeros of it.
        self.0.is_loopback() || self.0.is_unspecified()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_one_source() {
        for (one, other, same) in [
            ("192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1", "192.0.2.2", false),
            ("::ffff:192.0.2.1", "192.0.2.1", true),
            ("2001:db8::1", "2001:db8::ffff:1", true),
            ("2001:db8::1", "2001:db8:0:1::1", false),
        ] {
            let of = |text: &str| PeerNetwork::of(text.parse().unwrap());
            assert_eq!(of(one) == of(other), same, "{one} {other}");
        }
        for (address, expected) in
            [("127.0.0.1", true), ("127.9.9.9", true), ("::1", true), ("10.0.0.1", false)]
        {
            assert_eq!(
                PeerNetwork::of(address.parse().unwrap()).is_loopback(),
                expected,
                "{address}"
            );
        }
    }
}

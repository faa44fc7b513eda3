//! `AddressRange`: an address, or a network of them, as Cedar compares them.

use std::net::IpAddr;

/// An address is the range of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AddressRange {
    address: IpAddr,
    prefix: u8,
}

impl AddressRange {
    pub(super) fn one(address: IpAddr) -> Self {
        Self { address, prefix: longest(address) }
    }

    /// As it is written in a policy. `None`: not in a way that is certainly meant so.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        // Cedar takes no IPv4 address in IPv6 clothes.
        if address.contains(':') && address.contains('.') {
            return None;
        }
        let one = Self::one(address.parse().ok()?);
        let Some(prefix) = prefix else { return Some(one) };
        let is_plain = prefix.bytes().all(|digit| digit.is_ascii_digit())
            && (prefix == "0" || !prefix.starts_with('0'));
        let prefix = prefix.parse().ok().filter(|prefix| is_plain && *prefix <= one.prefix)?;
        Some(Self { prefix, ..one })
    }

    pub(super) fn is_ipv4(self) -> bool {
        self.address.is_ipv4()
    }

    /// All of it.
    pub(super) fn is_loopback(self) -> bool {
        let network = if self.is_ipv4() { 8 } else { 128 };
        self.address.is_loopback() && self.prefix >= network
    }

    /// All of it.
    pub(super) fn is_multicast(self) -> bool {
        let network = if self.is_ipv4() { 4 } else { 8 };
        self.address.is_multicast() && self.prefix >= network
    }

    /// All of it.
    pub(super) fn is_in(self, other: Self) -> bool {
        let ((first, last), (lowest, highest)) = (self.ends(), other.ends());
        self.is_ipv4() == other.is_ipv4() && lowest <= first && last <= highest
    }

    /// The first and the last address of it.
    fn ends(self) -> (u128, u128) {
        let number = match self.address {
            IpAddr::V4(address) => u128::from(u32::from(address)),
            IpAddr::V6(address) => u128::from(address),
        };
        let free = u32::from(longest(self.address).saturating_sub(self.prefix));
        let hosts = 1_u128.checked_shl(free).map_or(u128::MAX, |count| count - 1);
        (number & !hosts, number | hosts)
    }
}

fn longest(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

//! Which addresses a URL that somebody names may lead to (SSRF): public ones, and what the operator
//! has allowed.
//!
//! A URL is judged twice: its text when it is named (`Policy::judge_url`), and each address its
//! host resolves to when it is connected to (`Policy::judge`). Only the second one is the guard:
//! a name may lead anywhere by then. The first tells whoever names the URL at once.

mod address;
mod cidr;
mod host;
#[cfg(test)]
mod tests;

pub use address::Reach;
pub use cidr::{BadCidr, Cidr};
pub use host::{BadHost, Host};

use crate::url::{BadUrl, Url};
use std::net::IpAddr;

/// What may be reached besides the public network (`--allow-net`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    pub allowed: Vec<Cidr>,
}

/// Why a URL or an address is not used. The text is for whoever named it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReachRefused {
    #[error(transparent)]
    Url(#[from] BadUrl),
    #[error(transparent)]
    Host(#[from] BadHost),
    #[error(
        "{0} is {1}; only public addresses are used, unless the network is named with \
         `--allow-net CIDR` (here: `--allow-net {2}`)"
    )]
    NotAllowed(IpAddr, Reach, Cidr),
    #[error(
        "{0} is {1}, where a machine of a cloud gets its credentials; a network around it does \
         not allow it, only exactly `--allow-net {2}` does"
    )]
    Metadata(IpAddr, Reach, Cidr),
    #[error("{0} is {1}: no server can be reached there")]
    Never(IpAddr, Reach),
}

impl Policy {
    /// May this address be connected to? To be asked right before, and of that very address.
    pub fn judge(&self, address: IpAddr) -> Result<(), ReachRefused> {
        let address = address.to_canonical();
        let reach = Reach::of(address);
        let refused = match reach {
            Reach::Public => return Ok(()),
            Reach::Unspecified | Reach::Multicast => {
                return Err(ReachRefused::Never(address, reach));
            }
            Reach::Metadata => ReachRefused::Metadata,
            Reach::Reserved
            | Reach::Documentation
            | Reach::Shared
            | Reach::Private
            | Reach::LinkLocal
            | Reach::Loopback => ReachRefused::NotAllowed,
        };
        let allows = |net: &&Cidr| match reach {
            // Whoever opens a wide network does not think of this one in it.
            Reach::Metadata => net.is_one_address() && net.contains(address),
            _ => net.contains(address),
        };
        match self.allowed.iter().find(allows) {
            Some(_) => Ok(()),
            None => Err(refused(address, reach, Cidr::only(address))),
        }
    }

    /// May this URL be used, as far as its text tells? `Host::Name` has yet to be resolved, and
    /// what it leads to be judged.
    pub fn judge_url(&self, url: &Url) -> Result<Host, ReachRefused> {
        let host = Host::read(url.host())?;
        let mut judged = host.leads_to(url.host()).iter().map(|address| self.judge(*address));
        match judged.next() {
            Some(Err(refused)) if !judged.any(|other| other.is_ok()) => Err(refused),
            _ => Ok(host),
        }
    }

    /// The URL that `text` spells, if it may be used as far as its text tells.
    pub fn read_url(&self, text: &str) -> Result<Url, ReachRefused> {
        let url = Url::parse(text)?;
        self.judge_url(&url)?;
        Ok(url)
    }
}

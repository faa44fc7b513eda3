//! `NetworkRules`: the way to a server with an address, and the keys for it.

use trunkline_http::proxy::ProxySetting;

use super::shape::{ConfigKey, Takes};

/// How a server in the network is reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetworkRules {
    pub proxy: ProxySetting,
    pub tls: TlsFiles,
}

/// PEM files for one server: whom to trust instead of the system's authorities, and who we are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsFiles {
    pub authority: Option<String>,
    /// Both or none.
    pub certificate: Option<String>,
    pub key: Option<String>,
}

pub(crate) const PROXY_KEY: ConfigKey = ConfigKey::new(
    PROXY,
    Takes::Filled,
    "The proxy that the server is reached through: http://HOST:PORT, https://… or socks5://…, or \"none\" \
     [default: what HTTPS_PROXY and its kin say].",
);
pub(crate) const TLS_KEY: ConfigKey = ConfigKey::new(
    TLS,
    Takes::Tls,
    "Files for the encryption towards the server: its private authority, our certificate.",
);

/// The members of `tls`.
pub(crate) const TLS_MEMBERS: [ConfigKey; 3] = [
    ConfigKey::new(
        AUTHORITY,
        Takes::Filled,
        "The authorities to trust, for this server instead of the system's: a PEM file, an absolute path.",
    ),
    ConfigKey::new(
        CERTIFICATE,
        Takes::Filled,
        "The certificate to show to the server, with its chain: a PEM file, an absolute path.",
    ),
    ConfigKey::new(
        PRIVATE_KEY,
        Takes::Filled,
        "The private key of `cert`: a PEM file, an absolute path.",
    ),
];

pub(crate) const PROXY: &str = "proxy";
pub(crate) const TLS: &str = "tls";
pub(crate) const AUTHORITY: &str = "ca";
pub(crate) const CERTIFICATE: &str = "cert";
pub(crate) const PRIVATE_KEY: &str = "key";

//! `ClientPeer`: what is known of the client of a connection before its first request.

use std::net::SocketAddr;
use std::sync::Arc;

use crate::certificate::ClientCertificate;

#[derive(Clone, Debug)]
pub(crate) struct ClientPeer {
    /// Where it comes from, as the connection or a trusted load balancer says.
    pub(crate) address: SocketAddr,
    /// The certificate that it has shown; its chain was verified.
    pub(crate) certificate: Option<Arc<ClientCertificate>>,
    /// It speaks TLS with us.
    pub(crate) is_secure: bool,
    /// Another replica has passed its request on: it is passed on to nobody else.
    pub(crate) is_forwarded: bool,
}

impl ClientPeer {
    /// Without TLS.
    pub(crate) fn plain(address: SocketAddr) -> Self {
        Self { address, certificate: None, is_secure: false, is_forwarded: false }
    }
}

//! The flags of the network in front of `serve`: encryption, certificates of clients, load balancers, bounds.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use trunkline_control::access::CertificateRole;
use trunkline_http::reach::Cidr;

use super::values::threads;
use crate::listen::Listen;

/// How clients come in.
#[derive(Args, Clone, Debug)]
pub(crate) struct NetworkFlags {
    /// Connections that one address may have open [default: 1000, and any number for this machine]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) connections_per_address: Option<u32>,
    /// After SIGTERM or SIGINT, serve on for so many seconds while `/readyz` answers 503; a second signal ends that
    /// [default: 5 where the store is shared (postgres://), else 0]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u16).range(..=3600))]
    pub(crate) drain_delay: Option<u16>,
    /// Threads that move messages, from 1 to 64 [default: one for every two processors, at most 16]
    #[arg(long, value_name = "N", value_parser = threads)]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Speak TLS (https) with the certificate in FILE: PEM, the chain from the own certificate on; read again when it
    /// changes
    #[arg(long, value_name = "FILE", requires = "tls_key", help_heading = "TLS")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// … and its private key: PEM, not encrypted
    #[arg(long, value_name = "FILE", requires = "tls_cert", help_heading = "TLS")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Take certificates of clients that an authority in FILE (PEM) has signed, in the place of a token
    #[arg(long, value_name = "FILE", requires = "tls_cert", help_heading = "TLS")]
    pub(crate) tls_client_ca: Option<PathBuf>,
    /// … and refuse clients that show none
    #[arg(long, requires = "tls_client_ca", help_heading = "TLS")]
    pub(crate) tls_client_required: bool,
    /// The role of clients whose certificate has this common name (`*`: every other; `none`: they are refused), on a
    /// platform (repeatable) [default: caller]
    #[arg(
        long, value_name = "NAME=ROLE", value_parser = CertificateRole::parse,
        requires = "tls_client_ca", help_heading = "TLS"
    )]
    pub(crate) tls_client_role: Vec<CertificateRole>,
    /// Listen on ADDRESS as well, without TLS, and send whoever asks there to https
    #[arg(long, value_name = "ADDRESS", requires = "tls_cert", help_heading = "TLS")]
    pub(crate) redirect_http: Option<Listen>,
    /// Do not tell browsers to use nothing but https for this host from now on (HSTS)
    #[arg(long, requires = "tls_cert", help_heading = "TLS")]
    pub(crate) no_hsts: bool,
    /// Load balancers in this network begin each connection with a PROXY protocol header (version 1 or 2), which names
    /// the client (repeatable)
    #[arg(long, value_name = "CIDR")]
    pub(crate) proxy_protocol: Vec<Cidr>,
}

impl NetworkFlags {
    pub(crate) fn is_secure(&self) -> bool {
        self.tls_cert.is_some()
    }
}

//! A plain address that leads to an encrypted one: every client of the kit speaks TLS through it without knowing.

use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};

use crate::certificates::{Authority, Pair};
use crate::sealed::{Ends, pass_on};
use crate::tls::Version;

/// A client that has said everything may still be answered; a server that has ended answers no more.
const ENDS: Ends = Ends { of_plain: Shutdown::Both, of_encrypted: Shutdown::Write };

/// How the client's side of a connection is encrypted.
#[derive(Debug, Clone)]
pub struct Trust(Arc<ClientConfig>);

impl Trust {
    /// Trusts this authority only and speaks these versions.
    pub fn of(authority: &Authority, versions: &[&'static Version]) -> Self {
        Self(Arc::new(builder(authority, versions).with_no_client_auth()))
    }

    /// … and shows this certificate.
    pub fn showing(authority: &Authority, versions: &[&'static Version], shown: &Pair) -> Self {
        let chain = CertificateDer::from_pem_slice(shown.certificate.as_bytes());
        let key = PrivateKeyDer::from_pem_slice(shown.key.as_bytes()).expect("a key");
        let config = builder(authority, versions)
            .with_client_auth_cert(vec![chain.expect("a certificate")], key)
            .expect("a certificate with its key");
        Self(Arc::new(config))
    }

    /// … and offers these protocols above TLS.
    #[must_use]
    pub fn speaking(&self, protocols: &[&[u8]]) -> Self {
        let mut config = ClientConfig::clone(&self.0);
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        Self(Arc::new(config))
    }

    /// A connection that has shaken hands, or why not.
    pub fn connect(&self, address: SocketAddr) -> std::io::Result<(TcpStream, ClientConnection)> {
        self.connect_from(Ipv4Addr::LOCALHOST, address)
    }

    fn connect_from(
        &self,
        from: Ipv4Addr,
        address: SocketAddr,
    ) -> std::io::Result<(TcpStream, ClientConnection)> {
        let mut stream = crate::http::connect_from(from, address)?;
        let name = ServerName::try_from("localhost").expect("a name");
        let mut connection = ClientConnection::new(Arc::clone(&self.0), name).expect("a config");
        while connection.is_handshaking() || connection.wants_write() {
            connection.complete_io(&mut stream)?;
        }
        Ok((stream, connection))
    }
}

fn builder(
    authority: &Authority,
    versions: &[&'static Version],
) -> rustls::ConfigBuilder<ClientConfig, rustls::client::WantsClientCert> {
    let mut roots = RootCertStore::empty();
    let authority = CertificateDer::from_pem_slice(authority.pem().as_bytes());
    roots.add(authority.expect("a certificate")).expect("an authority");
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(versions)
        .expect("versions that exist")
        .with_root_certificates(roots)
}

/// It ends with the test's process.
#[derive(Debug)]
pub struct Tunnel {
    address: SocketAddr,
    failures: Arc<Mutex<Vec<String>>>,
}

impl Tunnel {
    /// Leads to `address`, encrypted.
    #[track_caller]
    pub fn to(address: SocketAddr, trust: Trust) -> Self {
        Self::to_from(Ipv4Addr::LOCALHOST, address, trust)
    }

    /// … from this address of the loopback.
    #[track_caller]
    pub fn to_from(from: Ipv4Addr, address: SocketAddr, trust: Trust) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let here = listener.local_addr().expect("a bound socket has an address");
        let failures = Arc::new(Mutex::new(Vec::new()));
        let notes = Arc::clone(&failures);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (trust, notes) = (trust.clone(), Arc::clone(&notes));
                std::thread::spawn(move || match trust.connect_from(from, address) {
                    Ok((encrypted, connection)) => pass_on(&stream, encrypted, connection, ENDS),
                    Err(error) => notes.lock().expect("no holder panics").push(error.to_string()),
                });
            }
        });
        Self { address: here, failures }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Why handshakes failed, oldest first.
    pub fn failures(&self) -> Vec<String> {
        self.failures.lock().expect("no holder panics").clone()
    }
}

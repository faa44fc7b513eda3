//! TLS in front of any plain address: takes the encryption off and passes the bytes on.
//!
//! It stands before a scripted server, which so speaks https without knowing.

use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection};

use crate::sealed::{Ends, pass_on};

pub use rustls::SupportedProtocolVersion as Version;
pub use rustls::version::{TLS12, TLS13};

/// Whom a certificate of the tests names. All are signed by [`authority`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certificate {
    /// `localhost` and `127.0.0.1`.
    Local,
    /// Another host.
    Elsewhere,
    /// `localhost` and `127.0.0.1`, a long time ago.
    Expired,
}

/// The authority that has signed the certificates, as a file.
pub fn authority() -> PathBuf {
    testdata("authority.pem")
}

/// An authority that has signed none of them.
pub fn stranger() -> PathBuf {
    testdata("stranger.pem")
}

fn testdata(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/tls").join(file)
}

/// A client that has said everything may still be answered; a server that has ended answers no more.
const ENDS: Ends = Ends { of_plain: Shutdown::Write, of_encrypted: Shutdown::Both };

/// The encrypted side of an address. It ends with the test's process.
#[derive(Debug)]
pub struct Cover {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
}

/// How one connection began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// Agreed on this version and this protocol above it.
    Agreed { version: String, protocol: String },
    /// The other side did not want to.
    Failed(String),
}

impl Cover {
    /// Covers `plain`; only these versions of TLS are spoken.
    #[track_caller]
    pub fn over(
        plain: SocketAddr,
        certificate: Certificate,
        versions: &[&'static Version],
    ) -> Self {
        Self::with(plain, config(certificate, versions))
    }

    /// Covers `plain` for clients that show a certificate of [`authority`].
    #[track_caller]
    pub fn for_known_clients(plain: SocketAddr) -> Self {
        let mut roots = rustls::RootCertStore::empty();
        let authority = CertificateDer::from_pem_file(authority()).expect("a certificate");
        roots.add(authority).expect("an authority");
        let provider = Arc::new(ring::default_provider());
        let verifier =
            rustls::server::WebPkiClientVerifier::builder_with_provider(roots.into(), provider);
        let verifier = verifier.build().expect("an authority to go by");
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().expect("versions that exist");
        let (chain, key) = certificate_and_key("local");
        let config = builder.with_client_cert_verifier(verifier).with_single_cert(chain, key);
        Self::with(plain, config.expect("a certificate with its key"))
    }

    fn with(plain: SocketAddr, config: ServerConfig) -> Self {
        let config = Arc::new(config);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let notes = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (config, notes) = (Arc::clone(&config), Arc::clone(&notes));
                std::thread::spawn(move || converse(stream, plain, config, &notes));
            }
        });
        Self { address, seen }
    }

    /// `https://HOST:PORT/PATH`
    pub fn url(&self, host: &str, path: &str) -> String {
        format!("https://{host}:{}/{path}", self.address.port())
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Every connection so far, oldest first.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("no holder panics").clone()
    }
}

fn config(certificate: Certificate, versions: &[&'static Version]) -> ServerConfig {
    let name = match certificate {
        Certificate::Local => "local",
        Certificate::Elsewhere => "elsewhere",
        Certificate::Expired => "expired",
    };
    let (chain, key) = certificate_and_key(name);
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_protocol_versions(versions).expect("versions that exist");
    let mut config = builder
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .expect("a certificate with its key");
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    config
}

fn certificate_and_key(name: &str) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
    let chain = CertificateDer::from_pem_file(testdata(&format!("{name}.pem")));
    let key = PrivateKeyDer::from_pem_file(testdata(&format!("{name}.key.pem")));
    (vec![chain.expect("a certificate")], key.expect("a key"))
}

/// A certificate that [`authority`] has signed and its key, as files.
pub fn known_client() -> (PathBuf, PathBuf) {
    (testdata("local.pem"), testdata("local.key.pem"))
}

/// The life of one connection.
fn converse(
    mut stream: TcpStream,
    plain: SocketAddr,
    config: Arc<ServerConfig>,
    seen: &Mutex<Vec<Seen>>,
) {
    let mut agreed = ServerConnection::new(config).expect("a valid config");
    let shaken = agreed.complete_io(&mut stream);
    let note = match shaken {
        Ok(_) => Seen::Agreed {
            version: format!("{:?}", agreed.protocol_version().expect("a version")),
            protocol: String::from_utf8_lossy(agreed.alpn_protocol().unwrap_or_default())
                .into_owned(),
        },
        Err(error) => Seen::Failed(error.to_string()),
    };
    let failed = matches!(note, Seen::Failed(_));
    seen.lock().expect("no holder panics").push(note);
    let Some(inside) = TcpStream::connect(plain).ok().filter(|_| !failed) else { return };
    pass_on(&inside, stream, agreed, ENDS);
}

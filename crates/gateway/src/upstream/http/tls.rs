//! Encryption for servers reached over https, as it is agreed on when a connection is opened.

use std::io;
use std::sync::{Arc, OnceLock};

use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{AlertDescription, CertificateError, ClientConfig, ClientConnection, RootCertStore};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::time::timeout;

use crate::limits::TLS_HANDSHAKE;

/// Why there is no encrypted connection, and what to do about it.
#[derive(Debug)]
pub(super) struct TlsFault {
    pub(super) why: String,
    pub(super) advice: &'static str,
}

impl TlsFault {
    fn new(why: impl Into<String>, advice: &'static str) -> Self {
        Self { why: why.into(), advice }
    }
}

impl From<&io::Error> for TlsFault {
    fn from(error: &io::Error) -> Self {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        inner.map_or_else(|| broken_off(error), explain)
    }
}

const SPEAKS: &str = "does it speak https at this port?";

fn broken_off(error: &io::Error) -> TlsFault {
    match error.kind() {
        io::ErrorKind::TimedOut => {
            TlsFault::new(format!("no agreement within {} s", TLS_HANDSHAKE.as_secs()), SPEAKS)
        }
        _ => TlsFault::new(format!("the connection broke off: {error}"), SPEAKS),
    }
}

/// Agrees on encryption with `host`, and makes sure that it is that one.
pub(super) async fn agree<S>(
    stream: &mut S,
    host: &str,
    config: Arc<ClientConfig>,
) -> Result<ClientConnection, TlsFault>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let connection = ClientConnection::new(config, server_name(host)?);
    let mut connection = connection.map_err(|error| explain(&error))?;
    match timeout(TLS_HANDSHAKE, shake_hands(&mut connection, stream)).await {
        Ok(Ok(())) => Ok(connection),
        Ok(Err(Fault::Io(error))) => Err(broken_off(&error)),
        Ok(Err(Fault::Tls(error))) => Err(explain(&error)),
        Err(_) => Err(broken_off(&io::ErrorKind::TimedOut.into())),
    }
}

pub(super) fn server_name(host: &str) -> Result<ServerName<'static>, TlsFault> {
    ServerName::try_from(host.to_owned())
        .map_err(|_| TlsFault::new("its name cannot be in a certificate", ""))
}

/// What `client_tls` gives, in words for a connection.
pub(super) async fn system_trust() -> Result<Arc<ClientConfig>, TlsFault> {
    client_tls().await.map_err(|why| {
        let why = format!("there is no certificate authority to trust: {why}");
        TlsFault::new(why, "name a file of them in SSL_CERT_FILE")
    })
}

/// How this program encrypts towards others, and whom it trusts. Read once, when it is first
/// needed: the system's authorities are some hundred certificates.
pub async fn client_tls() -> Result<Arc<ClientConfig>, String> {
    static CONFIG: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    if let Some(config) = CONFIG.get() {
        return Ok(Arc::clone(config));
    }
    // Reads files and parses some hundred certificates: the runtime has one thread only.
    let loaded = tokio::task::spawn_blocking(|| {
        client_config(system_roots()?, None).map_err(|error| error.to_string())
    });
    let loaded = loaded.await.unwrap_or_else(|_| Err("reading them was interrupted".to_owned()))?;
    Ok(Arc::clone(CONFIG.get_or_init(|| loaded)))
}

pub(super) fn system_roots() -> Result<RootCertStore, String> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        return Err(found.errors.first().map_or("none is found".to_owned(), ToString::to_string));
    }
    Ok(roots)
}

/// The certificate that says who we are, with its chain and its key.
pub(super) type OwnCertificate = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

pub(super) fn client_config(
    roots: RootCertStore,
    own: Option<OwnCertificate>,
) -> Result<Arc<ClientConfig>, rustls::Error> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions()?.with_root_certificates(roots);
    let mut config = match own {
        None => builder.with_no_client_auth(),
        Some((chain, key)) => builder.with_client_auth_cert(chain, key)?,
    };
    // RFC 7301: without it, a server may choose HTTP/2, which is not spoken here.
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

enum Fault {
    Io(io::Error),
    Tls(rustls::Error),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

async fn shake_hands<S>(connection: &mut ClientConnection, stream: &mut S) -> Result<(), Fault>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut room = vec![0; 4096];
    // Also what is left to write: the server may wait for our last message before it answers.
    while connection.is_handshaking() || connection.wants_write() {
        if connection.wants_write() {
            write_records(connection, stream).await?;
            continue;
        }
        let count = stream.read(&mut room).await?;
        let mut left = room.get(..count).unwrap_or_default();
        if left.is_empty() {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        while !left.is_empty() {
            connection.read_tls(&mut left)?;
            if let Err(error) = connection.process_new_packets() {
                // The alert says why to the server, too.
                let _ = write_records(connection, stream).await;
                return Err(Fault::Tls(error));
            }
        }
    }
    Ok(())
}

async fn write_records<S: AsyncWrite + Unpin>(
    connection: &mut ClientConnection,
    stream: &mut S,
) -> io::Result<()> {
    let mut records = Vec::new();
    connection.write_tls(&mut records)?;
    stream.write_all(&records).await?;
    stream.flush().await
}

fn explain(error: &rustls::Error) -> TlsFault {
    const TRUST: &str = "if it is your own, put the certificate of its authority (PEM) into a file \
                         with the system's and name that in SSL_CERT_FILE, or name it in \
                         `tls` of its config: `ca`";
    let (why, advice) = match error {
        rustls::Error::InvalidCertificate(bad) => match bad {
            CertificateError::UnknownIssuer => ("its certificate is not trusted".to_owned(), TRUST),
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                ("its certificate has expired".to_owned(), "check the clock, or tell its owner")
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                let why = "its certificate is for another name".to_owned();
                (why, "use a host in `url` that the certificate names")
            }
            CertificateError::Other(_) => {
                (format!("its certificate is not accepted: {bad}"), TRUST)
            }
            bad => (format!("its certificate is not accepted: {bad}"), ""),
        },
        rustls::Error::InvalidMessage(_) => {
            ("it does not speak TLS".to_owned(), "use http in `url` if it speaks that")
        }
        rustls::Error::AlertReceived(AlertDescription::CertificateRequired) => {
            let why = "it wants to see a certificate of ours".to_owned();
            (why, "name one in `tls` of its config: `cert` and `key`")
        }
        rustls::Error::NoApplicationProtocol
        | rustls::Error::AlertReceived(AlertDescription::NoApplicationProtocol) => {
            ("it does not speak HTTP/1.1".to_owned(), "")
        }
        other => (other.to_string(), ""),
    };
    TlsFault { why, advice }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pump::{FlushSet, Outbox, Pump, Reader, SourceHandle};
    use crate::upstream::http::connect::Socket;
    use parking_lot::Mutex;
    use rustls::pki_types::pem::PemObject as _;
    use rustls::{ServerConfig, ServerConnection, StreamOwned};
    use std::io::{Read as _, Write as _};
    use std::net::{SocketAddr, TcpListener};
    use std::thread;
    use std::time::Duration;
    use tokio::net::TcpStream;
    use tokio::sync::Notify;
    use trunkline_wire::Edits;

    const PATIENCE: Duration = Duration::from_secs(20);
    const AUTHORITY: &[u8] = include_bytes!("testdata/authority.pem");
    const CERTIFICATE: &[u8] = include_bytes!("testdata/localhost.pem");
    const KEY: &[u8] = include_bytes!("testdata/localhost.key.pem");

    /// A server that sends back what it gets, up to so many bytes, and says goodbye.
    fn echo(bytes: usize) -> SocketAddr {
        let certificates = vec![CertificateDer::from_pem_slice(CERTIFICATE).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(KEY).unwrap();
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().unwrap();
        let config = builder.with_no_client_auth().with_single_cert(certificates, key).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let connection = ServerConnection::new(Arc::new(config)).unwrap();
            let mut stream = StreamOwned::new(connection, stream);
            let mut all = vec![0; bytes];
            // A client that does not trust us is gone.
            if stream.read_exact(&mut all).is_ok() {
                stream.write_all(&all).unwrap();
                stream.conn.send_close_notify();
                stream.flush().unwrap();
                // Still connected: it is the goodbye that ends the stream.
                let _ = stream.sock.read(&mut [0]);
            }
        });
        address
    }

    #[derive(Debug, Default)]
    struct Heard {
        bytes: Mutex<Vec<u8>>,
        ended: Notify,
    }

    #[derive(Debug)]
    struct Ear(Arc<Heard>, Vec<u8>);

    impl Reader for Ear {
        fn room(&mut self) -> &mut Vec<u8> {
            self.1.reserve(1000);
            &mut self.1
        }

        fn take(&mut self, _: &SourceHandle, _: &mut FlushSet) {
            self.0.bytes.lock().append(&mut self.1);
        }

        fn ended(&mut self, _: &mut FlushSet) {
            self.0.ended.notify_one();
        }
    }

    fn config() -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(AUTHORITY).unwrap()).unwrap();
        client_config(roots, None).unwrap()
    }

    #[tokio::test]
    async fn what_is_sent_comes_back() {
        // More than any buffer on the way holds.
        let sent: Vec<u8> =
            (0..8_000_000_u32).map(|n| n.to_le_bytes()[0] ^ n.to_le_bytes()[2]).collect();
        let address = echo(sent.len());
        let mut stream = TcpStream::connect(address).await.unwrap();
        let connection = agree(&mut stream, "localhost", config()).await.unwrap();
        let socket = Socket::Secured(stream.into_std().unwrap().into(), Box::new(connection));
        let (pump, _thread) = Pump::start().unwrap();
        let (outbox, heard) = (Outbox::default(), Arc::new(Heard::default()));
        let ear = Box::new(Ear(Arc::clone(&heard), Vec::new()));
        let (input, sink, reader) = socket.split(ear, &outbox).unwrap();
        pump.read(input, reader).poke();
        outbox.connect(sink, &pump);
        for piece in sent.chunks(300_000) {
            let frame = crate::pump::Frame { head: b"", tail: b"" };
            outbox.put_framed(frame, piece, &Edits::new()).unwrap();
            outbox.flush();
        }
        timeout(PATIENCE, heard.ended.notified()).await.expect("the goodbye");
        assert!(*heard.bytes.lock() == sent);
        pump.stop();
    }

    #[tokio::test]
    async fn a_server_is_only_trusted_by_its_name_and_authority() {
        for (host, roots, expected) in [
            ("127.0.0.1", config(), "is for another name"),
            ("localhost", client_config(RootCertStore::empty(), None).unwrap(), "is not trusted"),
        ] {
            let address = echo(1);
            let mut stream = TcpStream::connect(address).await.unwrap();
            let fault = agree(&mut stream, host, roots).await.unwrap_err();
            assert!(fault.why.contains(expected), "{fault:?}");
            assert!(!fault.advice.is_empty(), "{fault:?}");
        }
    }
}

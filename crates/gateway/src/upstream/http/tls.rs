//! Encryption for servers reached over https: agreed on when a connection is opened, taken off what
//! is read.

use std::io::{self, Read, Write};
use std::sync::{Arc, OnceLock};

use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls::{AlertDescription, CertificateError, ClientConfig, ClientConnection, RootCertStore};
use tokio::net::TcpStream;
use tokio::time::timeout;
use trunkline_http::Url;

use crate::limits::TLS_HANDSHAKE;
use crate::pump::{FlushSet, Outbox, Reader, SourceHandle};
use crate::stream::{Decrypted, Tls};
use crate::upstream::http::trouble::Trouble;

/// Agrees on encryption with the server, and makes sure that it is the one of the URL.
pub(super) async fn secure(stream: &TcpStream, url: &Url) -> Result<ClientConnection, Trouble> {
    agree(stream, url, config(url).await?).await
}

async fn agree(
    stream: &TcpStream,
    url: &Url,
    config: Arc<ClientConfig>,
) -> Result<ClientConnection, Trouble> {
    let Ok(name) = ServerName::try_from(url.host().to_owned()) else {
        return Err(Trouble::insecure(url, "its name cannot be in a certificate", ""));
    };
    let connection = ClientConnection::new(config, name);
    let mut connection = connection.map_err(|error| explain(url, &error))?;
    match timeout(TLS_HANDSHAKE, shake_hands(&mut connection, stream)).await {
        Ok(Ok(())) => Ok(connection),
        Ok(Err(Fault::Io(error))) => {
            let why = format!("the connection broke off: {error}");
            Err(Trouble::insecure(url, &why, "does it speak https at this port?"))
        }
        Ok(Err(Fault::Tls(error))) => Err(explain(url, &error)),
        Err(_) => {
            let why = format!("no agreement within {} s", TLS_HANDSHAKE.as_secs());
            Err(Trouble::insecure(url, &why, "does it speak https at this port?"))
        }
    }
}

async fn config(url: &Url) -> Result<Arc<ClientConfig>, Trouble> {
    client_tls().await.map_err(|why| {
        let why = format!("there is no certificate authority to trust: {why}");
        Trouble::insecure(url, &why, "name a file of them in SSL_CERT_FILE")
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
    let loaded = tokio::task::spawn_blocking(load).await;
    let loaded = loaded.unwrap_or_else(|_| Err("reading them was interrupted".to_owned()))?;
    Ok(Arc::clone(CONFIG.get_or_init(|| loaded)))
}

fn load() -> Result<Arc<ClientConfig>, String> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        return Err(found.errors.first().map_or("none is found".to_owned(), ToString::to_string));
    }
    trusting(roots)
}

fn trusting(roots: RootCertStore) -> Result<Arc<ClientConfig>, String> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder =
        builder.with_safe_default_protocol_versions().map_err(|error| error.to_string())?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
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

async fn shake_hands(connection: &mut ClientConnection, stream: &TcpStream) -> Result<(), Fault> {
    let mut raw = Raw(stream);
    // Also what is left to write: the server may wait for our last message before it answers.
    while connection.is_handshaking() || connection.wants_write() {
        if connection.wants_write() {
            stream.writable().await?;
            again(connection.write_tls(&mut raw))?;
            continue;
        }
        stream.readable().await?;
        if again(connection.read_tls(&mut raw))? == Some(0) {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        if let Err(error) = connection.process_new_packets() {
            // The alert says why to the server, too.
            let _ = connection.write_tls(&mut raw);
            return Err(Fault::Tls(error));
        }
    }
    Ok(())
}

/// Not ready after all: `None`.
fn again(done: io::Result<usize>) -> io::Result<Option<usize>> {
    match done {
        Ok(count) => Ok(Some(count)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}

/// The socket as the encryption reads and writes it.
struct Raw<'a>(&'a TcpStream);

impl Read for Raw<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.0.try_read(room)
    }
}

impl Write for Raw<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn explain(url: &Url, error: &rustls::Error) -> Trouble {
    const TRUST: &str = "if it is your own, put the certificate of its authority (PEM) into a file \
                         with the system's and name that in SSL_CERT_FILE";
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
        rustls::Error::NoApplicationProtocol
        | rustls::Error::AlertReceived(AlertDescription::NoApplicationProtocol) => {
            ("it does not speak HTTP/1.1".to_owned(), "")
        }
        other => (other.to_string(), ""),
    };
    Trouble::insecure(url, &why, advice)
}

/// Decrypts what is read and hands it on.
#[derive(Debug)]
pub(super) struct Decrypting {
    tls: Tls,
    inner: Box<dyn Reader>,
    outbox: Outbox,
    sealed: Vec<u8>,
    over: bool,
}

/// Room offered to one read: the longest record, and then some.
const ROOM: usize = 32 * 1024;

impl Decrypting {
    /// `outbox` writes what the encryption itself has to say.
    pub(super) fn new(tls: Tls, inner: Box<dyn Reader>, outbox: Outbox) -> Self {
        Self { tls, inner, outbox, sealed: Vec::new(), over: false }
    }
}

impl Reader for Decrypting {
    fn room(&mut self) -> &mut Vec<u8> {
        if self.sealed.capacity() - self.sealed.len() < ROOM {
            self.sealed.reserve(ROOM);
        }
        &mut self.sealed
    }

    fn take(&mut self, source: &SourceHandle, touched: &mut FlushSet) {
        let sealed = std::mem::take(&mut self.sealed);
        let mut left = sealed.as_slice();
        while !self.over {
            match self.tls.decrypt(&mut left, self.inner.room()) {
                Ok(Decrypted::Some) => self.inner.take(source, touched),
                Ok(Decrypted::Nothing) if left.is_empty() => break,
                Ok(Decrypted::Nothing) => {}
                Ok(Decrypted::End) => self.over = true,
                Err(error) => {
                    tracing::debug!(%error, "an encrypted stream cannot be read any further");
                    self.over = true;
                }
            }
        }
        if self.over {
            self.outbox.close(); // and with it the other side, which tells the reader
        } else if self.tls.wants_write() {
            // The encryption has something to say of its own (an alert, a key update): the outbox
            // writes it.
            touched.note(&self.outbox);
        }
        self.sealed = sealed;
        self.sealed.clear();
    }

    fn ended(&mut self, touched: &mut FlushSet) {
        self.inner.ended(touched);
    }

    fn panicked(&mut self, touched: &mut FlushSet) {
        self.inner.panicked(touched);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pump::Pump;
    use crate::upstream::http::connect::Socket;
    use parking_lot::Mutex;
    use rustls::pki_types::pem::PemObject as _;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    use rustls::{ServerConfig, ServerConnection, StreamOwned};
    use std::net::{SocketAddr, TcpListener};
    use std::thread;
    use std::time::Duration;
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
        trusting(roots).unwrap()
    }

    #[tokio::test]
    async fn what_is_sent_comes_back() {
        // More than any buffer on the way holds.
        let sent: Vec<u8> =
            (0..8_000_000_u32).map(|n| n.to_le_bytes()[0] ^ n.to_le_bytes()[2]).collect();
        let address = echo(sent.len());
        let stream = TcpStream::connect(address).await.unwrap();
        let url = Url::parse(&format!("https://localhost:{}/", address.port())).unwrap();
        let connection = agree(&stream, &url, config()).await.unwrap();
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
            ("localhost", trusting(RootCertStore::empty()).unwrap(), "is not trusted"),
        ] {
            let address = echo(1);
            let stream = TcpStream::connect(address).await.unwrap();
            let url = Url::parse(&format!("https://{host}:{}/", address.port())).unwrap();
            let trouble = agree(&stream, &url, roots).await.unwrap_err();
            assert!(trouble.what.contains(expected), "{trouble:?}");
            assert!(!trouble.advice.is_empty() && !trouble.permanent, "{trouble:?}");
        }
    }
}

//! A plain address that leads to an encrypted one: every client of the kit speaks TLS through it without knowing.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};

use crate::certificates::{Authority, Pair};
use crate::tls::Version;

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
                    Ok(sealed) => converse(&stream, sealed),
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

fn converse(plain: &TcpStream, (stream, connection): (TcpStream, ClientConnection)) {
    drop((plain.set_nodelay(true), stream.set_nodelay(true)));
    let sealed = Sealed { stream, connection: Mutex::new(connection) };
    std::thread::scope(|scope| {
        scope.spawn(|| sealed.inwards(plain));
        sealed.outwards(plain);
    });
}

/// The encrypted side, used by two threads: nobody waits while holding the lock.
struct Sealed {
    stream: TcpStream,
    connection: Mutex<ClientConnection>,
}

impl Sealed {
    /// What the server says, in the clear.
    fn inwards(&self, mut plain: &TcpStream) {
        while let Some(bytes) = self.read() {
            if plain.write_all(&bytes).is_err() {
                break;
            }
        }
        drop(plain.shutdown(Shutdown::Both));
    }

    /// What the client says, encrypted; its end is a goodbye, and the answer may still come.
    fn outwards(&self, mut plain: &TcpStream) {
        let mut chunk = vec![0; 1 << 16];
        while let Ok(count @ 1..) = plain.read(&mut chunk) {
            let mut connection = self.lock();
            let written = connection.writer().write_all(&chunk[..count]);
            if written.is_err() || self.flush(&mut connection).is_err() {
                break;
            }
        }
        let mut connection = self.lock();
        connection.send_close_notify();
        drop(self.flush(&mut connection));
        drop(self.stream.shutdown(Shutdown::Write));
    }

    /// The next bytes; `None` at the end.
    fn read(&self) -> Option<Vec<u8>> {
        loop {
            let mut connection = self.lock();
            let mut chunk = vec![0; 1 << 16];
            match connection.reader().read(&mut chunk) {
                Ok(0) => return None,
                Ok(count) => return Some(chunk[..count].to_vec()),
                Err(error) if error.kind() != ErrorKind::WouldBlock => return None,
                Err(_) => drop(connection),
            }
            self.stream.peek(&mut [0]).ok().filter(|count| *count > 0)?;
            let mut connection = self.lock();
            connection.read_tls(&mut &self.stream).ok()?;
            connection.process_new_packets().ok()?;
            self.flush(&mut connection).ok()?;
        }
    }

    fn flush(&self, connection: &mut ClientConnection) -> std::io::Result<()> {
        while connection.wants_write() {
            connection.write_tls(&mut &self.stream)?;
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, ClientConnection> {
        self.connection.lock().expect("no holder panics")
    }
}

//! `FrontTls`: the certificate that the front shows and the clients' certificates that it takes, read from files and
//! replaced while it runs.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::sync::watch;
use trunkline_http::http_date;

use crate::certificate::validity;

/// The files that encryption is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The chain, the front's own certificate first.
    pub certificate: PathBuf,
    pub key: PathBuf,
    /// Those who have signed the certificates of clients; `None`: clients show none.
    pub client_authorities: Option<PathBuf>,
    /// A client without a certificate is refused.
    pub client_required: bool,
}

/// Why the files are of no use. The text names the file and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum TlsFault {
    #[error("{}: {error}", .file.display())]
    Unreadable { file: PathBuf, error: io::Error },
    #[error("{}: no certificate is in it; it must be PEM (`-----BEGIN CERTIFICATE-----`)", .0.display())]
    NoCertificate(PathBuf),
    #[error(
        "{}: no private key is in it; it must be PEM (`-----BEGIN PRIVATE KEY-----`) and not encrypted",
        .0.display()
    )]
    NoKey(PathBuf),
    #[error("{}: it is not PEM: {why}", .file.display())]
    NotPem { file: PathBuf, why: String },
    #[error("{}: its certificate has expired on {when}; renew it", .file.display())]
    Expired { file: PathBuf, when: String },
    #[error("{}: its certificate is not valid before {when}; is the clock right?", .file.display())]
    NotYet { file: PathBuf, when: String },
    #[error(
        "{} is not the key of the certificate in {}; name the two files that were made together",
        .key.display(), .certificate.display()
    )]
    Mismatch { certificate: PathBuf, key: PathBuf },
    #[error("{}: it cannot be used: {why}", .file.display())]
    Unusable { file: PathBuf, why: String },
}

/// How the front encrypts. Clones share it: what one is given, all use for the next handshake.
#[derive(Clone, Debug)]
pub struct FrontTls(Arc<watch::Sender<Arc<ServerConfig>>>);

impl FrontTls {
    pub fn read(files: &TlsFiles) -> Result<Self, TlsFault> {
        let config = load(files, SystemTime::now())?;
        Ok(Self(Arc::new(watch::Sender::new(config))))
    }

    /// Reads the files again. Connections that are open go on as they are; a fault changes nothing.
    pub fn replace(&self, files: &TlsFiles) -> Result<(), TlsFault> {
        self.0.send_replace(load(files, SystemTime::now())?);
        Ok(())
    }

    pub(crate) fn current(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.0.borrow())
    }
}

fn load(files: &TlsFiles, now: SystemTime) -> Result<Arc<ServerConfig>, TlsFault> {
    let chain = certificates(&files.certificate)?;
    check_time(&files.certificate, &chain, now)?;
    let key = key(&files.key)?;
    let provider = Arc::new(ring::default_provider());
    let unusable = |why: String| TlsFault::Unusable { file: files.certificate.clone(), why };
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(error.to_string()))?;
    let builder = match &files.client_authorities {
        None => builder.with_no_client_auth(),
        Some(file) => builder.with_client_cert_verifier(verifier(file, files.client_required)?),
    };
    let config = builder.with_single_cert(chain, key).map_err(|error| match error {
        rustls::Error::InconsistentKeys(_) => {
            let (certificate, key) = (files.certificate.clone(), files.key.clone());
            TlsFault::Mismatch { certificate, key }
        }
        rustls::Error::InvalidCertificate(_) => unusable(error.to_string()),
        _ => TlsFault::Unusable { file: files.key.clone(), why: error.to_string() },
    });
    let mut config = config?;
    // RFC 7301: what is spoken above it, the best first.
    config.alpn_protocols = vec![HTTP2.to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// How TLS names HTTP/2 (RFC 9113, 3.2).
pub(crate) const HTTP2: &[u8] = b"h2";

/// Who judges the certificates of clients.
fn verifier(file: &Path, is_required: bool) -> Result<Arc<dyn ClientCertVerifier>, TlsFault> {
    let unusable = |why: String| TlsFault::Unusable { file: file.to_owned(), why };
    let mut roots = RootCertStore::empty();
    for authority in certificates(file)? {
        roots.add(authority).map_err(|error| unusable(error.to_string()))?;
    }
    let provider = Arc::new(ring::default_provider());
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    let builder = if is_required { builder } else { builder.allow_unauthenticated() };
    builder.build().map_err(|error| unusable(error.to_string()))
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsFault> {
    let found = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<_, _>>);
    let found: Vec<_> = found.map_err(|error| unread(file, error))?;
    if found.is_empty() {
        return Err(TlsFault::NoCertificate(file.to_owned()));
    }
    Ok(found)
}

fn key(file: &Path) -> Result<PrivateKeyDer<'static>, TlsFault> {
    PrivateKeyDer::from_pem_file(file).map_err(|error| match error {
        pem::Error::NoItemsFound => TlsFault::NoKey(file.to_owned()),
        error => unread(file, error),
    })
}

fn unread(file: &Path, error: pem::Error) -> TlsFault {
    let file = file.to_owned();
    match error {
        pem::Error::Io(error) => TlsFault::Unreadable { file, error },
        pem::Error::NoItemsFound => TlsFault::NoCertificate(file),
        error => TlsFault::NotPem { file, why: error.to_string() },
    }
}

/// Clients would refuse it, each with other words: it is said here.
fn check_time(file: &Path, chain: &[CertificateDer<'_>], now: SystemTime) -> Result<(), TlsFault> {
    let unusable = || TlsFault::Unusable {
        file: file.to_owned(),
        why: "its first certificate is not X.509".to_owned(),
    };
    let (from, until) = chain.first().and_then(validity).ok_or_else(unusable)?;
    let (file, when) = (file.to_owned(), shown);
    if now > until {
        return Err(TlsFault::Expired { file, when: when(until) });
    }
    if now < from {
        return Err(TlsFault::NotYet { file, when: when(from) });
    }
    Ok(())
}

fn shown(time: SystemTime) -> String {
    http_date(time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn testdata(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("src/upstream/http/testdata").join(name)
    }

    fn files(certificate: &str, key: &str) -> TlsFiles {
        TlsFiles {
            certificate: testdata(certificate),
            key: testdata(key),
            client_authorities: None,
            client_required: false,
        }
    }

    #[test]
    fn what_is_wrong_with_the_files_is_said_with_their_names() {
        for (certificate, key, expected) in [
            ("localhost.pem", "localhost.key.pem", ""),
            ("nowhere.pem", "localhost.key.pem", "nowhere.pem: No such file"),
            ("localhost.pem", "nowhere.pem", "nowhere.pem: No such file"),
            ("localhost.key.pem", "localhost.key.pem", "key.pem: no certificate is in it"),
            ("localhost.pem", "localhost.pem", "localhost.pem: no private key is in it"),
            ("authority.pem", "localhost.key.pem", "is not the key of the certificate in"),
        ] {
            let said = FrontTls::read(&files(certificate, key)).err();
            let said = said.map(|fault| fault.to_string()).unwrap_or_default();
            assert!(said.contains(expected) && said.is_empty() == expected.is_empty(), "{said}");
        }
    }

    #[test]
    fn a_certificate_has_its_time() {
        let files = files("localhost.pem", "localhost.key.pem");
        let now = SystemTime::now();
        let century = Duration::from_secs(100 * 365 * 86_400);
        let said = |at| load(&files, at).err().map(|fault| fault.to_string()).unwrap_or_default();
        assert_eq!(said(now), "");
        assert!(said(now + 2 * century).contains("has expired on"), "{}", said(now + century));
        assert!(said(SystemTime::UNIX_EPOCH).contains("is not valid before"));
    }

    #[test]
    fn a_fault_keeps_what_was_there() {
        let tls = FrontTls::read(&files("localhost.pem", "localhost.key.pem")).unwrap();
        let before = tls.current();
        assert!(tls.replace(&files("localhost.pem", "nowhere.pem")).is_err());
        assert!(Arc::ptr_eq(&before, &tls.current()));
        tls.replace(&files("localhost.pem", "localhost.key.pem")).unwrap();
        assert!(!Arc::ptr_eq(&before, &tls.current()));
    }
}

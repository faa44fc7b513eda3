//! TLS to Postgres, as `sslmode` asks for it.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::StoreError;
use crate::url::Tls;

#[derive(Clone)]
pub(super) enum Connector {
    Plain,
    Tls(MakeRustlsConnect),
}

impl Connector {
    pub(super) fn new(tls: &Tls) -> Result<Self, StoreError> {
        let provider = Arc::new(ring::default_provider());
        let versions = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| StoreError::invalid(error.to_string()))?;
        let verified = match tls {
            Tls::Disable => return Ok(Self::Plain),
            Tls::Prefer | Tls::Require => {
                let anybody = Arc::new(Lenient { provider, chain: None });
                // libpq's meaning of `prefer` and `require`: encryption without proof of identity.
                // Users who switch expect no more and no less.
                versions.dangerous().with_custom_certificate_verifier(anybody)
            }
            Tls::VerifyCa { root } => {
                let roots = Arc::new(authorities(root.as_deref())?);
                // `verify-ca`: the chain is checked in full, the name is not (see `Lenient`).
                let chain = WebPkiServerVerifier::builder_with_provider(roots, provider.clone())
                    .build()
                    .map_err(|error| StoreError::invalid(error.to_string()))?;
                let any_name = Arc::new(Lenient { provider, chain: Some(chain) });
                versions.dangerous().with_custom_certificate_verifier(any_name)
            }
            Tls::VerifyFull { root } => {
                versions.with_root_certificates(authorities(root.as_deref())?)
            }
        };
        Ok(Self::Tls(MakeRustlsConnect::new(verified.with_no_client_auth())))
    }
}

fn authorities(root: Option<&Path>) -> Result<RootCertStore, StoreError> {
    match root {
        Some(path) => from_file(path),
        None => Ok(of_the_system()),
    }
}

fn of_the_system() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    // Certificates that cannot be parsed are left out: one odd root of a distribution must not
    // refuse all the others.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

fn from_file(path: &Path) -> Result<RootCertStore, StoreError> {
    let unreadable = |error: &dyn std::fmt::Display| {
        StoreError::invalid(format!("sslrootcert {}: {error}", path.display()))
    };
    let text = fs::read(path).map_err(|error| unreadable(&error))?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&text) {
        let certificate = certificate.map_err(|error| unreadable(&error))?;
        roots.add(certificate).map_err(|error| unreadable(&error))?;
    }
    // An empty file would verify nothing and refuse every server with a puzzling message.
    if roots.is_empty() {
        return Err(unreadable(&"there is no certificate in it"));
    }
    Ok(roots)
}

/// Less than usual is asked of a server's certificate. That it has the key is always checked.
#[derive(Debug)]
struct Lenient {
    provider: Arc<CryptoProvider>,
    /// Checks who has signed it. Without, whoever answers is taken for the server, as `prefer` and
    /// `require` mean it: against listeners, not against impostors.
    chain: Option<Arc<WebPkiServerVerifier>>,
}

impl ServerCertVerifier for Lenient {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(chain) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
        match chain.verify_server_cert(certificate, intermediates, name, ocsp, now) {
            // The name comes last: all else was right.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verdict => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        // Never skipped, not even for `prefer`: without it TLS would not even keep listeners out.
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

//! The files of one server's `tls`: whom to trust, and the certificate that says who we are.

use std::fs::File;
use std::io::{BufReader, Read as _};
use std::sync::Arc;

use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use trunkline_catalog::config::TlsFiles;

use crate::limits::LARGEST_TLS_FILE;
use crate::upstream::http::tls::{client_config, system_roots};
use crate::upstream::http::trouble::Trouble;

/// `None`: there are none. Read at each start of the server: certificates are renewed.
pub(super) async fn load(files: &TlsFiles) -> Result<Option<Arc<ClientConfig>>, Trouble> {
    if *files == TlsFiles::default() {
        return Ok(None);
    }
    let files = files.clone();
    // Files may be on a slow disk: the runtime has one thread only.
    let read = tokio::task::spawn_blocking(move || read(&files)).await;
    let read = read.unwrap_or_else(|_| Err("`tls` could not be read".to_owned()));
    read.map(Some).map_err(|why| Trouble::bad_tls(&why))
}

fn read(files: &TlsFiles) -> Result<Arc<ClientConfig>, String> {
    let roots = match &files.authority {
        None => system_roots()?,
        Some(path) => authorities(path)?,
    };
    let own = match (&files.certificate, &files.key) {
        (Some(certificate), Some(key)) => {
            Some((certificates("cert", certificate)?, private_key(key)?))
        }
        _ => None,
    };
    client_config(roots, own).map_err(|error| match error {
        rustls::Error::InconsistentKeys(_) => {
            "`key` in its `tls` does not belong to `cert`".to_owned()
        }
        other => format!("`cert` and `key` in its `tls` cannot be used: {other}"),
    })
}

fn authorities(path: &str) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates("ca", path)? {
        let added = roots.add(certificate);
        added.map_err(|error| format!("`ca` in its `tls`, {path}, is no authority: {error}"))?;
    }
    Ok(roots)
}

fn certificates(name: &str, path: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let text = text(name, path)?;
    let all: Result<Vec<_>, pem::Error> = CertificateDer::pem_slice_iter(&text).collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        Ok(_) => Err(format!("`{name}` in its `tls`, {path}, has no certificate (PEM) in it")),
        Err(_) => Err(format!("`{name}` in its `tls`, {path}, is no valid PEM")),
    }
}

fn private_key(path: &str) -> Result<PrivateKeyDer<'static>, String> {
    let text = text("key", path)?;
    PrivateKeyDer::from_pem_slice(&text).map_err(|error| match error {
        pem::Error::NoItemsFound => {
            format!(
                "`key` in its `tls`, {path}, has no private key (PEM, without a passphrase) in it"
            )
        }
        _ => format!("`key` in its `tls`, {path}, is no valid PEM"),
    })
}

/// Bounded, so that `/dev/zero` ends.
fn text(name: &str, path: &str) -> Result<Vec<u8>, String> {
    let unreadable = |error: std::io::Error| {
        let said = error.to_string();
        let said =
            said.split_once(" (os error").map_or(said.clone(), |(words, _)| words.to_lowercase());
        format!("`{name}` in its `tls`, {path}, cannot be read: {said}")
    };
    let mut text = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    BufReader::new(file).take(LARGEST_TLS_FILE).read_to_end(&mut text).map_err(unreadable)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn testdata(file: &str) -> Option<String> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/upstream/http/testdata/");
        Some(format!("{folder}{file}"))
    }

    #[tokio::test]
    async fn a_file_that_cannot_be_used_is_named() {
        let (own, key, authority) = ("localhost.pem", "localhost.key.pem", "authority.pem");
        for (ca, certificate, key, expected) in [
            (Some(authority), Some(own), Some(key), ""),
            (Some(authority), None, None, ""),
            (Some("nowhere.pem"), None, None, "`ca` in its `tls`, "),
            (Some("nowhere.pem"), None, None, "cannot be read: no such file"),
            (Some(key), None, None, "has no certificate"),
            (Some(authority), Some("nowhere.pem"), Some(key), "`cert` in its `tls`, "),
            (Some(authority), Some(own), Some(own), "has no private key"),
            (Some(authority), Some(authority), Some(key), "does not belong to `cert`"),
        ] {
            let file = |name: Option<&str>| name.and_then(testdata);
            let files =
                TlsFiles { authority: file(ca), certificate: file(certificate), key: file(key) };
            let said = load(&files).await.err().map(|trouble| trouble.what).unwrap_or_default();
            assert_eq!(said.is_empty(), expected.is_empty(), "{said}");
            assert!(said.contains(expected), "{said}");
        }
        assert!(load(&TlsFiles::default()).await.unwrap().is_none());
    }
}

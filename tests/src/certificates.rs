//! Certificates made for one test: an authority, and those whom it vouches for.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, DnValue,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose, SanType,
};

use crate::room::Room;

/// An authority of its own for every test.
#[derive(Debug)]
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

/// A certificate and its key, as PEM.
#[derive(Debug, Clone)]
pub struct Pair {
    pub certificate: String,
    pub key: String,
}

/// A pair as two files.
#[derive(Debug, Clone)]
pub struct PairFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

impl Authority {
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.distinguished_name = named("an authority of the tests");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().expect("a key");
        let pem = params.self_signed(&key).expect("a certificate").pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// As PEM.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// As a file of this room.
    pub fn file(&self, room: &Room, name: &str) -> PathBuf {
        room.write(name, &self.pem);
        room.path(name)
    }

    /// Of a server at `localhost` and `127.0.0.1`.
    pub fn server(&self) -> Pair {
        self.issue(server())
    }

    /// … that has expired a day ago.
    pub fn expired_server(&self) -> Pair {
        let day = Duration::from_secs(86_400);
        let mut params = server();
        let now = SystemTime::now();
        params.not_before = (now - 2 * day).into();
        params.not_after = (now - day).into();
        self.issue(params)
    }

    /// Of a client with this common name.
    pub fn client(&self, name: &str) -> Pair {
        self.issue(client(name))
    }

    /// … that ends so long from now.
    pub fn client_for(&self, name: &str, time: Duration) -> Pair {
        let mut params = client(name);
        params.not_after = (SystemTime::now() + time).into();
        self.issue(params)
    }

    /// Of a client without a common name, called by a URI.
    pub fn client_with_uri(&self, uri: &str) -> Pair {
        let mut params = CertificateParams::new(vec!["client.example".to_owned()]).expect("names");
        params.distinguished_name = DistinguishedName::new();
        let uri = uri.try_into().expect("ASCII");
        params.subject_alt_names.push(SanType::URI(uri));
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.issue(params)
    }

    /// … that has a common name as well, in an encoding that nobody uses any more.
    pub fn client_with_odd_name(&self, uri: &str) -> Pair {
        let mut params = client("");
        let odd = rcgen::string::BmpString::try_from("somebody").expect("two bytes a letter");
        params.distinguished_name.push(DnType::CommonName, DnValue::BmpString(odd));
        params.subject_alt_names.push(SanType::URI(uri.try_into().expect("ASCII")));
        self.issue(params)
    }

    fn issue(&self, params: CertificateParams) -> Pair {
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        Pair { certificate: certificate.pem(), key: key.serialize_pem() }
    }
}

fn client(name: &str) -> CertificateParams {
    let mut params = CertificateParams::new(Vec::new()).expect("no names");
    params.distinguished_name = named(name);
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

impl Pair {
    /// As `NAME.pem` and `NAME.key.pem` of this room.
    pub fn files(&self, room: &Room, name: &str) -> PairFiles {
        let [certificate, key] = [format!("{name}.pem"), format!("{name}.key.pem")];
        room.write(&certificate, &self.certificate);
        room.write(&key, &self.key);
        PairFiles { certificate: room.path(&certificate), key: room.path(&key) }
    }
}

fn server() -> CertificateParams {
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let mut params = CertificateParams::new(names).expect("names of this machine");
    params.distinguished_name = named("a front of the tests");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params
}

fn named(name: &str) -> DistinguishedName {
    let mut all = DistinguishedName::new();
    all.push(DnType::CommonName, name);
    all
}

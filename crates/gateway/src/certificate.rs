//! `ClientCertificate`: whom a client's certificate names, once its chain was verified.

use std::time::SystemTime;

use rustls::pki_types::CertificateDer;
use trunkline_catalog::name::is_hidden;
use x509_cert::Certificate;
use x509_cert::der::asn1::{Ia5StringRef, PrintableStringRef, TeletexStringRef, Utf8StringRef};
use x509_cert::der::oid::db::rfc4519::COMMON_NAME;
use x509_cert::der::{Any, Decode as _};
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

/// Whom a client's certificate names, and until when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The common name of its subject; where it has none, the first of its other names (URI, email, DNS).
    pub name: String,
    pub not_after: SystemTime,
}

/// Longer ones are nobody's name; they go into the audit with every call.
const LONGEST_NAME: usize = 255;

impl ClientCertificate {
    /// Of a certificate that was verified; `None`: it names nobody.
    pub(crate) fn read(der: &CertificateDer<'_>) -> Option<Self> {
        let certificate = Certificate::from_der(der).ok()?;
        let name = match common_name(&certificate) {
            // What cannot be read is not passed over for another name, which an authority may look at less closely.
            Some(value) => text(value),
            None => other_name(&certificate),
        };
        let name = name.filter(|name| is_name(name))?;
        Some(Self { name, not_after: not_after(&certificate) })
    }
}

/// From when until when a certificate is valid.
pub(crate) fn validity(der: &CertificateDer<'_>) -> Option<(SystemTime, SystemTime)> {
    let certificate = Certificate::from_der(der).ok()?;
    let from = certificate.tbs_certificate.validity.not_before.to_system_time();
    Some((from, not_after(&certificate)))
}

fn not_after(certificate: &Certificate) -> SystemTime {
    certificate.tbs_certificate.validity.not_after.to_system_time()
}

fn common_name(certificate: &Certificate) -> Option<&Any> {
    let mut names = certificate.tbs_certificate.subject.0.iter().flat_map(|part| part.0.iter());
    // The last one is the most specific (RFC 4514, 2.1).
    names.rfind(|name| name.oid == COMMON_NAME).map(|last| &last.value)
}

/// The text of a name, in one of the encodings that are in use (RFC 5280, 4.1.2.4).
fn text(value: &Any) -> Option<String> {
    let utf8 = || value.decode_as::<Utf8StringRef<'_>>().ok().map(|text| text.as_str().to_owned());
    let printable =
        || value.decode_as::<PrintableStringRef<'_>>().ok().map(|text| text.as_str().to_owned());
    let ia5 = || value.decode_as::<Ia5StringRef<'_>>().ok().map(|text| text.as_str().to_owned());
    let teletex =
        || value.decode_as::<TeletexStringRef<'_>>().ok().map(|text| text.as_str().to_owned());
    utf8().or_else(printable).or_else(ia5).or_else(teletex)
}

fn other_name(certificate: &Certificate) -> Option<String> {
    let (_, names) = certificate.tbs_certificate.get::<SubjectAltName>().ok()??;
    let ranked = names.0.iter().filter_map(|name| match name {
        GeneralName::UniformResourceIdentifier(uri) => Some((0, uri.as_str())),
        GeneralName::Rfc822Name(email) => Some((1, email.as_str())),
        GeneralName::DnsName(dns) => Some((2, dns.as_str())),
        _ => None,
    });
    // The first of the best kind.
    ranked.min_by_key(|(rank, _)| *rank).map(|(_, name)| name.to_owned())
}

/// Whoever reads the audit log must be able to tell two names apart: what nobody sees is in none.
fn is_name(name: &str) -> bool {
    (1..=LONGEST_NAME).contains(&name.len()) && !name.contains(is_hidden)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_sees_is_in_no_name() {
        for (name, expected) in [
            ("ci", true),
            ("build machine", true),
            ("spiffe://example/b\u{fc}ro", true),
            ("", false),
            ("a\nb", false),
            ("c\u{200b}i", false),
            ("ci\u{2060}", false),
            ("\u{202e}ic", false),
            ("c\u{ad}i", false),
            ("c\u{e0069}", false),
            ("ci\u{feff}", false),
        ] {
            assert_eq!(is_name(name), expected, "{name:?}");
        }
        assert!(is_name(&"x".repeat(LONGEST_NAME)) && !is_name(&"x".repeat(LONGEST_NAME + 1)));
    }
}

//! Which answers of attached routes are compressed, and how. Answers to MCP requests and event streams never are.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use trunkline_http::{Request, accepts_coding, is_type};

use crate::limits::COMPRESSED_FROM;

/// What the client can unpack. No zstd: whoever asks for it asks for gzip as well, the encoder of good standing is a C
/// library, and the one in Rust has no more than its fastest level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    Identity,
    Gzip,
}

impl Coding {
    pub(crate) fn wanted(request: &Request<'_>) -> Self {
        match accepts_coding(request.headers.all("accept-encoding"), "gzip") {
            true => Self::Gzip,
            false => Self::Identity,
        }
    }
}

type Fields<'a> = [(&'a str, &'a [u8])];

/// Would this answer be compressed for whoever asks for it? Small ones are not: they would not get shorter than a
/// packet, and what waits for them waits longer.
pub(crate) fn is_compressible(status: u16, fields: &Fields<'_>, length: usize) -> bool {
    let get = |name: &str| fields.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    let is_text =
        get("content-type").is_some_and(|(_, kind)| TEXTS.iter().any(|text| is_type(kind, text)));
    status == 200 && length >= COMPRESSED_FROM && is_text && get("content-encoding").is_none()
}

/// What the attachments send and what gets shorter. No pages: they hold a secret of the session beside words of the
/// request, and the length of a packed page would tell how alike the two are (BREACH).
const TEXTS: [&str; 8] = [
    "application/json",
    "application/javascript",
    "text/javascript",
    "text/css",
    "text/plain",
    "text/csv",
    "application/openmetrics-text",
    "image/svg+xml",
];

/// The fastest levels are within a tenth of the best for JSON, at a fifth of the time.
const LEVEL: Compression = Compression::new(3);

/// The packed body; `None`: it did not get shorter.
pub(crate) fn gzip(body: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 4), LEVEL);
    encoder.write_all(body).ok()?;
    encoder.finish().ok().filter(|packed| packed.len() < body.len())
}

/// The tag of the packed form: another one, since its bytes are others (RFC 9110, 8.8.3.3). Whoever reads tags takes
/// the ending off again.
pub(crate) fn packed_tag(tag: &[u8]) -> Vec<u8> {
    match tag.strip_suffix(b"\"") {
        Some(start) => [start, b"+gzip\""].concat(),
        None => tag.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    #[test]
    fn large_texts_are_packed_and_nothing_else() {
        let json: &[(&str, &[u8])] = &[("Content-Type", b"application/json; charset=utf-8")];
        let events: &[(&str, &[u8])] = &[("Content-Type", b"text/event-stream")];
        let page: &[(&str, &[u8])] = &[("Content-Type", b"text/html; charset=utf-8")];
        let image: &[(&str, &[u8])] = &[("content-type", b"image/png")];
        let packed: &[(&str, &[u8])] =
            &[("Content-Type", b"text/css"), ("content-encoding", b"br")];
        for (status, fields, length, expected) in [
            (200, json, COMPRESSED_FROM, true),
            (200, json, COMPRESSED_FROM - 1, false),
            (404, json, COMPRESSED_FROM, false),
            (200, events, COMPRESSED_FROM, false),
            (200, image, COMPRESSED_FROM, false),
            (200, page, COMPRESSED_FROM, false),
            (200, packed, COMPRESSED_FROM, false),
            (200, &[], COMPRESSED_FROM, false),
        ] {
            assert_eq!(is_compressible(status, fields, length), expected, "{fields:?} {length}");
        }
    }

    #[test]
    fn what_is_packed_can_be_unpacked() {
        let text = b"{\"tools\":[]}".repeat(1000);
        let packed = gzip(&text).unwrap();
        let mut unpacked = Vec::new();
        flate2::read::GzDecoder::new(&*packed).read_to_end(&mut unpacked).unwrap();
        assert!(unpacked == text && packed.len() < text.len() / 10);
        assert_eq!(gzip(b"x"), None);
    }

    #[test]
    fn tags_of_packed_bodies_differ() {
        assert_eq!(packed_tag(b"\"1-ab\""), b"\"1-ab+gzip\"");
        assert_eq!(packed_tag(b"W/\"a\""), b"W/\"a+gzip\"");
    }
}

//! The HTTP that the servers of these tests need, by hand.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

/// A request, and its bytes as they came.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) target: String,
    pub(crate) head: String,
    pub(crate) body: String,
    pub(crate) raw: Vec<u8>,
}

impl Request {
    /// The next one; `buffer` keeps what came behind it.
    pub(crate) fn read(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Self> {
        let mut chunk = [0; 8192];
        let mut more = |buffer: &mut Vec<u8>| match stream.read(&mut chunk) {
            Ok(count) if count > 0 => {
                buffer.extend_from_slice(&chunk[..count]);
                Some(())
            }
            _ => None,
        };
        let end = loop {
            match buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                Some(at) => break at + 4,
                None => more(buffer)?,
            }
        };
        let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
        let length = header(&head, "content-length").and_then(|it| it.parse().ok()).unwrap_or(0);
        while buffer.len() < end + length {
            more(buffer)?;
        }
        let raw: Vec<u8> = buffer.drain(..end + length).collect();
        let body = String::from_utf8_lossy(&raw[end..]).into_owned();
        let target = head.split(' ').nth(1).unwrap_or_default().to_owned();
        Some(Self { target, head, body, raw })
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        header(&self.head, name)
    }
}

fn header<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    head.lines().skip(1).find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

/// `headers`: complete lines.
pub(crate) fn respond(stream: &mut TcpStream, status: u16, headers: &str, body: &str) {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\n{headers}Content-Length: {length}\r\n\r\n"
    );
    // Who does not wait for it is told nothing.
    drop(stream.write_all(&[head.as_bytes(), body.as_bytes()].concat()));
}

/// The fields of a form, or of a query.
pub(crate) fn fields(text: &str) -> HashMap<String, String> {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), decoded(value))).collect()
}

pub(crate) fn query(text: &str) -> HashMap<String, String> {
    fields(text)
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        rest = behind;
        match first {
            b'%' => {
                let digits = std::str::from_utf8(&rest[..2]).unwrap();
                bytes.push(u8::from_str_radix(digits, 16).unwrap());
                rest = &rest[2..];
            }
            b'+' => bytes.push(b' '),
            other => bytes.push(other),
        }
    }
    String::from_utf8(bytes).unwrap()
}

/// What a verifier proves (RFC 7636, S256).
pub(crate) fn challenge(verifier: &str) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let digest = ring::digest::digest(&ring::digest::SHA256, verifier.as_bytes());
    let mut out = String::new();
    for chunk in digest.as_ref().chunks(3) {
        let bits = chunk.iter().fold(0_u32, |bits, byte| (bits << 8) | u32::from(*byte));
        let bits = bits << (8 * (3 - chunk.len()));
        for place in 0..=chunk.len() {
            let at = (bits >> (18 - 6 * place)) & 63;
            out.push(char::from(LETTERS[usize::try_from(at).unwrap()]));
        }
    }
    out
}

//! Reading one HTTP request: its head as bytes, and its body.

use std::io::Read;

#[derive(Debug, Default)]
pub(super) struct Asked {
    /// As it arrived, without the empty line.
    pub(super) head: Vec<u8>,
    pub(super) method: String,
    pub(super) target: String,
    pub(super) body: Vec<u8>,
}

impl Asked {
    pub(super) fn header(&self, name: &str) -> Option<String> {
        let head = String::from_utf8_lossy(&self.head);
        head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        })
    }

    /// A value of the query.
    pub(super) fn query(&self, key: &str) -> Option<String> {
        let (_, query) = self.target.split_once('?')?;
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(name, _)| *name == key).map(|(_, value)| value.to_owned())
    }
}

/// `None`: the client has gone, or what it sent is no HTTP.
pub(super) fn read(stream: &mut impl Read, buffer: &mut Vec<u8>) -> Option<Asked> {
    let end = loop {
        if let Some(at) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        more(stream, buffer)?;
    };
    let head: Vec<u8> = buffer.drain(..end + 4).take(end).collect();
    let text = String::from_utf8_lossy(&head).into_owned();
    let mut first = text.lines().next()?.split(' ');
    let mut asked = Asked {
        method: first.next()?.to_owned(),
        target: first.next()?.to_owned(),
        head,
        body: Vec::new(),
    };
    if asked.header("transfer-encoding").is_some() {
        asked.body = chunks(stream, buffer)?;
    } else {
        let length = asked.header("content-length").map_or(Some(0), |text| text.parse().ok())?;
        asked.body = exactly(stream, buffer, length)?;
    }
    Some(asked)
}

fn chunks(stream: &mut impl Read, buffer: &mut Vec<u8>) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = loop {
            if let Some(at) = buffer.windows(2).position(|window| window == b"\r\n") {
                break buffer.drain(..at + 2).collect::<Vec<u8>>();
            }
            more(stream, buffer)?;
        };
        let size = String::from_utf8_lossy(&line);
        let size = usize::from_str_radix(size.split(';').next()?.trim(), 16).ok()?;
        let chunk = exactly(stream, buffer, size + 2)?;
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(&chunk[..size]);
    }
}

fn exactly(stream: &mut impl Read, buffer: &mut Vec<u8>, length: usize) -> Option<Vec<u8>> {
    while buffer.len() < length {
        more(stream, buffer)?;
    }
    Some(buffer.drain(..length).collect())
}

fn more(stream: &mut impl Read, buffer: &mut Vec<u8>) -> Option<()> {
    let mut chunk = [0; 1 << 16];
    match stream.read(&mut chunk) {
        Ok(count @ 1..) => buffer.extend_from_slice(&chunk[..count]),
        _ => return None,
    }
    Some(())
}

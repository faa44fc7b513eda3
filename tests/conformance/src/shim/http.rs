//! As much HTTP/1.1 as the shim must understand: where a message ends.

use std::io;

use tokio::net::TcpStream;

/// Where a body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    None,
    Length(usize),
    Chunked,
    UntilClose,
}

/// The first line and the headers, as received, with the blank line.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) bytes: Vec<u8>,
}

impl Head {
    pub(super) fn framing_of_request(&self) -> io::Result<Framing> {
        Ok(self.framing()?.unwrap_or(Framing::None))
    }

    pub(super) fn framing_of_response(&self) -> io::Result<Framing> {
        let status = self.text().split(' ').nth(1).map(str::to_owned).unwrap_or_default();
        if status == "204" || status == "304" || status.starts_with('1') {
            return Ok(Framing::None);
        }
        Ok(self.framing()?.unwrap_or(Framing::UntilClose))
    }

    pub(super) fn is_event_stream(&self) -> bool {
        self.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"))
    }

    /// This head, for a body of another length.
    pub(super) fn with_length(&self, length: usize) -> Vec<u8> {
        let text = self.text();
        let kept = text.trim_end_matches("\r\n").split("\r\n").filter(|line| {
            let name = line.split(':').next().unwrap_or_default();
            !["content-length", "transfer-encoding"].contains(&name.to_lowercase().as_str())
        });
        let kept: Vec<&str> = kept.collect();
        format!("{}\r\nContent-Length: {length}\r\n\r\n", kept.join("\r\n")).into_bytes()
    }

    /// This head with a prefix before the value of one header; unchanged if the header is missing.
    pub(super) fn prefixed(&self, name: &str, prefix: &str) -> Self {
        let text = self.text();
        let lines = text.split("\r\n").map(|line| match line.split_once(':') {
            Some((key, value)) if key.eq_ignore_ascii_case(name) => {
                let blanks = value.len() - value.trim_start().len();
                let (blanks, value) = value.split_at(blanks);
                format!("{key}:{blanks}{prefix}{value}")
            }
            _ => line.to_owned(),
        });
        Self { bytes: lines.collect::<Vec<_>>().join("\r\n").into_bytes() }
    }

    fn framing(&self) -> io::Result<Option<Framing>> {
        if self.header("transfer-encoding").is_some_and(|it| it.eq_ignore_ascii_case("chunked")) {
            return Ok(Some(Framing::Chunked));
        }
        let length = self.header("content-length").map(|length| length.parse());
        match length {
            None => Ok(None),
            Some(Ok(0)) => Ok(Some(Framing::None)),
            Some(Ok(length)) => Ok(Some(Framing::Length(length))),
            Some(Err(_)) => Err(io::Error::other("a Content-Length that is no number")),
        }
    }

    fn header(&self, name: &str) -> Option<String> {
        let text = self.text();
        let mut headers = text.split("\r\n").skip(1).filter_map(|line| line.split_once(':'));
        let found = headers.find(|(key, _)| key.eq_ignore_ascii_case(name))?;
        Some(found.1.trim().to_owned())
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// Reads messages from one side of a connection.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    stream: &'a TcpStream,
    /// What has been read and not yet been handed out.
    inbox: Vec<u8>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(stream: &'a TcpStream) -> Self {
        Self { stream, inbox: Vec::new() }
    }

    /// The next head; `None` when the connection ends here.
    pub(super) async fn head(&mut self) -> io::Result<Option<Head>> {
        loop {
            if let Some(end) = find(&self.inbox, b"\r\n\r\n") {
                return Ok(Some(Head { bytes: self.inbox.drain(..end + 4).collect() }));
            }
            match self.fill().await? {
                0 if self.inbox.is_empty() => return Ok(None),
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                _ => {}
            }
        }
    }

    /// The whole body.
    pub(super) async fn body(&mut self, framing: Framing) -> io::Result<Vec<u8>> {
        if let Framing::Length(length) = framing {
            while self.inbox.len() < length {
                self.fill_or_fail().await?;
            }
            return Ok(self.inbox.drain(..length).collect());
        }
        let mut body = Vec::new();
        while let Some(piece) = self.piece(framing).await? {
            body.extend(piece);
        }
        Ok(body)
    }

    /// The next piece of a body whose length is not known; `None` at its end.
    pub(super) async fn piece(&mut self, framing: Framing) -> io::Result<Option<Vec<u8>>> {
        match framing {
            Framing::None | Framing::Length(_) => Ok(None),
            Framing::Chunked => self.chunk().await,
            Framing::UntilClose => {
                if self.inbox.is_empty() && self.fill().await? == 0 {
                    return Ok(None);
                }
                Ok(Some(std::mem::take(&mut self.inbox)))
            }
        }
    }

    async fn chunk(&mut self) -> io::Result<Option<Vec<u8>>> {
        let line = loop {
            match find(&self.inbox, b"\r\n") {
                Some(end) => break end,
                None => self.fill_or_fail().await?,
            }
        };
        let digits = String::from_utf8_lossy(&self.inbox[..line]).into_owned();
        let digits = digits.split(';').next().unwrap_or_default().trim();
        let length = usize::from_str_radix(digits, 16).map_err(io::Error::other)?;
        let end = line + 2 + length + 2;
        while self.inbox.len() < end {
            self.fill_or_fail().await?;
        }
        let mut chunk: Vec<u8> = self.inbox.drain(..end).skip(line + 2).collect();
        chunk.truncate(length);
        Ok((length > 0).then_some(chunk))
    }

    async fn fill_or_fail(&mut self) -> io::Result<()> {
        match self.fill().await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }

    async fn fill(&mut self) -> io::Result<usize> {
        loop {
            self.stream.readable().await?;
            match self.stream.try_read_buf(&mut self.inbox) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read,
            }
        }
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

#[cfg(test)]
mod tests {
    use super::{Framing, Head};

    fn head(text: &str) -> Head {
        Head { bytes: text.replace('\n', "\r\n").into_bytes() }
    }

    #[test]
    fn a_body_ends_where_its_head_says() {
        let framing = |text: &str| head(text).framing_of_response().expect("a sane head");
        assert_eq!(framing("HTTP/1.1 200 OK\nContent-Length: 12\n\n"), Framing::Length(12));
        assert_eq!(framing("HTTP/1.1 200 OK\ncontent-length: 0\n\n"), Framing::None);
        assert_eq!(framing("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n"), Framing::Chunked);
        assert_eq!(framing("HTTP/1.1 200 OK\n\n"), Framing::UntilClose);
        assert_eq!(framing("HTTP/1.1 204 No Content\n\n"), Framing::None);
        let request = head("GET /mcp HTTP/1.1\nHost: a\n\n").framing_of_request();
        assert_eq!(request.expect("a sane head"), Framing::None);
    }

    #[test]
    fn only_the_length_changes() {
        let head = head("POST /mcp HTTP/1.1\nHost: evil\ncontent-length: 5\nOrigin: x\n\n");
        let expected = "POST /mcp HTTP/1.1\r\nHost: evil\r\nOrigin: x\r\nContent-Length: 7\r\n\r\n";
        assert_eq!(String::from_utf8_lossy(&head.with_length(7)), expected);
    }

    #[test]
    fn one_header_gets_the_prefix() {
        let rows = [
            ("POST /mcp HTTP/1.1\nMcp-Name: a\nHost: b\n\n", "Mcp-Name: p.a"),
            ("POST /mcp HTTP/1.1\nMCP-NAME:   a  \n\n", "MCP-NAME:   p.a  "),
            ("POST /mcp HTTP/1.1\nMcp-Method: a\n\n", "Mcp-Method: a"),
        ];
        for (sent, expected) in rows {
            let head = head(sent).prefixed("mcp-name", "p.");
            let text = String::from_utf8_lossy(&head.bytes).into_owned();
            assert_eq!(text.split("\r\n").nth(1), Some(expected));
            assert!(text.ends_with("\r\n\r\n"), "{text}");
        }
    }
}

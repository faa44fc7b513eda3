//! Server-sent events out of bytes that come in any pieces.

/// One event as it arrived.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    /// Empty where none was given, which means `message`.
    pub name: String,
    pub id: Option<String>,
    pub retry: Option<u64>,
    pub data: Vec<u8>,
    /// Was there a `data` line at all?
    pub has_data: bool,
}

impl Event {
    /// Does it carry a message of the protocol (not a priming or keep-alive event)?
    pub fn is_message(&self) -> bool {
        matches!(self.name.as_str(), "" | "message") && !self.data.is_empty()
    }
}

/// Lines may end with CR, LF or both; comments are skipped.
#[derive(Debug, Default)]
pub struct Events {
    buffer: Vec<u8>,
    current: Event,
    any: bool,
    /// How many bytes of `buffer` hold no line end.
    looked_at: usize,
}

impl Events {
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Event> {
        self.buffer.extend_from_slice(bytes);
        let mut found = Vec::new();
        while let Some(line) = self.line() {
            if !line.is_empty() {
                self.field(&line);
            } else if std::mem::take(&mut self.any) {
                found.push(std::mem::take(&mut self.current));
            }
        }
        found
    }

    fn line(&mut self) -> Option<Vec<u8>> {
        let unseen = &self.buffer[self.looked_at..];
        let Some(at) = unseen.iter().position(|&byte| byte == b'\n' || byte == b'\r') else {
            self.looked_at = self.buffer.len();
            return None;
        };
        let at = self.looked_at + at;
        let width = match (self.buffer[at], self.buffer.get(at + 1)) {
            // The LF may still be on its way.
            (b'\r', None) => {
                self.looked_at = at;
                return None;
            }
            (b'\r', Some(b'\n')) => 2,
            _ => 1,
        };
        let line = self.buffer[..at].to_vec();
        self.buffer.drain(..at + width);
        self.looked_at = 0;
        Some(line)
    }

    fn field(&mut self, line: &[u8]) {
        let colon = line.iter().position(|&byte| byte == b':').unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        let text = || String::from_utf8_lossy(value).into_owned();
        match &line[..colon] {
            b"" => return,
            b"event" => self.current.name = text(),
            b"id" => self.current.id = Some(text()),
            b"retry" => self.current.retry = text().parse().ok(),
            b"data" => {
                if self.current.has_data {
                    self.current.data.push(b'\n');
                }
                self.current.has_data = true;
                self.current.data.extend_from_slice(value);
            }
            _ => {}
        }
        self.any = true;
    }
}

#[cfg(test)]
mod tests {
    use super::Events;

    #[test]
    fn any_pieces_and_line_ends_give_the_same_events() {
        let plain = "event: x\nid: 7\ndata: a\ndata:  b\n\n: comment\n\nretry: 5\n\ndata:{}\n\n";
        for ending in ["\n", "\r\n"] {
            let text = plain.replace('\n', ending);
            for size in 1..text.len() {
                let mut events = Events::default();
                let all: Vec<_> =
                    text.as_bytes().chunks(size).flat_map(|piece| events.push(piece)).collect();
                assert_eq!(all.len(), 3, "{size}");
                assert_eq!(all[0].data, b"a\n b");
                assert_eq!((all[0].name.as_str(), all[0].id.as_deref()), ("x", Some("7")));
                assert_eq!(all[1].retry, Some(5));
                assert!(!all[1].has_data && !all[1].is_message());
                assert!(all[2].is_message());
            }
        }
    }
}

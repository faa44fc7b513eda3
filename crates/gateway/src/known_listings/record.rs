//! `KnownListing`: what is remembered of one server, and its form in a file. Pure.

use std::borrow::Cow;

use ring::digest::{Context, SHA256};
use trunkline_wire::{decode, encode_into, member};

use crate::known_listings::entry::hex;
use crate::limits::REMEMBERED_TEXT;

/// What a server said, and when it was heard to say that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KnownListing {
    pub(crate) content: Content,
    /// Seconds since 1970: when this content was first heard, and when last.
    pub(crate) first_seen: u64,
    pub(crate) last_seen: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) title: Option<String>,
    pub(crate) instructions: Option<String>,
    /// `capabilities.extensions` as the server wrote it.
    pub(crate) extensions: Option<Vec<u8>>,
}

impl Content {
    /// Texts longer than anybody is told are cut; extensions that are too long are left out.
    pub(crate) fn bounded(self) -> Self {
        let cut = |text: String| {
            let end = text.floor_char_boundary(REMEMBERED_TEXT);
            text.get(..end).unwrap_or_default().to_owned()
        };
        Self {
            title: self.title.map(cut),
            instructions: self.instructions.map(cut),
            extensions: self.extensions.filter(|object| object.len() <= REMEMBERED_TEXT),
        }
    }

    fn hash(&self) -> String {
        let mut digest = Context::new(&SHA256);
        let parts = [
            self.title.as_deref().map(str::as_bytes),
            self.instructions.as_deref().map(str::as_bytes),
            self.extensions.as_deref(),
        ];
        for part in parts {
            // What is not there differs from what is empty.
            let length = part.map_or(u64::MAX, |part| part.len() as u64);
            digest.update(&length.to_be_bytes());
            digest.update(part.unwrap_or_default());
        }
        hex(digest.finish().as_ref())
    }
}

/// Files of another format are not read.
const FORMAT: u64 = 1;

impl KnownListing {
    /// The content as it was heard now, after what was known before.
    pub(crate) fn heard(content: Content, before: Option<&Self>, now: u64) -> Self {
        let same = before.filter(|before| before.content == content);
        Self { content, first_seen: same.map_or(now, |same| same.first_seen), last_seen: now }
    }

    pub(super) fn write(&self) -> Vec<u8> {
        let Content { title, instructions, extensions } = &self.content;
        let (first, last) = (self.first_seen, self.last_seen);
        let mut out =
            format!(r#"{{"format":{FORMAT},"first_seen":{first},"last_seen":{last}"#).into_bytes();
        for (key, text) in [("title", title), ("instructions", instructions)] {
            if let Some(text) = text {
                out.extend_from_slice(format!(",\"{key}\":").as_bytes());
                encode_into(text, &mut out);
            }
        }
        if let Some(extensions) = extensions {
            out.extend_from_slice(b",\"extensions\":");
            out.extend_from_slice(extensions);
        }
        // The hash comes last: a file that was cut anywhere has none.
        out.extend_from_slice(
            format!(",\"content_hash\":\"{}\"}}\n", self.content.hash()).as_bytes(),
        );
        out
    }

    /// `None`: it is damaged, or of another format.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.trim_ascii();
        bytes.ends_with(b"}").then_some(())?;
        let number = |key| std::str::from_utf8(member(bytes, key)?).ok()?.parse::<u64>().ok();
        let text = |key| member(bytes, key).and_then(decode).map(Cow::into_owned);
        (number("format") == Some(FORMAT)).then_some(())?;
        let extensions = member(bytes, "extensions").filter(|object| object.starts_with(b"{"));
        let content = Content {
            title: text("title"),
            instructions: text("instructions"),
            extensions: extensions.map(<[u8]>::to_vec),
        };
        let is_whole = text("content_hash").is_some_and(|hash| hash == content.hash());
        is_whole.then_some(())?;
        let (first_seen, last_seen) = (number("first_seen")?, number("last_seen")?);
        Some(Self { content, first_seen, last_seen })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(instructions: &str) -> Content {
        Content {
            title: Some("T \"quoted\"".to_owned()),
            instructions: Some(instructions.to_owned()),
            extensions: Some(br#"{"a/x":{ "n":1.0 }}"#.to_vec()),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        for content in [content("a\nb\u{e9}\u{1f682}"), content(""), Content::default()] {
            let listing = KnownListing::heard(content, None, 7);
            assert_eq!(KnownListing::read(&listing.write()), Some(listing));
        }
    }

    #[test]
    fn what_is_damaged_or_of_another_format_is_not_read() {
        let whole = KnownListing::heard(content("words"), None, 7).write();
        let text = String::from_utf8(whole.clone()).unwrap();
        let mut damaged: Vec<Vec<u8>> =
            (0..whole.len() - 1).map(|at| whole[..at].to_vec()).collect();
        damaged.extend([
            text.replace("words", "other").into_bytes(),
            text.replace("\"format\":1", "\"format\":2").into_bytes(),
            text.replace("\"title\"", "\"titles\"").into_bytes(),
            text.replace("\"last_seen\":7", "\"last_seen\":-7").into_bytes(),
            b"[]".to_vec(),
            b"\0\x01".to_vec(),
        ]);
        for bytes in damaged {
            let shown = String::from_utf8_lossy(&bytes).into_owned();
            assert_eq!(KnownListing::read(&bytes), None, "{shown}");
        }
    }

    #[test]
    fn the_same_content_keeps_the_time_it_was_first_heard() {
        let first = KnownListing::heard(content("a"), None, 1);
        let again = KnownListing::heard(content("a"), Some(&first), 5);
        assert_eq!((again.first_seen, again.last_seen), (1, 5));
        let other = KnownListing::heard(content("b"), Some(&again), 9);
        assert_eq!((other.first_seen, other.last_seen), (9, 9));
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let long = "\u{e9}".repeat(REMEMBERED_TEXT);
        let bounded = content(&long).bounded();
        let kept = bounded.instructions.unwrap();
        assert!(kept.len() <= REMEMBERED_TEXT && long.starts_with(&kept) && !kept.is_empty());
        let large = Content { extensions: Some(long.into_bytes()), ..Content::default() };
        assert_eq!(large.bounded().extensions, None);
    }
}

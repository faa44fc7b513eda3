//! `KnownListing`: what is remembered of one server, and its form in a file. Pure.

use std::borrow::Cow;

use ring::digest::{Context, SHA256};
use trunkline_catalog::ListKind;
use trunkline_wire::{decode, encode_into, pick};

use crate::known_listings::entry::hex;
use crate::limits::{LARGEST_RECORD, REMEMBERED_TEXT};

/// What a server said, and when it was heard to say that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KnownListing {
    /// The server's key in its config, for people.
    pub(crate) key: String,
    pub(crate) content: Content,
    /// Seconds since 1970: when this content was first heard, and when last.
    pub(crate) first_seen: u64,
    pub(crate) last_seen: u64,
}

/// The lists of a server, in the order of `ListKind::ALL`, each as one result with all entries.
pub(crate) type Pages = [Option<Vec<u8>>; ListKind::ALL.len()];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) title: Option<String>,
    pub(crate) instructions: Option<String>,
    /// Its name and version.
    pub(crate) identity: Option<String>,
    pub(crate) protocol: String,
    /// It is of the stateless era.
    pub(crate) is_modern: bool,
    /// `capabilities` as the server wrote it, an object.
    pub(crate) capabilities: Option<Vec<u8>>,
    /// The capabilities of clients that the server was told, an object: it may list by them. Empty: not known.
    pub(crate) told: Vec<u8>,
    /// `None`: they are not remembered, all or none of them.
    pub(crate) pages: Option<Pages>,
}

impl Content {
    /// Texts longer than any client is told are cut; capabilities that are too long are left out.
    pub(crate) fn bounded(self) -> Self {
        let cut = |text: String| {
            let end = text.floor_char_boundary(REMEMBERED_TEXT);
            text.get(..end).unwrap_or_default().to_owned()
        };
        Self {
            title: self.title.map(cut),
            instructions: self.instructions.map(cut),
            identity: self.identity.map(cut),
            protocol: cut(self.protocol),
            capabilities: self.capabilities.filter(|object| object.len() <= REMEMBERED_TEXT),
            ..self
        }
    }

    /// What changes when anything of it does.
    pub(crate) fn hash(&self) -> String {
        let mut digest = Context::new(&SHA256);
        let mut add = |part: Option<&[u8]>| {
            // What is not there differs from what is empty.
            let length = part.map_or(u64::MAX, |part| part.len() as u64);
            digest.update(&length.to_be_bytes());
            digest.update(part.unwrap_or_default());
        };
        for text in [&self.title, &self.instructions, &self.identity] {
            add(text.as_deref().map(str::as_bytes));
        }
        add(Some(self.protocol.as_bytes()));
        add(Some(era_word(self.is_modern).as_bytes()));
        add(self.capabilities.as_deref());
        add(Some(&self.told));
        add(self.pages.as_ref().map(|_| &b"lists"[..]));
        self.pages.iter().flatten().for_each(|page| add(page.as_deref()));
        hex(digest.finish().as_ref())
    }
}

/// Files of another format are not read.
const FORMAT: u64 = 3;

/// Why a file cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnreadRecord {
    Damaged,
    /// An earlier version of Trunkline has written it: there is nothing to tell.
    Outdated,
}

impl KnownListing {
    /// The content as it was heard now; `first_seen`: when it was first heard, if it is not new.
    pub(crate) fn heard(key: &str, content: Content, first_seen: Option<u64>, now: u64) -> Self {
        let first_seen = first_seen.unwrap_or(now);
        Self { key: key.to_owned(), content, first_seen, last_seen: now }
    }

    /// As it is written: without its lists if these are longer than a record may be.
    pub(super) fn bounded(&self) -> Vec<u8> {
        let whole = self.write();
        if whole.len() as u64 <= LARGEST_RECORD {
            return whole;
        }
        let key = &self.key;
        tracing::debug!("the lists of {key} are too long to be remembered: {} bytes", whole.len());
        let mut listing = self.clone();
        listing.content.pages = None;
        listing.write()
    }

    pub(super) fn write(&self) -> Vec<u8> {
        let Content { title, instructions, identity, protocol, is_modern, .. } = &self.content;
        let Content { capabilities, told, pages, .. } = &self.content;
        let (first, last) = (self.first_seen, self.last_seen);
        let mut out =
            format!(r#"{{"format":{FORMAT},"first_seen":{first},"last_seen":{last}"#).into_bytes();
        let texts = [
            ("key", Some(&self.key)),
            ("title", title.as_ref()),
            ("instructions", instructions.as_ref()),
            ("identity", identity.as_ref()),
            ("protocol", Some(protocol)),
        ];
        for (name, text) in texts {
            if let Some(text) = text {
                out.extend_from_slice(format!(",\"{name}\":").as_bytes());
                encode_into(text, &mut out);
            }
        }
        out.extend_from_slice(format!(",\"era\":\"{}\"", era_word(*is_modern)).as_bytes());
        if let Some(capabilities) = capabilities {
            out.extend_from_slice(b",\"capabilities\":");
            out.extend_from_slice(capabilities);
        }
        if !told.is_empty() {
            out.extend_from_slice(b",\"told\":");
            out.extend_from_slice(told);
        }
        if let Some(pages) = pages {
            let pages = ListKind::ALL.into_iter().zip(pages);
            let pages = pages.filter_map(|(kind, page)| Some((kind.member(), page.as_ref()?)));
            out.extend_from_slice(b",\"lists\":{");
            for (place, (name, page)) in pages.enumerate() {
                let comma = if place > 0 { "," } else { "" };
                out.extend_from_slice(format!("{comma}\"{name}\":").as_bytes());
                out.extend_from_slice(page);
            }
            out.push(b'}');
        }
        // The hash comes last: a file that was cut anywhere has none.
        let hash = self.content.hash();
        out.extend_from_slice(format!(",\"content_hash\":\"{hash}\"}}\n").as_bytes());
        out
    }

    pub(super) fn read(bytes: &[u8]) -> Result<Self, UnreadRecord> {
        let bytes = bytes.trim_ascii();
        // One walk for all: lists are long.
        let [
            format,
            first,
            last,
            hash,
            key,
            title,
            instructions,
            identity,
            protocol,
            era,
            capabilities,
            told,
            lists,
        ] = pick(bytes, MEMBERS);
        match format.and_then(number) {
            Some(FORMAT) if bytes.ends_with(b"}") => {}
            Some(format) if format < FORMAT => return Err(UnreadRecord::Outdated),
            _ => return Err(UnreadRecord::Damaged),
        }
        let object = |value: Option<&[u8]>| {
            value.filter(|value| value.starts_with(b"{")).map(<[u8]>::to_vec)
        };
        let whole = || {
            let content = Content {
                title: text(title),
                instructions: text(instructions),
                identity: text(identity),
                protocol: text(protocol)?,
                is_modern: is_modern(&text(era)?)?,
                capabilities: object(capabilities),
                told: object(told).unwrap_or_default(),
                pages: lists
                    .map(|lists| pick(lists, ListKind::ALL.map(ListKind::member)).map(object)),
            };
            (text(hash)? == content.hash()).then_some(())?;
            let (first_seen, last_seen) = (number(first?)?, number(last?)?);
            Some(Self { key: text(key)?, content, first_seen, last_seen })
        };
        whole().ok_or(UnreadRecord::Damaged)
    }
}

const MEMBERS: [&str; 13] = [
    "format",
    "first_seen",
    "last_seen",
    "content_hash",
    "key",
    "title",
    "instructions",
    "identity",
    "protocol",
    "era",
    "capabilities",
    "told",
    "lists",
];

fn number(value: &[u8]) -> Option<u64> {
    std::str::from_utf8(value).ok()?.parse().ok()
}

fn text(value: Option<&[u8]>) -> Option<String> {
    value.and_then(decode).map(Cow::into_owned)
}

fn era_word(is_modern: bool) -> &'static str {
    if is_modern { "modern" } else { "legacy" }
}

fn is_modern(word: &str) -> Option<bool> {
    [false, true].into_iter().find(|is_modern| era_word(*is_modern) == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(instructions: &str) -> Content {
        Content {
            title: Some("T \"quoted\"".to_owned()),
            instructions: Some(instructions.to_owned()),
            identity: Some("rail 1".to_owned()),
            protocol: "2025-06-18".to_owned(),
            is_modern: true,
            capabilities: Some(br#"{"extensions":{"a/x":{ "n":1.0 }}}"#.to_vec()),
            told: br#"{"roots":{}}"#.to_vec(),
            pages: Some([Some(br#"{"tools":[{"name" : "a"}]}"#.to_vec()), None, None, None]),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let bare = Content { pages: None, ..content("x") };
        let none = Content { pages: Some([const { None }; 4]), ..content("x") };
        for content in [content("a\nb\u{e9}\u{1f682}"), content(""), bare, none] {
            let listing = KnownListing::heard("k", content, None, 7);
            assert_eq!(KnownListing::read(&listing.write()), Ok(listing));
        }
        let empty = KnownListing::heard("k", Content::default(), None, 7);
        assert_eq!(KnownListing::read(&empty.write()), Ok(empty));
    }

    #[test]
    fn what_is_damaged_or_of_another_format_is_not_read() {
        let whole = KnownListing::heard("k", content("words"), None, 7).write();
        let text = String::from_utf8(whole.clone()).unwrap();
        let mut damaged: Vec<Vec<u8>> =
            (0..whole.len() - 1).map(|at| whole[..at].to_vec()).collect();
        damaged.extend([
            text.replace("words", "other").into_bytes(),
            text.replace("\"name\" : \"a\"", "\"name\" : \"b\"").into_bytes(),
            text.replace("\"format\":3", "\"format\":4").into_bytes(),
            text.replace("\"title\"", "\"titles\"").into_bytes(),
            text.replace("\"last_seen\":7", "\"last_seen\":-7").into_bytes(),
            text.replace("\"modern\"", "\"legacy\"").into_bytes(),
            b"[]".to_vec(),
            b"\0\x01".to_vec(),
        ]);
        for bytes in damaged {
            let shown = String::from_utf8_lossy(&bytes).into_owned();
            assert_eq!(KnownListing::read(&bytes), Err(UnreadRecord::Damaged), "{shown}");
        }
        let old = text.replace("\"format\":3", "\"format\":2").into_bytes();
        assert_eq!(KnownListing::read(&old), Err(UnreadRecord::Outdated));
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let long = "\u{e9}".repeat(REMEMBERED_TEXT);
        let bounded = content(&long).bounded();
        let kept = bounded.instructions.unwrap();
        assert!(kept.len() <= REMEMBERED_TEXT && long.starts_with(&kept) && !kept.is_empty());
        let large = Content { capabilities: Some(long.into_bytes()), ..Content::default() };
        assert_eq!(large.bounded().capabilities, None);
    }
}

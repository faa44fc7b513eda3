//! Answer → its parts.

use trunkline_wire::{decode, elements, member};

/// One piece of what a tool has answered with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    Text(String),
    Picture(Picture),
    /// JSON, as it came.
    Structure(String),
    /// Something that a page does not show: what it is, and what is known of it.
    Other {
        what: String,
        of: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Picture {
    pub(crate) kind: &'static str,
    /// Base64, nothing else in it.
    pub(crate) data: String,
}

/// Those that hold no program: SVG is not among them.
const PICTURES: [&str; 5] = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"];
/// Of one picture, as base64.
const LARGEST: usize = 8 * 1024 * 1024;
/// In one answer.
const MOST: usize = 100;

/// The parts of a tool's result, in their order; at most a hundred.
pub(crate) fn read(result: &[u8]) -> Vec<Part> {
    let content = member(result, "content").filter(|list| list.starts_with(b"["));
    let blocks = content.into_iter().flat_map(|list| elements(list).map(|span| span.of(list)));
    let mut parts: Vec<Part> = blocks.take(MOST).map(block).collect();
    if let Some(structure) = member(result, "structuredContent") {
        parts.push(Part::Structure(lossy(structure)));
    }
    parts
}

fn block(block: &[u8]) -> Part {
    let word = |key: &str| member(block, key).and_then(decode).map(std::borrow::Cow::into_owned);
    match word("type").as_deref() {
        Some("text") => word("text").map_or_else(|| odd(block), Part::Text),
        Some("image") => picture(word("mimeType"), word("data")),
        Some("audio") => {
            let length = word("data").map_or(0, |data| data.len() / 4 * 3);
            let kind = word("mimeType").unwrap_or_else(|| "of an unknown kind".to_owned());
            Part::Other { what: "Audio".to_owned(), of: format!("{kind}, about {length} bytes") }
        }
        Some("resource") => resource(block),
        Some("resource_link") => {
            let uri = word("uri").unwrap_or_default();
            let name = word("name").map(|name| format!("{name}: ")).unwrap_or_default();
            Part::Other { what: "Link to a resource".to_owned(), of: format!("{name}{uri}") }
        }
        _ => odd(block),
    }
}

fn picture(kind: Option<String>, data: Option<String>) -> Part {
    let known = PICTURES.iter().find(|known| kind.as_deref() == Some(known));
    let data = data.unwrap_or_default();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    match known {
        Some(kind) if data.len() <= LARGEST && !data.is_empty() && data.bytes().all(is_plain) => {
            Part::Picture(Picture { kind, data })
        }
        _ => {
            let kind = kind.unwrap_or_else(|| "of an unknown kind".to_owned());
            let length = data.len() / 4 * 3;
            Part::Other { what: "Image".to_owned(), of: format!("{kind}, about {length} bytes") }
        }
    }
}

fn resource(block: &[u8]) -> Part {
    let inner = member(block, "resource").unwrap_or(b"{}");
    let word = |key: &str| member(inner, key).and_then(decode).map(std::borrow::Cow::into_owned);
    let uri = word("uri").unwrap_or_default();
    match (word("text"), word("blob")) {
        (Some(text), _) => Part::Text(text),
        (None, Some(blob)) => {
            let kind = word("mimeType").unwrap_or_default();
            let length = blob.len() / 4 * 3;
            let of = format!("{uri} {kind}, about {length} bytes");
            Part::Other { what: "Resource".to_owned(), of }
        }
        (None, None) => Part::Other { what: "Resource".to_owned(), of: uri },
    }
}

/// Something we do not know is shown as it came.
fn odd(block: &[u8]) -> Part {
    Part::Structure(lossy(block))
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Part {
        Part::Text(text.to_owned())
    }

    fn other(what: &str, of: &str) -> Part {
        Part::Other { what: what.to_owned(), of: of.to_owned() }
    }

    #[test]
    fn each_kind_of_content_is_a_part() {
        for (block, expected) in [
            (r#"{"type":"text","text":"a\n<b>"}"#, text("a\n<b>")),
            (
                r#"{"type":"image","mimeType":"image/png","data":"iVBORw=="}"#,
                Part::Picture(Picture { kind: "image/png", data: "iVBORw==".to_owned() }),
            ),
            (
                r#"{"type":"image","mimeType":"image/svg+xml","data":"PHN2Zz4="}"#,
                other("Image", "image/svg+xml, about 6 bytes"),
            ),
            (
                r#"{"type":"image","mimeType":"image/png","data":"\"onerror=x"}"#,
                other("Image", "image/png, about 6 bytes"),
            ),
            (
                r#"{"type":"image","mimeType":"image/png;x=\"","data":"AAAA"}"#,
                other("Image", "image/png;x=\", about 3 bytes"),
            ),
            (
                r#"{"type":"audio","mimeType":"audio/wav","data":"AAAA"}"#,
                other("Audio", "audio/wav, about 3 bytes"),
            ),
            (
                r#"{"type":"resource_link","uri":"javascript:alert(1)","name":"n"}"#,
                other("Link to a resource", "n: javascript:alert(1)"),
            ),
            (r#"{"type":"resource","resource":{"uri":"u","text":"t"}}"#, text("t")),
            (
                r#"{"type":"resource","resource":{"uri":"u","blob":"AAAA"}}"#,
                other("Resource", "u , about 3 bytes"),
            ),
            (r#"{"type":"resource"}"#, other("Resource", "")),
            (r#"{"type":"new","x":1.0}"#, Part::Structure(r#"{"type":"new","x":1.0}"#.to_owned())),
            (r#"{"type":"text"}"#, Part::Structure(r#"{"type":"text"}"#.to_owned())),
            ("3", Part::Structure("3".to_owned())),
        ] {
            let result = format!(r#"{{"content":[{block}]}}"#);
            assert_eq!(read(result.as_bytes()), [expected], "{block}");
        }
    }

    #[test]
    fn structures_come_last_and_odd_results_have_few_parts() {
        let result = br#"{"structuredContent":{"a":1e400},"content":[{"type":"text","text":"x"}]}"#;
        assert_eq!(read(result), [text("x"), Part::Structure(r#"{"a":1e400}"#.to_owned())]);
        for odd in ["{}", r#"{"content":{}}"#, r#"{"content":"x"}"#, "[]", "null", ""] {
            assert_eq!(read(odd.as_bytes()), [], "{odd}");
        }
        let many = format!(r#"{{"content":[{}1]}}"#, "1,".repeat(5_000));
        assert_eq!(read(many.as_bytes()).len(), MOST);
    }
}

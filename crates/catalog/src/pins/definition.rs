//! `Definition`: one thing that a server says to models (a tool, a prompt, a template, its instructions), with
//! the hash it is known by.

use trunkline_wire::encode;

use super::canonical::content_hash;
use crate::config::Secrets;
use crate::listing::{ListKind, Listing};

/// Resources are no kind of their own here: they are data, and come and go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DefinitionKind {
    Instructions,
    Tool,
    Prompt,
    Template,
}

impl DefinitionKind {
    pub const ALL: [Self; 4] = [Self::Instructions, Self::Tool, Self::Prompt, Self::Template];

    pub fn word(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::Template => "template",
        }
    }

    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// The list its definitions stand in.
    fn list(self) -> Option<ListKind> {
        match self {
            Self::Instructions => None,
            Self::Tool => Some(ListKind::Tools),
            Self::Prompt => Some(ListKind::Prompts),
            Self::Template => Some(ListKind::Templates),
        }
    }

    /// What an entry of this list is; `None`: it is not pinned.
    pub(super) fn of_list(list: ListKind) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.list() == Some(list))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    pub kind: DefinitionKind,
    /// As its server calls it; empty: the instructions.
    pub name: String,
    /// Of the canonical form. Where a secret stands in it, of the form without the secret: it is not to be
    /// guessed from the hash, and one that was rotated changes nothing.
    pub hash: String,
    /// A JSON value, byte for byte; `None`: it is not kept, because a secret stands in it or it is too long.
    pub bytes: Option<Box<[u8]>>,
}

/// Longer definitions are known by their hash only: what is pinned must not fill the disk.
const LONGEST_KEPT: usize = 256 * 1024;

/// The digits of a hash that an item has. 128 bits: a server chooses what it lists, and could find two texts with the
/// same 64.
pub(super) const ITEM_HASH: usize = 32;

impl Definition {
    pub(super) fn of(kind: DefinitionKind, name: &str, bytes: &[u8], secrets: &Secrets) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let redacted = secrets.redact(&text);
        let is_clean = *redacted == *text;
        let hash = content_hash(if is_clean { bytes } else { redacted.as_bytes() });
        let bytes = (is_clean && bytes.len() <= LONGEST_KEPT).then(|| bytes.into());
        Self { kind, name: name.to_owned(), hash, bytes }
    }

    pub(super) fn is_of(&self, other: &Self) -> bool {
        self.kind == other.kind && self.name == other.name
    }

    /// `tool:add@1a2b3c4d…`: what it is called when somebody decides on it, as it was seen.
    pub fn item(&self) -> String {
        self.item_with(self.hash.get(..ITEM_HASH).unwrap_or(&self.hash))
    }

    /// With the whole hash: what it is called where all of it is shown.
    pub fn whole_item(&self) -> String {
        self.item_with(&self.hash)
    }

    fn item_with(&self, hash: &str) -> String {
        match self.kind {
            DefinitionKind::Instructions => format!("{}@{hash}", self.kind.word()),
            kind => format!("{}:{}@{hash}", kind.word(), self.name),
        }
    }

    /// `tool "add"`, as a message says it.
    pub fn label(&self) -> String {
        match self.kind {
            DefinitionKind::Instructions => "its instructions".to_owned(),
            kind => format!("{} \"{}\"", kind.word(), crate::name::escaped(&self.name)),
        }
    }
}

/// Everything that a server says to models.
#[derive(Clone, Debug, Default)]
pub struct Definitions(pub(super) Vec<Definition>);

impl Definitions {
    pub fn of(listing: &Listing, instructions: Option<&str>, secrets: &Secrets) -> Self {
        let instructions = instructions
            .filter(|text| !text.is_empty())
            .map(|text| Definition::of(DefinitionKind::Instructions, "", &encode(text), secrets));
        let listed = DefinitionKind::ALL.into_iter().flat_map(|kind| {
            let entries = kind.list().map(|list| listing.entries(list)).unwrap_or_default();
            entries
                .iter()
                .map(move |entry| Definition::of(kind, &entry.name, &entry.definition, secrets))
        });
        Self(instructions.into_iter().chain(listed).collect())
    }

    pub fn all(&self) -> &[Definition] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_neither_kept_nor_hashed() {
        let secrets = |value: &str| {
            let mut secrets = Secrets::new();
            secrets.add("KEY", value);
            secrets
        };
        let of = |value: &str| {
            let bytes = format!(r#"{{"name":"a","description":"uses {value}"}}"#);
            Definition::of(DefinitionKind::Tool, "a", bytes.as_bytes(), &secrets(value))
        };
        let (one, rotated) = (of("the-first-value"), of("the-second-value"));
        assert_eq!(one.bytes, None);
        assert_eq!(one.hash, rotated.hash, "a secret that was rotated is no change");
        let clean = Definition::of(DefinitionKind::Tool, "a", b"{}", &secrets("the-first-value"));
        assert_eq!(clean.bytes.as_deref(), Some(&b"{}"[..]));
    }

    #[test]
    fn what_models_read_is_a_definition_and_data_is_not() {
        let mut listing = Listing::default();
        for (kind, page) in [
            (ListKind::Tools, r#"{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}"#),
            (ListKind::Prompts, r#"{"prompts":[{"name":"p"}]}"#),
            (ListKind::Resources, r#"{"resources":[{"name":"r","uri":"a://r"}]}"#),
            (
                ListKind::Templates,
                r#"{"resourceTemplates":[{"name":"x","uriTemplate":"a://{x}"}]}"#,
            ),
        ] {
            listing.add_page(kind, page.as_bytes(), 9).unwrap();
        }
        let all = Definitions::of(&listing, Some("Say hello."), &Secrets::new());
        let named: Vec<_> = all.all().iter().map(|it| (it.kind.word(), it.name.as_str())).collect();
        let expected =
            [("instructions", ""), ("tool", "t"), ("prompt", "p"), ("template", "a://{x}")];
        assert_eq!(named, expected);
        assert!(Definitions::of(&Listing::default(), Some(""), &Secrets::new()).all().is_empty());
    }
}

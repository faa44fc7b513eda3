//! What a JSON value may be. One declaration (`answer!`, `request!`, `words!`) gives the Rust type, its
//! JSON, the rules that requests are checked by, the schema in `OpenAPI` and the example there.

mod call_rules;
mod check;
mod declare;
mod described;
mod example;
mod format;
mod json_schema;
mod near;

pub use call_rules::{CALL_RULES, LIMITS, ShownLimits, read_setting};
pub use check::check;
pub(super) use declare::{answer, request, words};
pub use described::{Described, FromJson, Moment, ObjectText, RawObject, SharedMembers};
pub use example::example;
pub use format::TextFormat;
pub use json_schema::{components, json_schema};
pub use near::nearest;

#[derive(Debug, Clone, Copy)]
pub enum Schema {
    Text(TextRule),
    Enum(&'static EnumValues),
    Bool,
    Integer {
        least: i64,
        most: i64,
    },
    /// With decimals.
    Number {
        least: f64,
        most: f64,
    },
    List {
        of: &'static Schema,
        /// 0, or 1: it must not be empty.
        least: usize,
        most: usize,
    },
    Map(&'static MapSchema),
    Object(&'static ObjectSchema),
    Tagged(&'static TaggedObjects),
    /// One of several objects that no member tells apart: the handler knows which one it expects.
    AnyOf(&'static [&'static ObjectSchema]),
    /// Values of different types, which tell them apart.
    OneOf(&'static [&'static Schema]),
    Nullable(&'static Schema),
    AnyObject,
    Anything,
}

/// A string, its length counted in characters.
#[derive(Debug, Clone, Copy)]
pub struct TextRule {
    pub least: usize,
    pub most: usize,
    pub format: TextFormat,
}

/// A string out of a closed list.
#[derive(Debug, Clone, Copy)]
pub struct EnumValues {
    pub known: &'static [&'static str],
    pub case: Case,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    Sensitive,
    Insensitive,
}

/// An object whose keys the user chooses.
#[derive(Debug, Clone, Copy)]
pub struct MapSchema {
    pub names: TextRule,
    pub values: Schema,
    /// Header names are compared without regard to case (RFC 9110, 5.1).
    pub case: Case,
    pub most: usize,
}

/// An object whose keys the API defines.
#[derive(Debug, Clone, Copy)]
pub struct ObjectSchema {
    /// Its name among the document's schemas.
    pub name: &'static str,
    pub doc: &'static str,
    pub fields: &'static [Field],
    /// … and those that it shares with other objects.
    pub shared: &'static [Field],
    /// Keys that users send although they do not belong here, with what to tell them.
    pub refused: &'static [(&'static str, &'static str)],
    pub unknown_keys: UnknownKeys,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownKeys {
    Refused,
    /// In answers: clients must tolerate members of later versions.
    Allowed,
}

#[derive(Debug, Clone, Copy)]
pub struct Field {
    pub name: &'static str,
    pub is_required: bool,
    pub schema: Schema,
    pub doc: &'static str,
    /// JSON; without it the schema makes one up.
    pub example: Option<&'static str>,
}

/// Objects told apart by the word in one of their fields.
#[derive(Debug, Clone, Copy)]
pub struct TaggedObjects {
    pub name: &'static str,
    pub doc: &'static str,
    pub tag: &'static str,
    pub cases: &'static [(&'static [&'static str], &'static ObjectSchema)],
    /// Checked instead while the tag is missing or wrong, so that the other mistakes are reported, too.
    pub common: &'static ObjectSchema,
}

impl Field {
    #[must_use]
    pub const fn optional(self) -> Self {
        Self { is_required: false, ..self }
    }

    #[must_use]
    pub const fn without_example(self) -> Self {
        Self { example: None, ..self }
    }

    #[must_use]
    pub const fn example(self, json: &'static str) -> Self {
        Self { example: Some(json), ..self }
    }
}

impl ObjectSchema {
    /// An object that Trunkline reads.
    pub const fn request(name: &'static str, doc: &'static str, fields: &'static [Field]) -> Self {
        let unknown_keys = UnknownKeys::Refused;
        Self { name, doc, fields, shared: &[], refused: &[], unknown_keys }
    }

    /// An object that Trunkline writes, where no struct does: `answer!` is for the others.
    pub const fn answer(name: &'static str, doc: &'static str, fields: &'static [Field]) -> Self {
        let unknown_keys = UnknownKeys::Allowed;
        Self { name, doc, fields, shared: &[], refused: &[], unknown_keys }
    }

    pub fn all_fields(&self) -> impl Iterator<Item = &'static Field> {
        self.fields.iter().chain(self.shared)
    }

    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.all_fields().find(|field| field.name == name)
    }
}

pub const fn required(name: &'static str, schema: Schema, doc: &'static str) -> Field {
    Field { name, is_required: true, schema, doc, example: None }
}

pub const fn optional(name: &'static str, schema: Schema, doc: &'static str) -> Field {
    Field { name, is_required: false, schema, doc, example: None }
}

pub const fn text(least: usize, most: usize, format: TextFormat) -> Schema {
    Schema::Text(TextRule { least, most, format })
}

/// Text that only Trunkline writes, or that may be anything.
pub const fn any_text() -> Schema {
    text(0, usize::MAX, TextFormat::Any)
}

/// Zero or more.
pub const fn count() -> Schema {
    Schema::Integer { least: 0, most: i64::MAX }
}

/// Zero or more, with decimals.
pub const fn number() -> Schema {
    Schema::Number { least: 0.0, most: f64::INFINITY }
}

/// A list in an answer: only what Trunkline reads has a bound.
pub const fn list(of: &'static Schema) -> Schema {
    Schema::List { of, least: 0, most: usize::MAX }
}

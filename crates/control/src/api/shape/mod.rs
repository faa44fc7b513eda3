//! What a JSON value may be: one description that requests are checked by and `OpenAPI` is made of.

mod check;
mod form;
mod near;
mod schema;

pub use check::check;
pub use form::Form;
pub use near::nearest;
pub use schema::{components, schema};

#[derive(Debug, Clone, Copy)]
pub enum Shape {
    Text(Text),
    Word(&'static Words),
    Flag,
    Whole {
        least: i64,
        most: i64,
    },
    /// Zero or more.
    Number,
    List {
        of: &'static Shape,
        most: usize,
    },
    Map(&'static Map),
    Object(&'static Object),
    Variants(&'static Variants),
    /// One of several objects; which one, whoever reads it knows.
    AnyOf(&'static [&'static Object]),
    OrNull(&'static Shape),
    AnyObject,
    Anything,
}

/// A string, its length counted in characters.
#[derive(Debug, Clone, Copy)]
pub struct Text {
    pub least: usize,
    pub most: usize,
    pub form: Form,
}

/// A string out of a closed list.
#[derive(Debug, Clone, Copy)]
pub struct Words {
    pub known: &'static [&'static str],
    pub case: Case,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    AsWritten,
    Any,
}

/// An object whose keys are the user's.
#[derive(Debug, Clone, Copy)]
pub struct Map {
    pub names: Text,
    pub values: Shape,
    /// Two names in different case are the same name: headers.
    pub case: Case,
    pub most: usize,
}

/// An object whose keys are ours.
#[derive(Debug, Clone, Copy)]
pub struct Object {
    /// Under which it stands in the document.
    pub name: &'static str,
    pub doc: &'static str,
    pub fields: &'static [Field],
    /// Keys that are known and do not belong here, and why.
    pub refused: &'static [(&'static str, &'static str)],
    pub others: Others,
}

/// Keys that are not ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Others {
    Refused,
    Allowed,
}

#[derive(Debug, Clone, Copy)]
pub struct Field {
    pub name: &'static str,
    pub need: Need,
    pub shape: Shape,
    pub doc: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    Required,
    Optional,
}

/// Objects told apart by a word in one of their fields.
#[derive(Debug, Clone, Copy)]
pub struct Variants {
    pub name: &'static str,
    pub doc: &'static str,
    pub tag: &'static str,
    pub cases: &'static [(&'static [&'static str], &'static Object)],
    /// What can be said of it as long as the tag is missing or wrong.
    pub common: &'static Object,
}

impl Object {
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// An object that we write: nothing is refused in it, and readers must bear new members.
    pub const fn answer(name: &'static str, doc: &'static str, fields: &'static [Field]) -> Self {
        Self { name, doc, fields, refused: &[], others: Others::Allowed }
    }

    /// An object that we read.
    pub const fn request(name: &'static str, doc: &'static str, fields: &'static [Field]) -> Self {
        Self { name, doc, fields, refused: &[], others: Others::Refused }
    }
}

pub const fn required(name: &'static str, shape: Shape, doc: &'static str) -> Field {
    Field { name, need: Need::Required, shape, doc }
}

pub const fn optional(name: &'static str, shape: Shape, doc: &'static str) -> Field {
    Field { name, need: Need::Optional, shape, doc }
}

pub const fn text(least: usize, most: usize, form: Form) -> Shape {
    Shape::Text(Text { least, most, form })
}

/// Text that only we write, or that may be anything.
pub const fn any_text() -> Shape {
    text(0, usize::MAX, Form::Any)
}

/// Zero or more.
pub const fn count() -> Shape {
    Shape::Whole { least: 0, most: i64::MAX }
}

//! A tool to try: a form made of its JSON Schema, and the arguments that somebody fills in. Pure.
//!
//! Not a validator: the server is the judge. Whatever a schema says that no form can show is asked for
//! as JSON, and every form can be left for JSON as a whole. Schemas are written by strangers: how deep,
//! how many and how long is bounded, and references that form a ring end.

mod collect;
mod fill;
mod read;
mod resolve;
mod show;

pub(crate) use collect::{collect, draft};
pub(crate) use fill::Filled;
pub(crate) use read::read;
pub(crate) use show::show;

/// The form of a tool, nothing filled in yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ArgumentForm {
    Fields(Vec<Field>),
    /// It takes no arguments.
    Nothing,
    /// No form can be made of it: it is asked for as JSON.
    Anything,
}

impl ArgumentForm {
    pub(crate) fn fields(&self) -> &[Field] {
        match self {
            Self::Fields(fields) => fields,
            Self::Nothing | Self::Anything => &[],
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field {
    /// Where its value goes: a JSON pointer into the arguments.
    pub(crate) at: String,
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) doc: Option<String>,
    pub(crate) is_required: bool,
    /// What is in it at first.
    pub(crate) preset: Vec<String>,
    pub(crate) control: Control,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Control {
    Line(LineType),
    Prose,
    Number(Bounds),
    Tick,
    /// One of these.
    Choice(Vec<Choice>),
    /// Any of these: a list.
    Several(Vec<Choice>),
    /// A list of plain values, one a line.
    Lines(ScalarType),
    /// An object.
    Group(Vec<Field>),
    Json,
}

/// What a line of text is, as far as browsers know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineType {
    Text,
    Address,
    Email,
    Date,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) is_whole: bool,
    /// As the schema spells them.
    pub(crate) least: Option<String>,
    pub(crate) most: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Choice {
    /// JSON.
    pub(crate) token: String,
    pub(crate) shown: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScalarType {
    Text,
    Whole,
    Number,
}

/// Something that was filled in and cannot be meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mistake {
    /// The field's place.
    pub(crate) at: String,
    /// It stands behind the field's name: "is required".
    pub(crate) says: String,
}

/// The name of a field's control in the form.
fn control_name(at: &str) -> String {
    format!("{PREFIX}{at}")
}

/// So that no tool can name a field of ours.
const PREFIX: &str = "arg:";

//! The Rust types of members: `Described` gives the schema of one that is written, `FromJson` reads one.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;
use trunkline_catalog::jsonc;
use zeroize::Zeroizing;

use super::check::whole;
use super::{Field, Schema, TextFormat, any_text, count, list, number, text};
use crate::access::Role;
use crate::api::time;

/// A type whose values are JSON of one schema.
pub trait Described {
    const SCHEMA: Schema;
}

/// A type whose members stand among those of the object that it belongs to.
pub trait SharedMembers {
    const FIELDS: &'static [Field];

    fn members(&self) -> impl Iterator<Item = (&'static str, Value)>;
}

macro_rules! described {
    ($($kind:ty => $schema:expr;)*) => {
        $(impl Described for $kind {
            const SCHEMA: Schema = $schema;
        })*
    };
}

described! {
    str => any_text();
    String => any_text();
    Cow<'_, str> => any_text();
    bool => Schema::Bool;
    i64 => count();
    u32 => count();
    u64 => count();
    usize => count();
    f64 => number();
    Value => Schema::AnyObject;
}

impl<T: Described> Described for Option<T> {
    const SCHEMA: Schema = Schema::Nullable(&T::SCHEMA);
}

impl<T: Described> Described for Vec<T> {
    const SCHEMA: Schema = list(&T::SCHEMA);
}

impl<T: Described> Described for [T] {
    const SCHEMA: Schema = list(&T::SCHEMA);
}

impl<T: Described + ?Sized> Described for &T {
    const SCHEMA: Schema = T::SCHEMA;
}

/// Milliseconds since 1970, shown as RFC 3339.
#[derive(Debug, Clone, Copy)]
pub struct Moment<T>(pub T);

const MOMENT: Schema = text(20, 24, TextFormat::Time);

impl Described for Moment<i64> {
    const SCHEMA: Schema = MOMENT;
}

impl Described for Moment<Option<i64>> {
    const SCHEMA: Schema = Schema::Nullable(&MOMENT);
}

impl Serialize for Moment<i64> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        time::format(self.0).serialize(serializer)
    }
}

impl Serialize for Moment<Option<i64>> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.map(time::format).serialize(serializer)
    }
}

/// An object that a server wrote, passed on to the byte.
#[derive(Debug, Clone, Copy)]
pub struct RawObject<'a>(&'a RawValue);

impl<'a> RawObject<'a> {
    /// `None`: it is no object. That would make the whole answer useless.
    pub fn of(bytes: &'a [u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok().filter(|text| text.starts_with('{'))?;
        // Validates without building a value: numbers and escapes stay as the server wrote them.
        serde_json::from_str(text).ok().map(Self)
    }
}

impl Described for RawObject<'_> {
    const SCHEMA: Schema = Schema::AnyObject;
}

impl Serialize for RawObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// A type that a member of a request is read as, once the request has been checked.
pub trait FromJson: Sized {
    /// `None`: it is null or of another type.
    fn from_json(value: &jsonc::Value) -> Option<Self>;

    /// Stands for a required member that is missing, while the mistakes are collected. No handler sees it.
    fn absent() -> Self;
}

macro_rules! from_json {
    ($($kind:ty: $pattern:pat => $value:expr, or $absent:expr;)*) => {
        $(impl FromJson for $kind {
            fn from_json(value: &jsonc::Value) -> Option<Self> {
                match value {
                    $pattern => $value,
                    _ => None,
                }
            }

            fn absent() -> Self {
                $absent
            }
        })*
    };
}

from_json! {
    String: jsonc::Value::String(text) => Some(text.value.clone()), or Self::new();
    Zeroizing<String>: jsonc::Value::String(text) => Some(Self::new(text.value.clone())), or Self::default();
    bool: jsonc::Value::Bool(flag) => Some(*flag), or false;
    u32: jsonc::Value::Number(number) => u32::try_from(whole(number)?).ok(), or 0;
    usize: jsonc::Value::Number(number) => usize::try_from(whole(number)?).ok(), or 0;
    Role: jsonc::Value::String(text) => Self::named(&text.value), or Self::Viewer;
    Moment<i64>: jsonc::Value::String(text) => time::parse(&text.value).map(Self), or Self(0);
}

impl<T: FromJson> FromJson for Vec<T> {
    fn from_json(value: &jsonc::Value) -> Option<Self> {
        let jsonc::Value::Array(items) = value else { return None };
        Some(items.iter().filter_map(|item| T::from_json(&item.value)).collect())
    }

    fn absent() -> Self {
        Self::new()
    }
}

/// An object of a request that is passed on as JSON: numbers as written, members in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectText(pub String);

impl FromJson for ObjectText {
    fn from_json(value: &jsonc::Value) -> Option<Self> {
        let mut text = String::new();
        matches!(value, jsonc::Value::Object(_)).then(|| write_json(value, &mut text))?;
        Some(Self(text))
    }

    fn absent() -> Self {
        Self("{}".to_owned())
    }
}

/// As deep as the parser lets it be.
fn write_json(value: &jsonc::Value, to: &mut String) {
    let quoted = |text: &str| Value::from(text).to_string();
    match value {
        jsonc::Value::Null => to.push_str("null"),
        jsonc::Value::Bool(flag) => to.push_str(if *flag { "true" } else { "false" }),
        jsonc::Value::Number(number) => to.push_str(number),
        jsonc::Value::String(text) => to.push_str(&quoted(&text.value)),
        jsonc::Value::Array(items) => {
            to.push('[');
            for (at, item) in items.iter().enumerate() {
                to.push_str(if at == 0 { "" } else { "," });
                write_json(&item.value, to);
            }
            to.push(']');
        }
        jsonc::Value::Object(members) => {
            to.push('{');
            for (at, member) in members.iter().enumerate() {
                to.push_str(if at == 0 { "" } else { "," });
                to.push_str(&quoted(&member.key.value));
                to.push(':');
                write_json(&member.value.value, to);
            }
            to.push('}');
        }
    }
}

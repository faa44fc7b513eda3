//! `Json`: JSON in the terms of policies. An object is a record, an array a set, an integer a long. What policies have no
//! type for: a number that is no 64-bit integer is its text, null is not there.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::looks::Members;

/// A value; texts are those of the document unless they have escapes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Json<'a> {
    Bool(bool),
    Long(i64),
    Text(Cow<'a, str>),
    /// In the order of the document, with what is there several times.
    Set(Vec<Self>),
    Record(Record<'a>),
}

/// Its members by their names, each once.
pub(crate) type Record<'a> = Vec<(Cow<'a, str>, Json<'a>)>;

/// Of the members of a JSON object those that are wanted. An object that has a member twice is refused, wherever it is:
/// two readers would see two values.
pub(crate) fn members_of<'a>(json: &'a [u8], wanted: &Members) -> Result<Record<'a>, String> {
    let mut from = serde_json::Deserializer::from_slice(json);
    let members = from.deserialize_map(SomeMembers(wanted)).map_err(|fault| fault.to_string())?;
    from.end().map_err(|fault| fault.to_string())?;
    Ok(members)
}

/// The members of a JSON object that are wanted, as they are written: who looks at no others sees the same in two objects
/// with the same text. `None`: it is no object, or has a member twice (within those that are wanted nobody has looked).
pub(crate) fn text_of(json: &[u8], wanted: &Members) -> Option<Vec<u8>> {
    let mut from = serde_json::Deserializer::from_slice(json);
    let text = from.deserialize_map(TextOfMembers(wanted)).ok()?;
    from.end().ok()?;
    Some(text)
}

/// `None` is null.
struct Nullable<'a>(Option<Json<'a>>);

impl<'de> Deserialize<'de> for Nullable<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(JsonVisitor).map(Self)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Option<Json<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Some(Json::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Some(Json::Long(value)))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        let long = i64::try_from(value).map(Json::Long);
        Ok(Some(long.unwrap_or_else(|_| Json::Text(value.to_string().into()))))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        let long = whole(value).map(Json::Long);
        Ok(Some(long.unwrap_or_else(|| Json::Text(value.to_string().into()))))
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Self::Value, E> {
        Ok(Some(Json::Text(Cow::Borrowed(value))))
    }

    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Some(Json::Text(Cow::Owned(value.to_owned()))))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Self::Value, A::Error> {
        let mut elements = Vec::new();
        while let Some(Nullable(element)) = from.next_element()? {
            elements.extend(element);
        }
        Ok(Some(Json::Set(elements)))
    }

    fn visit_map<A: MapAccess<'de>>(self, from: A) -> Result<Self::Value, A::Error> {
        SomeMembers(&Members::All).visit_map(from).map(|members| Some(Json::Record(members)))
    }
}

/// Reads the members of an object, and keeps those that are wanted.
struct SomeMembers<'w>(&'w Members);

impl<'de> Visitor<'de> for SomeMembers<'_> {
    type Value = Record<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Self::Value, A::Error> {
        let (mut members, mut names) = (Vec::new(), Names::default());
        while let Some(MemberName(name)) = from.next_key()? {
            if self.0.has(&name) {
                let Nullable(value) = from.next_value()?;
                members.extend(value.map(|value| (name.clone(), value)));
            } else {
                from.next_value_seed(Unwanted)?;
            }
            names.add(name)?;
        }
        Ok(members)
    }
}

/// Reads the members of an object, and keeps the text of those that are wanted.
struct TextOfMembers<'w>(&'w Members);

impl<'de> Visitor<'de> for TextOfMembers<'_> {
    type Value = Vec<u8>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Self::Value, A::Error> {
        let (mut text, mut names) = (Vec::new(), Names::default());
        while let Some(MemberName(name)) = from.next_key()? {
            if self.0.has(&name) {
                let value: &RawValue = from.next_value()?;
                // With their lengths: nothing in a name or a value can pass for the end of it.
                for part in [name.as_bytes(), value.get().as_bytes()] {
                    text.extend_from_slice(&part.len().to_le_bytes());
                    text.extend_from_slice(part);
                }
            } else {
                from.next_value_seed(Unwanted)?;
            }
            names.add(name)?;
        }
        Ok(text)
    }
}

/// Reads a value as [`Json`] does, and makes nothing of it.
struct Unwanted;

impl<'de> DeserializeSeed<'de> for Unwanted {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Unwanted {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<(), A::Error> {
        while from.next_element_seed(Self)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<(), A::Error> {
        let mut names = Names::default();
        while let Some(MemberName(name)) = from.next_key()? {
            from.next_value_seed(Self)?;
            names.add(name)?;
        }
        Ok(())
    }
}

/// The names of an object's members so far.
#[derive(Default)]
struct Names<'de> {
    /// Most objects have few: comparing them is cheaper than a table.
    few: Vec<Cow<'de, str>>,
    more: HashSet<Cow<'de, str>>,
}

const FEW: usize = 16;

impl<'de> Names<'de> {
    fn add<E: Error>(&mut self, name: Cow<'de, str>) -> Result<(), E> {
        if self.few.contains(&name) || self.more.contains(&name) {
            return Err(E::custom(format!("it has the member `{name}` twice")));
        }
        match self.few.len() < FEW {
            true => self.few.push(name),
            false => drop(self.more.insert(name)),
        }
        Ok(())
    }
}

/// As it stands in the text, unless it has escapes.
struct MemberName<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for MemberName<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_str(NameVisitor)
    }
}

struct NameVisitor;

impl<'de> Visitor<'de> for NameVisitor {
    type Value = MemberName<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_borrowed_str<E>(self, name: &'de str) -> Result<MemberName<'de>, E> {
        Ok(MemberName(Cow::Borrowed(name)))
    }

    fn visit_str<E>(self, name: &str) -> Result<MemberName<'de>, E> {
        Ok(MemberName(Cow::Owned(name.to_owned())))
    }
}

/// The integer that a number with a point or an exponent stands for, if it stands for one exactly.
fn whole(value: f64) -> Option<i64> {
    // Beyond 2^53 a float does not tell neighbours apart.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let is_whole = value.fract() == 0.0 && value.abs() <= EXACT;
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and within 2^53")]
    is_whole.then_some(value as i64)
}

//! A body before anybody looks into it: declared as JSON, not too large, and JSON.

use trunkline_catalog::jsonc::{Dialect, Document, HalfPairs, Options, parse};
use trunkline_http::is_type;

use super::Members;
use super::explain::explain;
use crate::api::fault::{Pointer, RequestFault};
use crate::api::problem::{Kind, Problem};
use crate::api::schema::{ObjectSchema, Schema, check};

/// Of a registration, a patch, a key: far more than anybody writes.
pub const MOST_BODY: usize = 1024 * 1024;

/// Of a call: as much as a message may have unless the command line says otherwise.
pub const MOST_ARGUMENTS: usize = 64 * 1024 * 1024;

/// The parser is recursive, and nothing we read is deeper than four.
const DEPTH: usize = 64;

const OPTIONS: Options =
    Options { dialect: Dialect::Strict, half_pairs: HalfPairs::Refused, depth: DEPTH };

/// A body as it came, with what its head says about it.
#[derive(Debug, Clone, Copy)]
pub struct Declared<'a> {
    pub content_type: Option<&'a [u8]>,
    pub bytes: &'a [u8],
}

impl<'a> Declared<'a> {
    /// The text, if it can be one of at most this many bytes.
    pub(super) fn text(&self, most: usize) -> Result<&'a str, Problem> {
        match self.content_type {
            Some(declared) if is_type(declared, "application/json") => {}
            Some(_) => {
                let detail = "the `Content-Type` is not application/json";
                return Err(Problem::new(Kind::WrongMediaType, detail));
            }
            None => {
                let detail = "the request has no `Content-Type`";
                return Err(Problem::new(Kind::WrongMediaType, detail));
            }
        }
        if self.bytes.len() > most {
            let detail =
                format!("the body has {} bytes; at most {most} are taken", self.bytes.len());
            return Err(Problem::new(Kind::TooLarge, detail));
        }
        std::str::from_utf8(self.bytes).map_err(|error| {
            let detail = format!("byte {} of the body is not UTF-8", error.valid_up_to());
            Problem::new(Kind::Malformed, detail)
        })
    }

    /// The body as a struct, or every mistake in it.
    pub fn read<T: RequestBody>(&self) -> Result<T, Problem> {
        self.read_and_check(|_, _| {})
    }

    /// `check` adds the mistakes that no schema can describe.
    pub(in crate::api) fn read_and_check<T: RequestBody>(
        &self,
        check: impl FnOnce(&T, &mut Vec<RequestFault>),
    ) -> Result<T, Problem> {
        let (document, mut faults) = self.checked(&Schema::Object(T::OBJECT))?;
        let read = T::from_members(&Members::of(&document.root));
        check(&read, &mut faults);
        none(faults)?;
        Ok(read)
    }

    /// The values with their places, and what is wrong with them.
    pub(super) fn checked(
        &self,
        schema: &Schema,
    ) -> Result<(Document, Vec<RequestFault>), Problem> {
        let document = syntax(self.text(MOST_BODY)?)?;
        let mut faults = Vec::new();
        check(&document.root, schema, &Pointer::root(), &mut faults);
        Ok((document, faults))
    }
}

/// A body that a handler gets as a struct: `request!` declares one.
pub trait RequestBody: Sized {
    const OBJECT: &'static ObjectSchema;

    /// What has mistakes is read as far as it can be, so that all mistakes are found at once.
    fn from_members(members: &Members<'_>) -> Self;
}

/// Strict JSON, or a problem that says where it stops being that.
pub(super) fn syntax(text: &str) -> Result<Document, Problem> {
    parse(text, OPTIONS).map_err(|error| explain(text, &error))
}

/// All that is wrong, or nothing.
pub(super) fn none(faults: Vec<RequestFault>) -> Result<(), Problem> {
    if faults.is_empty() { Ok(()) } else { Err(Problem::invalid(faults)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_json_of_a_sane_size_is_read() {
        let large = vec![b' '; MOST_BODY + 1];
        for (content_type, bytes, expected) in [
            (Some("application/json"), &b"{}"[..], None),
            (Some("Application/JSON; charset=utf-8"), b"{}", None),
            (None, b"{}", Some(415)),
            (Some(""), b"{}", Some(415)),
            (Some("text/plain"), b"{}", Some(415)),
            (Some("application/x-www-form-urlencoded"), b"{}", Some(415)),
            (Some("application/jsonx"), b"{}", Some(415)),
            (Some("application/json"), &large, Some(413)),
            (Some("application/json"), b"", Some(400)),
            (Some("application/json"), b"{\"a\":\"\xff\"}", Some(400)),
            (Some("application/json"), b"{'a':1}", Some(400)),
            (Some("application/json"), b"{} {}", Some(400)),
        ] {
            let declared = Declared { content_type: content_type.map(str::as_bytes), bytes };
            let status = declared.checked(&Schema::AnyObject).err().map(|problem| problem.status());
            assert_eq!(status, expected, "{content_type:?} {}", bytes.len());
        }
    }

    #[test]
    fn nesting_has_an_end() {
        let deep = "[".repeat(100_000);
        assert_eq!(syntax(&deep).unwrap_err().status(), 400);
    }
}

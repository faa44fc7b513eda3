//! Every text in a definition with its place, in one pass over the bytes, however deep they are nested.

use std::borrow::Cow;

use trunkline_wire::decode;

/// One step from the definition to a text.
#[derive(Clone, Debug)]
pub(super) enum PathStep<'d> {
    Key(Cow<'d, str>),
    Index(usize),
}

/// A text, or the name of a member.
#[derive(Debug)]
pub(super) struct DefinitionField<'f, 'd> {
    pub(super) path: &'f [PathStep<'d>],
    pub(super) text: Cow<'d, str>,
    /// The name of a member, which stands at the end of the path.
    pub(super) is_key: bool,
    /// Where its token lies, with its quotes.
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Calls `each` for every string of the JSON value, which is proven to be one.
pub(super) fn each_text<'d>(json: &'d [u8], mut each: impl FnMut(DefinitionField<'_, 'd>)) {
    let mut path: Vec<PathStep<'d>> = Vec::new();
    // Of each open container: whether it is an object, and whether a key is expected next.
    let mut open: Vec<(bool, bool)> = Vec::new();
    let mut at = 0;
    while let Some(byte) = json.get(at) {
        match byte {
            b'{' => {
                open.push((true, true));
                path.push(PathStep::Key(Cow::Borrowed("")));
            }
            b'[' => {
                open.push((false, false));
                path.push(PathStep::Index(0));
            }
            b'}' | b']' => {
                open.pop();
                path.pop();
            }
            b',' => match (open.last_mut(), path.last_mut()) {
                (Some((true, wants_key)), _) => *wants_key = true,
                (_, Some(PathStep::Index(index))) => *index += 1,
                _ => {}
            },
            b'"' => {
                let end = string_end(json, at);
                let text = json.get(at..end).and_then(decode).unwrap_or_default();
                let is_key = matches!(open.last(), Some((true, true)));
                if is_key {
                    if let Some(last) = path.last_mut() {
                        *last = PathStep::Key(text.clone());
                    }
                    if let Some((_, wants_key)) = open.last_mut() {
                        *wants_key = false;
                    }
                }
                each(DefinitionField { path: &path, text, is_key, start: at, end });
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
}

/// Behind the closing quote.
fn string_end(json: &[u8], open: usize) -> usize {
    let mut at = open + 1;
    while let Some(found) = json.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += found;
        if json.get(at) == Some(&b'"') {
            return at + 1;
        }
        at += 2;
    }
    json.len()
}

impl DefinitionField<'_, '_> {
    /// RFC 6901.
    pub(super) fn pointer(&self) -> String {
        let mut pointer = String::new();
        for step in self.path.iter().take(64) {
            pointer.push('/');
            match step {
                PathStep::Key(key) => {
                    let key = crate::name::escaped(key);
                    pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
                }
                PathStep::Index(index) => pointer.push_str(&index.to_string()),
            }
        }
        pointer
    }

    /// The key so many steps before the end of the path.
    pub(super) fn key_before(&self, steps: usize) -> Option<&str> {
        let at = self.path.len().checked_sub(steps + 1)?;
        match self.path.get(at)? {
            PathStep::Key(key) => Some(key),
            PathStep::Index(_) => None,
        }
    }

    pub(super) fn first_key(&self) -> &str {
        match self.path.first() {
            Some(PathStep::Key(key)) => key,
            _ => "",
        }
    }

    /// Is one of these keys on the way?
    pub(super) fn is_within(&self, keys: &[&str]) -> bool {
        self.path.iter().any(|step| matches!(step, PathStep::Key(key) if keys.contains(&&**key)))
    }
}

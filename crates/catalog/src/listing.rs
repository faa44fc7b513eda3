//! What one server says it offers, verbatim.

use std::collections::HashSet;

use trunkline_wire::{Span, decode, elements, member, members};

/// One tool as its server defined it.
#[derive(Clone, Debug)]
pub struct Tool {
    /// The name as text.
    pub name: String,
    /// The definition, byte for byte.
    pub definition: Box<[u8]>,
    /// Where the name's token lies in the definition.
    pub name_at: Span,
}

impl Tool {
    /// The name as the server spelt it, with quotes: what a call must carry.
    pub fn name_token(&self) -> &[u8] {
        self.name_at.of(&self.definition)
    }
}

/// The tools of one server, gathered page by page.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    tools: Vec<Tool>,
    names: HashSet<String>,
    /// What was left out, and why. For the log.
    pub warnings: Vec<String>,
}

/// The server's answer to `tools/list` was not a tool list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its answer to tools/list has no `tools` array")]
pub struct NotAList;

impl Listing {
    pub fn tools(&self) -> &[Tool] {
        &self.tools
    }

    /// Adds the tools of one `tools/list` result; returns the cursor of the next page, as written.
    /// An empty string is a cursor like any other; `null` is none.
    pub fn add_page<'a>(
        &mut self,
        result: &'a [u8],
        most: usize,
    ) -> Result<Option<&'a [u8]>, NotAList> {
        let list = member(result, "tools").filter(|list| list.starts_with(b"[")).ok_or(NotAList)?;
        for element in elements(list) {
            if self.tools.len() >= most {
                self.warnings
                    .push(format!("it offers more than {most} tools; the rest is left out"));
                return Ok(None);
            }
            self.add(element.of(list));
        }
        Ok(member(result, "nextCursor").filter(|cursor| cursor.starts_with(b"\"")))
    }

    fn add(&mut self, definition: &[u8]) {
        let mut names = members(definition).filter(|(key, _)| key == "name").map(|(_, at)| at);
        let (first, second) = (names.next(), names.next());
        let name = first.and_then(|at| Some((at, decode(at.of(definition))?)));
        let (Some((name_at, name)), None) = (name, second) else {
            let shown = String::from_utf8_lossy(definition.get(..80).unwrap_or(definition));
            self.warnings.push(format!("a tool without one proper name is left out: {shown}"));
            return;
        };
        if let Err(fault) = crate::name::admissible(&name) {
            self.warnings.push(format!("a tool is left out: {fault}"));
            return;
        }
        if !self.names.insert(name.to_string()) {
            self.warnings.push(format!(
                "it offers the tool `{name}` more than once; only the first is used"
            ));
            return;
        }
        self.tools.push(Tool { name: name.into_owned(), definition: definition.into(), name_at });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(page: &str, tools: &[&str], warnings: usize, cursor: Option<&str>) {
        let mut listing = Listing::default();
        let next = listing.add_page(page.as_bytes(), 3).unwrap();
        assert_eq!(next.map(|c| String::from_utf8_lossy(c).into_owned()).as_deref(), cursor);
        let names: Vec<_> = listing.tools().iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, tools);
        assert_eq!(listing.warnings.len(), warnings, "{:?}", listing.warnings);
    }

    #[test]
    fn tools_are_kept_verbatim() {
        let mut listing = Listing::default();
        let page = br#"{"tools":[ {"x":1.0, "name" : "a\u0062"} ]}"#;
        assert_eq!(listing.add_page(page, 9), Ok(None));
        let tool = &listing.tools()[0];
        assert_eq!(&*tool.definition, br#"{"x":1.0, "name" : "a\u0062"}"#);
        assert_eq!(tool.name, "ab");
        assert_eq!(tool.name_token(), br#""a\u0062""#);
    }

    #[test]
    fn cursors() {
        check(r#"{"tools":[],"nextCursor":""}"#, &[], 0, Some("\"\""));
        check(r#"{"tools":[],"nextCursor":"p2"}"#, &[], 0, Some("\"p2\""));
        check(r#"{"tools":[],"nextCursor":null}"#, &[], 0, None);
    }

    #[test]
    fn edge_3_of_duplicates_the_first_wins() {
        check(r#"{"tools":[{"name":"a","v":1},{"name":"a","v":2}]}"#, &["a"], 1, None);
    }

    #[test]
    fn what_is_no_tool_is_left_out() {
        check(r#"{"tools":[5,{},{"name":7},{"name":""},{"name":"a","name":"b"}]}"#, &[], 5, None);
        check(
            r#"{"tools":[{"name":"a"},{"name":"b"},{"name":"c"},{"name":"d"}],"nextCursor":"x"}"#,
            &["a", "b", "c"],
            1,
            None,
        );
    }

    #[test]
    fn an_answer_without_a_list_is_refused() {
        let mut listing = Listing::default();
        assert_eq!(listing.add_page(b"{}", 9), Err(NotAList));
        assert_eq!(listing.add_page(br#"{"tools":{}}"#, 9), Err(NotAList));
    }
}

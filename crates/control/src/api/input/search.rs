//! `POST /search`: what is looked for, and where.

use super::body::{Declared, none};
use super::fields::Fields;
use crate::api::fault::{Fault, Pointer};
use crate::api::problem::Problem;
use crate::api::shape::{Form, Object, Shape, optional, required, text};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchTools {
    pub query: String,
    /// Otherwise only the tools of Trunkline itself.
    pub include_external: bool,
    /// Names or ids; `None` is all.
    pub server_filter: Option<Vec<String>>,
    pub limit: usize,
}

const USUAL: usize = 10;
const MOST: i64 = 100;

impl SearchTools {
    pub fn read(body: &Declared<'_>) -> Result<Self, Problem> {
        let (document, mut faults) = body.read(&Shape::Object(&SEARCH))?;
        let fields = Fields::of(&document.root);
        let query = fields.text("query").unwrap_or_default();
        if !query.is_empty() && query.trim().is_empty() {
            let fault = Fault::at(&Pointer::root().key("query"), "says nothing");
            faults.push(fault.hint("write what the tool should do"));
        }
        let server_filter = fields.texts("server_filter");
        if server_filter.as_ref().is_some_and(Vec::is_empty) {
            let fault = Fault::at(&Pointer::root().key("server_filter"), "names no server");
            faults.push(fault.hint("leave it out to search all of them"));
        }
        none(faults)?;
        let limit = fields.whole("limit").and_then(|limit| usize::try_from(limit).ok());
        Ok(Self {
            query: query.to_owned(),
            include_external: fields.flag("include_external").unwrap_or(true),
            server_filter,
            limit: limit.unwrap_or(USUAL),
        })
    }
}

pub static SEARCH: Object = Object::request(
    "Search",
    "What is looked for.",
    &[
        required("query", text(1, 2000, Form::Prose), "What the tool should do, or its name."),
        optional(
            "include_external",
            Shape::OrNull(&Shape::Flag),
            "Tools of servers; otherwise only custom tools. Yes, unless said otherwise.",
        ),
        optional(
            "server_filter",
            Shape::OrNull(&Shape::List { of: &text(1, 200, Form::Line), most: 1000 }),
            "Only tools of these servers, by name or id. All, unless said otherwise.",
        ),
        optional(
            "limit",
            Shape::OrNull(&Shape::Whole { least: 1, most: MOST }),
            "How many at most; 10 unless said otherwise.",
        ),
    ],
);

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<SearchTools, Problem> {
        let content_type = Some(&b"application/json"[..]);
        SearchTools::read(&Declared { content_type, bytes: json.as_bytes() })
    }

    #[test]
    fn a_search_is_read() {
        let plain = SearchTools {
            query: "create an issue".to_owned(),
            include_external: true,
            server_filter: None,
            limit: 10,
        };
        assert_eq!(read(r#"{"query":"create an issue"}"#).unwrap(), plain);
        let nulls = r#"{"query":"create an issue","include_external":null,"server_filter":null,"limit":null}"#;
        assert_eq!(read(nulls).unwrap(), plain);
        let whole = r#"{"query":"create an issue","include_external":false,"server_filter":["a","b"],"limit":3}"#;
        let expected = SearchTools {
            include_external: false,
            server_filter: Some(vec!["a".to_owned(), "b".to_owned()]),
            limit: 3,
            ..plain
        };
        assert_eq!(read(whole).unwrap(), expected);
    }

    #[test]
    fn bad_searches_are_refused() {
        for (json, expected) in [
            ("{}", "/query is missing"),
            (r#"{"query":""}"#, "/query must not be empty"),
            (r#"{"query":" \n "}"#, "/query says nothing"),
            (r#"{"query":7}"#, "/query must be a string"),
            (r#"{"query":"a","limit":0}"#, "/limit must be a whole number from 1 to 100"),
            (r#"{"query":"a","limit":101}"#, "/limit must be a whole number from 1 to 100"),
            (r#"{"query":"a","limit":"5"}"#, "/limit"),
            (r#"{"query":"a","server_filter":"b"}"#, "/server_filter must be an array"),
            (r#"{"query":"a","server_filter":[]}"#, "/server_filter names no server"),
            (r#"{"query":"a","server_filter":[1]}"#, "/server_filter/0"),
            (r#"{"query":"a","include_external":"yes"}"#, "/include_external"),
            (r#"{"query":"a","servers":["b"]}"#, "/servers `servers` is not known here"),
        ] {
            let problem = read(json).expect_err(json);
            assert_eq!(problem.status(), 422, "{json}");
            assert!(problem.detail().contains(expected), "{json}: {}", problem.detail());
        }
    }
}

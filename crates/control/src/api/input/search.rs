//! `POST /search`: what is looked for, and where.

use super::body::Declared;
use crate::api::fault::{Pointer, RequestFault};
use crate::api::problem::Problem;
use crate::api::schema::{Schema, TextFormat, request, text};

/// How many are found where the request does not say.
const USUAL: usize = 10;

const SERVERS: Schema = Schema::List { of: &text(1, 200, TextFormat::Line), most: 1000 };

request! {
    /// What is looked for.
    #[derive(Debug)]
    pub struct SearchTools as "Search" {
        /// What the tool should do, or its name.
        #[example = "create a GitHub issue"] pub query: String => text(1, 2000, TextFormat::Prose),
        /// Tools of servers; otherwise only custom tools. Yes, unless said otherwise.
        #[example = true] pub include_external: bool = true => Schema::Nullable(&Schema::Bool),
        /// Only tools of these servers, by name or id. All, unless said otherwise.
        #[example = ["github-mcp", "jira-mcp"]]
        pub server_filter?: Vec<String> => Schema::Nullable(&SERVERS),
        /// How many at most; 10 unless said otherwise.
        #[example = 10]
        pub limit: usize = USUAL => Schema::Nullable(&Schema::Integer { least: 1, most: 100 }),
    }
}

impl SearchTools {
    pub fn read(body: &Declared<'_>) -> Result<Self, Problem> {
        body.read_and_check(|search: &Self, faults| {
            let query = &search.query;
            // An empty one is the schema's to refuse.
            if !query.is_empty() && query.trim().is_empty() {
                let fault = RequestFault::at(&Pointer::root().key("query"), "must not be blank");
                faults.push(fault.hint("write what the tool should do"));
            }
            if search.server_filter.as_ref().is_some_and(Vec::is_empty) {
                let fault =
                    RequestFault::at(&Pointer::root().key("server_filter"), "must not be empty");
                faults.push(fault.hint("leave it out to search all of them"));
            }
        })
    }
}

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
            (r#"{"query":" \n "}"#, "/query must not be blank"),
            (r#"{"query":7}"#, "/query must be a string"),
            (r#"{"query":"a","limit":0}"#, "/limit must be a whole number from 1 to 100"),
            (r#"{"query":"a","limit":101}"#, "/limit must be a whole number from 1 to 100"),
            (r#"{"query":"a","limit":"5"}"#, "/limit"),
            (r#"{"query":"a","server_filter":"b"}"#, "/server_filter must be an array"),
            (r#"{"query":"a","server_filter":[]}"#, "/server_filter must not be empty"),
            (r#"{"query":"a","server_filter":[1]}"#, "/server_filter/0"),
            (r#"{"query":"a","include_external":"yes"}"#, "/include_external"),
            (r#"{"query":"a","servers":["b"]}"#, "/servers unknown field `servers`"),
        ] {
            let problem = read(json).expect_err(json);
            assert_eq!(problem.status(), 422, "{json}");
            assert!(problem.detail().contains(expected), "{json}: {}", problem.detail());
        }
    }
}

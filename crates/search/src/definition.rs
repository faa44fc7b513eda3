//! `Definition`: what a server has written about a tool, as far as it can be looked for.

use trunkline_wire::{decode, member, members};

use crate::document::{Parameter, Tool};

/// The texts of a tool's JSON. Whatever is missing, or is something else than it should be, is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Definition {
    pub name: String,
    /// What clients call it, if that is something else; a definition does not say so itself.
    pub renamed: Option<String>,
    pub description: String,
    pub parameters: Vec<(String, String)>,
}

/// More of them do not make a tool easier to find, and a hostile server may list millions.
const MOST_PARAMETERS: usize = 64;
/// Of one text, in bytes: nobody looks for what stands behind that.
const LONGEST: usize = 8 * 1024;

impl Definition {
    /// `json`: an entry of `tools/list`.
    #[must_use]
    pub fn read(json: &[u8]) -> Self {
        let properties =
            member(json, "inputSchema").and_then(|schema| member(schema, "properties"));
        let parameters = properties.map_or_else(Vec::new, |properties| {
            let named = members(properties).take(MOST_PARAMETERS);
            let read = |(name, value): (std::borrow::Cow<'_, str>, trunkline_wire::Span)| {
                (cut(&name), text(value.of(properties), "description"))
            };
            named.map(read).collect()
        });
        let title = text(json, "title");
        let description = text(json, "description");
        let description = match (title.is_empty(), description.is_empty()) {
            (true, _) => description,
            (false, true) => title,
            (false, false) => format!("{title}. {description}"),
        };
        Self { name: text(json, "name"), renamed: None, description, parameters }
    }

    #[must_use]
    pub fn tool(&self) -> Tool<'_> {
        let parameters = self.parameters.iter();
        let parameters = parameters.map(|(name, description)| Parameter { name, description });
        Tool {
            name: &self.name,
            renamed: self.renamed.as_deref(),
            description: &self.description,
            parameters: parameters.collect(),
            vector: None,
        }
    }
}

fn text(json: &[u8], key: &str) -> String {
    member(json, key).and_then(decode).map_or_else(String::new, |text| cut(&text))
}

fn cut(text: &str) -> String {
    text.get(..text.floor_char_boundary(LONGEST)).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_of_a_tool_are_found() {
        let read = |json: &str| {
            let Definition { name, description, parameters, .. } =
                Definition::read(json.as_bytes());
            let parameters: Vec<_> =
                parameters.iter().map(|(name, about)| format!("{name}={about}")).collect();
            format!("{name}|{description}|{}", parameters.join(","))
        };
        let schema = r#"{"properties":{"repo":{"description":"Which \u0022one\""},"n":7},"x":1}"#;
        for (json, expected) in [
            (r#"{"name":"a","description":"b"}"#.to_owned(), "a|b|"),
            (r#"{"name":"a","title":"T","description":"b"}"#.to_owned(), "a|T. b|"),
            (r#"{"name":"a","title":"T"}"#.to_owned(), "a|T|"),
            (format!(r#"{{"inputSchema":{schema},"name":"a"}}"#), "a||repo=Which \"one\",n="),
            (r#"{"name":7,"description":null,"inputSchema":[1]}"#.to_owned(), "||"),
            ("[]".to_owned(), "||"),
        ] {
            assert_eq!(read(&json), expected, "{json}");
        }
    }

    #[test]
    fn what_is_endless_is_cut() {
        let many: Vec<String> = (0..1000).map(|at| format!(r#""p{at}":{{}}"#)).collect();
        let json = format!(
            r#"{{"name":"a","description":"{}","inputSchema":{{"properties":{{{}}}}}}}"#,
            "é".repeat(LONGEST),
            many.join(",")
        );
        let read = Definition::read(json.as_bytes());
        assert_eq!(read.tool().parameters.len(), MOST_PARAMETERS);
        assert!(read.description.len() <= LONGEST && read.description.starts_with('é'));
    }
}

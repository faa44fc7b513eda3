//! `x-mcp-header` in a tool's schema: which arguments its calls repeat in HTTP headers. Pure.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use memchr::memmem;
use trunkline_wire::{Span, decode, elements, members};

use crate::name::escaped;

/// The keyword that names a property's header.
const KEYWORD: &str = "x-mcp-header";

/// How deep schemas are followed: each level is read again for the one below it, and a hostile
/// schema may have thousands.
const MOST_LEVELS: usize = 32;

/// Headers of one tool. HTTP servers take about a hundred in a request, the usual ones included.
const MOST_HEADERS: usize = 64;

/// An argument that a call over HTTP carries in the header `Mcp-Param-{name}` as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamHeader {
    pub name: String,
    /// The properties that lead to its value, from the call's `arguments` on.
    pub path: Vec<String>,
}

/// The headers that a tool's `inputSchema` asks for, or why the tool must not be used over HTTP.
/// A member that is there twice counts as its last, as JSON parsers have it.
pub fn param_headers(input_schema: &[u8]) -> Result<Vec<ParamHeader>, String> {
    let mut walk = Walk::default();
    walk.value(input_schema, SchemaPath::Properties, MOST_LEVELS)?;
    Ok(walk.found)
}

/// How a schema is reached from the root.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SchemaPath {
    /// By `properties` alone: its value has one place in the arguments.
    Properties,
    /// Through any other keyword. What is there may apply to many values, or to none.
    Otherwise,
}

#[derive(Default)]
struct Walk<'s> {
    /// The properties that lead to where the walk is; means nothing where other keywords do.
    path: Vec<Cow<'s, str>>,
    found: Vec<ParamHeader>,
    /// The names found, in lower case.
    taken: HashSet<String>,
}

type Members<'s> = BTreeMap<Cow<'s, str>, Span>;

impl<'s> Walk<'s> {
    /// A schema, several of them, or what no rule knows.
    fn value(&mut self, value: &'s [u8], reach: SchemaPath, levels: usize) -> Result<(), String> {
        if !may_have_keyword(value) {
            return Ok(());
        }
        let Some(levels) = levels.checked_sub(1) else {
            return Err(format!("its schema is too deep to be searched for `{KEYWORD}`"));
        };
        for element in elements(value) {
            self.value(element.of(value), SchemaPath::Otherwise, levels)?;
        }
        let schema: Members<'s> = members(value).collect();
        for (key, at) in &schema {
            let inner = at.of(value);
            match &**key {
                KEYWORD => self.annotation(value, &schema, reach)?,
                "properties" => self.named(inner, reach, levels)?,
                "patternProperties" | "$defs" | "definitions" | "dependentSchemas"
                | "dependentRequired" | "dependencies" => {
                    self.named(inner, SchemaPath::Otherwise, levels)?;
                }
                // Values of arguments: what looks like the keyword is none.
                "enum" | "const" | "default" | "examples" => {}
                _ => self.value(inner, SchemaPath::Otherwise, levels)?,
            }
        }
        Ok(())
    }

    /// Schemas by names of the server's choice, which are no keywords.
    fn named(&mut self, schemas: &'s [u8], reach: SchemaPath, levels: usize) -> Result<(), String> {
        let schemas_by_name: Members<'s> = members(schemas).collect();
        for (name, at) in schemas_by_name {
            self.path.push(name);
            self.value(at.of(schemas), reach, levels)?;
            self.path.pop();
        }
        Ok(())
    }

    /// The keyword as it stands in `schema`, whose members these are.
    fn annotation(
        &mut self,
        schema: &[u8],
        members: &Members<'_>,
        reach: SchemaPath,
    ) -> Result<(), String> {
        if reach == SchemaPath::Otherwise || self.path.is_empty() {
            return Err(format!("it has an `{KEYWORD}` that is not on a property of its own"));
        }
        let property = escaped(&self.path.join("."));
        let text = |key| members.get(key).and_then(|at| decode(at.of(schema)));
        let Some(name) = text(KEYWORD) else {
            return Err(format!("the `{KEYWORD}` of \"{property}\" is not a string"));
        };
        let shown = escaped(&name);
        if !is_token(&name) {
            return Err(format!("the `{KEYWORD}` \"{shown}\" of \"{property}\" is no header name"));
        }
        if !matches!(text("type").as_deref(), Some("string" | "integer" | "boolean")) {
            return Err(format!(
                "\"{property}\" has an `{KEYWORD}` and is not of type string, integer or boolean"
            ));
        }
        if !self.taken.insert(name.to_ascii_lowercase()) {
            return Err(format!("the `{KEYWORD}` \"{shown}\" is there more than once"));
        }
        if self.found.len() >= MOST_HEADERS {
            return Err(format!("it has an `{KEYWORD}` more than {MOST_HEADERS} times"));
        }
        let path = self.path.iter().map(|name| name.clone().into_owned()).collect();
        self.found.push(ParamHeader { name: name.into_owned(), path });
        Ok(())
    }
}

/// Whether the keyword may be in these bytes: as it is, or with escapes, which for its letters all
/// begin alike. Most schemas are done with this.
fn may_have_keyword(bytes: &[u8]) -> bool {
    let has = |what: &[u8]| memmem::find(bytes, what).is_some();
    has(KEYWORD.as_bytes()) || has(br"\u00")
}

/// A field name by RFC 9110 section 5.1.
fn is_token(name: &str) -> bool {
    let belongs = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(belongs)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `path=name` of each header, or the reason.
    fn read(schema: &str) -> Result<Vec<String>, String> {
        assert!(trunkline_wire::is_json(schema.as_bytes()), "{schema}");
        let headers = param_headers(schema.as_bytes())?;
        Ok(headers.iter().map(|it| format!("{}={}", it.path.join("."), it.name)).collect())
    }

    /// A schema with these properties.
    fn with(properties: &str) -> String {
        format!(r#"{{"type":"object","properties":{{{properties}}}}}"#)
    }

    #[test]
    fn proper_annotations_are_found() {
        let table: [(&str, &[&str]); 12] = [
            ("", &[]),
            (r#""a":{"type":"string"}"#, &[]),
            (r#""a":{"type":"string","x-mcp-header":"Region"}"#, &["a=Region"]),
            (
                r#""b":{"x-mcp-header":"B","type":"boolean"},"a":{"type":"integer","x-mcp-header":"A"}"#,
                &["a=A", "b=B"],
            ),
            (
                r#""a":{"type":"string","x-mcp-header":"!#$%&'*+-.^_`|~09azAZ"}"#,
                &["a=!#$%&'*+-.^_`|~09azAZ"],
            ),
            (
                r#""o":{"type":"object","properties":{"p":{"properties":{"q":{"type":"string","x-mcp-header":"Q"}}}}}"#,
                &["o.p.q=Q"],
            ),
            (r#""\u0061":{"typ\u0065":"str\u0069ng","\u0078-mcp-header":"\u0041"}"#, &["a=A"]),
            // The last of several members is the one that counts.
            (
                r#""a":{"type":"number","type":"string","x-mcp-header":"","x-mcp-header":"A"}"#,
                &["a=A"],
            ),
            (
                r#""a":{"type":"string","x-mcp-header":"X"},"a":{"type":"string","x-mcp-header":"A"}"#,
                &["a=A"],
            ),
            (
                r#""a":{"type":"array"},"properties":{"type":"string","x-mcp-header":"P"}"#,
                &["properties=P"],
            ),
            (
                r#""items":{"properties":{"enum":{"type":"string","x-mcp-header":"E"}}}"#,
                &["items.enum=E"],
            ),
            (r#""a":{"type":"string","x-mcp-header":"A","$ref":"y","pattern":"x"}"#, &["a=A"]),
        ];
        for (properties, expected) in table {
            let expected = expected.iter().map(ToString::to_string).collect();
            assert_eq!(read(&with(properties)), Ok(expected), "{properties}");
        }
    }

    #[test]
    fn what_only_looks_like_an_annotation_is_none() {
        let table = [
            "true",
            "{}",
            r#"{"description":"set x-mcp-header"}"#,
            r#"{"required":["x-mcp-header"]}"#,
            r#"{"properties":{"x-mcp-header":{"type":"number"}}}"#,
            r#"{"properties":{"a":{"properties":{"x-mcp-header":{"items":{"type":"string"}}}}}}"#,
            r#"{"patternProperties":{"x-mcp-header":true}}"#,
            r#"{"$defs":{"x-mcp-header":{"type":"string"}}}"#,
            r#"{"definitions":{"x-mcp-header":{"type":"string"}}}"#,
            r#"{"dependentSchemas":{"x-mcp-header":{"type":"string"}}}"#,
            r#"{"dependentRequired":{"x-mcp-header":["a"]}}"#,
            r#"{"dependencies":{"x-mcp-header":["a"]}}"#,
            r#"{"enum":[{"x-mcp-header":""}],"const":{"x-mcp-header":""}}"#,
            r#"{"properties":{"a":{"default":{"x-mcp-header":""}}}}"#,
            r#"{"items":{"examples":[{"properties":{"a":{"x-mcp-header":""}}}]}}"#,
            r#"{"properties":{"a":{"x-mcp-headers":"","X-Mcp-Header":""}}}"#,
        ];
        for schema in table {
            assert_eq!(read(schema), Ok(Vec::new()), "{schema}");
        }
    }

    #[test]
    fn what_is_on_no_property_of_its_own_is_refused() {
        let annotated = r#"{"type":"string","x-mcp-header":"A"}"#;
        let table = [
            annotated.to_owned(),
            format!(r#"{{"items":{annotated}}}"#),
            format!(r#"{{"prefixItems":[true,{annotated}]}}"#),
            format!(r#"{{"oneOf":[{annotated}]}}"#),
            format!(r#"{{"anyOf":[{{"properties":{{"a":{annotated}}}}}]}}"#),
            format!(r#"{{"allOf":[{{"properties":{{"a":{annotated}}}}}]}}"#),
            format!(r#"{{"not":{annotated}}}"#),
            format!(r#"{{"if":{{"properties":{{"a":{annotated}}}}}}}"#),
            format!(r#"{{"then":{{"properties":{{"a":{annotated}}}}}}}"#),
            format!(r#"{{"else":{{"properties":{{"a":{annotated}}}}}}}"#),
            format!(r#"{{"$defs":{{"a":{annotated}}}}}"#),
            format!(r#"{{"definitions":{{"d":{{"properties":{{"a":{annotated}}}}}}}}}"#),
            format!(r#"{{"patternProperties":{{"a":{annotated}}}}}"#),
            format!(r#"{{"dependentSchemas":{{"a":{annotated}}}}}"#),
            format!(r#"{{"additionalProperties":{annotated}}}"#),
            format!(r#"{{"unevaluatedProperties":{annotated}}}"#),
            format!(r#"{{"propertyNames":{annotated}}}"#),
            format!(r#"{{"contains":{annotated}}}"#),
            format!(r#"{{"x-more":{{"deep":[{annotated}]}}}}"#),
            with(&format!(r#""a":{{"type":"array","items":{annotated}}}"#)),
            with(&format!(r#""a":{{"type":"string","anyOf":[{annotated}]}}"#)),
            with(&format!(r#""a":{annotated},"b":{{"not":{annotated}}}"#)),
            r#"{"items":{"\u0078-mcp-header":"A"}}"#.to_owned(),
        ];
        for schema in table {
            let expected = "it has an `x-mcp-header` that is not on a property of its own";
            assert_eq!(read(&schema), Err(expected.to_owned()), "{schema}");
        }
    }

    #[test]
    fn names_that_are_none_are_refused() {
        for name in ["", " ", "a b", "a:b", "a\\r\\nb", "a\\u0000", "é", "a\\u007f", "(a)", "a/b"]
        {
            let schema = with(&format!(r#""a":{{"type":"string","x-mcp-header":"{name}"}}"#));
            let why = read(&schema).unwrap_err();
            assert!(why.ends_with("of \"a\" is no header name"), "{name}: {why}");
            assert!(!why.contains(char::is_control), "{why}");
        }
        for value in ["null", "5", "true", "[\"A\"]", "{}", r#""\ud800""#] {
            let schema = with(&format!(r#""a":{{"type":"string","x-mcp-header":{value}}}"#));
            let expected = "the `x-mcp-header` of \"a\" is not a string";
            assert_eq!(read(&schema), Err(expected.to_owned()), "{value}");
        }
    }

    #[test]
    fn only_strings_integers_and_booleans_go_into_headers() {
        let types = [
            r#""type":"number","#,
            r#""type":"object","#,
            r#""type":"array","#,
            r#""type":"null","#,
            r#""type":"String","#,
            r#""type":["string"],"#,
            r#""type":["string","null"],"#,
            r#""type":null,"#,
            r#""enum":["a","b"],"#,
            r#""anyOf":[{"type":"string"},{"type":"null"}],"#,
            "",
        ];
        for type_of in types {
            let a = format!(r#""a":{{{type_of}"x-mcp-header":"A"}}"#);
            let schema = with(&format!(r#""o":{{"properties":{{{a}}}}}"#));
            let expected =
                "\"o.a\" has an `x-mcp-header` and is not of type string, integer or boolean";
            assert_eq!(read(&schema), Err(expected.to_owned()), "{schema}");
        }
    }

    #[test]
    fn a_name_is_there_once_in_any_case() {
        let property = |key: &str, name: &str| {
            format!(r#""{key}":{{"type":"string","x-mcp-header":"{name}"}}"#)
        };
        let nested = format!(r#""o":{{"properties":{{{}}}}}"#, property("b", "REGION"));
        for other in [property("b", "Region"), property("b", "rEGION"), nested] {
            let schema = with(&format!("{},{other}", property("a", "Region")));
            let why = read(&schema).unwrap_err();
            assert!(why.ends_with("is there more than once"), "{why}");
        }
    }

    #[test]
    fn depth_and_number_have_a_limit() {
        let deep = |levels: usize, inner: &str| {
            let (open, close) = (r#"{"properties":{"a":"#.repeat(levels), "}}".repeat(levels));
            format!("{open}{inner}{close}")
        };
        let annotated = r#"{"type":"string","x-mcp-header":"A"}"#;
        assert_eq!(read(&deep(MOST_LEVELS - 1, annotated)).map(|found| found.len()), Ok(1));
        let expected = "its schema is too deep to be searched for `x-mcp-header`";
        for levels in [MOST_LEVELS, 5_000] {
            assert_eq!(read(&deep(levels, annotated)), Err(expected.to_owned()));
            assert_eq!(read(&deep(levels, r#"{"type":"string"}"#)), Ok(Vec::new()));
        }
        // Depth costs nobody anything where the keyword is not.
        let beside = format!(r#""b":{annotated},"c":{}"#, deep(5_000, "true"));
        assert_eq!(read(&with(&beside)), Ok(vec!["b=A".to_owned()]));

        let many = |count: usize| {
            let one = |n| format!(r#""p{n}":{{"type":"string","x-mcp-header":"H{n}"}}"#);
            with(&(0..count).map(one).collect::<Vec<_>>().join(","))
        };
        assert_eq!(read(&many(MOST_HEADERS)).map(|found| found.len()), Ok(MOST_HEADERS));
        let expected = "it has an `x-mcp-header` more than 64 times";
        assert_eq!(read(&many(MOST_HEADERS + 1)), Err(expected.to_owned()));
    }
}

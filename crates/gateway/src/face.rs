//! What Trunkline says about itself to a client.

use trunkline_wire::{ALL_VERSIONS, Revision, encode, encode_into};

#[derive(Clone, Debug)]
pub struct Face {
    pub name: String,
    pub version: String,
    /// The literal simple product: tools only, no announcements, no explanations beyond the spec.
    pub simple: bool,
}

/// Everything Trunkline passes on, whatever its servers have: they come and go.
const CAPABILITIES: &str = r#"{"completions":{},"logging":{},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"tools":{"listChanged":true}}"#;

impl Face {
    /// The result of `initialize`. No `instructions` if they are empty; `instances` are told to one
    /// of our kind; `tasks` is one more capability, if there are servers that have it.
    pub(crate) fn initialize_result(
        &self,
        agreed: Revision,
        instructions: &str,
        instances: &[u8],
        tasks: Option<&str>,
    ) -> Vec<u8> {
        let capabilities = if self.simple { r#"{"tools":{}}"# } else { CAPABILITIES };
        let tasks = tasks.filter(|_| !self.simple).map(|tasks| format!(",{tasks}}}"));
        let (known, more) = match (&tasks, capabilities.strip_suffix('}')) {
            (Some(tasks), Some(open)) => (open, tasks.as_str()),
            _ => (capabilities, ""),
        };
        let mut out = [
            br#"{"protocolVersion":""#,
            agreed.as_str().as_bytes(),
            br#"","capabilities":"#,
            known.as_bytes(),
            more.as_bytes(),
            br#","serverInfo":{"name":"#,
            &encode(&self.name),
            br#","version":"#,
            &encode(&self.version),
            b"}",
        ]
        .concat();
        if !instructions.is_empty() {
            out.extend_from_slice(br#","instructions":"#);
            out.extend_from_slice(&encode(instructions));
        }
        if !instances.is_empty() {
            out.extend_from_slice(br#","_meta":{"trunkline/instances":"#);
            out.extend_from_slice(instances);
            out.push(b'}');
        }
        out.push(b'}');
        out
    }

    /// The result of `server/discover`. `extensions` is an object; `meta` is what `Face::meta` says.
    pub(crate) fn discover_result(
        &self,
        instructions: &str,
        extensions: &[u8],
        meta: &[u8],
    ) -> Vec<u8> {
        let mut out = br#"{"resultType":"complete","supportedVersions":["#.to_vec();
        for (index, version) in ALL_VERSIONS.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            encode_into(version, &mut out);
        }
        out.extend_from_slice(br#"],"capabilities":"#);
        out.extend_from_slice(CAPABILITIES.as_bytes());
        if extensions != b"{}" {
            out.pop();
            out.extend_from_slice(br#","extensions":"#);
            out.extend_from_slice(extensions);
            out.push(b'}');
        }
        if !instructions.is_empty() {
            out.extend_from_slice(br#","instructions":"#);
            out.extend_from_slice(&encode(instructions));
        }
        // Servers come and go, and what they say of themselves with them.
        out.extend_from_slice(br#","ttlMs":0,"cacheScope":"private","_meta":"#);
        out.extend_from_slice(meta);
        out.push(b'}');
        out
    }

    /// `_meta` of results of our own in the stateless era: who we are, and for one of our kind who
    /// can be reached through us.
    pub(crate) fn meta(&self, instances: &[u8]) -> Vec<u8> {
        let mut out = br#"{"io.modelcontextprotocol/serverInfo":{"name":"#.to_vec();
        out.extend_from_slice(&encode(&self.name));
        out.extend_from_slice(br#","version":"#);
        out.extend_from_slice(&encode(&self.version));
        out.push(b'}');
        if !instances.is_empty() {
            out.extend_from_slice(br#","trunkline/instances":"#);
            out.extend_from_slice(instances);
        }
        out.push(b'}');
        out
    }
}

#[cfg(test)]
mod tests {
    use trunkline_wire::LATEST_LEGACY;

    use super::*;

    #[test]
    fn the_simple_face_is_exactly_the_specified_one() {
        let face = Face {
            name: "mcp-simple-aggregator".to_owned(),
            version: "1.0.0".to_owned(),
            simple: true,
        };
        let text = String::from_utf8(face.initialize_result(
            Revision::negotiate("2024-11-05"),
            "",
            b"",
            None,
        ));
        assert_eq!(
            text.unwrap(),
            "{\"protocolVersion\":\"2024-11-05\",\"capabilities\":{\"tools\":{}},\"serverInfo\":\
             {\"name\":\"mcp-simple-aggregator\",\"version\":\"1.0.0\"}}"
        );
    }

    #[test]
    fn who_asks_is_told_which_revisions_are_spoken() {
        let face = Face { name: "t".to_owned(), version: "1".to_owned(), simple: false };
        for (instructions, extensions, instances, expected) in [
            ("", "{}", "", r#"CAPS},"ttlMs":0,"cacheScope":"private","_meta":{INFO}}"#),
            (
                "a\nb",
                r#"{"a/x":{}}"#,
                r#"["i"]"#,
                r#"CAPS,"extensions":{"a/x":{}}},"instructions":"a\nb","ttlMs":0,"cacheScope":"private","_meta":{INFO,"trunkline/instances":["i"]}}"#,
            ),
        ] {
            let meta = face.meta(instances.as_bytes());
            let result = face.discover_result(instructions, extensions.as_bytes(), &meta);
            let versions = r#"{"resultType":"complete","supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"capabilities":"#;
            let info = r#""io.modelcontextprotocol/serverInfo":{"name":"t","version":"1"}"#;
            let capabilities = CAPABILITIES.strip_suffix('}').unwrap();
            let expected = expected.replace("CAPS", capabilities).replace("INFO", info);
            assert_eq!(String::from_utf8(result).unwrap(), format!("{versions}{expected}"));
        }
    }

    #[test]
    fn otherwise_changes_are_announced() {
        let face = Face { name: "t\"".to_owned(), version: "1".to_owned(), simple: false };
        let text =
            String::from_utf8(face.initialize_result(LATEST_LEGACY, "a\nb", b"", None)).unwrap();
        assert!(text.ends_with(r#","instructions":"a\nb"}"#), "{text}");
        assert!(text.contains(r#""tools":{"listChanged":true}"#), "{text}");
        assert!(text.contains(r#""name":"t\"""#), "{text}");
        let with = face.initialize_result(LATEST_LEGACY, "", b"", Some(r#""tasks":{"x":{}}"#));
        let with = String::from_utf8(with).unwrap();
        assert!(with.contains(r#""tools":{"listChanged":true},"tasks":{"x":{}}},"serverInfo""#));
    }
}

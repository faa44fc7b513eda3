//! What Trunkline says about itself to a client.

use trunkline_wire::{Revision, encode};

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
    /// of our kind.
    pub(crate) fn initialize_result(
        &self,
        agreed: Revision,
        instructions: &str,
        instances: &[u8],
    ) -> Vec<u8> {
        let capabilities = if self.simple { r#"{"tools":{}}"# } else { CAPABILITIES };
        let mut out = [
            br#"{"protocolVersion":""#,
            agreed.as_str().as_bytes(),
            br#"","capabilities":"#,
            capabilities.as_bytes(),
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
        let text =
            String::from_utf8(face.initialize_result(Revision::negotiate("2024-11-05"), "", b""));
        assert_eq!(
            text.unwrap(),
            "{\"protocolVersion\":\"2024-11-05\",\"capabilities\":{\"tools\":{}},\"serverInfo\":\
             {\"name\":\"mcp-simple-aggregator\",\"version\":\"1.0.0\"}}"
        );
    }

    #[test]
    fn otherwise_changes_are_announced() {
        let face = Face { name: "t\"".to_owned(), version: "1".to_owned(), simple: false };
        let text = String::from_utf8(face.initialize_result(LATEST_LEGACY, "a\nb", b"")).unwrap();
        assert!(text.ends_with(r#","instructions":"a\nb"}"#), "{text}");
        assert!(text.contains(r#""tools":{"listChanged":true}"#), "{text}");
        assert!(text.contains(r#""name":"t\"""#), "{text}");
    }
}

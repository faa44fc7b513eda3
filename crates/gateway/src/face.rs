//! What Trunkline says about itself to a client.

use trunkline_wire::{Revision, encode};

#[derive(Clone, Debug)]
pub struct Face {
    pub name: String,
    pub version: String,
    /// The literal simple product: tools only, no announcements, no explanations beyond the spec.
    pub simple: bool,
}

impl Face {
    /// The result of `initialize`.
    pub(crate) fn initialize_result(&self, agreed: Revision) -> Vec<u8> {
        let tools: &[u8] = if self.simple { b"{}" } else { br#"{"listChanged":true}"# };
        [
            br#"{"protocolVersion":""#,
            agreed.as_str().as_bytes(),
            br#"","capabilities":{"tools":"#,
            tools,
            br#"},"serverInfo":{"name":"#,
            &encode(&self.name),
            br#","version":"#,
            &encode(&self.version),
            b"}}",
        ]
        .concat()
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
        let text = String::from_utf8(face.initialize_result(Revision::negotiate("2024-11-05")));
        assert_eq!(
            text.unwrap(),
            "{\"protocolVersion\":\"2024-11-05\",\"capabilities\":{\"tools\":{}},\"serverInfo\":\
             {\"name\":\"mcp-simple-aggregator\",\"version\":\"1.0.0\"}}"
        );
    }

    #[test]
    fn otherwise_changes_are_announced() {
        let face = Face { name: "t\"".to_owned(), version: "1".to_owned(), simple: false };
        let text = String::from_utf8(face.initialize_result(LATEST_LEGACY)).unwrap();
        assert!(text.contains(r#""tools":{"listChanged":true}"#), "{text}");
        assert!(text.contains(r#""name":"t\"""#), "{text}");
    }
}

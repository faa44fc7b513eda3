//! What Trunkline says about itself to a client.

use trunkline_wire::{ALL_VERSIONS, LATEST_LEGACY, Revision, encode, encode_into, members};

#[derive(Clone, Debug)]
pub struct GatewayInfo {
    pub name: String,
    pub version: String,
    /// The literal simple product: tools only, no announcements, no explanations beyond the spec.
    pub simple: bool,
}

/// Everything Trunkline passes on, whatever its servers have and whether they have started: servers come and
/// go, and what is declared is read once. A method that no server has is answered all the same: lists are empty,
/// and what is asked for by name is not found.
const CAPABILITIES: &str = r#"{"completions":{},"logging":{},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"tools":{"listChanged":true}"#;

/// Revision 2025-11-25 has tasks besides, and no other does.
const TASKS: &str = r#","tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}"#;

/// Since revision 2026-07-28 they are an extension: servers decide what is a task, so that declaring it
/// promises nothing that a server would have to keep.
const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

impl GatewayInfo {
    /// The result of `initialize`. No `instructions` if they are empty; `instances` are told to one
    /// of our kind.
    pub(crate) fn initialize_result(
        &self,
        agreed: Revision,
        instructions: &str,
        instances: &[u8],
    ) -> Vec<u8> {
        let (capabilities, tasks) = match (self.simple, agreed == LATEST_LEGACY) {
            (true, _) => (r#"{"tools":{}"#, ""),
            (false, true) => (CAPABILITIES, TASKS),
            (false, false) => (CAPABILITIES, ""),
        };
        let mut out = [
            br#"{"protocolVersion":""#,
            agreed.as_str().as_bytes(),
            br#"","capabilities":"#,
            capabilities.as_bytes(),
            tasks.as_bytes(),
            br#"},"serverInfo":{"name":"#,
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

    /// The result of `server/discover`. `extensions`: an object of those that servers have; `meta` is what
    /// `GatewayInfo::meta` says.
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
        out.extend_from_slice(br#","extensions":{"#);
        encode_into(TASKS_EXTENSION, &mut out);
        out.extend_from_slice(b":{}");
        for (name, settings) in members(extensions).filter(|(name, _)| name != TASKS_EXTENSION) {
            out.push(b',');
            encode_into(&name, &mut out);
            out.push(b':');
            out.extend_from_slice(settings.of(extensions));
        }
        out.extend_from_slice(b"}}");
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
    use super::*;

    #[test]
    fn the_simple_face_is_exactly_the_specified_one() {
        let face = GatewayInfo {
            name: "mcp-simple-aggregator".to_owned(),
            version: "1.0.0".to_owned(),
            simple: true,
        };
        for version in ["2024-11-05", "2025-11-25"] {
            let result = face.initialize_result(Revision::negotiate(version), "", b"");
            assert_eq!(
                String::from_utf8(result).unwrap(),
                format!(
                    "{{\"protocolVersion\":\"{version}\",\"capabilities\":{{\"tools\":{{}}}},\
                     \"serverInfo\":{{\"name\":\"mcp-simple-aggregator\",\"version\":\"1.0.0\"}}}}"
                )
            );
        }
    }

    #[test]
    fn who_asks_is_told_which_revisions_are_spoken() {
        let face = GatewayInfo { name: "t".to_owned(), version: "1".to_owned(), simple: false };
        let tasks = r#""io.modelcontextprotocol/tasks":{}"#;
        for (instructions, extensions, instances, expected) in [
            (
                "",
                "{}",
                "",
                r#"CAPS,"extensions":{TASKS}},"ttlMs":0,"cacheScope":"private","_meta":{INFO}}"#,
            ),
            (
                "a\nb",
                r#"{"a/x":{ "n":1.0 },"io.modelcontextprotocol/tasks":{"x":1}}"#,
                r#"["i"]"#,
                r#"CAPS,"extensions":{TASKS,"a/x":{ "n":1.0 }}},"instructions":"a\nb","ttlMs":0,"cacheScope":"private","_meta":{INFO,"trunkline/instances":["i"]}}"#,
            ),
        ] {
            let meta = face.meta(instances.as_bytes());
            let result = face.discover_result(instructions, extensions.as_bytes(), &meta);
            let versions = r#"{"resultType":"complete","supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"capabilities":"#;
            let info = r#""io.modelcontextprotocol/serverInfo":{"name":"t","version":"1"}"#;
            let expected = expected.replace("CAPS", CAPABILITIES).replace("INFO", info);
            let expected = expected.replace("TASKS", tasks);
            assert_eq!(String::from_utf8(result).unwrap(), format!("{versions}{expected}"));
        }
    }

    #[test]
    fn otherwise_changes_are_announced() {
        let face = GatewayInfo { name: "t\"".to_owned(), version: "1".to_owned(), simple: false };
        let text = String::from_utf8(face.initialize_result(LATEST_LEGACY, "a\nb", b"")).unwrap();
        assert!(text.ends_with(r#","instructions":"a\nb"}"#), "{text}");
        assert!(text.contains(r#""name":"t\"""#), "{text}");
        let tasks = r#""tools":{"listChanged":true},"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}},"serverInfo""#;
        assert!(text.contains(tasks), "{text}");
        let older = face.initialize_result(Revision::negotiate("2025-06-18"), "", b"");
        let older = String::from_utf8(older).unwrap();
        assert!(older.contains(r#""tools":{"listChanged":true}},"serverInfo""#), "{older}");
    }
}

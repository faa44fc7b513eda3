//! What every request of the stateless era says about its client, put into raw bytes.

use crate::scan;

/// The revision of the stateless era.
pub const REVISION: &str = "2026-07-28";

/// The keys of `_meta` that are the protocol's own.
pub const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub const INFO: &str = "io.modelcontextprotocol/clientInfo";
pub const LEVEL: &str = "io.modelcontextprotocol/logLevel";
pub const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";
pub const SERVER: &str = "io.modelcontextprotocol/serverInfo";

/// What is written into the `_meta` of requests; all values raw.
#[derive(Debug, Clone)]
pub struct Stamp {
    pub version: String,
    pub capabilities: String,
    pub level: Option<String>,
}

impl Stamp {
    pub fn new(capabilities: &str) -> Self {
        let version = scan::quote(REVISION);
        Self { version, capabilities: capabilities.to_owned(), level: None }
    }

    /// The raw `_meta`.
    pub fn meta(&self) -> String {
        String::from_utf8(self.put_into(b"{}")).expect("the parts are text")
    }

    /// The message with `_meta` in its params; what it says already, it keeps. Only requests have
    /// one.
    pub fn on(&self, message: &[u8]) -> Vec<u8> {
        let is_request =
            scan::get(message, "method").is_some() && scan::get(message, "id").is_some();
        if !is_request {
            return message.to_vec();
        }
        let Some(params) = scan::get(message, "params") else {
            return scan::with_last(message, &format!(r#""params":{{"_meta":{}}}"#, self.meta()));
        };
        let stamped = match scan::get(params, "_meta") {
            Some(meta) if scan::members(meta).is_some() => {
                scan::replace(params, "_meta", &self.put_into(meta))
            }
            None if scan::members(params).is_some() => {
                Some(scan::with_last(params, &format!(r#""_meta":{}"#, self.meta())))
            }
            _ => None,
        };
        let stamped = stamped.and_then(|params| scan::replace(message, "params", &params));
        stamped.unwrap_or_else(|| message.to_vec())
    }

    fn put_into(&self, meta: &[u8]) -> Vec<u8> {
        let info = r#"{"name":"kit","version":"1"}"#.to_owned();
        let own = [
            (VERSION, Some(self.version.clone())),
            (INFO, Some(info)),
            (CAPABILITIES, Some(self.capabilities.clone())),
            (LEVEL, self.level.as_deref().map(scan::quote)),
        ];
        own.into_iter().fold(meta.to_vec(), |meta, (key, value)| match value {
            Some(value) if scan::get(&meta, key).is_none() => {
                scan::with_last(&meta, &format!(r#""{key}":{value}"#))
            }
            _ => meta,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Stamp;

    #[test]
    fn requests_are_stamped_and_keep_what_they_say() {
        let stamp = Stamp::new("{}");
        let meta = stamp.meta();
        let line = |params: &str| format!(r#"{{"id":1,"method":"m"{params}}}"#);
        let own = r#"{"io.modelcontextprotocol/protocolVersion":7,"x":1}"#;
        for (before, after) in [
            ("", format!(r#","params":{{"_meta":{meta}}}"#)),
            (r#","params":{}"#, format!(r#","params":{{"_meta":{meta}}}"#)),
            (r#","params":{"a":1.0}"#, format!(r#","params":{{"a":1.0,"_meta":{meta}}}"#)),
            (r#","params":[]"#, r#","params":[]"#.to_owned()),
        ] {
            let stamped = String::from_utf8(stamp.on(line(before).as_bytes())).unwrap();
            assert_eq!(stamped, line(&after));
        }
        let stamped = stamp.on(line(&format!(r#","params":{{"_meta":{own}}}"#)).as_bytes());
        let stamped = String::from_utf8(stamped).unwrap();
        assert!(stamped.contains(r#""io.modelcontextprotocol/protocolVersion":7,"x":1,"#));
        for other in [r#"{"method":"m"}"#, r#"{"id":1,"result":{}}"#, "[]", "x"] {
            assert_eq!(stamp.on(other.as_bytes()), other.as_bytes());
        }
    }
}

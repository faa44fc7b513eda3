//! The protocol's two eras: with `initialize` and sessions, and with everything in each request.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Era {
    Legacy,
    Modern,
}

impl Era {
    pub fn label(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        }
    }
}

/// The modern era's version.
pub const MODERN: &str = "2026-07-28";

/// A member of every modern request's `params`.
pub const META: &str = concat!(
    r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
    r#""io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"#,
    r#""io.modelcontextprotocol/clientCapabilities":{}}"#,
);

/// The key in `META` that tells a modern request from a legacy one.
pub const VERSION_KEY: &[u8] = br#""io.modelcontextprotocol/protocolVersion""#;

/// How a modern result begins behind its brace.
pub const COMPLETE: &[u8] = br#""resultType":"complete","#;

/// How a modern result that may be cached begins: lists and `server/discover`.
pub const CACHEABLE: &[u8] = br#""resultType":"complete","ttlMs":0,"cacheScope":"private","#;

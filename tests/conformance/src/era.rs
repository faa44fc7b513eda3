//! Which revisions of the protocol the fixture speaks.

use std::borrow::Cow;
use std::str::FromStr;

use rmcp::RoleServer;
use rmcp::model::ProtocolVersion;
use rmcp::service::RequestContext;

/// What a fixture is started as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// Every revision rmcp knows.
    Dual,
    /// Revisions with `initialize`, up to 2025-11-25.
    Legacy,
    /// 2026-07-28 alone.
    Modern,
}

impl Era {
    pub(crate) fn versions(self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(match self {
            Self::Dual => ProtocolVersion::KNOWN_VERSIONS,
            Self::Legacy => ProtocolVersion::known_up_to(&ProtocolVersion::V_2025_11_25),
            Self::Modern => &[ProtocolVersion::V_2026_07_28],
        })
    }

    /// What is answered to an `initialize` that names a version of nobody. With a legacy one here,
    /// rmcp would agree to it although a modern server does not support it.
    pub(crate) fn preferred(self) -> &'static str {
        match self {
            Self::Dual | Self::Legacy => "2025-11-25",
            Self::Modern => "2026-07-28",
        }
    }
}

impl FromStr for Era {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "dual" => Ok(Self::Dual),
            "legacy" => Ok(Self::Legacy),
            "modern" => Ok(Self::Modern),
            _ => Err(format!("no era: `{text}`")),
        }
    }
}

/// Whether a request came without a session. A server of both eras is asked both ways.
pub(crate) fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

//! `AuditExport`: where the operator wants the audit log to be passed on to.

use trunkline_http::Url;

use super::export::LineExport;
use crate::otlp::{OtlpTarget, Signal};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuditExport {
    /// One JSON object a line.
    Lines(LineExport),
    /// Log records for a collector.
    Otlp(OtlpTarget),
}

impl AuditExport {
    /// `file:PATH`, `syslog:/dev/log`, `syslog:HOST:PORT` or `otlp:URL`.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some(url) = text.strip_prefix("otlp:") {
            // The text is not quoted: it may hold a password.
            let url = Url::parse(url).map_err(|bad| {
                format!("must be otlp:http(s)://HOST:PORT/v1/logs: the URL {bad}")
            })?;
            return OtlpTarget::read(Signal::Logs, url, |_| None, &mut Vec::new()).map(Self::Otlp);
        }
        LineExport::parse(text).map(Self::Lines).ok_or_else(|| {
            "must be file:PATH, syslog:/dev/log, syslog:HOST:PORT or \
             otlp:http(s)://HOST:PORT/v1/logs"
                .to_owned()
        })
    }

    /// With what the variables of OpenTelemetry say about a collector: headers, protocol, resource.
    pub fn with_variables(
        self,
        variable: impl Fn(&str) -> Option<String>,
        warnings: &mut Vec<String>,
    ) -> Result<Self, String> {
        match self {
            Self::Otlp(target) => {
                OtlpTarget::read(Signal::Logs, target.url, variable, warnings).map(Self::Otlp)
            }
            lines @ Self::Lines(_) => Ok(lines),
        }
    }

    /// Can it be written to, as far as can be said before there is anything to write?
    pub fn check(&self) -> Result<(), String> {
        match self {
            Self::Lines(lines) => lines.check(),
            Self::Otlp(_) => Ok(()),
        }
    }

    /// Does it continue where it was after a restart?
    pub(super) fn is_remembering(&self) -> bool {
        matches!(self, Self::Lines(lines) if lines.is_remembering())
    }

    /// The number of the last record that was passed on; only a file remembers it.
    pub(super) fn last_seq(&self) -> Option<i64> {
        match self {
            Self::Lines(lines) => lines.last_seq(),
            Self::Otlp(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read() {
        let lines = |text: &str| LineExport::parse(text).map(AuditExport::Lines);
        for text in ["file:/var/log/a.ndjson", "syslog:h:514"] {
            assert_eq!(AuditExport::parse(text).ok(), lines(text), "{text}");
        }
        for (text, expected) in [
            ("otlp:http://h:4318/v1/logs", Some("http://h:4318/v1/logs")),
            ("otlp:https://h/x", Some("https://h/x")),
            ("otlp:h:4318", None),
            ("otlp:ftp://h/", None),
            ("otlp", None),
            ("", None),
        ] {
            let read = AuditExport::parse(text).ok();
            let url = read.and_then(|it| match it {
                AuditExport::Otlp(target) => Some(target.url.to_string()),
                AuditExport::Lines(_) => None,
            });
            assert_eq!(url.as_deref(), expected, "{text}");
        }
        let bad = AuditExport::parse("otlp:http://u:canary@h/").unwrap_err();
        assert!(!bad.contains("canary"), "{bad}");
    }
}

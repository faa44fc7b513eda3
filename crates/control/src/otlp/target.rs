//! `OtlpTarget`: where a collector is and what it is told with each request, from the variables that every
//! OpenTelemetry program reads.

use std::fmt;

use trunkline_http::{Url, decode, is_field_name, is_field_value};

#[derive(Clone, PartialEq, Eq)]
pub struct OtlpTarget {
    pub url: Url,
    /// Sent with every request; values may be secrets.
    pub headers: Vec<(String, String)>,
    pub protocol: Protocol,
    /// What is said about this program, its name among it.
    pub resource: Vec<(String, String)>,
}

/// How a request is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Protocol {
    #[default]
    Protobuf,
    Json,
}

/// What is sent: each kind has variables of its own, which go before the general ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    Traces,
    Logs,
}

impl Signal {
    fn headers(self) -> &'static str {
        match self {
            Self::Traces => HEADERS[1],
            Self::Logs => HEADERS[2],
        }
    }

    fn protocol(self) -> &'static str {
        match self {
            Self::Traces => "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
            Self::Logs => "OTEL_EXPORTER_OTLP_LOGS_PROTOCOL",
        }
    }
}

/// The variables that may hold secrets.
pub const HEADERS: [&str; 3] = [
    "OTEL_EXPORTER_OTLP_HEADERS",
    "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
    "OTEL_EXPORTER_OTLP_LOGS_HEADERS",
];

impl OtlpTarget {
    /// The error is about a header that cannot be sent, and holds no value; anything else is a warning, as the
    /// specification asks.
    pub fn read(
        signal: Signal,
        url: Url,
        variable: impl Fn(&str) -> Option<String>,
        warnings: &mut Vec<String>,
    ) -> Result<Self, String> {
        let variable = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        Ok(Self {
            url,
            headers: headers(signal, &variable)?,
            protocol: protocol(signal, &variable, warnings),
            resource: resource(&variable, warnings),
        })
    }
}

fn headers(
    signal: Signal,
    variable: &impl Fn(&str) -> Option<String>,
) -> Result<Vec<(String, String)>, String> {
    let mut all: Vec<(String, String)> = Vec::new();
    for name in [HEADERS[0], signal.headers()] {
        let text = variable(name).unwrap_or_default();
        let pairs = pairs(&text).ok_or_else(|| format!("{name} must be NAME=VALUE,NAME=VALUE"))?;
        for (field, value) in pairs {
            if !is_field_name(&field) || !is_field_value(value.as_bytes()) {
                return Err(format!("{name} has a header that cannot be sent"));
            }
            all.retain(|(known, _)| !known.eq_ignore_ascii_case(&field));
            all.push((field, value));
        }
    }
    Ok(all)
}

fn protocol(
    signal: Signal,
    variable: &impl Fn(&str) -> Option<String>,
    warnings: &mut Vec<String>,
) -> Protocol {
    let own = variable(signal.protocol());
    let said = own.or_else(|| variable("OTEL_EXPORTER_OTLP_PROTOCOL"));
    match said.as_deref().map(str::trim) {
        None | Some("http/protobuf") => Protocol::Protobuf,
        Some("http/json") => Protocol::Json,
        Some(_) => {
            let what = "OTEL_EXPORTER_OTLP_PROTOCOL is neither http/protobuf nor http/json: \
                        http/protobuf is spoken";
            warnings.push(what.to_owned());
            Protocol::Protobuf
        }
    }
}

fn resource(
    variable: &impl Fn(&str) -> Option<String>,
    warnings: &mut Vec<String>,
) -> Vec<(String, String)> {
    let mut all = vec![
        ("service.name".to_owned(), "trunkline".to_owned()),
        ("service.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
    ];
    let said = variable("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
    let said = pairs(&said).unwrap_or_else(|| {
        warnings.push("OTEL_RESOURCE_ATTRIBUTES is not NAME=VALUE,…: left out".to_owned());
        Vec::new()
    });
    let name = variable("OTEL_SERVICE_NAME").map(|name| ("service.name".to_owned(), name));
    for (key, value) in said.into_iter().chain(name) {
        all.retain(|(known, _)| *known != key);
        all.push((key, value));
    }
    all
}

/// `NAME=VALUE,NAME=VALUE`; values may have escapes (`%20`). `None`: it is something else.
fn pairs(text: &str) -> Option<Vec<(String, String)>> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let (name, value) = part.split_once('=')?;
            let name = name.trim();
            (!name.is_empty())
                .then(|| Some((name.to_owned(), decode(value.trim()).ok()?.into_owned())))?
        })
        .collect()
}

/// Without the values of headers, and without a query.
impl fmt::Debug for OtlpTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("OtlpTarget")
            .field("origin", &self.url.origin().to_string())
            .field("headers", &names)
            .field("protocol", &self.protocol)
            .finish_non_exhaustive()
    }
}

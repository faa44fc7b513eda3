//! What the operator has decided about traces: a flag, and the variables every OpenTelemetry program
//! reads.

use std::fmt;

use trunkline_http::{Url, decode, is_field_name, is_field_value};

use super::sampler::Sampler;

#[derive(Clone)]
pub struct TraceSettings {
    /// Where spans are posted.
    pub url: Url,
    /// Sent with every request; values may be secrets.
    pub headers: Vec<(String, String)>,
    pub protocol: Protocol,
    pub sampler: Sampler,
    /// What is said about this program, its name among it.
    pub resource: Vec<(String, String)>,
}

/// How spans are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Protocol {
    #[default]
    Protobuf,
    Json,
}

/// Settings, and what was not understood and is left out.
#[derive(Debug)]
pub struct Chosen {
    pub settings: TraceSettings,
    pub warnings: Vec<String>,
}

/// The variables that may hold secrets.
pub const HEADERS: [&str; 2] = ["OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"];

/// `endpoint` is the flag's. `None`: nobody wants traces. The error is about an address or a header
/// that cannot be used, and holds no value; anything else is a warning, as the specification asks.
pub fn choose(
    endpoint: Option<&Url>,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<Chosen>, String> {
    let variable = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
    let is_off = |name: &str, word: &str| {
        variable(name).is_some_and(|value| value.trim().eq_ignore_ascii_case(word))
    };
    if is_off("OTEL_SDK_DISABLED", "true") || is_off("OTEL_TRACES_EXPORTER", "none") {
        return Ok(None);
    }
    let Some(url) = url(endpoint, &variable)? else { return Ok(None) };
    let mut warnings = Vec::new();
    let sampler = variable("OTEL_TRACES_SAMPLER").map(|name| {
        let argument = variable("OTEL_TRACES_SAMPLER_ARG");
        Sampler::read(name.trim(), argument.as_deref()).unwrap_or_else(|what| {
            warnings.push(format!("OTEL_TRACES_SAMPLER {what}: all is followed"));
            Sampler::default()
        })
    });
    let settings = TraceSettings {
        url,
        headers: headers(&variable)?,
        protocol: protocol(&variable, &mut warnings),
        sampler: sampler.unwrap_or_default(),
        resource: resource(&variable, &mut warnings),
    };
    Ok(Some(Chosen { settings, warnings }))
}

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const TRACES_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";

/// The path of traces is added, unless the variable is about traces alone.
fn url(
    endpoint: Option<&Url>,
    variable: &impl Fn(&str) -> Option<String>,
) -> Result<Option<Url>, String> {
    let parse =
        |name: &str, text: &str| Url::parse(text.trim()).map_err(|bad| format!("{name} {bad}"));
    let base = match (endpoint, variable(TRACES_ENDPOINT), variable(ENDPOINT)) {
        (Some(endpoint), ..) => endpoint.clone(),
        (None, Some(whole), _) => return parse(TRACES_ENDPOINT, &whole).map(Some),
        (None, None, Some(base)) => parse(ENDPOINT, &base)?,
        (None, None, None) => return Ok(None),
    };
    let path = format!("{}/v1/traces", base.path().trim_end_matches('/'));
    base.join(&path).map(Some).map_err(|bad| format!("the address of the collector {bad}"))
}

fn headers(variable: &impl Fn(&str) -> Option<String>) -> Result<Vec<(String, String)>, String> {
    let mut all: Vec<(String, String)> = Vec::new();
    for name in HEADERS {
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

fn protocol(variable: &impl Fn(&str) -> Option<String>, warnings: &mut Vec<String>) -> Protocol {
    let own = variable("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL");
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
impl fmt::Debug for TraceSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("Settings")
            .field("origin", &self.url.origin().to_string())
            .field("headers", &names)
            .field("protocol", &self.protocol)
            .field("sampler", &self.sampler)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(flag: Option<&str>, said: &[(&str, &str)]) -> Result<Option<Chosen>, String> {
        let flag = flag.map(|flag| Url::parse(flag).unwrap());
        choose(flag.as_ref(), |name| {
            let held = said.iter().find(|(held, _)| *held == name);
            held.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_flag_goes_before_the_variables_and_the_one_about_traces_before_the_other() {
        let (base, own) = ((ENDPOINT, "http://base:4318/x/"), (TRACES_ENDPOINT, "http://own/y"));
        for (flag, said, expected) in [
            (None, &[][..], None),
            (None, &[(ENDPOINT, " ")], None),
            (None, &[base], Some("http://base:4318/x/v1/traces")),
            (None, &[base, own], Some("http://own/y")),
            (Some("http://flag:1"), &[base, own], Some("http://flag:1/v1/traces")),
            (Some("http://flag/a?b=c"), &[], Some("http://flag/a/v1/traces")),
            (Some("http://flag"), &[("OTEL_SDK_DISABLED", "True")], None),
            (Some("http://flag"), &[("OTEL_SDK_DISABLED", "false")], Some("http://flag/v1/traces")),
            (None, &[base, ("OTEL_TRACES_EXPORTER", "none")], None),
        ] {
            let chosen = with(flag, said).unwrap();
            let url = chosen.map(|it| it.settings.url.to_string());
            assert_eq!(url.as_deref(), expected, "{flag:?} {said:?}");
        }
        assert!(with(None, &[(ENDPOINT, "localhost:4318")]).is_err());
    }

    #[test]
    fn headers_are_joined_and_never_shown() {
        let said = [
            (HEADERS[0], "X-Key = can%61ry%3D1 ,a=1"),
            (HEADERS[1], "A=2,"),
            ("OTEL_SERVICE_NAME", "tools"),
        ];
        let chosen = with(Some("http://c/?t=canary"), &said).unwrap().unwrap();
        let expected = [("X-Key", "canary=1"), ("A", "2")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(chosen.settings.headers, expected);
        assert!(!format!("{chosen:?}").contains("canary"), "{chosen:?}");
        for bad in ["canary", "=canary", "a=can%ZZary", "a b=canary", "a=canary%0a", "a=%ff"] {
            let what = with(Some("http://c"), &[(HEADERS[0], bad)]).unwrap_err();
            assert!(!what.contains("canary"), "{what}");
        }
    }

    #[test]
    fn what_is_said_about_this_program() {
        let said = [
            ("OTEL_RESOURCE_ATTRIBUTES", "service.name=a,deployment.environment.name=test"),
            ("OTEL_SERVICE_NAME", "tools"),
        ];
        let resource = |said| with(Some("http://c"), said).unwrap().unwrap().settings.resource;
        let named = |of: &[(String, String)], key: &str| {
            of.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone())
        };
        let usual = resource(&[]);
        assert_eq!(named(&usual, "service.name").as_deref(), Some("trunkline"));
        assert!(named(&usual, "service.version").is_some());
        assert_eq!(named(&resource(&said[..1]), "service.name").as_deref(), Some("a"));
        let both = resource(&said);
        assert_eq!(named(&both, "service.name").as_deref(), Some("tools"));
        assert_eq!(named(&both, "deployment.environment.name").as_deref(), Some("test"));
    }

    #[test]
    fn what_is_not_understood_is_warned_about_and_the_usual_taken() {
        for (said, protocol, sampler, warnings) in [
            (&[][..], Protocol::Protobuf, "parentbased_always_on", 0),
            (
                &[("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")],
                Protocol::Json,
                "parentbased_always_on",
                0,
            ),
            (
                &[
                    ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
                    ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/protobuf"),
                    ("OTEL_TRACES_SAMPLER", "always_off"),
                ],
                Protocol::Protobuf,
                "always_off",
                0,
            ),
            (
                &[
                    ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
                    ("OTEL_TRACES_SAMPLER", "xray"),
                    ("OTEL_RESOURCE_ATTRIBUTES", "x"),
                ],
                Protocol::Protobuf,
                "parentbased_always_on",
                3,
            ),
        ] {
            let chosen = with(Some("http://c"), said).unwrap().unwrap();
            let got = (chosen.settings.protocol, chosen.settings.sampler, chosen.warnings.len());
            assert_eq!(
                got,
                (protocol, Sampler::read(sampler, None).unwrap(), warnings),
                "{said:?}"
            );
        }
    }
}

//! What the operator has decided about traces: a flag, and the variables every OpenTelemetry program
//! reads.

use trunkline_http::Url;

use super::sampler::Sampler;
use crate::otlp::{OtlpTarget, Signal};

#[derive(Debug, Clone)]
pub struct TraceSettings {
    pub target: OtlpTarget,
    pub sampler: Sampler,
}

/// Settings, and what was not understood and is left out.
#[derive(Debug)]
pub struct Chosen {
    pub settings: TraceSettings,
    pub warnings: Vec<String>,
}

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
    let target = OtlpTarget::read(Signal::Traces, url, variable, &mut warnings)?;
    let settings = TraceSettings { target, sampler: sampler.unwrap_or_default() };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::otlp::{HEADERS, Protocol};

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
            let url = chosen.map(|it| it.settings.target.url.to_string());
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
        assert_eq!(chosen.settings.target.headers, expected);
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
        let resource =
            |said| with(Some("http://c"), said).unwrap().unwrap().settings.target.resource;
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
            let got =
                (chosen.settings.target.protocol, chosen.settings.sampler, chosen.warnings.len());
            assert_eq!(
                got,
                (protocol, Sampler::read(sampler, None).unwrap(), warnings),
                "{said:?}"
            );
        }
    }
}

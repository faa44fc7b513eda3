//! The query string: known parameters, each once, each of its shape; every mistake at once.

use trunkline_catalog::name::escaped;
use trunkline_http::decode_value;

use super::fault::RequestFault;
use super::problem::Problem;
use super::route::{Parameter, ParameterLocation, Route};
use super::schema::{Schema, nearest};

/// What was asked for, already checked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query(Vec<(&'static str, String)>);

impl Query {
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    pub fn whole(&self, name: &str) -> Option<i64> {
        self.text(name)?.parse().ok()
    }

    pub fn flag(&self, name: &str) -> Option<bool> {
        self.text(name)?.parse().ok()
    }
}

/// The whole query of a route, or everything that is wrong with it.
pub fn whole(route: &Route, raw: &str) -> Result<Query, Problem> {
    let mut faults = Vec::new();
    let query = read(route.parameters, raw, &mut faults);
    if faults.is_empty() { Ok(query) } else { Err(Problem::invalid(faults)) }
}

/// `raw` is what stands behind the `?`. What is wrong is added to `faults` and left out.
pub fn read(known: &'static [Parameter], raw: &str, faults: &mut Vec<RequestFault>) -> Query {
    let mut query = Query::default();
    for pair in raw.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (Ok(name), Ok(value)) = (decode_value(name), decode_value(value)) else {
            faults.push(RequestFault::parameter(&escaped(name), "is not percent-encoded UTF-8"));
            continue;
        };
        let mut in_query = known.iter().filter(|known| known.location == ParameterLocation::Query);
        let Some(parameter) = in_query.find(|known| known.name == name) else {
            faults.push(unknown(&name, known));
            continue;
        };
        if query.text(parameter.name).is_some() {
            faults.push(RequestFault::parameter(parameter.name, "appears twice"));
        } else if let Some(fault) = misfit(parameter, &value) {
            faults.push(fault);
        } else {
            query.0.push((parameter.name, value));
        }
    }
    query
}

fn unknown(name: &str, known: &'static [Parameter]) -> RequestFault {
    // The name is the client's: control characters in it must not reach a log.
    let shown = escaped(name);
    let fault = RequestFault::parameter(&shown, "is unknown");
    let names =
        || known.iter().filter(|k| k.location == ParameterLocation::Query).map(|known| known.name);
    match nearest(name, names()) {
        Some(guess) => fault.hint(format!("did you mean `{guess}`?")),
        None if names().next().is_none() => fault.hint("this path takes no parameters"),
        None => fault.hint(format!("expected one of {}", names().collect::<Vec<_>>().join(", "))),
    }
}

fn misfit(parameter: &Parameter, value: &str) -> Option<RequestFault> {
    let fault = |message: String| Some(RequestFault::parameter(parameter.name, message));
    match &parameter.schema {
        Schema::Integer { least, most } => {
            let fits = value.parse().is_ok_and(|number: i64| (*least..=*most).contains(&number));
            if fits {
                None
            } else {
                fault(format!("must be a whole number from {least} to {most}"))
            }
        }
        Schema::Bool if matches!(value, "true" | "false") => None,
        Schema::Bool => fault("must be true or false".to_owned()),
        Schema::Enum(words) if words.find(value).is_some() => None,
        Schema::Enum(words) => {
            let fault = fault(format!("must be one of {}", words.known.join(", ")))?;
            Some(match nearest(value, words.known.iter().copied()) {
                Some(guess) => fault.hint(format!("did you mean `{guess}`?")),
                None => fault,
            })
        }
        Schema::Text(rule) => match value.chars().count() {
            length if length < rule.least => fault("must not be empty".to_owned()),
            length if length > rule.most => {
                fault(format!("has more than {} characters", rule.most))
            }
            _ => rule.format.fault(value).and_then(|(message, _)| fault(message)),
        },
        // Nothing else can be said in a query; the table's test sees to it that none is asked for.
        _ => fault("cannot be given in a query".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::schema::{Case, EnumValues, TextFormat, text};

    static STATUS: EnumValues = EnumValues { known: &["ok", "error"], case: Case::Sensitive };
    const KNOWN: &[Parameter] = &[
        Parameter::query("server", text(1, 10, TextFormat::Line), ""),
        Parameter::query("since", text(1, 40, TextFormat::Time), ""),
        Parameter::query("status", Schema::Enum(&STATUS), ""),
        Parameter::query("deep", Schema::Bool, ""),
        Parameter::query("limit", Schema::Integer { least: 1, most: 9 }, ""),
        Parameter::path("id", text(1, 10, TextFormat::Line), ""),
    ];

    fn asked(raw: &str) -> (Query, String) {
        let mut faults = Vec::new();
        let query = read(KNOWN, raw, &mut faults);
        let told: Vec<_> = faults.iter().map(|fault| fault.json().to_string()).collect();
        (query, told.join(" "))
    }

    #[test]
    fn values_are_decoded() {
        for (raw, name, expected) in [
            ("server=a%20b", "server", "a b"),
            ("server=a+b", "server", "a b"),
            ("server=a%2Bb", "server", "a+b"),
            ("server=a%2526", "server", "a%26"),
            ("server=a=b", "server", "a=b"),
            ("&&server=a&", "server", "a"),
            ("%73erver=a", "server", "a"),
            ("since=2025-01-08T10:00:00Z", "since", "2025-01-08T10:00:00Z"),
        ] {
            let (query, faults) = asked(raw);
            assert_eq!((query.text(name), faults.as_str()), (Some(expected), ""), "{raw}");
        }
        let (query, _) = asked("deep=true&limit=9&status=ok");
        assert_eq!((query.flag("deep"), query.whole("limit")), (Some(true), Some(9)));
    }

    #[test]
    fn every_mistake_is_named() {
        for (raw, expected) in [
            ("limt=1", "did you mean `limit`?"),
            ("id=1", "is unknown"),
            ("server", "must not be empty"),
            ("server=12345678901", "more than 10 characters"),
            ("server=a%0a", "control character"),
            ("server=%ff", "not percent-encoded UTF-8"),
            ("server=%2", "not percent-encoded UTF-8"),
            ("server=a&server=a", "appears twice"),
            ("since=yesterday", "is not a time"),
            ("status=OK", "must be one of ok, error"),
            ("deep=yes", "must be true or false"),
            ("limit=1.0", "from 1 to 9"),
        ] {
            let (_, faults) = asked(raw);
            assert!(faults.contains(expected), "{raw}: {faults}");
        }
        let (_, faults) = asked("limit=0&deep=1&nothing=2");
        assert_eq!(faults.matches("message").count(), 3, "{faults}");
    }
}

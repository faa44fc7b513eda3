//! A response of the older era, as a client of the stateless one gets it.

use trunkline_wire::{decode, elements, encode_into, member, members};

use crate::era::object::{is_empty, without};
use crate::era::question::{InputRequest, input_required};

/// What is inserted behind the opening brace of `result`: what kind of result it is, and for what
/// may be kept (`cacheable`) for how long.
pub(crate) fn additions(result: &[u8], cacheable: bool) -> Vec<u8> {
    if !result.starts_with(b"{") {
        return Vec::new();
    }
    let has = |wanted: &str| members(result).any(|(key, _)| key == wanted);
    // A server of the older era promised nothing about keeping its results: stale at once, and for
    // this client alone.
    let hints = [("ttlMs", "0"), ("cacheScope", "\"private\"")];
    let hints = hints.iter().filter(|_| cacheable);
    let wanted = [("resultType", "\"complete\"")];
    let mut out = Vec::new();
    for (key, value) in wanted.iter().chain(hints).filter(|(key, _)| !has(key)) {
        encode_into(key, &mut out);
        out.push(b':');
        out.extend_from_slice(value.as_bytes());
        out.push(b',');
    }
    if is_empty(result) {
        out.pop();
    }
    out
}

/// The code of an error, if it is a number that can be one.
pub(crate) fn code_of(error: &[u8]) -> Option<i64> {
    std::str::from_utf8(member(error, "code")?).ok()?.parse().ok()
}

/// What an error of the older era is in the stateless one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Translated {
    /// It stays as it is.
    Same,
    /// It gets another code.
    Code(&'static str),
    /// No error: something is asked for. The result.
    Asks(Vec<u8>),
    /// Something is asked for that the client cannot do.
    Cannot,
}

/// Of the revisions up to 2025-11-25; nobody sends them in the stateless era.
const RESOURCE_NOT_FOUND: i64 = -32002;
const URL_ELICITATION_REQUIRED: i64 = -32042;

/// `asks_urls`: the client can be sent to a URL.
pub(crate) fn refusal_for_modern(error: &[u8], asks_urls: bool) -> Translated {
    match code_of(error) {
        // 2026-07-28 answers an unknown resource with "invalid params"; -32002 is no longer used.
        Some(RESOURCE_NOT_FOUND) => Translated::Code("-32602"),
        // The protocol keeps these for itself: they would mean something else.
        Some(-32099..=-32020) if code_of(error) != Some(URL_ELICITATION_REQUIRED) => {
            Translated::Code("-32603")
        }
        Some(URL_ELICITATION_REQUIRED) => match urls(error) {
            requests if requests.is_empty() => Translated::Code("-32603"),
            _ if !asks_urls => Translated::Cannot,
            requests => Translated::Asks(input_required(&requests, None)),
        },
        _ => Translated::Same,
    }
}

/// What `data.elicitations` of the error asks for. The request is simply made again afterwards.
fn urls(error: &[u8]) -> Vec<InputRequest> {
    let list = member(error, "data").and_then(|data| member(data, "elicitations"));
    let list = list.unwrap_or_default();
    let asked = elements(list).map(|at| at.of(list)).enumerate();
    asked
        .filter(|(_, one)| member(one, "url").and_then(decode).is_some())
        .map(|(index, one)| InputRequest {
            key: format!("url-{}", index + 1),
            method: "elicitation/create".to_owned(),
            params: without(one, |key| key == "elicitationId"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_says_what_it_is() {
        for (result, cacheable, expected) in [
            ("{}", false, r#""resultType":"complete""#),
            (r#"{"content":[]}"#, false, r#""resultType":"complete","#),
            (r#"{"resultType":"complete"}"#, false, ""),
            (
                r#"{"contents":[]}"#,
                true,
                r#""resultType":"complete","ttlMs":0,"cacheScope":"private","#,
            ),
            (r#"{"ttlMs":5,"x":1}"#, true, r#""resultType":"complete","cacheScope":"private","#),
            ("null", true, ""),
            (r#"{"a":{"resultType":1}}"#, false, r#""resultType":"complete","#),
        ] {
            let got = String::from_utf8(additions(result.as_bytes(), cacheable)).unwrap();
            assert_eq!(got, expected, "{result}");
        }
    }

    #[test]
    fn errors_that_the_stateless_era_does_not_have() {
        for (error, expected) in [
            (r#"{"code":-32602,"message":"m"}"#, Translated::Same),
            (r#"{"code":-32002,"message":"m"}"#, Translated::Code("-32602")),
            (r#"{"code":-32042,"message":"m"}"#, Translated::Code("-32603")),
            (r#"{"code":-32020,"message":"m"}"#, Translated::Code("-32603")),
            (r#"{"code":-32099,"message":"m"}"#, Translated::Code("-32603")),
            (r#"{"code":-32019,"message":"m"}"#, Translated::Same),
            (r#"{"code":"x"}"#, Translated::Same),
            (r#"{"code":-31001}"#, Translated::Same),
        ] {
            assert_eq!(refusal_for_modern(error.as_bytes(), true), expected, "{error}");
        }
        let url = br#"{"code":-32042,"message":"m","data":{"elicitations":[{"mode":"url","elicitationId":"e","url":"https://x","message":"go"}]}}"#;
        let Translated::Asks(result) = refusal_for_modern(url, true) else { panic!("it asks") };
        assert_eq!(
            String::from_utf8(result).unwrap(),
            r#"{"resultType":"input_required","inputRequests":{"url-1":{"method":"elicitation/create","params":{"mode":"url","url":"https://x","message":"go"}}}}"#
        );
        assert_eq!(refusal_for_modern(url, false), Translated::Cannot);
    }

    #[test]
    fn codes() {
        assert_eq!(code_of(br#"{"code":-32601}"#), Some(-32601));
        assert_eq!(code_of(br#"{"code":1.5}"#), None);
        assert_eq!(code_of(b"{}"), None);
    }
}

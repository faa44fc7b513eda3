//! Questions of servers: requests of their own in the older era, results that ask in the stateless.

use trunkline_wire::{Message, decode, encode, encode_into, member, members};

use crate::era::object::{Member, is_empty, rebuilt, with, without};
use crate::era::request::with_params;

/// Something a server wants to know before it goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InputRequest {
    pub(crate) key: String,
    pub(crate) method: String,
    /// An object, as the server wrote it; empty if there is none.
    pub(crate) params: Vec<u8>,
}

impl InputRequest {
    /// The request of the older era, under this id as spelt.
    pub(crate) fn text(&self, id: &[u8]) -> Vec<u8> {
        let mut text = [b"{\"jsonrpc\":\"2.0\",\"id\":", id, b",\"method\":"].concat();
        encode_into(&self.method, &mut text);
        if self.params.starts_with(b"{") {
            text.extend_from_slice(b",\"params\":");
            text.extend_from_slice(&self.params);
        }
        text.push(b'}');
        text
    }
}

/// The result that asks a client of the stateless era.
pub(crate) fn input_required(requests: &[InputRequest], state: Option<&str>) -> Vec<u8> {
    let mut out = br#"{"resultType":"input_required""#.to_vec();
    for (index, request) in requests.iter().enumerate() {
        out.extend_from_slice(if index == 0 { b",\"inputRequests\":{" } else { b"," });
        encode_into(&request.key, &mut out);
        out.extend_from_slice(b":{\"method\":");
        encode_into(&request.method, &mut out);
        if request.params.starts_with(b"{") {
            out.extend_from_slice(b",\"params\":");
            out.extend_from_slice(&asked_params(&request.params));
        }
        out.push(b'}');
    }
    if !requests.is_empty() {
        out.push(b'}');
    }
    if let Some(state) = state {
        out.extend_from_slice(b",\"requestState\":");
        encode_into(state, &mut out);
    }
    out.push(b'}');
    out
}

/// What a question of the older era says and one of the stateless has no place for: the id of an
/// elicitation, and where to report progress.
fn asked_params(params: &[u8]) -> Vec<u8> {
    rebuilt(params, |key, value| match key {
        "elicitationId" => Member::Dropped,
        "_meta" => match without(value, |key| key == "progressToken") {
            rest if is_empty(&rest) => Member::Dropped,
            rest => Member::Changed(rest),
        },
        _ => Member::Kept,
    })
}

/// What a server of the stateless era asks in its result, as requests of the older one. `id` makes
/// the ids that elicitations at URLs have there.
pub(crate) fn requests_in(result: &[u8], id: impl Fn(&str) -> String) -> Vec<InputRequest> {
    let asked = member(result, "inputRequests").unwrap_or_default();
    let asked = members(asked).map(|(key, value)| (key, value.of(asked)));
    asked
        .filter_map(|(key, request)| {
            let method = member(request, "method").and_then(decode)?.into_owned();
            let params = member(request, "params").filter(|params| params.starts_with(b"{"));
            let mut params = params.unwrap_or(b"{}").to_vec();
            let mode = member(&params, "mode").and_then(decode);
            // 2025-11-25, Elicitation, URL mode: `elicitationId` is required there; the stateless
            // era does not have it.
            let needs_id =
                mode.as_deref() == Some("url") && member(&params, "elicitationId").is_none();
            if needs_id {
                let member = [b"\"elicitationId\":", &encode(&id(&key))[..]].concat();
                params = with(&params, &member);
            }
            Some(InputRequest { key: key.into_owned(), method, params })
        })
        .collect()
}

/// The request made again, with what was answered and the server's state as it wrote it.
pub(crate) fn retried(
    request: &Message<'_>,
    answers: &[(String, Vec<u8>)],
    state: Option<&[u8]>,
) -> Vec<u8> {
    let mut new = Vec::new();
    if !answers.is_empty() {
        new.extend_from_slice(b"\"inputResponses\":{");
        for (index, (key, answer)) in answers.iter().enumerate() {
            if index > 0 {
                new.push(b',');
            }
            encode_into(key, &mut new);
            new.push(b':');
            new.extend_from_slice(answer);
        }
        new.push(b'}');
    }
    if let Some(state) = state {
        if !new.is_empty() {
            new.push(b',');
        }
        new.extend_from_slice(b"\"requestState\":");
        new.extend_from_slice(state);
    }
    let params = message_params(request);
    // Those of the round before: each retry carries the answers and the state of the last result
    // alone.
    let fresh = without(params, |key| key == "inputResponses" || key == "requestState");
    with_params(request, &with(&fresh, &new))
}

fn message_params<'a>(request: &Message<'a>) -> &'a [u8] {
    match request.text(request.params.span) {
        params if params.starts_with(b"{") => params,
        _ => b"{}",
    }
}

/// What a client answers to the question of this key; `Err`: it is no answer.
pub(crate) fn answered<'a>(responses: &'a [u8], key: &str) -> Option<Result<&'a [u8], ()>> {
    let answer = member(responses, key)?;
    Some(if answer.starts_with(b"{") { Ok(answer) } else { Err(()) })
}

#[cfg(test)]
mod tests {
    use trunkline_wire::scan;

    use super::*;

    fn request(key: &str, method: &str, params: &str) -> InputRequest {
        InputRequest { key: key.to_owned(), method: method.to_owned(), params: params.into() }
    }

    #[test]
    fn questions_become_a_result() {
        let form = request("q1", "elicitation/create", r#"{"message":"\u0068i", "n":1.0}"#);
        let roots = request("q2", "roots/list", r#"{"_meta":{"progressToken":0}}"#);
        let url =
            request("q3", "elicitation/create", r#"{"mode":"url","elicitationId":"e","url":"u"}"#);
        for (requests, state, expected) in [
            (
                vec![form],
                Some("s"),
                r#"{"resultType":"input_required","inputRequests":{"q1":{"method":"elicitation/create","params":{"message":"\u0068i", "n":1.0}}},"requestState":"s"}"#,
            ),
            (
                vec![roots, url],
                None,
                r#"{"resultType":"input_required","inputRequests":{"q2":{"method":"roots/list","params":{}},"q3":{"method":"elicitation/create","params":{"mode":"url","url":"u"}}}}"#,
            ),
            (
                vec![
                    request("q", "roots/list", ""),
                    request("r", "x", r#"{"_meta":{"progressToken":1,"a":2}}"#),
                ],
                None,
                r#"{"resultType":"input_required","inputRequests":{"q":{"method":"roots/list"},"r":{"method":"x","params":{"_meta":{"a":2}}}}}"#,
            ),
            (vec![], Some("s"), r#"{"resultType":"input_required","requestState":"s"}"#),
        ] {
            let got = String::from_utf8(input_required(&requests, state)).unwrap();
            assert_eq!(got, expected);
        }
    }

    #[test]
    fn a_result_becomes_questions() {
        let result = br#"{"resultType":"input_required","inputRequests":{"a":{"method":"sampling/createMessage","params":{"maxTokens":1e2}},"b":{"method":"elicitation/create","params":{"mode":"url","url":"u"}},"c":{"method":"roots/list"},"d":5},"requestState":"s"}"#;
        assert_eq!(
            requests_in(result, |key| format!("id-{key}")),
            [
                request("a", "sampling/createMessage", r#"{"maxTokens":1e2}"#),
                request(
                    "b",
                    "elicitation/create",
                    r#"{"elicitationId":"id-b","mode":"url","url":"u"}"#
                ),
                request("c", "roots/list", "{}"),
            ]
        );
        assert!(requests_in(br#"{"requestState":"s"}"#, |_| String::new()).is_empty());
    }

    #[test]
    fn a_request_is_made_again_with_the_answers() {
        let text = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"n":1.0},"requestState":"old"}}"#;
        let message = scan(text.as_bytes()).unwrap();
        let answers = [("a".to_owned(), br#"{"action":"accept"}"#.to_vec())];
        for (answers, state, expected) in [
            (
                &answers[..],
                Some(&b"\"n\\u0065w\""[..]),
                r#""params":{"inputResponses":{"a":{"action":"accept"}},"requestState":"n\u0065w","name":"x","arguments":{"n":1.0}}"#,
            ),
            (
                &[][..],
                Some(b"\"s\""),
                r#""params":{"requestState":"s","name":"x","arguments":{"n":1.0}}"#,
            ),
            (
                &answers[..],
                None,
                r#""params":{"inputResponses":{"a":{"action":"accept"}},"name":"x","arguments":{"n":1.0}}"#,
            ),
        ] {
            let got = String::from_utf8(retried(&message, answers, state)).unwrap();
            assert!(got.ends_with(&format!("{expected}}}")), "{got}");
        }
    }

    #[test]
    fn an_answer_is_an_object() {
        let responses = br#"{"a":{"x":1},"b":5}"#;
        assert_eq!(answered(responses, "a"), Some(Ok(&br#"{"x":1}"#[..])));
        assert_eq!(answered(responses, "b"), Some(Err(())));
        assert_eq!(answered(responses, "c"), None);
        assert_eq!(answered(b"null", "c"), None);
    }
}

//! A result that asks: what it wants to know, and the request that answers it.

use crate::line::Line;
use crate::scan;

/// An `input_required` result.
#[derive(Debug, Clone)]
pub struct Round {
    pub questions: Vec<Question>,
    /// As written, with its quotes.
    pub state: Option<String>,
}

/// One of `inputRequests`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    pub key: String,
    pub method: String,
    /// As written; `roots/list` may come without.
    pub params: Option<String>,
}

impl Line {
    /// What `resultType` says.
    pub fn result_type(&self) -> Option<String> {
        self.try_result().and_then(|result| scan::get(result, "resultType")).and_then(scan::text)
    }

    /// The result that asks; a test that wants it expects one.
    #[track_caller]
    pub fn round(&self) -> Round {
        assert_eq!(self.result_type().as_deref(), Some("input_required"), "{self}");
        let text = |raw: &[u8]| String::from_utf8_lossy(raw).into_owned();
        let requests = scan::get(self.result(), "inputRequests").and_then(scan::members);
        let question = |member: scan::Member<'_>| Question {
            key: scan::text(member.key).expect("a key"),
            method: scan::get(member.value, "method").and_then(scan::text).expect("a method"),
            params: scan::get(member.value, "params").map(text),
        };
        let questions: Vec<_> = requests.into_iter().flatten().map(question).collect();
        let state = scan::get(self.result(), "requestState").map(text);
        assert!(!questions.is_empty() || state.is_some(), "it asks for nothing: {self}");
        Round { questions, state }
    }

    /// `result` without what the stateless era adds to it.
    #[track_caller]
    pub fn payload(&self) -> Vec<u8> {
        ["resultType", "ttlMs", "cacheScope"]
            .iter()
            .fold(self.result().to_vec(), |result, key| scan::without(&result, key))
    }
}

impl Round {
    /// The only question.
    #[track_caller]
    pub fn only(&self) -> &Question {
        assert_eq!(self.questions.len(), 1, "{self:?}");
        &self.questions[0]
    }

    /// The key of the question with this method.
    #[track_caller]
    pub fn key(&self, method: &str) -> &str {
        let found = self.questions.iter().find(|question| question.method == method);
        &found.unwrap_or_else(|| panic!("no {method} in {self:?}")).key
    }

    /// The params of the request made again: these answers (key and raw result) and the state.
    pub fn again(&self, params: &str, answers: &[(&str, &str)]) -> String {
        again(params, answers, self.state.as_deref())
    }

    /// [`Round::again`] with one answer to everything it asks.
    pub fn answered(&self, params: &str, answer: impl Fn(&Question) -> String) -> String {
        let answers: Vec<(String, String)> =
            self.questions.iter().map(|one| (one.key.clone(), answer(one))).collect();
        let answers: Vec<(&str, &str)> =
            answers.iter().map(|(key, answer)| (key.as_str(), answer.as_str())).collect();
        self.again(params, &answers)
    }
}

/// `params` with these answers (left out if there are none) and this raw state.
pub fn again(params: &str, answers: &[(&str, &str)], state: Option<&str>) -> String {
    let mut params = params.as_bytes().to_vec();
    if !answers.is_empty() {
        let answers: Vec<String> =
            answers.iter().map(|(key, raw)| format!("{}:{raw}", scan::quote(key))).collect();
        let member = format!(r#""inputResponses":{{{}}}"#, answers.join(","));
        params = scan::with_last(&params, &member);
    }
    if let Some(state) = state {
        params = scan::with_last(&params, &format!(r#""requestState":{state}"#));
    }
    String::from_utf8(params).expect("the parts are text")
}

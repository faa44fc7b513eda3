//! Idempotency keys of calls: the header that carries one, and the answer that is kept for it.

use trunkline_gateway::{KEPT_ANSWER, KeptAnswer, KeyOutcome, WebRequest, idempotency_key};

use crate::api::answer::ApiResponse;
use crate::api::problem::{Kind, MEDIA_TYPE, Problem};
use crate::api::request::ApiRequest;
use crate::api::route::{Header, Parameter};
use crate::api::schema::{TextFormat, text};

const NAME: &str = "Idempotency-Key";

pub(super) const KEY: Parameter = Parameter::header(
    NAME,
    text(1, 255, TextFormat::Line),
    "Of your choice, another for each call: a call that is made again under its key within a day is not run again, and \
     gets the answer of the first.",
);

pub(super) const REPLAYED: Header = Header {
    name: "Idempotent-Replayed",
    doc: "`true`: the call has run before, and this is what it was answered then.",
};

/// Does the request carry a key?
pub(super) fn is_keyed(visit: &WebRequest) -> bool {
    visit.headers.get(NAME).is_some()
}

/// The key of the request, with or without the quotes of a structured header.
pub(super) fn key_of<'a>(asked: &ApiRequest<'a>) -> Result<Option<&'a str>, Problem> {
    let mut said = asked.visit.headers.all(NAME);
    let Some(value) = said.next() else { return Ok(None) };
    let text = std::str::from_utf8(value).ok().filter(|_| said.next().is_none());
    let text = text.map(|text| {
        let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        inner.filter(|inner| !inner.is_empty()).unwrap_or(text)
    });
    match text.and_then(idempotency_key) {
        Some(key) => Ok(Some(key)),
        None => {
            let why =
                format!("`{NAME}` must be one text of 1 to 255 bytes without control characters");
            Err(Problem::new(Kind::BadHeader, why))
        }
    }
}

/// What is kept of a call that has ended.
pub(super) fn outcome(answer: &Result<ApiResponse, Problem>, path: &str) -> KeyOutcome {
    let (status, body) = match answer {
        // Not even copied.
        Ok(answer) if answer.body().len() > KEPT_ANSWER => return KeyOutcome::NotKept,
        Ok(answer) => (answer.status, answer.body().to_vec()),
        // The server has done what it was to do, as far as anybody knows.
        Err(problem) if problem.text.may_have_run || problem.kind == Kind::BadAnswer => {
            (problem.status(), problem.clone().instance(path).json())
        }
        Err(_) => return KeyOutcome::NotRun,
    };
    KeyOutcome::Answered(KeptAnswer { code: status.into(), body })
}

/// The answer of then.
pub(super) fn again(kept: KeptAnswer) -> ApiResponse {
    let status = u16::try_from(kept.code).unwrap_or(200);
    let answer = match status {
        200 => ApiResponse::json_bytes(status, kept.body),
        _ => ApiResponse::text(status, MEDIA_TYPE, kept.body),
    };
    answer.header("Idempotent-Replayed", "true".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_have_run_is_kept_and_what_did_not_run_is_not() {
        let kept = |answer| match outcome(&answer, "/p") {
            KeyOutcome::Answered(answer) => Some(answer.code),
            _ => None,
        };
        assert_eq!(kept(Ok(ApiResponse::json_bytes(200, b"{}".to_vec()))), Some(200));
        let late = || Problem::new(Kind::Timeout, "late");
        assert_eq!(kept(Err(late())), None);
        assert_eq!(kept(Err(late().may_have_run(true))), Some(504));
        assert_eq!(kept(Err(Problem::new(Kind::BadAnswer, "odd"))), Some(502));
        assert_eq!(kept(Err(Problem::new(Kind::ServerUnavailable, "gone"))), None);
    }

    #[test]
    fn a_kept_answer_is_said_as_it_was() {
        let problem = || Problem::new(Kind::Timeout, "late").may_have_run(true);
        let KeyOutcome::Answered(kept) = outcome(&Err(problem()), "/p") else { panic!("not kept") };
        let again = again(kept);
        let first = ApiResponse::problem(&problem().instance("/p"));
        assert_eq!((again.status, &again.body), (first.status, &first.body));
        assert_eq!(again.headers.first(), first.headers.first());
    }
}

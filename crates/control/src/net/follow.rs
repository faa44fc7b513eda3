//! Whether a redirect is followed, and to where. Pure.

use trunkline_http::Url;

use crate::net::request::{Redirects, Request};
use crate::net::response::Response;

/// Most redirects of one request.
const MOST: usize = 3;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// This is the answer.
    Done,
    To(Url),
    Refused(&'static str),
}

/// `followed` redirects came before this answer.
pub(super) fn next(request: &Request, answer: &Response, followed: usize) -> Step {
    let moved = matches!(answer.status, 301 | 302 | 307 | 308);
    if request.redirects == Redirects::None || request.method != "GET" || !moved {
        return Step::Done;
    }
    if followed >= MOST {
        return Step::Refused("there are too many of them");
    }
    let Some(place) = answer.text("location") else {
        return Step::Refused("it does not say where to");
    };
    match request.url.join(place) {
        Err(_) => Step::Refused("the place is no URL"),
        // Headers may hold credentials for this origin, and another one may be of another kind.
        Ok(url) if url.origin() != request.url.origin() => Step::Refused("it leads elsewhere"),
        Ok(url) => Step::To(url),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_asked_for_is_followed() {
        let asked = Redirects::SameOrigin;
        let to = |url: &str| Step::To(Url::parse(url).unwrap());
        let elsewhere = || Step::Refused("it leads elsewhere");
        for (method, redirects, status, place, followed, step) in [
            ("GET", asked, 200, Some("/x"), 0, Step::Done),
            ("GET", asked, 301, Some("/x"), 0, to("http://h/x")),
            ("GET", asked, 302, Some("x?y"), 0, to("http://h/a/x?y")),
            ("GET", asked, 307, Some("http://H:80/x"), 2, to("http://h/x")),
            ("GET", asked, 308, Some("/x"), 3, Step::Refused("there are too many of them")),
            ("GET", asked, 303, Some("/x"), 0, Step::Done),
            ("GET", asked, 304, Some("/x"), 0, Step::Done),
            ("GET", Redirects::None, 307, Some("/x"), 0, Step::Done),
            ("POST", asked, 307, Some("/x"), 0, Step::Done),
            ("GET", asked, 307, None, 0, Step::Refused("it does not say where to")),
            ("GET", asked, 307, Some("file:///etc"), 0, Step::Refused("the place is no URL")),
            ("GET", asked, 307, Some("http://u:p@h/"), 0, Step::Refused("the place is no URL")),
            ("GET", asked, 307, Some("https://h/x"), 0, elsewhere()),
            ("GET", asked, 307, Some("http://h:81/x"), 0, elsewhere()),
            ("GET", asked, 307, Some("//other/x"), 0, elsewhere()),
        ] {
            let mut request = Request::new(method, Url::parse("http://h/a/b").unwrap(), None);
            request.redirects = redirects;
            let place = place.map(|place| ("Location".to_owned(), place.as_bytes().to_vec()));
            let headers = place.into_iter().collect();
            let answer = Response { status, headers, body: Vec::new() };
            assert_eq!(next(&request, &answer, followed), step, "{method} {status} {answer:?}");
        }
    }
}

//! Whether a redirect is followed, and to where. Pure.

use trunkline_http::Url;

use crate::net::request::{Redirects, Request};
use crate::net::response::Response;

/// Most redirects of one request.
const MOST: usize = 3;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Redirect {
    /// This is the answer.
    None,
    To(Url),
    Refused(&'static str),
}

/// `followed` redirects came before this answer.
pub(super) fn next(request: &Request, answer: &Response, followed: usize) -> Redirect {
    let moved = matches!(answer.status, 301 | 302 | 307 | 308);
    if request.redirects == Redirects::None || request.method != "GET" || !moved {
        return Redirect::None;
    }
    if followed >= MOST {
        return Redirect::Refused("there are too many of them");
    }
    let Some(place) = answer.text("location") else {
        return Redirect::Refused("it does not say where to");
    };
    match request.url.join(place) {
        Err(_) => Redirect::Refused("the place is no URL"),
        // Headers may hold credentials for this origin, and another one may be of another kind.
        Ok(url) if url.origin() != request.url.origin() => Redirect::Refused("it leads elsewhere"),
        Ok(url) => Redirect::To(url),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_asked_for_is_followed() {
        let asked = Redirects::SameOrigin;
        let to = |url: &str| Redirect::To(Url::parse(url).unwrap());
        let elsewhere = || Redirect::Refused("it leads elsewhere");
        for (method, redirects, status, place, followed, step) in [
            ("GET", asked, 200, Some("/x"), 0, Redirect::None),
            ("GET", asked, 301, Some("/x"), 0, to("http://h/x")),
            ("GET", asked, 302, Some("x?y"), 0, to("http://h/a/x?y")),
            ("GET", asked, 307, Some("http://H:80/x"), 2, to("http://h/x")),
            ("GET", asked, 308, Some("/x"), 3, Redirect::Refused("there are too many of them")),
            ("GET", asked, 303, Some("/x"), 0, Redirect::None),
            ("GET", asked, 304, Some("/x"), 0, Redirect::None),
            ("GET", Redirects::None, 307, Some("/x"), 0, Redirect::None),
            ("POST", asked, 307, Some("/x"), 0, Redirect::None),
            ("GET", asked, 307, None, 0, Redirect::Refused("it does not say where to")),
            ("GET", asked, 307, Some("file:///etc"), 0, Redirect::Refused("the place is no URL")),
            ("GET", asked, 307, Some("http://u:p@h/"), 0, Redirect::Refused("the place is no URL")),
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

//! Which route a request means. Pure; a path is cut at its slashes first and decoded once after.

use std::borrow::Cow;

use trunkline_catalog::config::letters_apart;
use trunkline_http::decode;

use super::problem::{Kind, Problem};
use super::request::PathParams;
use super::route::{Method, Route};
use super::routes;

#[derive(Debug)]
pub enum RouteMatch {
    Route {
        route: &'static Route,
        params: PathParams,
        /// Only the head of the answer is wanted.
        head: bool,
    },
    /// OPTIONS: what the path has, for the `Allow` header.
    Options(String),
    WrongMethod(String),
    NoSuchPath {
        /// A path that may have been meant.
        nearest: Option<&'static str>,
    },
}

impl RouteMatch {
    /// The problem of a request that matches no route, with the `Allow` header.
    pub fn problem(&self) -> Option<(Problem, Option<&str>)> {
        match self {
            Self::Route { .. } | Self::Options(_) => None,
            Self::WrongMethod(allowed) => {
                let detail = format!("this path has {allowed}");
                Some((Problem::new(Kind::WrongMethod, detail), Some(allowed)))
            }
            Self::NoSuchPath { nearest } => {
                let problem = Problem::new(Kind::NoSuchPath, "there is nothing at this path");
                let problem = match nearest {
                    Some(path) => problem.hint(format!("did you mean {path}?")),
                    None => problem,
                };
                Some((problem, None))
            }
        }
    }
}

/// `path` is the request's, without the query.
pub fn find(method: &str, path: &str) -> RouteMatch {
    let mut matching: Vec<_> =
        routes::all().filter_map(|route| Some((route, fit(route.path, path)?))).collect();
    // What is spelt out is meant: `/skills/suggestions` is not the skill of that id.
    let fewest = matching.iter().map(|(_, params)| params.0.len()).min();
    matching.retain(|(_, params)| Some(params.0.len()) == fewest);
    if matching.is_empty() {
        return RouteMatch::NoSuchPath { nearest: nearest(path) };
    }
    if method == "OPTIONS" {
        return RouteMatch::Options(allowed(&matching));
    }
    let wanted = if method == "HEAD" { Method::Get.as_str() } else { method };
    let way = matching.iter().find(|(route, _)| route.method.as_str() == wanted);
    match way {
        Some((route, params)) => {
            RouteMatch::Route { route, params: params.clone(), head: method == "HEAD" }
        }
        None => RouteMatch::WrongMethod(allowed(&matching)),
    }
}

/// The parameters, if the path has the template's form.
fn fit(template: &'static str, path: &str) -> Option<PathParams> {
    let mut params = PathParams::default();
    let mut segments = path.split('/');
    for part in template.split('/') {
        let segment = segments.next()?;
        match name_of(part) {
            Some(name) => params.0.push((name, value(segment)?.into_owned())),
            None if part == segment => {}
            None => return None,
        }
    }
    segments.next().is_none().then_some(params)
}

fn name_of(part: &'static str) -> Option<&'static str> {
    part.strip_prefix('{')?.strip_suffix('}')
}

/// An id is looked up and never becomes a part of a path, so a decoded `/` or `..` only finds
/// nothing; control characters would reach a log.
fn value(segment: &str) -> Option<Cow<'_, str>> {
    let step = matches!(segment, "" | "." | "..");
    let value = decode(segment).ok().filter(|_| !step)?;
    (!value.contains(char::is_control)).then_some(value)
}

fn allowed(matching: &[(&Route, PathParams)]) -> String {
    let mut methods = Vec::new();
    for (route, _) in matching {
        methods.push(route.method.as_str());
        if route.method == Method::Get {
            methods.push("HEAD");
        }
    }
    methods.push("OPTIONS");
    methods.join(", ")
}

/// The template that needs the fewest changes, a segment in the place of a name costing nothing.
fn nearest(path: &str) -> Option<&'static str> {
    // With more changes most segments become another word.
    const FARTHEST: usize = 3;
    // A comparison takes the product of both lengths.
    const LONGEST: usize = 200;
    let trimmed = path.trim_end_matches('/');
    if trimmed.len() > LONGEST {
        return None;
    }
    let rated = routes::all().map(|route| (apart(route.path, trimmed), route.path));
    let near = rated.filter(|(distance, _)| *distance <= FARTHEST);
    near.min_by_key(|(distance, _)| *distance).map(|(_, path)| path)
}

fn apart(template: &'static str, path: &str) -> usize {
    let (parts, segments) = (template.split('/'), path.split('/'));
    if parts.clone().count() != segments.clone().count() {
        // A segment too many or too few, most often the prefix.
        let short = template.strip_prefix(super::PREFIX).unwrap_or(template);
        return if short == path { 1 } else { usize::MAX };
    }
    let differ = |(part, segment): (&'static str, &str)| match name_of(part) {
        Some(_) => 0,
        None => {
            let (part, segment): (Vec<char>, Vec<char>) =
                (part.chars().collect(), segment.chars().flat_map(char::to_lowercase).collect());
            letters_apart(&part, &segment)
        }
    };
    parts.zip(segments).map(differ).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn told(method: &str, path: &str) -> String {
        match find(method, path) {
            RouteMatch::Route { route, params, head } => {
                let id = route.id;
                let head = if head { " head" } else { "" };
                let params = params.get("id").map(|id| format!(" {id}")).unwrap_or_default();
                format!("{id}{params}{head}")
            }
            RouteMatch::Options(allowed) => format!("options {allowed}"),
            RouteMatch::WrongMethod(allowed) => format!("wrong {allowed}"),
            RouteMatch::NoSuchPath { nearest } => format!("none {}", nearest.unwrap_or("-")),
        }
    }

    #[test]
    fn requests_find_their_routes() {
        const S: &str = "/api/v1/aggregator/servers";
        for (method, path, expected) in [
            ("GET", S.to_owned(), "listServers"),
            ("HEAD", S.to_owned(), "listServers head"),
            ("POST", S.to_owned(), "registerServer"),
            ("OPTIONS", S.to_owned(), "options POST, GET, HEAD, OPTIONS"),
            ("PUT", S.to_owned(), "wrong POST, GET, HEAD, OPTIONS"),
            ("get", S.to_owned(), "wrong POST, GET, HEAD, OPTIONS"),
            ("GET", format!("{S}/1"), "getServer 1"),
            ("PATCH", format!("{S}/1"), "patchServer 1"),
            ("DELETE", format!("{S}/1"), "deleteServer 1"),
            ("POST", format!("{S}/1/connect"), "connectServer 1"),
            ("HEAD", format!("{S}/1/connect"), "wrong POST, OPTIONS"),
            ("POST", format!("{S}/1/disconnect"), "disconnectServer 1"),
            ("GET", format!("{S}/1/health"), "getServerHealth 1"),
            ("GET", format!("{S}/1/tools"), "listServerTools 1"),
            ("GET", "/api/v1/tools".to_owned(), "listTools"),
            ("POST", "/api/v1/tools/call".to_owned(), "callTool"),
            ("GET", "/api/v1/tools/call".to_owned(), "wrong POST, OPTIONS"),
            ("DELETE", "/api/v1/keys/k".to_owned(), "revokeKey k"),
            ("GET", "/healthz".to_owned(), "getLiveness"),
            ("GET", "/metrics".to_owned(), "getMetrics"),
        ] {
            assert_eq!(told(method, &path), expected, "{method} {path}");
        }
    }

    #[test]
    fn what_is_not_there_is_a_problem_with_a_hint() {
        let found = find("PUT", "/api/v1/tools");
        let (problem, allow) = found.problem().unwrap();
        assert_eq!((problem.status(), allow), (405, Some("GET, HEAD, OPTIONS")));
        let found = find("GET", "/api/v1/tool");
        let (problem, allow) = found.problem().unwrap();
        assert_eq!((problem.status(), allow), (404, None));
        let body = String::from_utf8(problem.json()).unwrap();
        assert!(body.contains("did you mean /api/v1/tools?"), "{body}");
        assert!(find("GET", "/api/v1/tools").problem().is_none());
    }

    #[test]
    fn parameters_are_decoded_exactly_once_and_never_cut_anew() {
        const S: &str = "/api/v1/aggregator/servers";
        for (path, expected) in [
            (format!("{S}/a%20b"), "getServer a b"),
            (format!("{S}/a%2Fb"), "getServer a/b"),
            (format!("{S}/a%252Fb"), "getServer a%2Fb"),
            (format!("{S}/%2e%2e"), "getServer .."),
            (format!("{S}/a+b"), "getServer a+b"),
            (format!("{S}/%2e%2e/tools"), "listServerTools .."),
            (format!("{S}/1%2Ftools"), "getServer 1/tools"),
        ] {
            assert_eq!(told("GET", &path), expected, "{path}");
        }
    }

    #[test]
    fn paths_that_are_not_there() {
        const S: &str = "/api/v1/aggregator/servers";
        for (path, expected) in [
            ("/api/v1/aggregator/server".to_owned(), S),
            ("/api/v1/agregator/servers".to_owned(), S),
            ("/api/v1/Tools".to_owned(), "/api/v1/tools"),
            (format!("{S}/"), S),
            ("/tools".to_owned(), "/api/v1/tools"),
            (format!("{S}/.."), "/api/v1/aggregator/servers/{id}"),
            (format!("{S}/%00"), "/api/v1/aggregator/servers/{id}"),
            (format!("{S}/a%0d%0ab"), "/api/v1/aggregator/servers/{id}"),
            (format!("{S}/%zz"), "/api/v1/aggregator/servers/{id}"),
            (format!("{S}/%ff"), "/api/v1/aggregator/servers/{id}"),
            (format!("{S}//tools"), "/api/v1/aggregator/servers/{id}/tools"),
            ("/api/v1/%74ools".to_owned(), "/api/v1/tools"),
            ("/api/v1/tools/../tools".to_owned(), "-"),
            ("/something/else/entirely".to_owned(), "-"),
            ("/".to_owned(), "-"),
            (String::new(), "-"),
        ] {
            assert_eq!(told("GET", &path), format!("none {expected}"), "{path}");
        }
    }

    proptest! {
        #[test]
        fn any_id_comes_back_as_it_was(id in "[^\\p{Cc}]{1,40}") {
            let path = format!("/api/v1/aggregator/servers/{}/tools", trunkline_http::encode(&id));
            match find("GET", &path) {
                RouteMatch::Route { route, params, .. } => {
                    prop_assert_eq!(route.id, "listServerTools");
                    prop_assert_eq!(params.get("id"), Some(id.as_str()));
                }
                other => prop_assert!(false, "{:?}", other),
            }
        }

        #[test]
        fn no_path_is_too_odd_to_be_answered(method in ".{0,8}", path in "(/[a-z%.{}]{0,8}){0,6}|.*") {
            find(&method, &path);
        }
    }
}

//! The API to read: one page made of the table of routes, complete without a network or a script.

mod html;
mod routes;
mod schemas;

use std::fmt::Write as _;

use html::{escape, inline};

use super::openapi;
use super::problem::Kind;
use super::route::RouteTables;
use crate::access::Role;

/// What the page needs and nothing more.
pub const SECURITY_POLICY: &str = "default-src 'none'; style-src 'self'; base-uri 'none'; \
                                   form-action 'none'; frame-ancestors 'none'";

/// The body of `GET /api/v1/docs.css`.
pub const STYLE: &str = include_str!("style.css");

/// The body of `GET /api/v1/docs`.
pub fn page(tables: RouteTables) -> String {
    let mut out = String::with_capacity(128 * 1024);
    out.push_str(OPENING);
    out.push_str("<nav aria-label=\"Contents\"><ul>\n");
    routes::contents(tables, &mut out);
    out.push_str("<li><a href=\"#schemas\">Schemas</a></li>");
    out.push_str("<li><a href=\"#problems\">Problems</a></li></ul></nav>\n<main>\n");
    introduction(&mut out);
    routes::sections(tables, &mut out);
    schemas::section(&openapi::schemas(tables), &mut out);
    problems(&mut out);
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

const OPENING: &str = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
    <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
    <title>Trunkline API</title>\n<link rel=\"stylesheet\" href=\"/api/v1/docs.css\">\n</head>\n\
    <body>\n";

fn introduction(out: &mut String) {
    out.push_str("<h1>Trunkline API</h1>\n");
    for paragraph in [
        "One MCP endpoint in front of every MCP server you have, and this API to look after \
         them. The same as OpenAPI 3.1: `/api/v1/openapi.json`.",
        "**Tokens.** Every request but those for liveness and readiness carries \
         `Authorization: Bearer TOKEN`: the admin token that was shown at the first start, an API \
         key, or an access token (JWT) of the identity provider Trunkline was told about.",
        "**Pages.** Lists take `limit` (1 to 1000, 100 unless said otherwise) and give \
         `next_cursor`; it is the `cursor` of the next page, and null on the last.",
        "**Changes.** `ETag` and `If-None-Match` save what has not changed; `If-Match` keeps a \
         PATCH or DELETE from undoing somebody else's. Health does not count as a change there.",
        "**Mistakes.** Whatever goes wrong is a problem (RFC 9457) with a `hint` at what to do. A \
         request with mistakes gets all of them at once, each with its place.",
    ] {
        let _ = writeln!(out, "<p>{}</p>", inline(paragraph));
    }
    out.push_str("<table><caption>Roles: each may do what those above it may</caption>");
    out.push_str("<thead><tr><th>Role</th><th>May</th></tr></thead><tbody>\n");
    for (role, may) in [
        (Role::Viewer, "look at servers, tools, health, events and metrics"),
        (Role::Caller, "call tools"),
        (Role::Operator, "register, change, connect and remove servers, and read the audit log"),
        (Role::Admin, "everything: keys, and servers that are commands on this machine"),
    ] {
        let _ = writeln!(out, "<tr><td><code>{role}</code></td><td>{may}</td></tr>");
    }
    out.push_str("</tbody></table>\n");
}

fn problems(out: &mut String) {
    out.push_str("<section id=\"problems\">\n<h2>Problems</h2>\n<table><thead><tr>");
    out.push_str("<th>Type</th><th>Status</th><th>What it means</th><th>What to do</th>");
    out.push_str("</tr></thead><tbody>\n");
    for kind in Kind::ALL {
        let facts = kind.facts();
        let _ = writeln!(
            out,
            "<tr id=\"problem-{}\"><td><code>{}</code></td><td>{}</td><td>{}</td><td>{}</td></tr>",
            facts.name,
            escape(&kind.urn()),
            facts.status,
            inline(facts.title),
            inline(facts.hint),
        );
    }
    out.push_str("</tbody></table>\n</section>\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::routes as table;
    use std::collections::HashSet;

    fn attributes<'a>(page: &'a str, name: &str) -> Vec<&'a str> {
        let opening = format!(" {name}=\"");
        page.split(opening.as_str()).skip(1).filter_map(|rest| rest.split('"').next()).collect()
    }

    #[test]
    fn every_route_schema_and_problem_is_on_the_page() {
        let page = page(table::TABLES);
        for route in table::all() {
            assert!(page.contains(&format!("<section id=\"{}\"", route.id)));
            assert!(page.contains(&*escape(route.path)), "{}", route.path);
        }
        for kind in Kind::ALL {
            assert!(page.contains(&format!("id=\"problem-{}\"", kind.facts().name)));
        }
        for name in openapi::schemas(table::TABLES).keys() {
            assert!(page.contains(&format!("id=\"schema-{name}\"")), "{name}");
        }
    }

    #[test]
    fn links_lead_somewhere_and_places_have_one_name() {
        let page = page(table::TABLES);
        let ids = attributes(&page, "id");
        let unique: HashSet<_> = ids.iter().copied().collect();
        assert_eq!(unique.len(), ids.len());
        for link in attributes(&page, "href") {
            let inside = link.strip_prefix('#').is_some_and(|id| unique.contains(id));
            assert!(inside || link == "/api/v1/docs.css", "{link}");
        }
    }

    #[test]
    fn nothing_comes_from_elsewhere_and_nothing_runs() {
        let page = page(table::TABLES);
        for foreign in
            ["<script", "<style", " style=", " onclick", "javascript:", "<img", "<iframe"]
        {
            assert!(!page.contains(foreign), "{foreign}");
        }
        assert!(!STYLE.contains("url(") && !STYLE.contains("@import"));
    }

    #[test]
    fn every_element_is_closed() {
        let page = page(table::TABLES);
        let body = page.split_once("<body>").unwrap().1;
        let mut open = Vec::new();
        for tag in body.split('<').skip(1).filter_map(|rest| rest.split_once('>')).map(|(t, _)| t) {
            match tag.strip_prefix('/') {
                Some("body" | "html") => {}
                Some(name) => assert_eq!(open.pop(), Some(name), "{tag}"),
                None => open.push(tag.split(' ').next().unwrap()),
            }
        }
        assert!(open.is_empty(), "{open:?}");
    }

    #[test]
    fn the_page_is_the_same_each_time() {
        assert_eq!(page(table::TABLES), page(table::TABLES));
    }
}

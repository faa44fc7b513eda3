//! The part of the page about the routes.

use std::fmt::Write as _;

use super::html::{escape, inline};
use super::schemas;
use crate::api::problem::Kind;
use crate::api::route::{Access, Content, Method, Parameter, Response, Route, RouteTables};
use crate::api::schema::{example, json_schema};

/// Items of a list.
pub(super) fn contents(routes: RouteTables, out: &mut String) {
    let all: Vec<_> = routes.iter().copied().flatten().collect();
    for group in all.chunk_by(|one, other| one.tag == other.tag) {
        let tag = group.first().map(|route| route.tag).unwrap_or_default();
        let _ = write!(out, "<li>{}<ul>", escape(tag));
        for route in group {
            let (id, summary) = (route.id, escape(route.summary));
            let _ = write!(out, "<li><a href=\"#{id}\">{summary}</a></li>");
        }
        out.push_str("</ul></li>\n");
    }
}

pub(super) fn sections(routes: RouteTables, out: &mut String) {
    let mut tag = "";
    for route in routes.iter().copied().flatten() {
        if route.tag != tag {
            tag = route.tag;
            let _ = writeln!(out, "<h2>{}</h2>", escape(tag));
        }
        section(route, out);
    }
}

fn section(route: &Route, out: &mut String) {
    let (id, method) = (route.id, route.method.as_str());
    let _ = writeln!(out, "<section id=\"{id}\" class=\"route\">");
    let _ = writeln!(out, "<h3>{}</h3>", escape(route.summary));
    let path = escape(route.path);
    let _ = writeln!(
        out,
        "<p class=\"way\"><b class=\"{method}\">{method}</b> <code>{path}</code></p>"
    );
    let _ = writeln!(out, "<p>{}</p>", inline(route.description));
    match route.access {
        Access::Open => out.push_str("<p class=\"role\">Needs no token.</p>\n"),
        Access::Needs(action) => {
            let role = action.least_role();
            let _ = writeln!(out, "<p class=\"role\">Role: <code>{role}</code> or higher.</p>");
        }
    }
    parameters(route.parameters, out);
    if let Some(body) = &route.body {
        let schema = schemas::words(&json_schema(&body.schema));
        let _ = writeln!(out, "<h4>Body</h4>\n<p>{schema}</p>");
    }
    let _ = writeln!(out, "<pre><code>{}</code></pre>", escape(&curl(route)));
    out.push_str("<h4>Answers</h4>\n");
    for answer in route.responses {
        self::answer(answer, out);
    }
    problems(&route.problems(), out);
    out.push_str("</section>\n");
}

fn parameters(parameters: &[Parameter], out: &mut String) {
    if parameters.is_empty() {
        return;
    }
    out.push_str("<table><thead><tr><th>Parameter</th><th>In</th><th>Is</th><th>Means</th>");
    out.push_str("</tr></thead><tbody>\n");
    for parameter in parameters {
        let location = parameter.location.as_str();
        let _ = writeln!(
            out,
            "<tr><td><code>{}</code></td><td>{location}</td><td>{}</td><td>{}</td></tr>",
            escape(parameter.name),
            schemas::words(&json_schema(&parameter.schema)),
            inline(parameter.doc),
        );
    }
    out.push_str("</tbody></table>\n");
}

fn answer(answer: &Response, out: &mut String) {
    let (status, doc) = (answer.status, inline(answer.doc));
    match &answer.content {
        Content::Nothing => {
            let _ = writeln!(out, "<p><b>{status}</b> {doc}</p>");
        }
        Content::Text(media_type) => {
            let _ = writeln!(out, "<p><b>{status}</b> {doc} <code>{media_type}</code></p>");
        }
        Content::Json(schema) => {
            let words = schemas::words(&json_schema(schema));
            let _ = writeln!(out, "<p><b>{status}</b> {doc} {words}</p>");
            let example = format!("{:#}", answer.example(schema));
            let _ = writeln!(out, "<pre><code>{}</code></pre>", escape(&example));
        }
    }
}

fn problems(kinds: &[Kind], out: &mut String) {
    if kinds.is_empty() {
        return;
    }
    out.push_str("<p class=\"problems\">Problems:");
    for kind in kinds {
        let facts = kind.facts();
        let (name, status) = (facts.name, facts.status);
        let _ = write!(out, " <a href=\"#problem-{name}\">{status}&nbsp;{name}</a>");
    }
    out.push_str("</p>\n");
}

/// A request that can be pasted into a shell.
fn curl(route: &Route) -> String {
    let mut out = "curl".to_owned();
    if route.method != Method::Get {
        let _ = write!(out, " -X {}", route.method.as_str());
    }
    if let Access::Needs(_) = route.access {
        out.push_str(" -H \"Authorization: Bearer $TOKEN\"");
    }
    let path = route.path.replace("{id}", "$ID");
    let _ = write!(out, " \\\n  \"http://127.0.0.1:3006{path}\"");
    if let Some(body) = &route.body {
        let body = format!("{:#}", example(&body.schema)).replace('\'', r"'\''");
        let _ = write!(out, " \\\n  -H 'Content-Type: application/json' \\\n  -d '{body}'");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::routes;

    fn of(id: &str) -> String {
        curl(routes::all().find(|route| route.id == id).unwrap())
    }

    #[test]
    fn requests_can_be_pasted_into_a_shell() {
        assert_eq!(of("getLiveness"), "curl \\\n  \"http://127.0.0.1:3006/healthz\"");
        assert_eq!(
            of("deleteServer"),
            "curl -X DELETE -H \"Authorization: Bearer $TOKEN\" \\\n  \
             \"http://127.0.0.1:3006/api/v1/aggregator/servers/$ID\""
        );
        let register = of("registerServer");
        // in single quotes, so that the shell leaves the reference to Trunkline
        assert!(register.contains("-d '{\n") && register.contains("${GITHUB_TOKEN}"));
        assert_eq!(register.matches('\'').count(), 4, "{register}");
    }
}

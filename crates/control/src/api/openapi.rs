//! The table of routes as an `OpenAPI` 3.1 document. The same table gives the same bytes.

use serde_json::{Map, Value, json};

use super::problem::{self, Kind, Problem};
use super::route::{
    Access, Body, Content, Parameter, ParameterLocation, Response, Route, RouteTables,
};
use super::schema::{Schema, components, example, json_schema};
use super::view::PROBLEM;

const EVENTS: &str = "text/event-stream";

/// The body of `GET /api/v1/openapi.json`.
pub fn document(routes: RouteTables) -> Vec<u8> {
    value(routes).to_string().into_bytes()
}

pub(super) fn value(routes: RouteTables) -> Value {
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Trunkline",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "One MCP endpoint in front of every MCP server you have.",
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"bearer": []}],
        "tags": tags(routes),
        "paths": paths(routes),
        "components": {
            "securitySchemes": {
                "bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The admin token, an API key or an access token (JWT).",
                },
            },
            "schemas": schemas(routes),
        },
    })
}

/// Every named schema, by its name.
pub(super) fn schemas(routes: RouteTables) -> Map<String, Value> {
    let mut found = Map::new();
    for route in routes.iter().copied().flatten() {
        if let Some(body) = &route.body {
            components(&body.schema, &mut found);
        }
        for answer in route.responses {
            if let Content::Json(schema) = &answer.content {
                components(schema, &mut found);
            }
        }
    }
    components(&Schema::Object(&PROBLEM), &mut found);
    found.sort_keys();
    found
}

fn tags(routes: RouteTables) -> Vec<Value> {
    let mut names: Vec<&str> = Vec::new();
    for route in routes.iter().copied().flatten() {
        if !names.contains(&route.tag) {
            names.push(route.tag);
        }
    }
    names.into_iter().map(|name| json!({"name": name})).collect()
}

fn paths(routes: RouteTables) -> Map<String, Value> {
    let mut paths = Map::new();
    for route in routes.iter().copied().flatten() {
        let methods = paths.entry(route.path).or_insert_with(|| json!({}));
        if let Value::Object(methods) = methods {
            methods.insert(route.method.as_str().to_ascii_lowercase(), operation(route));
        }
    }
    paths
}

fn operation(route: &Route) -> Value {
    let mut members = Map::new();
    let mut put = |key: &str, value: Value| members.insert(key.to_owned(), value);
    put("operationId", route.id.into());
    put("tags", json!([route.tag]));
    put("summary", route.summary.into());
    put("description", route.description.into());
    match route.access {
        Access::Open => put("security", json!([])),
        Access::Needs(action) => put("x-role", action.least_role().to_string().into()),
    };
    if !route.parameters.is_empty() {
        put("parameters", route.parameters.iter().map(parameter).collect::<Vec<_>>().into());
    }
    if let Some(body) = &route.body {
        put("requestBody", request(body));
    }
    put("responses", responses(route).into());
    Value::Object(members)
}

fn parameter(parameter: &Parameter) -> Value {
    let location = parameter.location.as_str();
    json!({
        "name": parameter.name,
        "in": location,
        "required": parameter.location == ParameterLocation::Path,
        "description": parameter.doc,
        "schema": json_schema(&parameter.schema),
    })
}

fn request(body: &Body) -> Value {
    json!({
        "required": true,
        "content": {
            "application/json": {"schema": json_schema(&body.schema), "example": example(&body.schema)},
        },
    })
}

fn responses(route: &Route) -> Map<String, Value> {
    let mut found = Map::new();
    for answer in route.responses {
        found.insert(answer.status.to_string(), response(answer));
    }
    let problems = route.problems();
    for kinds in problems.chunk_by(|one, other| one.status() == other.status()) {
        if let Some(first) = kinds.first() {
            found.insert(first.status().to_string(), refusal(kinds));
        }
    }
    found
}

fn response(answer: &Response) -> Value {
    let mut members = Map::new();
    members.insert("description".to_owned(), answer.doc.into());
    let headers: Map<_, _> = answer
        .headers
        .iter()
        .map(|header| {
            let value = json!({"description": header.doc, "schema": {"type": "string"}});
            (header.name.to_owned(), value)
        })
        .collect();
    if !headers.is_empty() {
        members.insert("headers".to_owned(), headers.into());
    }
    let content = match &answer.content {
        Content::Nothing => return Value::Object(members),
        Content::Json(schema) => {
            json!({"application/json": {"schema": json_schema(schema), "example": answer.example(schema)}})
        }
        // What a schema says of a stream of events is taken for each of them.
        Content::Text(EVENTS) => json!({EVENTS: {}}),
        Content::Text(media_type) => json!({*media_type: {"schema": {"type": "string"}}}),
    };
    members.insert("content".to_owned(), content);
    Value::Object(members)
}

/// All kinds of problems that share a status.
fn refusal(kinds: &[Kind]) -> Value {
    let titles: Vec<_> = kinds.iter().map(|kind| format!("{}.", kind.facts().title)).collect();
    let examples: Map<_, _> = kinds
        .iter()
        .map(|kind| {
            let facts = kind.facts();
            let body = Problem::new(*kind, facts.title).json();
            let value: Value = serde_json::from_slice(&body).unwrap_or_default();
            (facts.name.to_owned(), json!({"value": value}))
        })
        .collect();
    let mut answer = json!({
        "description": titles.join(" "),
        "content": {
            problem::MEDIA_TYPE: {"schema": json_schema(&Schema::Object(&PROBLEM)), "examples": examples},
        },
    });
    let header = match kinds.first().map(|kind| kind.status()) {
        Some(401) => Some(("WWW-Authenticate", "How to get a token.")),
        Some(429) => Some(("Retry-After", "Seconds to wait.")),
        _ => None,
    };
    if let (Some((name, doc)), Value::Object(members)) = (header, &mut answer) {
        let headers = json!({name: {"description": doc, "schema": {"type": "string"}}});
        members.insert("headers".to_owned(), headers);
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::routes;
    use std::collections::HashSet;

    /// Every value in the document, with the way to it.
    fn walk(value: &Value, way: &str, visit: &mut impl FnMut(&str, &Value)) {
        visit(way, value);
        match value {
            Value::Object(members) => {
                for (key, value) in members {
                    walk(value, &format!("{way}/{key}"), visit);
                }
            }
            Value::Array(items) => {
                for (index, value) in items.iter().enumerate() {
                    walk(value, &format!("{way}/{index}"), visit);
                }
            }
            _ => {}
        }
    }

    fn operations(document: &Value) -> Vec<(String, Value)> {
        let paths = document["paths"].as_object().unwrap();
        let all = paths.iter().flat_map(|(path, methods)| {
            let methods = methods.as_object().unwrap();
            methods.values().map(|operation| (path.clone(), operation.clone()))
        });
        all.collect()
    }

    #[test]
    fn the_document_is_the_same_each_time() {
        assert_eq!(document(routes::TABLES), document(routes::TABLES));
        assert!(
            serde_json::from_slice::<Value>(&document(routes::TABLES)).unwrap()
                == value(routes::TABLES)
        );
    }

    #[test]
    fn every_reference_leads_somewhere_and_every_schema_is_used() {
        let document = value(routes::TABLES);
        let mut used = HashSet::new();
        walk(&document, "", &mut |way, value| {
            if let Some(reference) = value.get("$ref") {
                let target = reference.as_str().unwrap().strip_prefix('#').unwrap();
                assert!(document.pointer(target).is_some(), "{way}: {target}");
                used.insert(target.to_owned());
            }
        });
        for name in document["components"]["schemas"].as_object().unwrap().keys() {
            assert!(used.contains(&format!("/components/schemas/{name}")), "{name}");
        }
    }

    #[test]
    fn two_shapes_never_share_a_name() {
        fn collect(schema: &Schema, found: &mut Vec<(&'static str, String)>) {
            let mut one = Map::new();
            components(schema, &mut one);
            for (name, value) in one {
                let name: &'static str = Box::leak(name.into_boxed_str());
                found.push((name, value.to_string()));
            }
        }
        let mut found = Vec::new();
        for route in routes::all() {
            if let Some(body) = &route.body {
                collect(&body.schema, &mut found);
            }
            for answer in route.responses {
                if let Content::Json(schema) = &answer.content {
                    collect(schema, &mut found);
                }
            }
        }
        for (name, value) in &found {
            let same = found.iter().filter(|(other, _)| other == name);
            assert!(same.into_iter().all(|(_, other)| other == value), "{name}");
        }
    }

    #[test]
    fn operations_have_their_own_ids_and_declare_what_their_path_names() {
        let document = value(routes::TABLES);
        let operations = operations(&document);
        assert_eq!(operations.len(), routes::all().count());
        let ids: HashSet<_> =
            operations.iter().map(|(_, op)| op["operationId"].as_str().unwrap()).collect();
        assert_eq!(ids.len(), operations.len());
        for (path, operation) in &operations {
            let named: HashSet<_> = path
                .split('/')
                .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
                .collect();
            let empty = Vec::new();
            let parameters = operation["parameters"].as_array().unwrap_or(&empty);
            let declared: HashSet<_> = parameters
                .iter()
                .filter(|parameter| parameter["in"] == "path")
                .map(|parameter| parameter["name"].as_str().unwrap())
                .collect();
            assert_eq!(named, declared, "{path}");
            assert!(
                parameters.iter().all(|p| (p["in"] == "path") == p["required"].as_bool().unwrap())
            );
        }
    }

    #[test]
    fn every_status_of_a_route_is_listed() {
        let document = value(routes::TABLES);
        for route in routes::all() {
            let method = route.method.as_str().to_ascii_lowercase();
            let responses = &document["paths"][route.path][method.as_str()]["responses"];
            let listed: HashSet<_> = responses.as_object().unwrap().keys().cloned().collect();
            let answers = route.responses.iter().map(|answer| answer.status);
            let problems = route.problems().into_iter().map(Kind::status);
            let expected: HashSet<_> = answers.chain(problems).map(|s| s.to_string()).collect();
            assert_eq!(listed, expected, "{}", route.path);
            for kind in route.problems() {
                let status = kind.status().to_string();
                let content = &responses[status.as_str()]["content"][problem::MEDIA_TYPE];
                assert!(content["examples"].get(kind.facts().name).is_some(), "{kind:?}");
            }
        }
    }

    #[test]
    fn only_liveness_and_readiness_need_no_token() {
        let document = value(routes::TABLES);
        let open: Vec<_> = operations(&document)
            .into_iter()
            .filter(|(_, operation)| operation.get("security").is_some())
            .map(|(path, _)| path)
            .collect();
        assert_eq!(open, ["/healthz", "/readyz"]);
    }

    #[test]
    fn the_document_says_what_a_validator_needs() {
        let document = value(routes::TABLES);
        assert_eq!(document["openapi"], "3.1.0");
        for (path, operation) in operations(&document) {
            for (status, response) in operation["responses"].as_object().unwrap() {
                assert!(response["description"].is_string(), "{path} {status}");
            }
        }
        let register = &document["components"]["schemas"]["RegisterServer"];
        assert_eq!(
            register["discriminator"]["mapping"]["SSE"],
            "#/components/schemas/RegisterRemoteServer"
        );
        walk(&document, "", &mut |way, value| {
            assert!(!value.is_null() || way.contains("example"), "{way}");
        });
    }
}

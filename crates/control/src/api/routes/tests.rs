//! The table against itself: nothing is left open, every example is what it says it is.

use std::collections::HashSet;

use super::all;
use crate::access::{Action, Role, allows};
use crate::api::PREFIX;
use crate::api::route::{Access, Content, Method, ParameterLocation};
use crate::api::schema::{Schema, example};
use crate::api::view::tests::assert_fits;

#[test]
fn every_operation_and_every_way_is_there_once() {
    let ids: Vec<_> = all().map(|route| route.id).collect();
    let ways: Vec<_> = all().map(|route| (route.method, route.path)).collect();
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len());
    assert_eq!(ways.iter().collect::<HashSet<_>>().len(), ways.len());
}

/// Who may do what, route by route: a new route has to be written down here, too.
#[test]
fn every_route_has_its_least_role() {
    use Role::{Admin, Caller, Operator, Viewer};
    let least = |id: &str| match id {
        "getLiveness" | "getReadiness" => None,
        "getMe" | "getOpenApi" | "getDocs" | "getDocsStyle" | "getMetrics" | "getOverview"
        | "getServerDetails" | "streamEvents" | "listServers" | "getServer" | "getServerHealth"
        | "listServerTools" | "listTools" | "getTool" | "searchTools" | "listSkills"
        | "getToolSkills" | "listFindings" => Some(Viewer),
        "callTool" => Some(Caller),
        "registerServer"
        | "patchServer"
        | "deleteServer"
        | "connectServer"
        | "disconnectServer"
        | "loginServer"
        | "logoutServer"
        | "putSkill"
        | "deleteSkill"
        | "listSuggestions"
        | "approveSuggestion"
        | "rejectSuggestion"
        | "setToolSkills"
        | "listReviews"
        | "getWaitingDefinition"
        | "approveDefinitions"
        | "rejectDefinitions"
        | "clearToolSkills"
        | "classifyTool"
        | "listSecrets"
        | "listClients"
        | "getServerStderr"
        | "getSettings"
        | "listPolicies"
        | "getPolicy"
        | "testPolicies"
        | "listAudit" => Some(Operator),
        "createKey" | "listKeys" | "limitKey" | "revokeKey" => Some(Admin),
        "putSecret" | "deleteSecret" | "putPolicy" | "deletePolicy" => Some(Admin),
        id => panic!("say here who may {id}"),
    };
    for route in all() {
        for role in [Viewer, Caller, Operator, Admin] {
            let may = match route.access {
                Access::Open => true,
                Access::Needs(action) => allows(role, action),
            };
            let expected = least(route.id).is_none_or(|least| role >= least);
            assert_eq!(may, expected, "{} {role:?}", route.id);
        }
        let open = route.access == Access::Open;
        assert_eq!(open, least(route.id).is_none(), "{}", route.id);
    }
}

#[test]
fn nothing_that_changes_something_is_open_to_readers() {
    // A question with a body changes nothing.
    let asks = |id: &str| id == "searchTools";
    for route in all().filter(|it| it.method != Method::Get && !asks(it.id)) {
        let Access::Needs(action) = route.access else { panic!("{} is open", route.path) };
        assert!(!allows(Role::Viewer, action), "{}", route.path);
        assert_ne!(action, Action::RegisterStdio, "is wanted on top");
    }
}

#[test]
fn examples_have_their_shapes() {
    for route in all() {
        if let Some(body) = &route.body {
            assert_fits(&example(&body.schema).to_string(), &body.schema);
        }
        for answer in route.responses {
            if let Content::Json(schema) = &answer.content {
                assert_fits(&answer.example(schema).to_string(), schema);
            }
        }
    }
}

#[test]
fn parameters_are_those_of_the_path_and_can_be_read() {
    for route in all() {
        let in_path: Vec<_> = route
            .path
            .split('/')
            .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
            .collect();
        let declared: Vec<_> =
            route.parameters_in(ParameterLocation::Path).map(|known| known.name).collect();
        assert_eq!(declared, in_path, "{}", route.path);
        for parameter in route.parameters_in(ParameterLocation::Query) {
            let readable = matches!(
                parameter.schema,
                Schema::Text(_) | Schema::Integer { .. } | Schema::Bool | Schema::Enum(_)
            );
            assert!(readable, "{} {}", route.path, parameter.name);
        }
        assert!(route.path.starts_with(PREFIX) || route.path.matches('/').count() == 1);
    }
}

#[test]
fn answers_are_good_ones_and_problems_bad_ones() {
    for route in all() {
        assert!(!route.responses.is_empty(), "{}", route.path);
        let statuses: Vec<_> = route.responses.iter().map(|answer| answer.status).collect();
        let problems: Vec<_> = route.problems().iter().map(|kind| kind.status()).collect();
        assert!(statuses.iter().all(|status| !problems.contains(status)), "{}", route.path);
        assert!(problems.is_sorted(), "{problems:?}");
        assert!(!route.summary.is_empty() && !route.description.is_empty());
    }
}

/// The registration that 003 shows, sent to the reader behind the route.
#[test]
fn examples_of_requests_are_read() {
    use crate::api::input::{
        CallTool, Declared, NewKey, PatchServer, PutSecret, RegisterServer, TransportType,
    };
    let example = |id: &str| {
        let route = all().find(|route| route.id == id).unwrap();
        example(&route.body.unwrap().schema).to_string()
    };
    fn body(json: &str) -> Declared<'_> {
        Declared { content_type: Some(b"application/json"), bytes: json.as_bytes() }
    }
    RegisterServer::read(&body(&example("registerServer"))).unwrap();
    PatchServer::read(&body(&example("patchServer")), TransportType::Http).unwrap();
    PatchServer::read(&body(&example("patchServer")), TransportType::Stdio).unwrap();
    CallTool::read(&body(&example("callTool"))).unwrap();
    NewKey::read(&body(&example("createKey")), 0).unwrap();
    body(&example("putSecret")).read::<PutSecret>().unwrap();
}

//! Clients nobody here wrote, before the gateway: each one uses all of server-everything through
//! every front, over every upstream, and has to see what it sees without us.
//!
//! The clients are small programs in `tests/peers`, one process for all targets, which print a
//! report. Where the gateway's one connection makes a difference, the comparison says so.

mod encrypted;
mod expected;
mod fleet;
mod probe;
mod stage;

use std::path::Path;

use serde_json::{Map, Value};

use stage::{Era, Servers, Stage, node, play};
pub(crate) use stage::{installed, python};

#[test]
fn the_clients_see_this_without_a_gateway() {
    let servers = Servers::start();
    let targets = servers.targets();
    let report = play(&node(), "sdk1.mjs", &targets);
    assert_reported(&report, &targets, |_| expected::report(Era::Legacy));
}

#[test]
fn co_7_co_9_the_first_typescript_sdk_gets_everything_through_every_front() {
    everything_through_every_front(&node(), "sdk1.mjs", Era::Legacy);
}

#[test]
fn co_7_co_9_the_second_typescript_sdk_gets_everything_through_every_front() {
    everything_through_every_front(&node(), "sdk2.mjs", Era::Legacy);
}

#[test]
fn co_7_co_9_the_second_typescript_sdk_gets_everything_in_the_stateless_era() {
    everything_through_every_front(&node(), "sdk2.mjs", Era::Modern);
}

#[test]
fn co_7_co_9_the_python_sdk_gets_everything_through_every_front() {
    everything_through_every_front(&python(), "python_sdk.py", Era::Legacy);
}

#[test]
fn co_7_co_9_the_python_sdk_gets_everything_in_the_stateless_era() {
    everything_through_every_front(&python(), "python_sdk.py", Era::Modern);
}

#[test]
fn co_7_co_9_the_fastmcp_client_gets_everything_through_every_front() {
    everything_through_every_front(&python(), "fastmcp_client.py", Era::Legacy);
}

#[test]
fn co_7_co_9_the_fastmcp_client_gets_everything_in_the_stateless_era() {
    everything_through_every_front(&python(), "fastmcp_client.py", Era::Modern);
}

#[test]
fn co_10_the_inspector_gets_everything_through_every_front() {
    inspected_through_every_front(Era::Legacy);
}

#[test]
fn co_10_the_inspector_gets_everything_in_the_stateless_era() {
    inspected_through_every_front(Era::Modern);
}

#[track_caller]
fn inspected_through_every_front(era: Era) {
    let stage = Stage::set();
    let targets: Vec<Value> = stage.targets(era).into_iter().chain([stage::direct()]).collect();
    let report = play(&node(), "inspector.mjs", &targets);
    // server-everything has tools only for clients that can sample or be asked. The Inspector is
    // not one for all of them; otherwise what follows would say little.
    let direct = &report[name(&stage::direct())]["tools"];
    for listed in [&direct["cli"], &direct["mcpdo"]] {
        let has = |tool: &str| listed.as_array().is_some_and(|all| all.contains(&tool.into()));
        assert!(has("echo") && !has("trigger-sampling-request"), "{listed}");
    }
    assert_reported(&report, &targets, |target| {
        let is_direct = name(target) == name(&stage::direct());
        let mut expected = expected::inspected(if is_direct { Era::Legacy } else { era });
        // Behind stdio servers hear what this one client declares: it gets what it gets directly.
        if target["front"] == "stdio" {
            expected["tools"] = direct.clone();
            if era == Era::Modern && !is_direct {
                for way in ["cli", "mcpdo"] {
                    let listed = expected["tools"][way].as_array_mut().expect("a list");
                    listed.retain(|tool| *tool != "simulate-research-query");
                }
            }
        }
        if target["deep"] == false {
            let steps = expected.as_object_mut().expect("steps");
            steps.retain(|name, _| expected::SHALLOW.contains(&name.as_str()));
        }
        expected
    });
}

#[track_caller]
fn everything_through_every_front(program: &Path, script: &str, era: Era) {
    let stage = Stage::set();
    let targets = stage.targets(era);
    let report = play(program, script, &targets);
    assert_reported(&report, &targets, |target| {
        let mut expected = expected::report(era);
        // A server that serves several of our clients asks the first for its roots and keeps them.
        if target["front"] != "stdio" {
            expected["roots"]["asked"] = report[name(target)]["roots"]["asked"].clone();
        }
        if era == Era::Modern {
            // Over Streamable HTTP this server logs on a stream that belongs to no request.
            if name(target).ends_with("-before-http") {
                expected["logging"] = "nothing to hear".into();
            }
            // Python's clients have nothing to go by when they do not ask.
            if program == python() && target["asks"] == false {
                expected["initialize"]["capabilities"] = Value::Array(Vec::new());
                expected["initialize"]["instructions"] = false.into();
            }
        }
        expected
    });
}

fn name(target: &Value) -> &str {
    target["name"].as_str().expect("a target has a name")
}

/// Every step of every target, so that one run says all that is wrong.
#[track_caller]
fn assert_reported(report: &Value, targets: &[Value], expected: impl Fn(&Value) -> Value) {
    let mut wrong = Vec::new();
    for target in targets {
        let name = name(target);
        let (is, should) = (&report[name], expected(target));
        let steps = should.as_object().expect("steps").keys();
        let more = is.as_object().into_iter().flat_map(Map::keys);
        let mut steps: Vec<&String> = steps.chain(more).collect();
        steps.sort();
        steps.dedup();
        for step in steps.into_iter().filter(|step| is[*step] != should[*step]) {
            wrong.push(format!("{name}, {step}: {}\n  expected {}", is[step], should[step]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

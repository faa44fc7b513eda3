//! What a file says about limits, and what is wrong with it.

use super::{check, check_rows, read, server};
use crate::config::Rules::{Full, Simple};
use crate::config::{LimitRules, ServerSpec, ToolLimits};

fn spec(members: &str) -> ServerSpec {
    let text = server(&format!("\"command\": \"a\", {members}"));
    let config = read(&text, Full).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
    assert!(config.notes.is_empty() && config.warnings.is_empty(), "{}", config.warnings);
    config.servers.into_iter().next().expect("one server")
}

#[test]
fn limits_of_a_server_and_of_its_tools() {
    let limits = r#""limits": {"callsPerSecond": 0.5, "burst": 3, "openCalls": 8,
        "resultBytesPerMinute": 1e6, "tools": {"write_*": {"openCalls": 1}, "*": {"openCalls": 0}}}"#;
    let spec = spec(limits);
    let expected = LimitRules {
        calls_per_second: Some(500),
        burst: Some(3),
        open_calls: Some(8),
        result_bytes_per_minute: Some(1_000_000),
        ..LimitRules::default()
    };
    assert_eq!(spec.calls.limits, expected);
    let tool = |pattern: &str, most| ToolLimits {
        pattern: pattern.to_owned(),
        rules: LimitRules { open_calls: Some(most), ..LimitRules::default() },
    };
    assert_eq!(spec.tool_limits, [tool("write_*", 1), tool("*", 0)]);
}

#[test]
fn limits_of_callers_and_addresses() {
    let text = r#"{"mcpServers": {}, "limits": {
        "perCaller": {"callsPerSecond": 5, "sessions": 9}, "perAddress": {"openCalls": 7}}}"#;
    let limits = read(text, Full).unwrap().limits;
    let caller =
        LimitRules { calls_per_second: Some(5_000), sessions: Some(9), ..limits.per_caller };
    assert_eq!(limits.per_caller, caller);
    assert_eq!(limits.per_address.open_calls, Some(7));
    assert_eq!(read(r#"{"mcpServers": {}}"#, Full).unwrap().limits, Default::default());
}

#[test]
fn what_is_wrong_with_limits() {
    let table = r#"
        "limits": 5                              => limits 1:49 `limits` must be an object of limits, found a number | write {"callsPerSecond": 20, "openCalls": 8}
        "limits": {"callsPerSecond": "5/s"}      => limits.callsPerSecond 1:68 `callsPerSecond` must be a number, found a string
        "limits": {"callsPerSecond": -1}         => limits.callsPerSecond 1:68 `callsPerSecond` cannot be this number | write how many calls a second are taken, or 0 for no limit, from 0 to 1000000
        "limits": {"callsPerSecond": 0.0001}     => limits.callsPerSecond 1:68 `callsPerSecond` cannot be this number
        "limits": {"openCalls": 1.5}             => limits.openCalls 1:63 `openCalls` cannot be this number
        "limits": {"openCalls": 1, "openCalls": 2} => limits.openCalls 1:66 `openCalls` is given twice: here and at line 1, column 50
        "limits": {"tools": []}                  => limits.tools 1:59 `tools` must be an object of tools, found an array
        "limits": {"tools": {"t": 5}}            => limits.tools.t 1:65 `t` must be an object of limits, found a number
        "limits": {"tools": {"": {}}}            => limits.tools[""] 1:60 the name of a tool is empty
    "#;
    let file = |members: &str| server(&format!("\"command\": \"a\", {members}"));
    check_rows(&[Full], file, "invalid_schema $.mcpServers.s.", table);
    let table = r#"
        "limits": {"callPerSecond": 5}           => limits.callPerSecond 1:50 `callPerSecond` is not a known key and is ignored | did you mean `callsPerSecond`?
        "limits": {"rate": 5}                    => limits.rate 1:50 `rate` is not a known key and is ignored | did you mean `callsPerSecond`?
        "limits": {"burst": 5}                   => limits.burst 1:50 `burst` has no effect without `callsPerSecond`
        "limit": {"openCalls": 5}                => limit 1:39 `limit` is not a known key and is ignored | did you mean `limits`?
    "#;
    check_rows(&[Full], file, "warning $.mcpServers.s.", table);
    for (limits, expected) in [
        (r#"{"perKey": {}}"#, "did you mean `perCaller`?"),
        (r#"{"perCaller": {"sesions": 1}}"#, "did you mean `sessions`?"),
    ] {
        let config = read(&format!(r#"{{"mcpServers": {{}}, "limits": {limits}}}"#), Full).unwrap();
        let helps: Vec<_> = config.warnings.iter().filter_map(|it| it.help.as_deref()).collect();
        assert!(helps.contains(&expected), "{limits}: {helps:?}");
    }
    let several = file(
        r#""limits": {"openCalls": -1, "tools": {"t": {"burst": true, "callsPerSecond": 1}}}"#,
    );
    let Err(problems) = read(&several, Full) else { panic!("it is wrong") };
    assert_eq!(problems.iter().count(), 2, "every mistake at once: {problems}");
    check(
        &file(r#""limits": {}"#),
        Simple,
        &["invalid_schema $.mcpServers.s.limits 1:39 `limits` is not in the standard config"],
    );
}

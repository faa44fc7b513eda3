//! Conditions of any shape against Cedar's own answer, in any circumstances.

use proptest::prelude::*;
use proptest::sample::select;

use super::tests::{ADDRESSES, ALL, MORNING, by_cedar, read, tool, user};
use super::*;
use crate::read::PolicySource;

const NAMES: [&str; 7] = ["a", "b", "n", "tags", "to", "flag", "path"];

const CLAIMS: &str =
    r#"{"team":"blue","level":3,"tags":["x","y"],"flag":true,"deep":{"n":2,"set":[[1]]}}"#;

/// Something about caller, action and target, which is known before.
const KNOWN: [&str; 14] = [
    "principal.role == \"caller\"",
    "principal in Trunkline::Group::\"dev\"",
    "principal in [Trunkline::Group::\"hr\", Trunkline::Role::\"caller\"]",
    "principal.claims has team",
    "principal.claims.team like \"b*\"",
    "principal.claims.flag",
    "principal.claims.absent",
    "principal.claims.level > 2",
    "principal.claims.deep.set.contains([1])",
    "resource in Trunkline::Server::\"git\"",
    "resource.readOnlyHint",
    "resource.name == \"log\"",
    "action == Trunkline::Action::\"call\"",
    "(principal.claims.level + 1 == 4 || principal.claims.absent)",
];

const VALUES: [&str; 26] = [
    "0",
    "1",
    "2",
    "-1",
    "9223372036854775807",
    "\"\"",
    "\"x\"",
    "\"/etc/x\"",
    "\"A\\\"é\"",
    "\"1.5\"",
    "true",
    "[]",
    "[\"x\", \"y\"]",
    "[1, 2, 1]",
    "[true, 0, \"x\"]",
    "[[1], [2]]",
    "{x: 1}",
    "ip(\"10.0.0.0/8\")",
    "ip(\"10.1.2.3\")",
    "context.address",
    "context.now.hour",
    "context.now.epoch",
    "principal.claims.level",
    "principal.claims.tags",
    "principal.claims.deep.n",
    "resource.name",
];

fn argument() -> impl Strategy<Value = String> {
    let below = select(vec!["", "", "", ".x", ".x.y", ".n"]);
    (select(NAMES.to_vec()), below)
        .prop_map(|(name, below)| format!("context.arguments.{name}{below}"))
}

fn plain_value() -> impl Strategy<Value = String> {
    prop_oneof![select(VALUES.to_vec()).prop_map(str::to_owned), argument()]
}

fn value() -> impl Strategy<Value = String> {
    let arithmetic = select(vec!["+", "-", "*"]);
    prop_oneof![
        6 => plain_value(),
        1 => (plain_value(), arithmetic, plain_value()).prop_map(|(a, by, b)| format!("({a} {by} {b})")),
        1 => plain_value().prop_map(|a| format!("(-{a})")),
        1 => (argument(), plain_value(), plain_value())
            .prop_map(|(a, b, c)| format!("(if {a} == 1 then {b} else {c})")),
    ]
}

fn simple() -> impl Strategy<Value = String> {
    let comparison = select(vec!["==", "!=", "<", "<=", ">", ">="]);
    let method = select(vec!["contains", "containsAll", "containsAny"]);
    let pattern =
        select(vec!["", "*", "/etc/*", "*x", "x*", "*e*c*", "/*/*x", "\\*", "*é", "A*\\\"*"]);
    let path = select(vec!["a", "n", "to.x", "to.x.y", "tags.x", "path"]);
    let part = select(vec!["year", "month", "day", "hour", "minute", "weekday"]);
    let test = select(vec!["isLoopback", "isIpv4", "isIpv6", "isMulticast"]);
    let range =
        select(vec!["10.0.0.0/8", "127.0.0.0/7", "::1", "0.0.0.0/0", "10.1.2.3/32", "::/0"]);
    prop_oneof![
        2 => select(KNOWN.to_vec()).prop_map(str::to_owned),
        4 => (value(), comparison.clone(), value()).prop_map(|(a, is, b)| format!("({a} {is} {b})")),
        3 => (value(), method, value()).prop_map(|(a, has, b)| format!("{a}.{has}({b})")),
        1 => value().prop_map(|a| format!("{a}.isEmpty()")),
        3 => (value(), pattern).prop_map(|(a, pattern)| format!("({a} like \"{pattern}\")")),
        2 => path.prop_map(|path| format!("(context.arguments has {path})")),
        1 => argument().prop_map(|of| format!("({of} has x.y)")),
        1 => argument().prop_map(|of| format!("({of} has n)")),
        1 => argument(),
        2 => (part, comparison, 0..60i64).prop_map(|(part, is, n)| format!("(context.now.{part} {is} {n})")),
        1 => test.prop_map(|test| format!("context.address.{test}()")),
        2 => range.prop_map(|range| format!("context.address.isInRange(ip(\"{range}\"))")),
        1 => value().prop_map(|a| format!("{a}.isLoopback()")),
        1 => Just("(context has now)".to_owned()),
    ]
}

fn condition() -> impl Strategy<Value = String> {
    simple().prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} && {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} || {b})")),
            inner.clone().prop_map(|a| format!("!{a}")),
            (inner.clone(), inner.clone(), inner)
                .prop_map(|(a, b, c)| format!("(if {a} then {b} else {c})")),
        ]
    })
}

/// `None`: such a policy is not valid.
fn valid(text: String) -> Option<Policies> {
    Policies::read(&[PolicySource { name: "random".to_owned(), text }]).ok()
}

fn json() -> impl Strategy<Value = String> {
    let plain = select(vec![
        "null",
        "true",
        "false",
        "0",
        "1",
        "2",
        "-1",
        "2.0",
        "1.5",
        "1e3",
        "9223372036854775807",
        "18446744073709551615",
        "\"\"",
        "\"x\"",
        "\"/etc/x\"",
        "\"A\\\"\\u00e9\"",
        "\"1.5\"",
        "\"*\"",
        "[]",
        "[\"y\",\"x\",\"x\"]",
        "[1,2.0,null]",
        "[[1],[2,2]]",
        "[true,0,\"x\"]",
        "{}",
    ]);
    let member = (select(vec!["x", "y", "n"]), plain.clone());
    prop_oneof![
        4 => plain.prop_map(str::to_owned),
        1 => member.clone().prop_map(|(name, value)| format!("{{\"{name}\":{value}}}")),
        1 => member.prop_map(|(name, value)| format!("{{\"x\":{{\"{name}\":{value}}},\"n\":2}}")),
    ]
}

fn arguments() -> impl Strategy<Value = String> {
    let members =
        NAMES.map(|name| proptest::option::of(json()).prop_map(move |value| (name, value)));
    members.prop_map(|members| {
        let members = members.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let members: Vec<_> = members.map(|(name, value)| format!("\"{name}\":{value}")).collect();
        format!("{{{}}}", members.join(","))
    })
}

fn circumstances() -> impl Strategy<Value = Vec<(String, i64, usize)>> {
    prop::collection::vec((arguments(), 0..400i64, 0..ADDRESSES.len()), 8)
}

const HEAD: &str = "principal is Trunkline::User, action == Trunkline::Action::\"call\", resource is Trunkline::Tool";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_condition_says_what_cedar_says(
        when in condition(),
        unless in condition(),
        is_double in prop::bool::weighted(0.2),
        circumstances in circumstances(),
    ) {
        let unless = if is_double { format!("unless {{ {unless} }}") } else { String::new() };
        let caller = user("alice", &["dev"], CLAIMS);
        for text in [
            format!("permit({HEAD}) when {{ {when} }} {unless};"),
            format!("{ALL} forbid({HEAD}) when {{ {when} }} {unless};"),
        ] {
            let Some(policies) = valid(text.clone()) else { continue };
            let own = policies.for_caller(&caller);
            for server in ["git", "jira"] {
                let prepared = own.prepare(Action::Call, &tool(server, "log"));
                for (arguments, hours, address) in &circumstances {
                    let at = Circumstances {
                        arguments: arguments.as_bytes(),
                        now: MORNING + hours * 5_003,
                        address: ADDRESSES[*address].parse().unwrap(),
                    };
                    let expected = by_cedar(&policies, &caller, Action::Call, &tool(server, "log"), &at);
                    prop_assert_eq!(prepared.decide(&at).is_ok(), expected, "{} {:?}", text, (arguments, hours, address));
                    prop_assert_eq!(prepared.admits(&at).is_ok(), expected);
                }
            }
        }
    }
}

/// What people write is decided without Cedar at each call; the rest is not decided wrongly, but slowly.
#[test]
fn usual_conditions_are_decided_without_cedar() {
    for (condition, asks) in [
        ("context.arguments has path && context.arguments.path like \"/etc/*\"", false),
        (
            "context.arguments has to.name && [\"a\", \"b\"].contains(context.arguments.to.name)",
            false,
        ),
        (
            "context.arguments.tags.containsAny([\"a\", \"b\"]) || context.arguments.n + 1 > 3",
            false,
        ),
        ("context.now.hour < 8 || context.now.weekday > 5", false),
        ("!context.address.isInRange(ip(\"10.0.0.0/8\"))", false),
        ("resource.destructiveHint && context.now.hour < 8", false),
        (
            "principal in Trunkline::Group::\"dev\" && context.arguments.owner != principal.subject",
            false,
        ),
        ("principal.claims.team == context.arguments.team", false),
        ("principal.claims.tags.contains(context.arguments.tag)", false),
        // Decided before, whatever the circumstances.
        ("principal.claims.absent == context.arguments.team", false),
        ("resource.readOnlyHint && context.arguments == {}", true),
        ("context.arguments == {}", true),
        ("context.arguments.a == context.arguments.b", true),
        ("context.arguments.a == [[1]]", true),
        ("principal.claims.deep.set.contains(context.arguments.a)", true),
        (&["context.now.hour < 8"; 50].join(" && "), false),
        (&["context.now.hour < 8"; 70].join(" && "), true),
        (&["context.now.hour < 8"; 40].join(" } when { "), false),
        (&["context.now.hour < 8"; 200].join(" } when { "), true),
        (&["context.arguments has a"; 300].join(" } unless { "), true),
        (
            &format!("{} && context.now.hour < 8", ["principal.role == \"x\""; 50].join(" && ")),
            false,
        ),
        (
            "context.address.isInRange(ip(\"10.0.0.0/8\"), ip(\"::1\")) == context.arguments.internal",
            true,
        ),
    ] {
        let text = format!("{ALL} forbid({HEAD}) when {{ {condition} }};");
        let policies = read(&text).for_caller(&user("alice", &["dev"], CLAIMS));
        let prepared = policies.prepare(Action::Call, &tool("git", "log"));
        assert_eq!(prepared.asks_cedar(), asks, "{condition}");
    }
}

/// Cedar says that these are errors: what forbids does so then, and what permits does not.
#[test]
fn a_range_is_one() {
    let ranges = "context.address.isInRange(ip(\"10.0.0.0/8\"), ip(\"192.168.0.0/16\"))";
    for condition in [ranges, "context.address.isInRange()", "ip(\"10.1.1.1\").isInRange()"] {
        for said in ["true", "false"] {
            let condition = format!("{condition} == context.arguments.internal");
            let forbid = format!("{ALL} forbid({HEAD}) when {{ {condition} }};");
            let permit = format!("permit({HEAD}) when {{ {condition} }};");
            let arguments = format!("{{\"internal\":{said}}}");
            for address in ["10.1.2.3", "203.0.113.1"] {
                let at = Circumstances {
                    arguments: arguments.as_bytes(),
                    now: MORNING,
                    address: address.parse().unwrap(),
                };
                for text in [&forbid, &permit] {
                    let policies = read(text);
                    let caller = user("alice", &["dev"], CLAIMS);
                    let target = tool("git", "log");
                    let own = policies.for_caller(&caller).decide(Action::Call, &target, &at);
                    assert!(own.is_err(), "{text} {arguments} {address}");
                    assert!(!by_cedar(&policies, &caller, Action::Call, &target, &at));
                }
            }
        }
    }
}

/// Two readers of such arguments could see two calls: whoever looks at them forbids it.
#[test]
fn arguments_that_cannot_be_read_are_refused_where_they_are_looked_at() {
    let broken = [r#"{"a":1,"a":2}"#, r#"{"x":[{"y":1,"y":1}],"a":1}"#, "[1]", r#"{"a":1"#, "{}{}"];
    for (condition, is_refused) in [
        ("context.arguments has a && context.arguments.a == 3", true),
        ("context.arguments == {x: 7}", true),
        ("resource.destructiveHint && context.arguments has b", true),
        ("context.now.hour > 25", false),
        // It never comes to look at them.
        ("resource.readOnlyHint && context.arguments has b && context.arguments.b == 3", false),
    ] {
        let text = format!("{ALL} forbid({HEAD}) when {{ {condition} }};");
        let policies = read(&text).for_caller(&user("alice", &["dev"], CLAIMS));
        let prepared = policies.prepare(Action::Call, &tool("git", "log"));
        for arguments in broken {
            let address = ADDRESSES[0].parse().unwrap();
            let at = Circumstances { arguments: arguments.as_bytes(), now: MORNING, address };
            assert_eq!(prepared.decide(&at).is_err(), is_refused, "{condition} {arguments}");
            assert_eq!(prepared.admits(&at).is_err(), is_refused, "{condition} {arguments}");
        }
    }
}

//! Decisions as a table, and against Cedar's own.

use std::net::{IpAddr, Ipv4Addr};

use proptest::prelude::*;

use super::cases::CASES;
use super::*;
use crate::caller::CallerKind;
use crate::read::PolicySource;
use crate::target::Hints;

fn read(text: &str) -> Policies {
    let source = PolicySource { name: "test".to_owned(), text: text.to_owned() };
    Policies::read(&[source]).unwrap_or_else(|faults| panic!("{text}: {faults:?}"))
}

fn faults(text: &str) -> Vec<String> {
    let source = PolicySource { name: "a.cedar".to_owned(), text: text.to_owned() };
    let faults = Policies::read(&[source]).expect_err(text);
    faults.iter().map(ToString::to_string).collect()
}

fn user(subject: &str, groups: &[&str], claims: &str) -> PolicyCaller {
    let kind = CallerKind::User {
        subject: subject.to_owned(),
        issuer: "https://id.example.com".to_owned(),
        groups: groups.iter().map(|group| (*group).to_owned()).collect(),
        claims: claims.to_owned(),
    };
    PolicyCaller { kind, role: "caller".to_owned() }
}

fn key(id: &str, name: &str, role: &str) -> PolicyCaller {
    let kind = CallerKind::Key { id: id.to_owned(), name: name.to_owned() };
    PolicyCaller { kind, role: role.to_owned() }
}

fn tool<'a>(server: &'a str, name: &'a str) -> RequestTarget<'a> {
    RequestTarget::Tool { server, name, hints: Hints::default(), skills: &[] }
}

fn word(verdict: &CallerVerdict) -> &'static str {
    match verdict {
        CallerVerdict::Allowed(_) => "allowed",
        CallerVerdict::Refused(_) => "refused",
        CallerVerdict::Depends => "depends",
    }
}

const ALL: &str = "permit(principal, action, resource);";

fn caller(name: &str) -> PolicyCaller {
    let of = |kind, role: &str| PolicyCaller { kind, role: role.to_owned() };
    match name {
        "alice" => user("alice", &["dev", "ops"], r#"{"team":"blue","level":3}"#),
        "ci" => key("abcdefghij", "ci", "caller"),
        "admin" => of(CallerKind::Admin, "admin"),
        _ => of(CallerKind::Anonymous, "caller"),
    }
}

#[test]
fn who_may_do_what() {
    let reader = Hints::with_defaults(Some(true), None, None, None);
    let skills = ["files".to_owned()];
    for (text, who, action, what, expected) in CASES {
        let target = match *what {
            "skilled" => {
                RequestTarget::Tool { server: "git", name: "log", hints: reader, skills: &skills }
            }
            "page" => RequestTarget::Resource { server: "docs", uri: "docs://a" },
            "greet" => RequestTarget::Prompt { server: "docs", name: "greet" },
            "server" => RequestTarget::Server { server: "git" },
            _ => tool("git", "log"),
        };
        let verdict = read(text).for_caller(&caller(who)).verdict(*action, &target);
        assert_eq!(word(&verdict), *expected, "{text} {who} {action:?} {what}");
    }
}

/// 2026-11-18, a Wednesday, 07:30 UTC.
const MORNING: i64 = 1_794_987_000;

fn decide(
    text: &str,
    arguments: &str,
    now: i64,
    address: &str,
) -> Result<Vec<Arc<str>>, RefusalCause> {
    let circumstances =
        Circumstances { arguments: arguments.as_bytes(), now, address: address.parse().unwrap() };
    let policies = read(text).for_caller(&user("alice", &[], ""));
    policies.decide(Action::Call, &tool("files", "read"), &circumstances)
}

#[test]
fn the_circumstances_of_a_call_are_looked_at() {
    let but = |condition: &str| {
        format!(
            "{ALL} forbid(principal, action in Trunkline::Action::\"use\", resource) when {{ {condition} }};"
        )
    };
    for (condition, arguments, allowed) in [
        (r#"context.arguments.path like "/etc/*""#, r#"{"path":"/home/x"}"#, true),
        (r#"context.arguments.path like "/etc/*""#, r#"{"path":"/etc/passwd"}"#, false),
        // What its author did not think of does not get past a policy that forbids.
        (r#"context.arguments.path like "/etc/*""#, "{}", false),
        (r#"context.arguments.path like "/etc/*""#, "", false),
        (r#"context.arguments.path like "/etc/*""#, r#"{"path":["/etc/passwd"]}"#, false),
        (
            r#"context.arguments.path like "/etc/*""#,
            r#"{"path":"/home","path":"/etc/passwd"}"#,
            false,
        ),
        (r#"context.arguments.path like "/etc/*""#, r#"{"path":null}"#, false),
        (r#"context.arguments has path && context.arguments.path like "/etc/*""#, "{}", true),
        (r#"context.arguments.n > 10"#, r#"{"n":10}"#, true),
        (r#"context.arguments.n > 10"#, r#"{"n":1.1e1}"#, false),
        (r#"context.arguments.n > 10"#, r#"{"n":1.5}"#, false),
        (r#"context.arguments.tags.contains("secret")"#, r#"{"tags":["a","b"]}"#, true),
        (r#"context.arguments.tags.contains("secret")"#, r#"{"tags":["a","secret"]}"#, false),
        (r#"context.arguments.to.name == "x""#, r#"{"to":{"name":"y"}}"#, true),
        ("context.now.hour < 8", "", false),
        ("context.now.hour < 7", "", true),
        ("context.now.weekday == 3", "", false),
        ("context.now.weekday > 5", "", true),
        ("context.now.year == 2026 && context.now.month == 11 && context.now.day == 18", "", false),
        ("context.now.minute == 30 && context.now.epoch == 1794987000", "", false),
        (r#"context.address.isInRange(ip("10.0.0.0/8"))"#, "", false),
        (r#"!context.address.isInRange(ip("10.0.0.0/8"))"#, "", true),
    ] {
        let decided = decide(&but(condition), arguments, MORNING, "10.1.2.3");
        assert_eq!(decided.is_ok(), allowed, "{condition} {arguments}: {decided:?}");
    }
    let lan = but(r#"!context.address.isInRange(ip("10.0.0.0/8"))"#);
    assert!(
        decide(&lan, "", MORNING, "::ffff:10.1.2.3").is_ok(),
        "an IPv4 address in IPv6 clothes"
    );
    assert!(decide(&lan, "", MORNING, "192.0.2.1").is_err());
}

#[test]
fn a_refusal_names_its_policies_and_a_reason_and_no_others() {
    let text = format!(
        "@id(\"all\") {ALL}\n@id(\"quiet\") forbid(principal, action == Trunkline::Action::\"call\", resource);\n\
         @id(\"told\") @reason(\"ask the owners\") forbid(principal, action, resource in Trunkline::Server::\"files\");\n\
         @id(\"other\") forbid(principal, action, resource in Trunkline::Server::\"git\");"
    );
    let refusal = decide(&text, "", 0, "10.0.0.1").unwrap_err();
    assert_eq!(refusal.policies, ["quiet".into(), "told".into()]);
    assert_eq!(refusal.reason.as_deref(), Some("ask the owners"));
    let nothing =
        decide("permit(principal is Trunkline::Admin, action, resource);", "", 0, "10.0.0.1");
    assert_eq!(nothing.unwrap_err(), RefusalCause { policies: vec![], reason: None });
    let by = decide(ALL, "", 0, "10.0.0.1").unwrap();
    assert_eq!(by, ["test#1".into()]);
}

#[test]
fn who_is_forbidden_everything_is_shut_out() {
    let alice = user("alice", &["left"], r#"{"active":false}"#);
    for (text, expected) in [
        (ALL, false),
        ("", false),
        ("forbid(principal == Trunkline::User::\"alice\", action, resource);", true),
        ("forbid(principal in Trunkline::Group::\"left\", action, resource);", true),
        ("forbid(principal == Trunkline::User::\"bob\", action, resource);", false),
        (
            "forbid(principal is Trunkline::User, action, resource) when { principal.claims.active == false };",
            true,
        ),
        (
            "forbid(principal is Trunkline::User, action, resource) when { principal.claims.active == true };",
            false,
        ),
        ("forbid(principal, action == Trunkline::Action::\"call\", resource);", false),
        ("forbid(principal, action, resource is Trunkline::Tool);", false),
        ("forbid(principal, action, resource) when { resource is Trunkline::Server };", false),
        (
            "forbid(principal, action in Trunkline::Action::\"use\", resource) when { context.now.hour < 25 };",
            false,
        ),
    ] {
        let policies = read(&format!("{ALL} {text}")).for_caller(&alice);
        assert_eq!(policies.shut_out().is_some(), expected, "{text}");
    }
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    for (text, expected) in [
        ("permit(principal, action, resource)", "a.cedar:1: unexpected end of input"),
        ("\n\npermit(principal, action, resorce);", "a.cedar:3: "),
        (
            "\npermit(principal, action == Trunkline::Action::\"cal\", resource);",
            "a.cedar:2: unrecognized action `Trunkline::Action::\"cal\"`",
        ),
        (
            "permit(principal is Trunkline::Usr, action, resource);",
            "a.cedar:1: unrecognized entity type `Trunkline::Usr`",
        ),
        ("permit(principal, action, resource)\nwhen { resource.nme == \"x\" };", "a.cedar:2: "),
        (
            "permit(principal, action, resource);\npermit(principal, action in Trunkline::Action::\"use\", resource)\nwhen { context.arguments.x == 1 && context.hour == 1 };",
            "a.cedar:2: ",
        ),
        ("permit(principal, action, resource) when { context.now.hour > 1 };", "a.cedar:1: "),
        ("permit(principal == ?principal, action, resource);", "a.cedar:1: templates"),
        (
            "@id(\"x\") permit(principal, action, resource);\n@id(\"x\") permit(principal, action, resource);",
            "a.cedar:2: the id `x` is taken by a policy of a.cedar",
        ),
    ] {
        let faults = faults(text);
        assert!(faults.iter().any(|fault| fault.starts_with(expected)), "{text}: {faults:?}");
    }
}

#[test]
fn actions_that_nothing_permits_are_known() {
    let named =
        |text: &str| read(text).never_permitted().into_iter().map(Action::name).collect::<Vec<_>>();
    assert_eq!(named(""), ["list", "call", "read", "get"]);
    assert_eq!(named(ALL), Vec::<&str>::new());
    assert_eq!(
        named("permit(principal, action in Trunkline::Action::\"use\", resource);"),
        ["list"]
    );
    assert_eq!(named("forbid(principal, action, resource);"), ["list", "call", "read", "get"]);
}

/// What Cedar itself decides, given every policy at once. Errors are none of these policies' to make.
fn by_cedar(
    policies: &Policies,
    caller: &PolicyCaller,
    action: Action,
    target: &RequestTarget<'_>,
    at: &Circumstances<'_>,
) -> bool {
    let set =
        PolicySet::from_policies(policies.all.iter().map(|policy| policy.policy.clone())).unwrap();
    let entities = caller_entities(caller).unwrap().add_entities(target.entities(), None).unwrap();
    let context = if action == Action::List { Context::empty() } else { context(at).unwrap() };
    let request = request(&caller.uid(), action, &target.uid(), context).unwrap();
    let response = Authorizer::new().is_authorized(&request, &set, &entities);
    assert_eq!(response.diagnostics().errors().count(), 0);
    response.decision() == Decision::Allow
}

const PRINCIPALS: [&str; 6] = [
    "principal",
    "principal == Trunkline::User::\"alice\"",
    "principal in Trunkline::Group::\"dev\"",
    "principal is Trunkline::User",
    "principal is Trunkline::User in Trunkline::Role::\"caller\"",
    "principal is Trunkline::Key",
];
const ACTIONS: [&str; 4] = [
    "action",
    "action == Trunkline::Action::\"call\"",
    "action in Trunkline::Action::\"use\"",
    "action in [Trunkline::Action::\"list\", Trunkline::Action::\"read\"]",
];
const RESOURCES: [&str; 6] = [
    "resource",
    "resource == Trunkline::Tool::\"git.log\"",
    "resource in Trunkline::Server::\"git\"",
    "resource is Trunkline::Tool",
    "resource is Trunkline::Tool in Trunkline::Server::\"git\"",
    "resource in Trunkline::Skill::\"s\"",
];
const CONDITIONS: [&str; 5] = [
    "",
    "when { principal is Trunkline::User && principal.role == \"caller\" }",
    "when { resource is Trunkline::Tool && resource.readOnlyHint }",
    "unless { resource in Trunkline::Server::\"git\" }",
    "when { action != Trunkline::Action::\"list\" && context.now.hour < 8 }",
];

proptest! {
    #[test]
    fn decisions_are_those_of_cedar(
        policies in prop::collection::vec((any::<bool>(), 0..6usize, 0..4usize, 0..6usize, 0..5usize), 0..6),
        is_user in any::<bool>(),
        read_only in any::<bool>(),
        skilled in any::<bool>(),
        early in any::<bool>(),
    ) {
        let texts = policies.iter().map(|(permits, who, action, what, when)| {
            let effect = if *permits { "permit" } else { "forbid" };
            format!("{effect}({}, {}, {}) {};", PRINCIPALS[*who], ACTIONS[*action], RESOURCES[*what], CONDITIONS[*when])
        });
        let text = texts.collect::<Vec<_>>().join("\n");
        let source = PolicySource { name: "random".to_owned(), text };
        // Some combinations can never hold, which the validator may refuse.
        if let Ok(policies) = Policies::read(&[source]) {
            let caller = if is_user { user("alice", &["dev"], "") } else { key("k", "k", "caller") };
            let skills = if skilled { vec!["s".to_owned()] } else { vec![] };
            let hints = Hints::with_defaults(Some(read_only), None, None, None);
            let now = if early { MORNING } else { MORNING + 3_600 };
            let at = Circumstances { arguments: b"", now, address: IpAddr::V4(Ipv4Addr::LOCALHOST) };
            let own = policies.for_caller(&caller);
            for server in ["git", "jira"] {
                let tool = RequestTarget::Tool { server, name: "log", hints, skills: &skills };
                for (action, target) in [
                    (Action::Call, tool),
                    (Action::List, tool),
                    (Action::List, RequestTarget::Server { server }),
                    (Action::Read, RequestTarget::Resource { server, uri: "x:" }),
                    (Action::Get, RequestTarget::Prompt { server, name: "p" }),
                ] {
                    let expected = by_cedar(&policies, &caller, action, &target, &at);
                    prop_assert_eq!(own.decide(action, &target, &at).is_ok(), expected);
                    match own.verdict(action, &target) {
                        CallerVerdict::Depends => prop_assert!(action != Action::List),
                        verdict => prop_assert_eq!(word(&verdict) == "allowed", expected),
                    }
                }
            }
        }
    }
}

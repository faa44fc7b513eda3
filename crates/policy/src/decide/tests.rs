//! Decisions as a table, and against Cedar's own.

use cedar_policy::{Authorizer, Decision, Request, RestrictedExpression};
use proptest::prelude::*;

use super::cases::CASES;
use super::*;
use crate::caller::CallerKind;
use crate::read::PolicySource;
use crate::target::Hints;

pub(super) fn read(text: &str) -> Policies {
    let source = PolicySource { name: "test".to_owned(), text: text.to_owned() };
    Policies::read(&[source]).unwrap_or_else(|faults| panic!("{text}: {faults:?}"))
}

fn faults(text: &str) -> Vec<String> {
    let source = PolicySource { name: "a.cedar".to_owned(), text: text.to_owned() };
    let faults = Policies::read(&[source]).expect_err(text);
    faults.iter().map(ToString::to_string).collect()
}

pub(super) fn user(subject: &str, groups: &[&str], claims: &str) -> PolicyCaller {
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

pub(super) fn tool<'a>(server: &'a str, name: &'a str) -> RequestTarget<'a> {
    RequestTarget::Tool { server, name, hints: Hints::default(), skills: &[] }
}

fn word(verdict: &CallerVerdict) -> &'static str {
    match verdict {
        CallerVerdict::Allowed(_) => "allowed",
        CallerVerdict::Refused(_) => "refused",
        CallerVerdict::Depends => "depends",
    }
}

pub(super) const ALL: &str = "permit(principal, action, resource);";

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
pub(super) const MORNING: i64 = 1_794_987_000;

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
fn who_has_claims_that_cannot_be_read_is_shut_out() {
    let deep = format!(r#"{{"x":{}{}}}"#, "[".repeat(128), "]".repeat(128));
    for claims in [
        r#"{"nickname":"\ud800"}"#,
        r#"{"address":{"a":1,"a":2}}"#,
        r#"{"x":1e999}"#,
        deep.as_str(),
    ] {
        let mallory = user("mallory", &[], claims);
        let shut_out = |policies: &Policies| policies.for_caller(&mallory).shut_out().is_some();
        assert!(shut_out(&read(ALL)), "{claims}");
        assert!(!shut_out(&Policies::none()), "without policies: {claims}");
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
fn names_may_be_written_with_escapes() {
    for condition in [
        r#"principal["cl\u{61}ims"].team == "blue""#,
        r#"principal is Trunkline::User && principal["cl\x61ims"]["t\u{65}am"] like "b*""#,
    ] {
        let text = format!(
            "permit(principal is Trunkline::User, action, resource) when {{ {condition} }};"
        );
        let verdict =
            read(&text).for_caller(&caller("alice")).verdict(Action::Call, &tool("s", "t"));
        assert_eq!(word(&verdict), "allowed", "{condition}");
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

/// What Cedar itself decides, given every policy and all circumstances at once. Like here, whoever forbids something and
/// cannot be evaluated forbids it.
pub(super) fn by_cedar(
    policies: &Policies,
    caller: &PolicyCaller,
    action: Action,
    target: &RequestTarget<'_>,
    at: &Circumstances<'_>,
) -> bool {
    let set =
        PolicySet::from_policies(policies.all.iter().map(|policy| policy.policy.clone())).unwrap();
    let entities = caller_entities(caller).unwrap().add_entities(target.entities(), None).unwrap();
    let context = if action == Action::List { Context::empty() } else { all_circumstances(at) };
    let (who, what) = (caller.uid(), target.uid());
    let request = Request::new(who, action.uid(), what, context, None).unwrap();
    let response = Authorizer::new().is_authorized(&request, &set, &entities);
    let mut errors = response.diagnostics().errors();
    let is_forbidden = errors.any(|error| {
        let cedar_policy::AuthorizationError::PolicyEvaluationError(error) = error;
        set.policy(error.policy_id()).unwrap().effect() == cedar_policy::Effect::Forbid
    });
    response.decision() == Decision::Allow && !is_forbidden
}

/// Whatever policies look at.
fn all_circumstances(at: &Circumstances<'_>) -> Context {
    let moment = jiff::tz::TimeZone::UTC
        .to_datetime(jiff::Timestamp::from_second(at.now).expect("a moment"));
    let now = [
        ("epoch", at.now),
        ("year", moment.year().into()),
        ("month", moment.month().into()),
        ("day", moment.day().into()),
        ("hour", moment.hour().into()),
        ("minute", moment.minute().into()),
        ("weekday", moment.weekday().to_monday_one_offset().into()),
    ];
    let now = now.map(|(name, part)| (name.to_owned(), RestrictedExpression::new_long(part)));
    let arguments = match at.arguments {
        b"" => crate::value::empty_record(),
        arguments => crate::value::record(arguments).unwrap(),
    };
    let address = RestrictedExpression::new_ip(at.address.to_canonical().to_string());
    Context::from_pairs([
        ("arguments".to_owned(), arguments),
        ("now".to_owned(), RestrictedExpression::new_record(now).unwrap()),
        ("address".to_owned(), address),
    ])
    .unwrap()
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
const CONDITIONS: [&str; 13] = [
    "",
    "when { principal is Trunkline::User && principal.role == \"caller\" }",
    "when { resource is Trunkline::Tool && resource.readOnlyHint }",
    "unless { resource in Trunkline::Server::\"git\" }",
    "when { action != Trunkline::Action::\"list\" && context.now.hour < 8 }",
    "when { action != Trunkline::Action::\"list\" && context.now.minute > 10 && context.address.isLoopback() }",
    "unless { action == Trunkline::Action::\"list\" || context.address.isInRange(ip(\"10.0.0.0/8\")) }",
    "when { action != Trunkline::Action::\"list\" && context.arguments.path like \"/etc/*\" }",
    "when { action != Trunkline::Action::\"list\" && context.arguments has path && context.arguments.path == \"/srv\" }",
    "when { action != Trunkline::Action::\"list\" && context.arguments has to && context.arguments.to.n > 2 && context.now.hour < 8 }",
    "unless { action == Trunkline::Action::\"list\" || context.arguments.tags.contains(\"x\") }",
    "when { action != Trunkline::Action::\"list\" && context.arguments == {} }",
    "when { action != Trunkline::Action::\"list\" && [1, 2].contains(context.arguments.n) && context.address.isIpv4() }",
];
const ARGUMENTS: [&str; 7] = [
    "",
    "{}",
    r#"{"path":"/etc/passwd","n":1}"#,
    r#"{"n":3,"path":"/srv","tags":["x",{"y":[]}]}"#,
    r#"{"to":{"n":3},"tags":["y"],"path":7}"#,
    r#"{"to":{"n":"3"},"path":null,"other":{"path":"/etc/x"}}"#,
    r#"{"to":[],"tags":"x","n":2.0}"#,
];
pub(super) const ADDRESSES: [&str; 4] = ["127.0.0.1", "10.1.2.3", "::1", "::ffff:10.1.2.3"];

/// A forbid holds for every spelling; a permit for the one it names, and not for what leads elsewhere.
#[test]
fn a_uri_is_decided_about_in_every_form_it_may_be_understood_in() {
    let forbid = format!(
        "{ALL} @id(\"etc\") forbid(principal, action, resource) when {{ resource is Trunkline::Resource && resource.uri like \"file:///etc/*\" }};"
    );
    let under = "permit(principal, action, resource is Trunkline::Resource) when { resource.uri like \"file:///srv/*\" };";
    let exact =
        "permit(principal, action, resource == Trunkline::Resource::\"s.note://My%20Note\");";
    let named = format!(
        "{ALL} forbid(principal, action, resource == Trunkline::Resource::\"s.note://MyNote\");"
    );
    let timed = format!(
        "{ALL} forbid(principal, action == Trunkline::Action::\"read\", resource is Trunkline::Resource) when {{ resource.uri like \"file:///etc/*\" && context.now.hour > 25 }};"
    );
    for (policies, uri, expected) in [
        (forbid.as_str(), "file:///srv/a%20b", "allowed"),
        (&forbid, "FILE:///etc/passwd", "refused"),
        (&forbid, "file:///etc/../etc/passwd", "refused"),
        (&forbid, "file:///%65tc/passwd", "refused"),
        (&forbid, "file:///e\ttc/passwd", "refused"),
        (&forbid, " file:///etc/passwd", "refused"),
        (&forbid, "file://%6cocalhost/etc/passwd", "refused"),
        (under, "file:///srv/a\tb", "allowed"),
        (under, "file:///srv/.\t./etc/passwd", "refused"),
        (under, "file:///s\trv/a", "refused"),
        (under, "file:///srv/a%20b", "allowed"),
        (under, "file:///srv/%61", "allowed"),
        (under, "file:///srv/../etc/passwd", "refused"),
        (under, "file:///srv/..%2fetc/passwd", "refused"),
        (exact, "note://My%20Note", "allowed"),
        (exact, "note://my%20note", "refused"),
        (&named, "note://%4dyNote", "refused"),
        (&named, "note://@MyNote:", "refused"),
        (&named, "NOTE://MyNote\n", "refused"),
        (&named, "note://Other", "allowed"),
        (&timed, "file:///x/../etc/passwd", "depends"),
    ] {
        let target = RequestTarget::Resource { server: "s", uri };
        let own = read(policies).for_caller(&caller("nobody"));
        assert_eq!(word(&own.verdict(Action::Read, &target)), expected, "{policies} {uri}");
    }
}

proptest! {
    #[test]
    fn decisions_are_those_of_cedar(
        policies in prop::collection::vec((any::<bool>(), 0..6usize, 0..4usize, 0..6usize, 0..13usize), 0..6),
        is_user in any::<bool>(),
        read_only in any::<bool>(),
        skilled in any::<bool>(),
        moments in prop::collection::vec((0..4i64, 0..7usize, 0..4usize), 1..9),
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
            let at = |(hour, arguments, address): &(i64, usize, usize)| Circumstances {
                arguments: ARGUMENTS[*arguments].as_bytes(),
                now: MORNING + hour * 1_800,
                address: ADDRESSES[*address].parse().unwrap(),
            };
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
                    // One after the other: what is remembered of one call must not decide another.
                    let prepared = own.prepare(action, &target);
                    for at in moments.iter().map(at) {
                        let expected = by_cedar(&policies, &caller, action, &target, &at);
                        prop_assert_eq!(prepared.decide(&at).is_ok(), expected);
                        prop_assert_eq!(prepared.decide(&at), own.decide(action, &target, &at));
                        match own.verdict(action, &target) {
                            CallerVerdict::Depends => prop_assert!(action != Action::List),
                            verdict => prop_assert_eq!(word(&verdict) == "allowed", expected),
                        }
                    }
                }
            }
        }
    }
}

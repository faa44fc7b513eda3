//! `POST /policy-test`: its route, who would do what, and what is decided about it. A resource in one file.

use std::net::{IpAddr, Ipv4Addr};

use trunkline_gateway::ToolAnnotations;
use trunkline_policy::{Action as PolicyAction, Hints};

use super::policies::{EffectView, LONGEST};
use crate::access::{Action, Role};
use crate::api::answer::ApiResponse;
use crate::api::fault::{Pointer, RequestFault};
use crate::api::input::Declared;
use crate::api::problem::{Kind, Problem};
use crate::api::request::ApiRequest;
use crate::api::route::{Access, Handler, Method, Response, Route};
use crate::api::schema::{
    Case, Described as _, EnumValues, Moment, ObjectText, Schema, TextFormat, answer,
    list as list_of, request, text,
};
use crate::clock;
use crate::policies::{DecisionStep, NamedCaller, NamedTarget};
use crate::services::{PolicyDraft, PolicyTrial, TriedDecision};

const TAG: &str = "Policies";

pub(in crate::api) const ROUTES: &[Route] = &[Route::new(
    "testPolicies",
    (Method::Post, "/api/v1/policy-test"),
    Access::Needs(Action::ReadPolicies),
    Handler::Async(|asked| Box::pin(test(asked))),
)
.about(
    TAG,
    "Ask who may do what",
    "Decides one request without making it: role, tools of the key and policies, in the order of a real request, \
     and says what decided. With `text`, a draft is tried in the place of the stored policy `id`; nothing is stored.",
)
.body(TestPolicies::SCHEMA)
.answers(&[Response::json(200, "What would be decided.", DecisionView::SCHEMA)])
.fails(&[Kind::StoreUnavailable])
.counted()
.not_audited()];

async fn test(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    asked.no_query()?;
    let trial = TestPolicies::read(&asked.body())?;
    let tried = asked.plane.policy_service().try_out(&trial).await?;
    Ok(ApiResponse::json(200, &DecisionView { tried: &tried }.json()))
}

const ACTIONS: Schema =
    Schema::Enum(&EnumValues { known: &["list", "call", "read", "get"], case: Case::Sensitive });
const STEPS: Schema =
    Schema::Enum(&EnumValues { known: &DecisionStep::NAMES, case: Case::Sensitive });
const PATTERNS: Schema =
    Schema::List { of: &text(1, 512, TextFormat::ToolPattern), least: 0, most: 1000 };
const SKILLS: Schema = Schema::List { of: &text(1, 64, TextFormat::SkillId), least: 0, most: 100 };

request! {
    /// Who would do what.
    #[derive(Debug)]
    struct TestPolicies as "PolicyTest" {
        /// `key:ID`, `user:SUBJECT`, `anonymous` or `admin`.
        #[example = "user:alice"] pub principal: String => text(1, 1000, TextFormat::Line),
        #[example = "call"] pub action: String => ACTIONS,
        /// `tool:SERVER.NAME`, `server:SERVER`, `resource:SERVER.URI` or `prompt:SERVER.NAME`; a dot in a server's
        /// name is written `\\.`.
        #[example = "tool:files.read"] pub resource: String => text(1, 4000, TextFormat::Line),
        /// Of the call or the prompt.
        #[example = {"path": "/etc/passwd"}]
        pub arguments?: ObjectText => Schema::Nullable(&Schema::AnyObject),
        /// Of a user's token. Its groups are in the claim that `--groups-claim` names.
        #[example = {"groups": ["dev"]}]
        pub claims?: ObjectText => Schema::Nullable(&Schema::AnyObject),
        /// Unless said otherwise, that of the key; `caller` of everybody else but the admin.
        #[example = "caller"] pub role?: Role => Schema::Nullable(&Role::SCHEMA),
        /// The key's name. That of the key, unless said otherwise.
        #[example = "ci"]
        pub name?: String => Schema::Nullable(&text(1, 100, TextFormat::Line)),
        /// Patterns of the key's tools. Those of the key, unless said otherwise; all for others.
        #[example = ["files.*"]] pub tools?: Vec<String> => Schema::Nullable(&PATTERNS),
        /// What the tool says about itself. What its server says, unless said otherwise.
        #[example = {"readOnlyHint": true}]
        pub annotations?: ObjectText => Schema::Nullable(&Schema::AnyObject),
        /// Those of the tool, unless said otherwise.
        #[example = ["file_management"]]
        pub skills?: Vec<String> => Schema::Nullable(&SKILLS),
        /// Where the caller is. 127.0.0.1, unless said otherwise.
        #[example = "127.0.0.1"]
        pub address?: String => Schema::Nullable(&text(2, 45, TextFormat::Line)),
        /// When. Now, unless said otherwise.
        pub now?: i64 as Moment => Schema::Nullable(&text(20, 40, TextFormat::Time)),
        /// A draft in Cedar, tried together with the other policies.
        #[example = "permit(principal, action, resource);"]
        pub text?: String => Schema::Nullable(&text(1, LONGEST, TextFormat::Prose)),
        /// The stored policy whose place the draft takes. None, unless said otherwise.
        #[example = "storage"]
        pub id?: String => Schema::Nullable(&text(1, 100, TextFormat::PolicyId)),
    }
}

impl TestPolicies {
    fn read(body: &Declared<'_>) -> Result<PolicyTrial, Problem> {
        let read = body.read_and_check(|test: &Self, faults| {
            // What is empty is the schema's to refuse.
            let at = |name: &str| Pointer::root().key(name);
            let caller = test.principal.parse::<NamedCaller>();
            if let (Err(why), false) = (caller, test.principal.is_empty()) {
                faults.push(RequestFault::at(&at("principal"), format!("cannot be read: {why}")));
            }
            match (test.resource.parse::<NamedTarget>(), PolicyAction::named(&test.action)) {
                (Err(why), _) if !test.resource.is_empty() => {
                    let what = format!("cannot be read: {why}");
                    faults.push(RequestFault::at(&at("resource"), what));
                }
                (Ok(target), Some(action)) => {
                    let wrong = target.mismatch(action);
                    faults.extend(wrong.map(|why| {
                        RequestFault::at(&at("action"), format!("does not fit the resource: {why}"))
                    }));
                }
                _ => {}
            }
            if test.address.as_ref().is_some_and(|it| it.parse::<IpAddr>().is_err()) {
                faults.push(RequestFault::at(&at("address"), "is not an IP address"));
            }
            if test.id.is_some() && test.text.is_none() {
                let fault = RequestFault::at(&at("id"), "names a place, and there is no draft");
                faults.push(fault.hint("send the draft as `text`, or leave `id` out"));
            }
        })?;
        Ok(read.trial())
    }

    /// Of a request that was checked; what it falls back on is never used.
    fn trial(self) -> PolicyTrial {
        let id = self.id;
        let object = |given: Option<ObjectText>| given.map(|it| it.0).unwrap_or_default();
        PolicyTrial {
            caller: self.principal.parse().unwrap_or(NamedCaller::Anonymous),
            name: self.name,
            role: self.role,
            tools: self.tools,
            claims: object(self.claims),
            action: PolicyAction::named(&self.action).unwrap_or(PolicyAction::List),
            target: self.resource.parse().unwrap_or(NamedTarget::Server(String::new())),
            hints: self.annotations.map(|ObjectText(said)| hints(&said)),
            skills: self.skills,
            arguments: object(self.arguments),
            now: self.now.unwrap_or_else(clock::now).div_euclid(1_000),
            address: self
                .address
                .and_then(|it| it.parse().ok())
                .unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)),
            draft: self.text.map(|text| PolicyDraft { id, text }),
        }
    }
}

fn hints(annotations: &str) -> Hints {
    let said = ToolAnnotations::of(format!(r#"{{"annotations":{annotations}}}"#).as_bytes());
    Hints::with_defaults(said.read_only, said.destructive, said.idempotent, said.open_world)
}

answer! {
    /// What would be decided, and why.
    struct DecisionView<'a> as "PolicyDecision" {
        #[hidden] pub tried: &'a TriedDecision,
        #[example = false] allowed: bool = |it| it.tried.explanation.is_allowed,
        /// What decided: `key` (it is revoked or has expired), `role`, `patterns` (the tools of the key),
        /// `no-policies` (role and patterns allow it, and there are none), `list` (policies do not let the caller list
        /// it, so it does not exist for the caller), or `policies`.
        #[example = "policies"]
        decided_by: &str = |it| it.tried.explanation.step.name() => STEPS,
        /// Those that made the decision; none where no policy permits it.
        policies: Vec<Value> = |it| it.tried.policies.iter().map(|info| EffectView { info }.json()).collect::<Vec<_>>()
            => list_of(&EffectView::SCHEMA),
        /// The first `@reason` among those that refuse it: the caller is told.
        #[example = "ask the storage team"]
        reason: Option<&str> = |it| it.tried.explanation.reason.as_deref(),
        /// One sentence.
        #[example = "policy \"no-deletes\" forbids the caller to call"]
        explanation: &str = |it| it.tried.explanation.words,
        /// What you may not have meant; null: nothing.
        note: Option<&str> = |it| it.tried.note.as_deref(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<PolicyTrial, Problem> {
        let content_type = Some(&b"application/json"[..]);
        TestPolicies::read(&Declared { content_type, bytes: json.as_bytes() })
    }

    #[test]
    fn a_test_is_read() {
        let trial = read(
            r#"{"principal":"user:a","action":"call","resource":"tool:s.t","arguments":{"n":1.50,"l":[{"x":null},"\u0041"]},
                "annotations":{"readOnlyHint":true},"now":"2026-11-18T10:00:00Z","address":"::1","text":"x"}"#,
        )
        .unwrap();
        assert_eq!(trial.arguments, r#"{"n":1.50,"l":[{"x":null},"A"]}"#);
        assert_eq!((trial.now, trial.claims.as_str()), (1_794_996_000, ""));
        assert!(trial.hints.is_some_and(|it| it.read_only && !it.destructive));
        assert_eq!(trial.draft, Some(PolicyDraft { id: None, text: "x".to_owned() }));
    }

    #[test]
    fn bad_tests_are_refused() {
        let with = |more: &str| {
            format!(r#"{{"principal":"admin","action":"call","resource":"tool:s.t"{more}}}"#)
        };
        for (json, expected) in [
            ("{}".to_owned(), "3 mistakes; the first: /principal is missing"),
            (with(r#","id":"x""#), "/id names a place"),
            (with(r#","address":"here""#), "/address is not an IP address"),
            (with(r#","arguments":[]"#), "/arguments must be an object"),
            (with(r#","arguments":{"a":1,"a":2}"#), "/arguments/a appears twice"),
            (with(r#","tools":["x"]"#), "/tools/0 cannot be read"),
            (with(r#","role":"root""#), "/role must be one of"),
            (with("").replace("admin", "alice"), "/principal cannot be read: a principal is"),
            (with("").replace("s.t", "s"), "/resource cannot be read: a resource is"),
            (with("").replace("call", "read"), "/action does not fit the resource"),
            (with("").replace("call", "use"), "/action must be one of list, call, read, get"),
        ] {
            let problem = read(&json).expect_err(&json);
            assert!(problem.detail().contains(expected), "{json}: {}", problem.detail());
        }
    }
}

//! `trunkline policy`: reads policies, tests one decision, prints the schema.

use serde_json::{Value, json};
use trunkline_control::access::Grants;
use trunkline_control::clock;
use trunkline_control::policies::{CallerDetails, Explanation, GroupsClaim, Question, explain};
use trunkline_gateway::ToolAnnotations;
use trunkline_policy::{Action, Circumstances, Hints, Policies, PolicySource, SCHEMA};

use crate::cli::{PolicyArgs, PolicyCommand, TestPolicies};
use crate::policy_files::{PolicyFiles, lines};
use crate::{FAILED, OK, USAGE, console};

pub(crate) fn run(asked: &PolicyArgs) -> u8 {
    match &asked.command {
        PolicyCommand::Schema => console::out_bytes(SCHEMA.as_bytes()),
        PolicyCommand::Check(check) => match read(&PolicyFiles::at(&check.paths)) {
            Ok(policies) => console::out_bytes(summary(&policies).as_bytes()),
            Err(what) => console::problem(&format!("{what}\n"), USAGE),
        },
        PolicyCommand::Test(test) => match tested(test) {
            Ok(explanation) => tell(test, &explanation),
            Err(what) => console::problem(&format!("error: {what}\n"), USAGE),
        },
    }
}

fn read(files: &PolicyFiles) -> Result<Policies, String> {
    let sources: Vec<PolicySource> = files.read()?;
    if sources.is_empty() {
        return Ok(Policies::none());
    }
    Policies::read(&sources).map_err(|faults| lines(&faults))
}

/// How many there are, and what none of them permits.
fn summary(policies: &Policies) -> String {
    let count = policies.infos().count();
    let contextual = policies.infos().filter(|info| info.uses_context).count();
    let never: Vec<_> = policies.never_permitted().into_iter().map(Action::name).collect();
    let mut text = format!(
        "{count} policies are right; {contextual} look at the circumstances of each call\n"
    );
    if !never.is_empty() {
        text.push_str(&format!(
            "nobody may {}: no policy permits it, and what no policy permits is refused\n",
            never.join(", ")
        ));
    }
    text
}

fn tested(test: &TestPolicies) -> Result<Explanation, String> {
    let policies = read(&PolicyFiles::at(&test.policies))?;
    is_object("--claims", &test.claims)?;
    let details =
        CallerDetails { name: &test.name, role: test.role.as_deref(), claims: &test.claims };
    let caller = test.principal.caller(details, &GroupsClaim(test.groups_claim.clone()));
    let grants = match test.tools.as_slice() {
        [] => Grants::All,
        patterns => Grants::read(patterns.iter().map(String::as_str)).map_err(|(at, why)| {
            format!("--tools: {}: {why}", patterns.get(at).map_or("", |it| it))
        })?,
    };
    is_object("--annotations", &test.annotations)?;
    let said = format!(r#"{{"annotations":{}}}"#, test.annotations);
    let said = ToolAnnotations::of(said.as_bytes());
    let hints =
        Hints::with_defaults(said.read_only, said.destructive, said.idempotent, said.open_world);
    if !test.arguments.is_empty() {
        is_object("--arguments", &test.arguments)?;
    }
    let action = Action::named(&test.action).ok_or("unknown action")?;
    if let Some(why) = test.resource.mismatch(action) {
        return Err(why);
    }
    let target = test.resource.target(hints, &test.skill);
    let now = test.now.unwrap_or_else(|| clock::now().div_euclid(1_000));
    let circumstances =
        Circumstances { arguments: test.arguments.as_bytes(), now, address: test.address };
    let question = Question { caller: &caller, grants: &grants, action, target, circumstances };
    Ok(explain(&policies, &question))
}

fn is_object(flag: &str, text: &str) -> Result<(), String> {
    let value: Value = serde_json::from_str(text).map_err(|why| format!("{flag}: {why}"))?;
    value.is_object().then_some(()).ok_or_else(|| format!("{flag} has to be a JSON object"))
}

fn tell(test: &TestPolicies, explanation: &Explanation) -> u8 {
    let Explanation { is_allowed, step, policies, reason, words } = explanation;
    let text = match test.json {
        true => {
            let ids: Vec<&str> = policies.iter().map(|id| &**id).collect();
            let shown = json!({
                "allowed": is_allowed, "decided_by": step.name(), "policies": ids,
                "reason": reason.as_deref(), "explanation": words,
            });
            format!("{shown}\n")
        }
        false => {
            let word = if *is_allowed { "allowed" } else { "refused" };
            let reason = reason.as_ref().map(|reason| format!("; its reason: {reason}"));
            format!("{word}: {words}{}\n", reason.unwrap_or_default())
        }
    };
    match console::out_bytes(text.as_bytes()) {
        OK if *is_allowed => OK,
        OK => FAILED,
        code => code,
    }
}

//! Whether policies let a request go on. What they do not show does not exist; what they show and do not let use
//! is refused with their ids.

use std::sync::Arc;

use trunkline_catalog::Route as Owner;
use trunkline_wire::decode;

use crate::error::CallError;
use crate::policy::{PolicyRefusal, PolicyTarget, PolicyVerdict, RequestFacts};
use crate::pump::FlushSet;
use crate::registry::{CallDecision, CallRule};
use crate::session::request::SessionRequest;

/// May the caller call this tool with these arguments? True: it may; else it was refused. `arguments`: `None` are those
/// of the request.
pub(super) fn admit_call(
    asked: &SessionRequest<'_>,
    owner: &Owner,
    arguments: Option<&[u8]>,
    touched: &mut FlushSet,
) -> bool {
    // Nearly always there is no rule: without policies, and for tools that they let everybody call.
    match asked.snapshot.call_rule(owner) {
        None => true,
        Some(rule) => admit_ruled(asked, (owner, rule), arguments, touched),
    }
}

#[cold]
fn admit_ruled(
    asked: &SessionRequest<'_>,
    (owner, rule): (&Owner, &CallRule),
    arguments: Option<&[u8]>,
    touched: &mut FlushSet,
) -> bool {
    let decided = match rule {
        CallRule::Refused(refusal) => Err(Arc::clone(refusal)),
        CallRule::Depends(decision) => {
            let own = || asked.message.text(asked.message.params.arguments);
            decide_call(asked, (owner, decision), arguments.unwrap_or_else(own))
        }
    };
    finish(asked, decided, touched)
}

fn decide_call(
    asked: &SessionRequest<'_>,
    (owner, decision): (&Owner, &CallDecision),
    arguments: &[u8],
) -> Result<(), Arc<PolicyRefusal>> {
    let Some(policies) = asked.snapshot.policies() else { return Ok(()) };
    let request = RequestFacts { arguments, address: asked.sink.peer() };
    let names = || {
        let server = asked.snapshot.server(owner.server).map(|server| server.key.name());
        (server, decode(&owner.name_token).unwrap_or_default())
    };
    let prepare = || {
        let (server, tool) = names();
        policies.prepare(server.as_deref().unwrap_or_default(), &tool)
    };
    decision.decide(&request, prepare).unwrap_or_else(|| {
        let (server, tool) = names();
        let server = server.as_deref().unwrap_or_default();
        policies.decide(PolicyTarget::Tool { server, tool: &tool }, &request)
    })
}

/// May the caller read this resource or get this prompt? `Missing`: it does not exist for it.
pub(super) enum ForwardAdmission {
    Yes,
    No,
    Missing,
}

/// Decides about a resource (by `uri`) or else a prompt of the server at `place`, by the server's own name.
pub(super) fn admit_other(
    asked: &SessionRequest<'_>,
    (place, token): (usize, &[u8]),
    is_prompt: bool,
    touched: &mut FlushSet,
) -> ForwardAdmission {
    let Some(policies) = asked.snapshot.policies() else { return ForwardAdmission::Yes };
    let server = asked.snapshot.server(place).map(|server| server.key.name());
    let server = server.as_deref().unwrap_or_default();
    let name = decode(token).unwrap_or_default();
    let what = match is_prompt {
        true => PolicyTarget::Prompt { server, prompt: &name },
        false => PolicyTarget::Resource { server, uri: &name },
    };
    if !policies.shows(what) {
        return ForwardAdmission::Missing;
    }
    let decided = match policies.verdict(what) {
        PolicyVerdict::Allowed => return ForwardAdmission::Yes,
        PolicyVerdict::Refused(refusal) => Err(refusal),
        PolicyVerdict::Depends => {
            decide(asked, what, asked.message.text(asked.message.params.arguments))
        }
    };
    if finish(asked, decided, touched) { ForwardAdmission::Yes } else { ForwardAdmission::No }
}

/// May the caller use methods of this server that Trunkline does not know?
pub(super) fn admit_unknown(
    asked: &SessionRequest<'_>,
    place: usize,
    touched: &mut FlushSet,
) -> bool {
    let Some(policies) = asked.snapshot.policies() else { return true };
    let server = asked.snapshot.server(place).map(|server| server.key.name());
    let what = PolicyTarget::Server(server.as_deref().unwrap_or_default());
    let decided = match policies.verdict(what) {
        PolicyVerdict::Allowed => return true,
        PolicyVerdict::Refused(refusal) => Err(refusal),
        PolicyVerdict::Depends => decide(asked, what, b""),
    };
    finish(asked, decided, touched)
}

fn decide(
    asked: &SessionRequest<'_>,
    what: PolicyTarget<'_>,
    arguments: &[u8],
) -> Result<(), Arc<PolicyRefusal>> {
    let Some(policies) = asked.snapshot.policies() else { return Ok(()) };
    policies.decide(what, &RequestFacts { arguments, address: asked.sink.peer() })
}

fn finish(
    asked: &SessionRequest<'_>,
    decided: Result<(), Arc<PolicyRefusal>>,
    touched: &mut FlushSet,
) -> bool {
    match decided {
        Ok(()) => true,
        Err(refusal) => {
            asked.record_forbidden(&refusal);
            asked.refuse(&CallError::Forbidden(refusal), touched);
            false
        }
    }
}

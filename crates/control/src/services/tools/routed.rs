//! `RoutedCall`: which tool a call over REST is for, once it is certain that the asker may call it.

use std::borrow::Cow;

use trunkline_gateway::{PolicyTarget, RequestFacts};

use super::call::ToolCallRequest;
use super::service::ToolService;
use crate::access::{Grants, Rules};
use crate::fault::{About, Problem, ProblemKind};
use crate::keys::Actor;
use crate::services::directory::{CUSTOM_GROUP_ID, ServerDirectory, ServerEntry};
use crate::services::grants::sees;
use crate::services::problems::{no_such_server, no_such_tool};

/// A call that never reached the data plane, for the audit log.
pub(super) struct RefusedCall {
    pub(super) server: Option<About>,
    pub(super) tool: String,
}

pub(super) type Refused = (Problem, Option<RefusedCall>);

pub(super) struct RoutedCall<'a> {
    pub(super) entry: &'a ServerEntry,
    /// As its server calls it.
    pub(super) tool: Cow<'a, str>,
    pub(super) arguments: &'a [u8],
    /// It is behind a custom tool.
    pub(super) is_behind: bool,
}

pub(super) fn refused(problem: Problem, server: Option<About>, tool: &str) -> Refused {
    (problem, Some(RefusedCall { server, tool: tool.to_owned() }))
}

impl ToolService {
    pub(super) fn route<'a>(
        &self,
        directory: &'a ServerDirectory,
        call: ToolCallRequest<'a>,
        by: Actor<'_>,
    ) -> Result<RoutedCall<'a>, Refused> {
        let grants = by.principal.grants();
        let unknown = |problem| refused(problem, None, call.name);
        // Custom tools have names without a server, or their group as the server.
        let may_be_custom = call.server_id.is_none_or(|id| id == CUSTOM_GROUP_ID);
        let chosen =
            match may_be_custom.then(|| self.custom_call(call.name, call.arguments, grants)) {
                Some(Some(chosen)) => Some(chosen.map_err(unknown)?),
                _ => None,
            };
        let routed = match chosen {
            Some(chosen) => match directory.by_name(&chosen.server) {
                Some(entry) => RoutedCall {
                    entry,
                    tool: Cow::Owned(chosen.tool),
                    arguments: chosen.arguments,
                    is_behind: true,
                },
                None => return Err(unknown(no_such_server(&chosen.server))),
            },
            None => {
                let (entry, tool) = addressed(directory, call, by).map_err(unknown)?;
                let arguments = call.arguments.unwrap_or_default();
                RoutedCall { entry, tool: Cow::Borrowed(tool), arguments, is_behind: false }
            }
        };
        let RoutedCall { entry, tool, arguments, .. } = &routed;
        // What the grants do not allow is answered like what is not there.
        if !grants.allows(&entry.name, tool) {
            return Err(unknown(no_such_tool(call.name)));
        }
        if let Err(problem) = self.within_policies(grants, (&entry.name, tool), arguments, by) {
            return Err(refused(problem, Some(self.live.about(entry)), tool));
        }
        Ok(routed)
    }

    /// Do policies let this one call the tool with these arguments?
    fn within_policies(
        &self,
        grants: &Grants,
        (server, tool): (&str, &str),
        arguments: &[u8],
        by: Actor<'_>,
    ) -> Result<(), Problem> {
        let Some(Rules(rules)) = grants.rules() else { return Ok(()) };
        let facts = RequestFacts { arguments, address: by.address.and_then(|it| it.parse().ok()) };
        rules.decide(PolicyTarget::Tool { server, tool }, &facts).map_err(|refusal| {
            self.settings.policies.count_refused();
            Problem::new(ProblemKind::NotPermitted, refusal.words())
        })
    }
}

/// The server that a call names, and the tool as its server calls it.
fn addressed<'a>(
    directory: &'a ServerDirectory,
    call: ToolCallRequest<'a>,
    by: Actor<'_>,
) -> Result<(&'a ServerEntry, &'a str), Problem> {
    let Some(id) = call.server_id else {
        return directory.split_name(call.name).ok_or_else(|| no_such_tool(call.name));
    };
    // A server that the asker does not see is answered like one that is not there.
    let entry = directory.find(id).filter(|entry| sees(by.principal, &entry.name));
    let entry = entry.ok_or_else(|| no_such_server(id))?;
    // A caller that names the server may still write the whole name.
    let rest = call.name.strip_prefix(&*entry.name).and_then(|rest| rest.strip_prefix('.'));
    Ok((entry, rest.unwrap_or(call.name)))
}

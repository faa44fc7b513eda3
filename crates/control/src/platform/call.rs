//! A call over REST: who is meant, whether the asker may, and what comes of it.

use trunkline_gateway::{CallFailure, FailureKind, State, ToolCall};
use trunkline_store::NewAudit;

use super::custom::GROUP_ID;
use super::roster::ServerEntry;
use super::show::{no_such_server, no_such_tool, sees};
use super::{Platform, clock};
use crate::access::label;
use crate::api::input::CallTool;
use crate::api::problem::{About, Kind, Problem};
use crate::api::result::{self, Metadata};
use crate::api::view::Status;
use crate::keys::Actor;

/// The body of the answer.
#[derive(Debug)]
pub struct Called(pub Vec<u8>);

impl Platform {
    /// `traceparent`: what the request says about where it comes from.
    pub async fn call(
        &self,
        call: &CallTool<'_>,
        by: Actor<'_>,
        traceparent: Option<&str>,
    ) -> Result<Called, Problem> {
        let called = self.call_named(call, by, traceparent).await;
        // What reached the data plane is recorded there.
        if let Err((problem, Some(refused))) = &called {
            self.0.audit.record(NewAudit {
                at: clock::now(),
                principal: by.principal.name().to_owned(),
                credential_id: Some(by.principal.credential().to_string()),
                address: by.address.map(str::to_owned),
                action: "call-tool".to_owned(),
                server_id: refused.server.as_ref().map(|about| about.id.clone()),
                server_name: refused.server.as_ref().map(|about| about.name.clone()),
                tool: Some(refused.tool.clone()),
                outcome: "refused".to_owned(),
                detail: Some(problem.kind.facts().name.to_owned()),
                request_id: by.request_id.map(str::to_owned),
                ..NewAudit::default()
            });
        }
        called.map_err(|(problem, _)| problem)
    }

    async fn call_named(
        &self,
        call: &CallTool<'_>,
        by: Actor<'_>,
        traceparent: Option<&str>,
    ) -> Result<Called, (Problem, Option<RefusedCall>)> {
        let roster = self.roster();
        let turned =
            |server: Option<About>, tool: &str| Some(RefusedCall { server, tool: tool.to_owned() });
        let grants = by.principal.grants();
        let is_theirs = call.server_id.as_deref().is_none_or(|id| id == GROUP_ID);
        let chosen = match is_theirs.then(|| self.custom_call(&call.name, call.arguments, grants)) {
            Some(Some(chosen)) => {
                Some(chosen.map_err(|problem| (problem, turned(None, &call.name)))?)
            }
            _ => None,
        };
        let (entry, tool) = match (&chosen, &call.server_id) {
            (Some(chosen), _) => match roster.named(&chosen.server) {
                Some(entry) => (entry, chosen.tool.as_str()),
                None => return Err((no_such_server(&chosen.server), turned(None, &call.name))),
            },
            // Nobody learns by asking that there is a server they do not see.
            (None, Some(id)) => match roster.find(id).filter(|it| sees(by.principal, &it.name)) {
                Some(entry) => (entry, own_name(entry, &call.name)),
                None => return Err((no_such_server(id), turned(None, &call.name))),
            },
            (None, None) => roster
                .split(&call.name)
                .ok_or_else(|| (no_such_tool(&call.name), turned(None, &call.name)))?,
        };
        // What may not be called is not there.
        if !by.principal.grants().allows(&entry.name, tool) {
            return Err((no_such_tool(&call.name), turned(None, &call.name)));
        }
        let Some(fleet) = self.0.fleet.get().filter(|_| entry.wanted) else {
            let about = self.about(entry);
            let detail = format!("`{}` is disconnected", entry.name);
            let problem = Problem::new(Kind::ServerUnavailable, detail).server(about.clone());
            return Err((problem, turned(Some(about), tool)));
        };
        let arguments = chosen.as_ref().map(|chosen| chosen.arguments);
        let arguments = arguments.or(call.arguments).unwrap_or_default();
        let wanted = ToolCall {
            server: entry.id.clone(),
            tool: tool.to_owned(),
            arguments: arguments.to_vec(),
            meta: None,
            who: Some(label(
                &by.principal.credential().to_string(),
                by.address.unwrap_or_default(),
            )),
            traceparent: traceparent.map(str::to_owned),
            asked: self.0.settings.tracer.is_some().then(|| call.name.clone()),
            is_behind: chosen.is_some(),
            deadline: None,
        };
        let called = fleet.call(wanted).await;
        // How it is now: that may be another thing than when the call was made.
        let about = self.about_now(entry);
        match called {
            Ok(answer) => {
                let metadata = Metadata {
                    routed_to: &entry.name,
                    routing_time: answer.routed,
                    execution_time: answer.executed,
                };
                let body = result::answer(&answer.message, &about, &metadata);
                body.map(Called).map_err(|problem| (problem, None))
            }
            Err(failure) => {
                let recorded = matches!(
                    failure.kind,
                    FailureKind::Timeout | FailureKind::Gone { .. } | FailureKind::Refused(_)
                );
                let left = (!recorded)
                    .then(|| RefusedCall { server: Some(about.clone()), tool: tool.to_owned() });
                Err((self.failed(&failure, &call.name, about), left))
            }
        }
    }

    /// It is wanted, and the data plane does not have it.
    fn not_there(&self, about: About) -> Problem {
        let trouble = self.0.troubles.lock().get(&about.id).map(|trouble| trouble.message.clone());
        let detail = match trouble {
            Some(why) => format!("`{}` cannot be connected: {why}", about.name),
            None => format!("`{}` is not connected", about.name),
        };
        Problem::new(Kind::ServerUnavailable, detail).server(about)
    }

    fn failed(&self, failure: &CallFailure, name: &str, about: About) -> Problem {
        let kind = match &failure.kind {
            FailureKind::NoSuchServer => return self.not_there(about),
            FailureKind::NoSuchTool => return no_such_tool(name),
            FailureKind::Unreadable => Kind::Invalid,
            FailureKind::Unavailable { .. } | FailureKind::Busy => Kind::ServerUnavailable,
            FailureKind::Timeout => Kind::Timeout,
            FailureKind::Gone { .. } => Kind::ServerUnavailable,
            FailureKind::Refused(error) => return result::refused(error, &about),
        };
        let login = self.login_wanted(&about.id);
        let hint = match (&failure.kind, &login) {
            (FailureKind::Gone { may_have_run: true }, _) => {
                Some("the call may have run: check before you repeat it")
            }
            (FailureKind::Gone { .. } | FailureKind::Unavailable { .. }, Some(login)) => {
                Some(&**login)
            }
            (FailureKind::Gone { may_have_run: false } | FailureKind::Busy, _) => {
                Some("the call did not run: it can be made again")
            }
            (FailureKind::Unavailable { .. }, None)
                if about.status == Status::Connecting.as_str() =>
            {
                Some("it is being connected: try again in a moment")
            }
            _ => None,
        };
        let problem = Problem::new(kind, failure.message.clone()).server(about);
        match hint {
            Some(hint) => problem.hint(hint),
            None => problem,
        }
    }

    /// How to log in, if that is what the server waits for.
    fn login_wanted(&self, id: &str) -> Option<String> {
        match self.0.fleet.get()?.server(id)?.state {
            State::Failed(failure) => failure.needs_login.then_some(failure.advice),
            _ => None,
        }
    }
}

/// A call that was turned away, for the audit.
struct RefusedCall {
    server: Option<About>,
    tool: String,
}

/// Who names the server may still write the whole name.
fn own_name<'a>(entry: &ServerEntry, name: &'a str) -> &'a str {
    let rest = name.strip_prefix(&*entry.name).and_then(|rest| rest.strip_prefix('.'));
    rest.unwrap_or(name)
}

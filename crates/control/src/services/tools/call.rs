//! A call over REST: which tool it is for, whether the asker may call it, and what its server answers.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use trunkline_catalog::name::escaped;
use trunkline_gateway::{
    CallFailure, CountedRequest, FailureKind, State, TooManyConnections, ToolCall, WebConnection,
};
use trunkline_store::NewAudit;
use trunkline_wire::{decode, member};

use super::routed::{Refused, RefusedCall, refused};
use super::service::ToolService;
use crate::access::{Principal, label};
use crate::audit::AuditFull;
use crate::clock;
use crate::fault::{About, Problem, ProblemKind};
use crate::health::ServerStatus;
use crate::keys::Actor;
use crate::services::grants::allowance;
use crate::services::problems::no_such_tool;
use crate::services::records::record;

/// How long a call waits until it can be recorded, where calls are to wait; over MCP it is as long.
const BLOCKED: Duration = Duration::from_secs(30);
const BLOCKED_LOOK: Duration = Duration::from_millis(50);

/// A call as it is asked for.
#[derive(Debug, Clone, Copy)]
pub struct ToolCallRequest<'a> {
    /// `server.tool`; with a server, the tool's own name will do.
    pub name: &'a str,
    pub server_id: Option<&'a str>,
    /// JSON, as it was written.
    pub arguments: Option<&'a [u8]>,
    /// Of the request that asks for it.
    pub traceparent: Option<&'a str>,
    /// What it came on.
    pub connection: &'a WebConnection,
}

/// What a server answers to a call.
#[derive(Debug, Clone)]
pub(crate) struct ToolAnswer {
    /// A whole JSON-RPC message.
    pub(crate) message: Vec<u8>,
    pub(crate) server: About,
    /// The name that the call was routed to.
    pub(crate) routed_to: String,
    pub(crate) routing_time: Duration,
    pub(crate) execution_time: Duration,
}

impl ToolService {
    /// The connection is this caller's from now on, if it may have one more.
    pub(crate) fn count_connection(
        &self,
        connection: &WebConnection,
        principal: &Principal,
    ) -> Result<(), TooManyConnections> {
        let who: Arc<[u8]> = principal.credential().to_string().as_bytes().into();
        let allowed = allowance(principal, &self.keys);
        connection.belong_to(allowed.as_ref().map(|allowed| (&who, allowed)))
    }

    /// Counts a request that no server answers as a call of whoever makes it, if that is within their limits.
    pub(crate) fn count_request(
        &self,
        connection: &WebConnection,
        principal: &Principal,
    ) -> Result<Option<CountedRequest>, Problem> {
        let Some(fleet) = self.live.fleet() else { return Ok(None) };
        let credential = principal.credential().to_string();
        let caller = allowance(principal, &self.keys)
            .map(|allowed| (Arc::from(credential.as_bytes()), allowed));
        let counted = fleet.count_request(caller.as_ref(), connection.address().as_ref());
        counted.map(Some).map_err(|failure| {
            let problem = Problem::new(ProblemKind::TooMany, failure.message.clone());
            match failure.kind {
                FailureKind::Limited { again } => problem.retry_after(again),
                _ => problem,
            }
        })
    }

    pub(crate) async fn call(
        &self,
        call: ToolCallRequest<'_>,
        by: Actor<'_>,
    ) -> Result<ToolAnswer, Problem> {
        let called = self.call_named(call, by).await;
        self.recorded(called, by)
    }

    /// Records a call that was refused; the data plane records those that have reached it.
    pub(super) fn recorded<T>(
        &self,
        called: Result<T, Refused>,
        by: Actor<'_>,
    ) -> Result<T, Problem> {
        if let Err((problem, Some(refused))) = &called {
            self.audit.record(NewAudit {
                server_id: refused.server.as_ref().map(|about| about.id.clone()),
                server_name: refused.server.as_ref().map(|about| about.name.clone()),
                tool: Some(refused.tool.clone()),
                outcome: "refused".to_owned(),
                detail: Some(match problem.kind {
                    // Which policies refuse it is what an audit is for.
                    ProblemKind::NotPermitted => problem.detail().to_owned(),
                    kind => kind.name().to_owned(),
                }),
                ..record("call-tool", by, clock::now())
            });
        }
        called.map_err(|(problem, _)| problem)
    }

    async fn call_named(
        &self,
        call: ToolCallRequest<'_>,
        by: Actor<'_>,
    ) -> Result<ToolAnswer, Refused> {
        if !self.can_be_recorded().await {
            let why = "the call cannot be recorded in the audit log, and nothing runs unrecorded \
                       (--audit-full, --audit-required); it did not run";
            let refused = RefusedCall { server: None, tool: call.name.to_owned() };
            return Err((Problem::new(ProblemKind::StoreUnavailable, why), Some(refused)));
        }
        let directory = self.live.directory();
        let routed = self.route(&directory, call, by)?;
        let (entry, tool) = (routed.entry, &*routed.tool);
        let Some(fleet) = self.live.fleet().filter(|_| entry.wanted) else {
            let about = self.live.about(entry);
            let detail = format!("`{}` is disconnected", entry.name);
            let problem =
                Problem::new(ProblemKind::ServerUnavailable, detail).server(about.clone());
            return Err(refused(problem, Some(about), tool));
        };
        let credential = by.principal.credential().to_string();
        let called = fleet.call(ToolCall {
            server: entry.id.clone(),
            tool: tool.to_owned(),
            arguments: routed.arguments.to_vec(),
            meta: None,
            who: Some(label(&credential, by.address.unwrap_or_default())),
            traceparent: call.traceparent.map(str::to_owned),
            asked: self.settings.tracer.is_some().then(|| call.name.to_owned()),
            is_behind: routed.is_behind,
            caller: allowance(by.principal, &self.keys)
                .map(|allowed| (credential.as_bytes().into(), allowed)),
            address: call.connection.address(),
            deadline: None,
        });
        let called = called.await;
        // The status may be another one than before the call.
        let about = self.live.about_now(entry);
        match called {
            Ok(answer) => Ok(ToolAnswer {
                message: answer.message,
                server: about,
                routed_to: entry.name.clone(),
                routing_time: answer.routed,
                execution_time: answer.executed,
            }),
            Err(failure) => {
                // These have reached the data plane, whose events are recorded.
                let is_recorded = matches!(
                    failure.kind,
                    FailureKind::Timeout | FailureKind::Gone { .. } | FailureKind::Refused(_)
                );
                let left = (!is_recorded)
                    .then(|| RefusedCall { server: Some(about.clone()), tool: tool.to_owned() });
                Err((self.failed(&failure, call.name, about), left))
            }
        }
    }

    /// Waits for it, where calls are to wait.
    async fn can_be_recorded(&self) -> bool {
        // Relaxed: a flag alone; nothing is read because of it.
        let is_stuck = || self.audit.is_stuck().load(Ordering::Relaxed);
        let until = Instant::now() + BLOCKED;
        while self.settings.audit.full == AuditFull::Block && is_stuck() && Instant::now() < until {
            sleep(BLOCKED_LOOK).await;
        }
        self.settings.audit.full == AuditFull::Drop || !is_stuck()
    }

    /// It is wanted, and the data plane does not have it.
    fn not_connected(&self, about: About) -> Problem {
        let detail = match self.live.connect_problem_message(&about.id) {
            Some(why) => format!("`{}` cannot be connected: {why}", about.name),
            None => format!("`{}` is not connected", about.name),
        };
        Problem::new(ProblemKind::ServerUnavailable, detail).server(about)
    }

    fn failed(&self, failure: &CallFailure, name: &str, about: About) -> Problem {
        let may_have_run = matches!(
            failure.kind,
            FailureKind::Timeout
                | FailureKind::Gone { may_have_run: true }
                | FailureKind::Refused(_)
        );
        self.problem_of(failure, name, about).may_have_run(may_have_run && !failure.may_retry)
    }

    fn problem_of(&self, failure: &CallFailure, name: &str, about: About) -> Problem {
        let kind = match &failure.kind {
            FailureKind::NoSuchServer => return self.not_connected(about),
            FailureKind::NoSuchTool => return no_such_tool(name),
            FailureKind::Unreadable => ProblemKind::Invalid,
            FailureKind::Unavailable { .. } | FailureKind::Busy => ProblemKind::ServerUnavailable,
            FailureKind::Timeout => ProblemKind::Timeout,
            FailureKind::Gone { .. } => ProblemKind::ServerUnavailable,
            FailureKind::Refused(error) => return server_error(error, &about),
            FailureKind::Limited { again } => {
                let problem = Problem::new(ProblemKind::TooMany, failure.message.clone());
                return problem.server(about).retry_after(*again);
            }
        };
        let login = self.login_advice(&about.id);
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
                if about.status == ServerStatus::Connecting.as_str() =>
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
    fn login_advice(&self, id: &str) -> Option<String> {
        match self.live.fleet()?.server(id)?.state {
            State::Failed(failure) => failure.needs_login.then_some(failure.advice),
            _ => None,
        }
    }
}

/// A JSON-RPC error of a server; the error itself goes with it, unchanged.
pub(crate) fn server_error(error: &[u8], server: &About) -> Problem {
    let message = member(error, "message").and_then(decode);
    let said = message.as_deref().map_or_else(
        || "answered with an error".to_owned(),
        |message| format!("answered: {}", escaped(message)),
    );
    Problem::new(ProblemKind::ServerError, format!("`{}` {said}", server.name))
        .server(server.clone())
        .error(error)
}

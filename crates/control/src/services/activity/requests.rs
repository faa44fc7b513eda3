//! Requests over MCP that are no calls of tools, as audit records.

use trunkline_gateway::{EventSink, Outcome, RequestEnded};
use trunkline_store::NewAudit;

use super::consumer::{EventConsumer, at, counted, detail};
use crate::access::read_label;
use crate::clock;
use crate::services::records::{hex, principal_of};

impl EventConsumer {
    pub(super) fn request_ended(&self, request: &RequestEnded) {
        let (credential, address) = read_label(&request.who);
        self.key_used(Some(credential), at(request.ended));
        if request.forbidden.is_some() {
            self.policies.count_refused();
        }
        let directory = self.known.directory();
        let server = request.server.as_deref();
        let id = server.and_then(|name| directory.by_name(name)).map(|entry| entry.id.clone());
        let duration = i64::try_from(request.duration.as_micros()).unwrap_or(i64::MAX);
        let nowhere = || Some("there is no such thing for this caller".to_owned());
        self.audit.record(NewAudit {
            at: at(request.ended),
            principal: principal_of(&self.keys, Some(credential)),
            credential_id: Some(credential.to_owned()),
            address: address.filter(|address| !address.is_empty()).map(str::to_owned),
            action: action(&request.method),
            server_id: id,
            server_name: server.map(str::to_owned),
            tool: request.about.clone(),
            argument_hash: Some(hex(&request.params_hash)),
            outcome: counted(request.outcome).as_str().to_owned(),
            detail: match (server, request.outcome) {
                _ if request.forbidden.is_some() => {
                    request.forbidden.as_ref().map(|refusal| refusal.words())
                }
                (None, Outcome::Refused) => nowhere(),
                _ => detail(request.outcome),
            },
            duration_us: server.map(|_| duration),
            ..NewAudit::default()
        });
    }
}

impl EventConsumer {
    /// Refusals that came faster than they can be recorded one by one.
    pub(super) fn count_refused(&self, sink: &EventSink) {
        for ((who, method), times) in sink.take_refused() {
            let (credential, address) = read_label(&who);
            let credential = Some(credential).filter(|it| !it.is_empty());
            let record = NewAudit {
                at: clock::now(),
                principal: principal_of(&self.keys, credential),
                credential_id: credential.map(str::to_owned),
                address: address.filter(|address| !address.is_empty()).map(str::to_owned),
                action: action(&method),
                outcome: counted(Outcome::Refused).as_str().to_owned(),
                ..NewAudit::default()
            };
            self.audit.count_refusals(record, times);
        }
    }
}

/// A method in the words of the log: the verb first, as for everything else there.
fn action(method: &str) -> String {
    match method {
        "tools/call" => "call-tool".to_owned(),
        "resources/read" => "read-resource".to_owned(),
        "prompts/get" => "get-prompt".to_owned(),
        "completion/complete" => "complete".to_owned(),
        "tasks/list" => "list-tasks".to_owned(),
        "tasks/result" => "read-task-result".to_owned(),
        other => match other.strip_prefix("tasks/") {
            // A made-up method is not an action.
            Some(verb @ ("get" | "cancel" | "update")) => format!("{verb}-task"),
            _ => "ask-about-tasks".to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_have_names_in_the_log() {
        for (method, expected) in [
            ("tools/call", "call-tool"),
            ("resources/read", "read-resource"),
            ("prompts/get", "get-prompt"),
            ("completion/complete", "complete"),
            ("tasks/get", "get-task"),
            ("tasks/cancel", "cancel-task"),
            ("tasks/list", "list-tasks"),
            ("tasks/result", "read-task-result"),
            ("tasks/made up", "ask-about-tasks"),
        ] {
            assert_eq!(action(method), expected);
        }
    }
}

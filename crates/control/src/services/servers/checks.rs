//! What a server may be: its name, its command, where it leads and what it refers to.

use std::collections::BTreeSet;

use trunkline_catalog::config::Transport;
use trunkline_http::reach::ReachRefused;
use trunkline_store::NewAudit;

use super::secret_binding::new_reference;
use super::service::ServerService;
use crate::access::{Action, Role};
use crate::clock;
use crate::fault::{Pointer, Problem, ProblemKind, RequestFault};
use crate::keys::Actor;
use crate::secrets::{self, Connection, Unresolved};
use crate::services::directory::{CUSTOM_GROUP_ID, CUSTOM_GROUP_NAME};
use crate::services::records::record;

impl ServerService {
    /// Servers are found by id and by name, so neither may be another's; and the group of the custom
    /// tools is shown among them.
    pub(super) fn check_name(&self, name: &str) -> Result<(), Problem> {
        if self.live.directory().has(name) {
            return Err(name_taken(name));
        }
        if name == CUSTOM_GROUP_ID || name == CUSTOM_GROUP_NAME {
            let why = "is what the group of the custom tools is called";
            return Err(Problem::invalid(vec![RequestFault::at(
                &Pointer::root().key("name"),
                why,
            )]));
        }
        Ok(())
    }

    /// A command runs on this machine: it takes an admin, and an operator who has allowed it. Attempts are
    /// recorded.
    pub(super) fn check_command(
        &self,
        transport: &Transport,
        action: Action,
        server: &str,
        by: Actor<'_>,
    ) -> Result<(), Problem> {
        let Transport::Stdio { .. } = transport else { return Ok(()) };
        let why = match by.principal.require(Action::RegisterStdio) {
            Err(_) => "registering a command takes the role admin".to_owned(),
            Ok(()) => match self.settings.registration.stdio.judge(transport) {
                Ok(()) => return Ok(()),
                Err(forbidden) => forbidden.to_string(),
            },
        };
        self.record_attempt(action, server, &why, by);
        Err(Problem::new(ProblemKind::StdioForbidden, why))
    }

    /// Walls are made narrower by whoever may edit a server. Wider than they were, or than the platform's default,
    /// only by those who may run commands. An engine of containers is a command like any other. Attempts are recorded.
    pub(super) fn check_sandbox(
        &self,
        before: Option<&Connection>,
        after: &Connection,
        action: Action,
        server: &str,
        by: Actor<'_>,
    ) -> Result<(), Problem> {
        let registration = &self.settings.registration;
        let usual = registration.sandbox.rules();
        let was = before.map_or(Some(&usual), |it| it.sandbox.as_ref()).unwrap_or(&usual);
        let is = after.sandbox.as_ref().unwrap_or(&usual);
        if was == is {
            return Ok(());
        }
        let is_narrower = is.is_within(was) && is.is_within(&usual);
        let is_admin = by.principal.require(Action::RegisterStdio).is_ok();
        let refused = match &is.container {
            Some(container) if is_admin => registration.stdio.judge_engine(container.engine).err(),
            _ => None,
        };
        let (kind, why) = match refused {
            Some(refused) => (ProblemKind::StdioForbidden, refused.to_string()),
            None if is_admin || is_narrower => return Ok(()),
            None => (
                ProblemKind::Forbidden,
                "a wider `sandbox` than it was, or than the platform's default, takes the role admin"
                    .to_owned(),
            ),
        };
        self.record_attempt(action, server, &why, by);
        Err(Problem::new(kind, why).hint("leave `sandbox` out, or let an admin change it"))
    }

    /// A caller with a server of its own could read every secret and every allowed variable by having it sent
    /// there. So references take an admin, who may know them all. Attempts are recorded.
    pub(super) fn check_references(
        &self,
        before: Option<&Connection>,
        after: &Connection,
        action: Action,
        server: &str,
        by: Actor<'_>,
    ) -> Result<(), Problem> {
        let Some(place) = new_reference(before, after) else { return Ok(()) };
        if by.principal.require(Action::ReferToSecrets).is_ok() {
            return Ok(());
        }
        let why = format!("a reference (`${{…}}`, in {place}) takes the role admin");
        self.record_attempt(action, server, &why, by);
        let hint = "write the value itself, or let an admin register or change the server";
        Err(Problem::new(ProblemKind::Forbidden, why).hint(hint))
    }

    /// A key for some tools names servers by patterns. If it decided itself which server has a name that they
    /// match, or where that server is, they would be no limit. Admins may make keys without one. Attempts are
    /// recorded.
    pub(super) fn check_limit(
        &self,
        before: Option<(&str, &Connection)>,
        (name, after): (&str, &Connection),
        action: Action,
        by: Actor<'_>,
    ) -> Result<(), Problem> {
        let grants = by.principal.grants();
        let is_limited = grants.patterns().is_some() && by.principal.role() < Role::Admin;
        self.check_policy(before, after, action, by)?;
        let stays = before.is_some_and(|(known, before)| {
            // Another path or header may lead to another server behind the same host.
            known == name && before.transport == after.transport
        });
        if !is_limited || stays || !grants.touches(name) {
            return Ok(());
        }
        let why = format!(
            "the tools of this key are limited, and its patterns match `{name}`: it may not decide \
             which server that is"
        );
        self.record_attempt(action, before.map_or(name, |(known, _)| known), &why, by);
        let hint =
            "choose a name that they do not match, or use a key that is not limited to tools";
        Err(Problem::new(ProblemKind::Forbidden, why).hint(hint))
    }

    /// What is done when a definition changes: who may not approve a definition may not have it approved by
    /// policy.
    fn check_policy(
        &self,
        before: Option<(&str, &Connection)>,
        after: &Connection,
        action: Action,
        by: Actor<'_>,
    ) -> Result<(), Problem> {
        let Some((name, before)) = before else { return Ok(()) };
        if before.on_change == after.on_change || by.principal.grants().all_of(name) {
            return Ok(());
        }
        let why = format!(
            "the tools of this key are limited: it may not decide what others are shown of `{name}` \
             (`on_change`)"
        );
        self.record_attempt(action, name, &why, by);
        let hint = "leave `on_change` out, or use a key for all tools of the server";
        Err(Problem::new(ProblemKind::Forbidden, why).hint(hint))
    }

    /// Where it leads, and what it refers to.
    pub(super) fn check_places(&self, connection: &Connection) -> Result<(), Problem> {
        let config = Pointer::root().key("connection_config");
        let mut faults = Vec::new();
        let mut url = |url: &str, at: Pointer| {
            if let Err(refused) = self.check_url(url) {
                faults.push(RequestFault::at(&at, refused.to_string()));
            }
        };
        if let Transport::Remote { url: address, .. } = &connection.transport {
            url(address, config.key("url"));
        }
        if let Some(address) = &connection.health_check_url {
            url(address, Pointer::root().key("health_check_url"));
        }
        let forbidden =
            secrets::forbidden(connection, &self.settings.registration.allowed_variables);
        faults.extend(forbidden.iter().map(|fault| RequestFault::at(&config, fault.to_string())));
        if faults.is_empty() {
            return Ok(());
        }
        let flags: BTreeSet<String> = forbidden.iter().filter_map(Unresolved::flag).collect();
        let problem = Problem::invalid(faults);
        if flags.is_empty() {
            return Err(problem);
        }
        let flags = flags.into_iter().collect::<Vec<_>>().join(" ");
        Err(problem.hint(format!(
            "start `trunkline serve` with `{flags}` and the variable set, or keep the value as a \
             secret (`PUT /api/v1/secrets/NAME`) and write `${{secret:NAME}}`"
        )))
    }

    /// As far as it stands before a reference; the rest is judged when it is connected to.
    fn check_url(&self, url: &str) -> Result<(), ReachRefused> {
        let policy = &self.settings.registration.reach;
        let literal = url.split_once("${").map_or(url, |(before, _)| before);
        policy.judge_url(&policy.read_url(literal)?).map(drop)
    }

    /// The actor may do this, but not in this way.
    fn record_attempt(&self, action: Action, server: &str, why: &str, by: Actor<'_>) {
        self.audit.record(NewAudit {
            server_name: Some(server.to_owned()),
            outcome: "refused".to_owned(),
            detail: Some(why.to_owned()),
            ..record(action.name(), by, clock::now())
        });
    }

    /// Records that a change was refused. `server`: the id or name of the server that it is about.
    pub(crate) fn record_refusal(
        &self,
        action: &str,
        server: Option<&str>,
        detail: &str,
        by: Actor<'_>,
    ) {
        let directory = self.live.directory();
        let entry = server.and_then(|server| directory.find(server));
        self.audit.record(NewAudit {
            server_id: entry.map(|entry| entry.id.clone()),
            server_name: entry.map(|entry| entry.name.clone()),
            outcome: "refused".to_owned(),
            detail: Some(detail.to_owned()),
            ..record(action, by, clock::now())
        });
    }
}

pub(super) fn name_taken(name: &str) -> Problem {
    Problem::new(ProblemKind::NameTaken, format!("there is a server `{name}` already"))
}

//! What may be sent where: a reference is as good as the value it stands for, and a value belongs to the
//! place it was given for.

use trunkline_catalog::config::Transport;
use trunkline_http::Url;

use super::Platform;
use crate::access::Action;
use crate::api::fault::{Fault, Pointer};
use crate::api::input::PatchServer;
use crate::api::problem::{Kind, Problem};
use crate::keys::Actor;
use crate::secrets::Connection;

impl Platform {
    /// Whoever has a server of their own could read every secret and every allowed variable, by
    /// having it sent there: references take an admin, who may know them all. Who tried is written
    /// down.
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
        self.turned_away(action, server, &why, by);
        let hint = "write the value itself, or let an admin register or change the server";
        Err(Problem::new(Kind::Forbidden, why).hint(hint))
    }
}

/// Where a reference stands that did not stand there before. What leads elsewhere had nothing before.
fn new_reference(before: Option<&Connection>, after: &Connection) -> Option<String> {
    let before = before.filter(|before| !leads_elsewhere(&before.transport, &after.transport));
    let known = before.map(Connection::references).unwrap_or_default();
    let new = after.references().into_iter().find(|found| !known.contains(found));
    new.map(|(place, _)| place)
}

/// What a patch leaves as it was although the server leads elsewhere with it. Whoever may move a server
/// could read what it is given otherwise; and a value is a mistake anywhere but where it was meant for.
pub(super) fn left_behind(
    patch: &PatchServer,
    before: &Connection,
    after: &Connection,
) -> Result<(), Problem> {
    if !leads_elsewhere(&before.transport, &after.transport) {
        return Ok(());
    }
    let config = Pointer::root().key("connection_config");
    let mut places: Vec<Pointer> = match &before.transport {
        Transport::Stdio { env, .. } => {
            let left = patch.config.leaves_variables(env);
            left.map(|name| config.key("env").key(name)).collect()
        }
        Transport::Remote { headers, .. } => {
            let left = patch.config.leaves_headers(headers);
            left.map(|name| config.key("headers").key(name)).collect()
        }
    };
    if patch.leaves_client_secret(before.oauth.as_ref()) {
        places.push(Pointer::root().key("oauth").key("client_secret"));
    }
    if places.is_empty() {
        return Ok(());
    }
    let why = match (origin(&before.transport), origin(&after.transport)) {
        (Some(from), Some(to)) => format!("was given for {from} and is not sent to {to}"),
        _ => "was given to another command".to_owned(),
    };
    let faults = places.iter().map(|place| {
        Fault::at(place, format!("{why}: give its value anew in the same request, or null"))
    });
    let hint = "a server that is moved keeps no secrets: give those it needs there, and null for the others";
    Err(Problem::invalid(faults.collect()).hint(hint))
}

/// To another origin, or to another program.
fn leads_elsewhere(before: &Transport, after: &Transport) -> bool {
    match (before, after) {
        (Transport::Remote { url: from, .. }, Transport::Remote { url: to, .. }) => {
            from != to && (origin(before).is_none() || origin(before) != origin(after))
        }
        (
            Transport::Stdio { command: from, args: with, cwd: at, .. },
            Transport::Stdio { command, args, cwd, .. },
        ) => (from, with, at) != (command, args, cwd),
        _ => true,
    }
}

fn origin(transport: &Transport) -> Option<String> {
    let Transport::Remote { url, .. } = transport else { return None };
    Some(Url::parse(url).ok()?.origin().to_string())
}

//! Secret binding: a secret belongs to the server it was given for, and a reference is as good as the value
//! it stands for.

use trunkline_catalog::config::Transport;
use trunkline_http::Url;

use crate::fault::{Pointer, Problem, RequestFault};
use crate::secrets::Connection;

/// Where a reference stands that did not stand there before. A server that leads elsewhere had nothing
/// before.
pub(super) fn new_reference(before: Option<&Connection>, after: &Connection) -> Option<String> {
    let before = before.filter(|before| !leads_elsewhere(&before.transport, &after.transport));
    let known = before.map(Connection::references).unwrap_or_default();
    let new = after.references().into_iter().find(|found| !known.contains(found));
    new.map(|(place, _)| place)
}

/// Refuses an edit that moves a server and leaves secrets as they were: `left` are their places in the
/// request. Otherwise anyone who may move a server could read what it is given; and a value is a mistake
/// anywhere but where it was meant for.
pub(super) fn check_left_secrets(
    left: &[Pointer],
    before: &Connection,
    after: &Connection,
) -> Result<(), Problem> {
    check_left_client(left, before, after)?;
    if left.is_empty() || !leads_elsewhere(&before.transport, &after.transport) {
        return Ok(());
    }
    let why = match (origin(&before.transport), origin(&after.transport)) {
        (Some(from), Some(to)) => format!("was given for {from} and is not sent to {to}"),
        _ => "was given to another command".to_owned(),
    };
    let faults = left.iter().map(|place| {
        RequestFault::at(place, format!("{why}: give its value anew in the same request, or null"))
    });
    let hint = "a server that is moved keeps no secrets: give those it needs there, and null for the others";
    Err(Problem::invalid(faults.collect()).hint(hint))
}

/// The secret of a client belongs to its issuer, wherever the server is.
fn check_left_client(
    left: &[Pointer],
    before: &Connection,
    after: &Connection,
) -> Result<(), Problem> {
    let place = Pointer::root().key("oauth").key("client_secret");
    let (from, to) = (issuer(before), issuer(after));
    // A client that is taken away takes its secret along.
    if from == to || after.oauth.is_none() || !left.contains(&place) {
        return Ok(());
    }
    let why = match from {
        Some(from) => format!("was given for {from}"),
        None => "was given without an issuer".to_owned(),
    };
    let to = to.unwrap_or("another one");
    let why = format!("{why} and is not sent to {to}: give its value anew in the same request");
    Err(Problem::invalid(vec![RequestFault::at(&place, why)]))
}

fn issuer(connection: &Connection) -> Option<&str> {
    connection.oauth.as_ref()?.issuer.as_deref()
}

/// To another origin, or to another program.
pub(super) fn leads_elsewhere(before: &Transport, after: &Transport) -> bool {
    match (before, after) {
        (Transport::Remote { url: from, .. }, Transport::Remote { url: to, .. }) => {
            // Another path at the same origin is the same server. A URL whose origin cannot be told
            // (a reference stands in it) counts as another one.
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

//! Servers: in the list, alone, and in full.

use std::time::Duration;

use serde_json::{Value, json};
use trunkline_catalog::config::Transport;

use super::health::{health_view, series};
use crate::api::paging::{List, cursor};
use crate::api::view::{
    AuthView, DefinedIn, DetailsView, LastError, NameView, ProcessView, ServerView, stderr_view,
};
use crate::secrets::Connection;
use crate::services::{
    Diagnosis, ListedName, LoginState, Paged, ProcessInfo, ServerDetails, ServerEntry,
    ServerOrigin, ServerReport, StderrLines,
};

/// Shown for a server whose record cannot be read.
static NO_TRANSPORT: Transport =
    Transport::Stdio { command: String::new(), args: Vec::new(), env: Vec::new(), cwd: None };

pub(crate) fn servers(page: &Paged<ServerReport>) -> Value {
    let shown: Vec<Value> = page.items.iter().map(server).collect();
    let next = page.next.as_deref().map(|place| cursor(List::SERVERS, place));
    json!({"servers": shown, "total": page.total, "next_cursor": next})
}

pub(crate) fn server(report: &ServerReport) -> Value {
    let entry = &report.entry;
    let (record, connection, times) = (entry.record(), connection(entry), entry.times());
    let oauth = connection.and_then(|it| it.oauth.as_ref());
    let auth = report.login.as_ref().map(auth);
    ServerView {
        id: &entry.id,
        name: &entry.name,
        description: record.map(|it| it.description.as_str()).filter(|it| !it.is_empty()),
        transport: entry.transport().unwrap_or(&NO_TRANSPORT),
        status: report.status,
        source: if entry.is_from_file() { DefinedIn::File } else { DefinedIn::Api },
        auto_connect: record.is_none_or(|record| record.auto_connect),
        health_check_url: record.and_then(|record| record.health_check_url.as_deref()),
        calls: entry.calls(),
        on_change: entry.on_change().unwrap_or_default().word(),
        sandbox: entry.sandbox(),
        health: &health_view(&report.health),
        tools: report.tools,
        era: report.is_modern.map(|is_modern| if is_modern { "modern" } else { "legacy" }),
        protocol_version: report.protocol_version.as_deref(),
        oauth,
        auth: auth.as_ref(),
        reason: report.reason.as_deref(),
        last_error: report.last_error.as_ref().map(last_error),
        restarts: report.restarts,
        registered_at: times.first_seen,
        updated_at: times.changed,
        revision: report.revision(),
    }
    .json()
}

fn connection(entry: &ServerEntry) -> Option<&Connection> {
    match &entry.origin {
        ServerOrigin::File { .. } => None,
        ServerOrigin::Api(_, connection) => connection.as_ref(),
    }
}

fn auth(login: &LoginState) -> AuthView {
    AuthView {
        needs_login: login.needs_login,
        login_url: login.login_url.clone(),
        scopes: login.scopes.clone(),
        issuer: login.issuer.clone(),
    }
}

fn last_error(why: &Diagnosis) -> LastError<'_> {
    LastError { at: why.at, message: &why.message, hint: why.hint.as_deref() }
}

pub(crate) fn details(details: &ServerDetails) -> Value {
    let names: Vec<NameView> = details.names.iter().map(name).collect();
    DetailsView {
        id: &details.id,
        name: &details.name,
        process: process(&details.process),
        identity: details.identity.as_deref(),
        capabilities: &details.capabilities,
        instructions: details.instructions.as_deref(),
        stderr: &details.stderr,
        names: &names,
        series: &series(&details.recent.slices),
        hour: &series(&details.recent.minutes),
    }
    .json()
}

fn process(process: &ProcessInfo) -> ProcessView {
    let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    ProcessView {
        state: process.state,
        since: process.since,
        pid: process.pid,
        started_in_ms: process.started_in.map(millis),
        restarts: process.restarts,
        open_calls: process.open_calls,
        waiting_calls: process.waiting_calls,
        limited_calls: process.limited_calls,
        next_try: process.next_try,
        failures: process.failures,
    }
}

fn name(listed: &ListedName) -> NameView {
    NameView { tool: listed.tool.clone(), name: listed.name.clone(), others: listed.others.clone() }
}

pub(crate) fn stderr(lines: &StderrLines) -> Value {
    stderr_view(&lines.id, &lines.name, lines.state, &lines.lines)
}

//! What `setup` saves: processes and memory when every client runs, and what each model reads.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use trunkline_catalog::client::Client;

use super::plan::SetupPlan;
use crate::import::{ImportedServer, config_servers, known_as};

/// Before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Savings {
    /// Otherwise estimated.
    pub(crate) measured: bool,
    /// With one set of servers for each client; with one for all.
    pub(crate) processes: (usize, usize),
    pub(crate) megabytes: (u64, u64),
    pub(crate) contexts: Vec<ClientContext>,
}

/// What a client's model sees, before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClientContext {
    pub(crate) client: Client,
    pub(crate) servers: (usize, usize),
    pub(crate) tokens: (usize, usize),
}

/// A server that has been started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MeasuredServer {
    pub(crate) key: String,
    pub(crate) processes: usize,
    pub(crate) bytes: u64,
    /// The length of its tools' definitions.
    pub(crate) tool_bytes: usize,
}

/// Ten ordinary servers of npm and PyPI take about so much each.
const MEGABYTES_PER_SERVER: u64 = 70;
/// 58 tools of eight reference servers are 7,900 tokens.
const TOKENS_PER_SERVER: usize = 1000;
/// The four tools of a short list.
const TOKENS_OF_SEARCH: usize = 600;
/// Models count tokens in their own ways; of JSON in English a token is about so many bytes.
const BYTES_PER_TOKEN: usize = 4;

/// Which tools a client is going to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListedTools {
    All,
    /// Those of the servers it has now.
    Own,
    /// Four that find the others.
    Search,
}

/// Without starting anything.
pub(crate) fn estimated(plan: &SetupPlan, listed: ListedTools) -> Savings {
    let usual = |server: &ImportedServer| MeasuredServer {
        key: server.name.clone(),
        processes: usize::from(server.entry.contains_key("command")),
        bytes: match server.entry.contains_key("command") {
            true => MEGABYTES_PER_SERVER << 20,
            false => 0,
        },
        tool_bytes: TOKENS_PER_SERVER * BYTES_PER_TOKEN,
    };
    let servers: Vec<MeasuredServer> = enabled(plan).iter().map(usual).collect();
    let after = match listed {
        ListedTools::Search => TOKENS_OF_SEARCH,
        ListedTools::All | ListedTools::Own => servers.len() * TOKENS_PER_SERVER,
    };
    let mut savings = Savings { measured: false, ..compare(plan, &servers, &|_| after) };
    if listed == ListedTools::Own {
        savings.keep_to_own_servers();
    }
    savings
}

/// From servers that run; `listed` has the length of each client's list of tools.
pub(crate) fn measured(
    plan: &SetupPlan,
    servers: &[MeasuredServer],
    listed: &[(Client, usize)],
) -> Savings {
    let tokens = |client: Client| {
        let bytes = listed.iter().find(|(known, _)| *known == client).map(|(_, bytes)| *bytes);
        bytes.unwrap_or_default().div_ceil(BYTES_PER_TOKEN)
    };
    Savings { measured: true, ..compare(plan, servers, &tokens) }
}

fn enabled(plan: &SetupPlan) -> Vec<ImportedServer> {
    let (_, servers) = config_servers(&plan.config_text);
    let is_on = |it: &ImportedServer| it.entry.get("disabled") != Some(&Value::Bool(true));
    servers.into_iter().filter(is_on).collect()
}

fn compare(
    plan: &SetupPlan,
    servers: &[MeasuredServer],
    tokens_after: &dyn Fn(Client) -> usize,
) -> Savings {
    let all = enabled(plan);
    let mut savings =
        Savings { measured: false, processes: (0, 0), megabytes: (0, 0), contexts: Vec::new() };
    // What is behind Trunkline already runs once for all clients that have it.
    let had_config =
        |client: Client| plan.files.iter().any(|file| file.client == client && file.had_config);
    let kept =
        all.iter().map(|it| it.name.as_str()).filter(|name| plan.kept.iter().any(|it| it == name));
    let kept: BTreeSet<&str> = match plan.files.iter().any(|file| file.had_config) {
        true => kept.collect(),
        false => BTreeSet::new(),
    };
    let take = |names: &BTreeSet<&str>| {
        let taken = servers.iter().filter(|it| names.contains(it.key.as_str()));
        taken.fold((0, 0, 0), |(processes, bytes, tool_bytes), it| {
            (processes + it.processes, bytes + it.bytes, tool_bytes + it.tool_bytes)
        })
    };
    let (mut processes_before, mut bytes_before, _) = take(&kept);
    let mut distinct = kept.clone();
    for client in clients(plan) {
        let own = plan.files.iter().filter(|file| file.client == client);
        let own = own.flat_map(|file| &file.imported).flat_map(|part| &part.servers);
        let own: BTreeSet<&str> = own.filter_map(|server| known_as(server, &all)).collect();
        let (processes, bytes, _) = take(&own);
        processes_before += processes;
        bytes_before += bytes;
        distinct.extend(&own);
        let seen: BTreeSet<&str> = match had_config(client) {
            true => own.union(&kept).copied().collect(),
            false => own,
        };
        let (_, _, tool_bytes) = take(&seen);
        savings.contexts.push(ClientContext {
            client,
            servers: (seen.len(), all.len()),
            tokens: (tool_bytes.div_ceil(BYTES_PER_TOKEN), tokens_after(client)),
        });
    }
    let (processes_after, bytes_after, _) = take(&distinct);
    savings.processes = (processes_before, processes_after);
    savings.megabytes = (bytes_before >> 20, bytes_after >> 20);
    savings
}

/// Each client that has Trunkline's entry, once.
pub(super) fn clients(plan: &SetupPlan) -> Vec<Client> {
    let mut clients = Vec::new();
    for file in plan.files.iter().filter(|file| file.has_entry) {
        if !clients.contains(&file.client) {
            clients.push(file.client);
        }
    }
    clients
}

impl Savings {
    /// No client sees more than before.
    pub(crate) fn keep_to_own_servers(&mut self) {
        for context in &mut self.contexts {
            // One without servers has no preset, and sees all.
            if context.servers.0 > 0 {
                context.servers.1 = context.servers.0;
                context.tokens.1 = context.tokens.1.min(context.tokens.0);
            }
        }
    }

    pub(crate) fn json(&self) -> Value {
        let context = |it: &ClientContext| {
            json!({
                "client": it.client.id(),
                "servers": {"before": it.servers.0, "after": it.servers.1},
                "tokens": {"before": it.tokens.0, "after": it.tokens.1},
            })
        };
        json!({
            "how": if self.measured { "measured" } else { "estimated" },
            "processes": {"before": self.processes.0, "after": self.processes.1},
            "megabytes": {"before": self.megabytes.0, "after": self.megabytes.1},
            "clients": self.contexts.iter().map(context).collect::<Vec<_>>(),
        })
    }
}

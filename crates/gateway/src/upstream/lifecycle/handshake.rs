//! What a server says about itself and what it offers: `initialize`, and every page of every list.
//!
//! `probe` finds out whether a server is to be opened with `initialize` at all.

use std::collections::HashSet;

use trunkline_catalog::{ListKind, Listing, is_name};
use trunkline_wire::{Kind, LATEST_LEGACY, MODERN, Revision, decode, member, scan};

use crate::era::Era;
use crate::instance::{self, Instance};
use crate::limits::{ENTRIES_PER_LISTING, PAGES_PER_LISTING};
use crate::pump::FlushSet;
use crate::upstream::connection::Connection;
use crate::upstream::inbound::task_work::TaskWork;
use crate::upstream::listening::listens::bit;
use crate::upstream::shown::refusal_text;
use crate::upstream::transport::Answer;

/// What a server told about itself.
#[derive(Clone, Debug)]
pub(crate) struct ServerHello {
    pub(crate) era: Era,
    pub(crate) protocol: String,
    pub(crate) identity: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) instructions: Option<String>,
    pub(crate) logs: bool,
    pub(crate) tasks: Option<TaskWork>,
    /// It tells of updates to its resources.
    pub(crate) subscribes: bool,
    /// `capabilities` as the server wrote it, an object.
    pub(in crate::upstream) raw_capabilities: Box<[u8]>,
    /// `capabilities.extensions` as the server wrote it.
    pub(crate) extensions: Option<Vec<u8>>,
    /// If it is one of our kind: who can be reached through it.
    pub(crate) instances: Vec<String>,
    tools: bool,
    resources: bool,
    prompts: bool,
    /// The lists of whose changes it tells, as bits.
    changing: u8,
}

impl ServerHello {
    /// `info`: the server's name for itself; `result`: its answer to `initialize` or
    /// `server/discover`.
    pub(in crate::upstream) fn read(
        protocol: String,
        era: Era,
        info: &[u8],
        result: &[u8],
        instances: Vec<String>,
    ) -> Self {
        let capabilities = member(result, "capabilities").unwrap_or_default();
        let of = |name| member(capabilities, name).filter(|value| *value != b"null");
        let says =
            |name, flag| of(name).and_then(|value| member(value, flag)) == Some(&b"true"[..]);
        let raw_capabilities = match capabilities.starts_with(b"{") {
            true => capabilities.into(),
            false => (*b"{}").into(),
        };
        let changing = ListKind::ALL.into_iter().filter(|kind| says(owner(*kind), "listChanged"));
        let title = ["title", "name"].iter().find_map(|key| member(info, key).and_then(decode));
        Self {
            era,
            protocol,
            identity: identity(info),
            title: title.map(String::from).filter(|title| is_name(title)),
            instructions: member(result, "instructions").and_then(decode).map(Into::into),
            logs: of("logging").is_some(),
            tasks: of("tasks").map(TaskWork::read),
            subscribes: says("resources", "subscribe"),
            raw_capabilities,
            extensions: of("extensions").filter(|it| it.starts_with(b"{")).map(<[u8]>::to_vec),
            instances,
            tools: of("tools").is_some(),
            resources: of("resources").is_some(),
            prompts: of("prompts").is_some(),
            changing: changing.fold(0, |bits, kind| bits | bit(kind)),
        }
    }

    /// Does it know `tasks/list`? Only revision 2025-11-25 has it.
    pub(crate) fn lists_tasks(&self) -> bool {
        self.tasks.is_some_and(|tasks| tasks.lists)
    }

    /// Has it tasks, as revision 2025-11-25 or the extension of 2026-07-28 has them?
    pub(crate) fn has_tasks(&self) -> bool {
        let extension = self.passed_extensions().and_then(|all| member(all, TASKS_EXTENSION));
        self.tasks.is_some() || extension.is_some()
    }

    /// The extensions that clients are told of: those of a server of the stateless era.
    pub(crate) fn passed_extensions(&self) -> Option<&[u8]> {
        self.extensions.as_deref().filter(|_| self.era == Era::Modern)
    }

    /// In the words of the protocol, for people.
    pub(crate) fn capabilities(&self) -> Vec<&'static str> {
        let all = [
            (self.tools, "tools"),
            (self.resources, "resources"),
            (self.subscribes, "resources.subscribe"),
            (self.prompts, "prompts"),
            (self.logs, "logging"),
            (self.tasks.is_some(), "tasks"),
            (self.extensions.is_some(), "extensions"),
        ];
        all.into_iter().filter(|(has, _)| *has).map(|(_, word)| word).collect()
    }

    /// Does it tell when this list changes?
    pub(crate) fn tells_of(&self, kind: ListKind) -> bool {
        self.changing & bit(kind) != 0
    }

    /// Tools are always asked for: some servers have them and forget to say so.
    pub(in crate::upstream) fn lists(&self, kind: ListKind) -> bool {
        match kind {
            ListKind::Tools => true,
            ListKind::Resources | ListKind::Templates => self.resources,
            ListKind::Prompts => self.prompts,
        }
    }
}

/// Tasks since revision 2026-07-28.
const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// The capability a list belongs to.
fn owner(kind: ListKind) -> &'static str {
    match kind {
        ListKind::Tools => "tools",
        ListKind::Resources | ListKind::Templates => "resources",
        ListKind::Prompts => "prompts",
    }
}

/// Why a handshake failed; completes "server X …".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HandshakeError {
    #[error("went away before it answered `{0}`")]
    Silent(&'static str),
    #[error("refused `{method}`: {error}")]
    Refused { method: &'static str, error: String },
    #[error("could not be asked for `{0}`: {1}")]
    Unusable(&'static str, String),
    #[error("sent an answer to `{0}` that makes no sense: {1}")]
    Senseless(&'static str, String),
    #[error("does not speak protocol revision {MODERN}")]
    OtherEra,
    #[error("leads back to this Trunkline")]
    Loop,
}

pub(crate) const LOOP_ADVICE: &str = "remove it from one of the configs in the circle";

/// `initialize` and `notifications/initialized`; to be followed by `list_all`.
pub(crate) async fn initialize(
    connection: &Connection,
    capabilities: &[u8],
    instance: &Instance,
) -> Result<ServerHello, HandshakeError> {
    let params = format!(
        "{{\"protocolVersion\":\"{}\",\"capabilities\":{},\"clientInfo\":{{\"name\":\"trunkline\",\
         \"version\":\"{}\"}},\"_meta\":{{\"{}\":{}}}}}",
        LATEST_LEGACY.as_str(),
        String::from_utf8_lossy(capabilities),
        env!("CARGO_PKG_VERSION"),
        instance::KEY,
        String::from_utf8_lossy(&instance.with(std::iter::empty())),
    );
    let result = ask(connection, "initialize", params.as_bytes()).await?;
    let Some(protocol) = member(&result, "protocolVersion").and_then(decode) else {
        let why = "it has no protocolVersion".to_owned();
        return Err(HandshakeError::Senseless("initialize", why));
    };
    if Revision::known(&protocol).is_none() {
        let protocol = connection.broken.shown(&protocol);
        tracing::warn!(
            server = %connection.link.key,
            "speaks protocol revision {protocol:?}, which Trunkline does not know; trying anyway"
        );
    }
    let instances = instance::read(&result);
    if instance.is_among(&instances) {
        return Err(HandshakeError::Loop);
    }
    let info = member(&result, "serverInfo").unwrap_or_default();
    let hello = ServerHello::read(protocol.into_owned(), Era::Legacy, info, &result, instances);
    let initialized = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    connection.link.notify_before_request(initialized); // its tools are asked for in any case
    Ok(hello)
}

fn identity(server_info: &[u8]) -> Option<String> {
    let name = member(server_info, "name").and_then(decode)?;
    let version = member(server_info, "version").and_then(decode).unwrap_or_default();
    Some(format!("{name} {version}").trim_end().to_owned())
}

/// Everything the server offers of these kinds. Without its tools it is of no use; of the rest,
/// what cannot be had is a warning.
pub(crate) async fn list_all(
    connection: &Connection,
    hello: &ServerHello,
    kinds: &[ListKind],
    instance: &Instance,
) -> Result<Listing, HandshakeError> {
    // One write for all that is asked: the server wakes up once.
    let mut touched = FlushSet::default();
    let mut begin = |kind| {
        let is_wanted = hello.lists(kind) && kinds.contains(&kind);
        is_wanted.then(|| List::begin(connection, hello, kind, instance, &mut touched))
    };
    let [tools, resources, templates, prompts] = [
        begin(ListKind::Tools),
        begin(ListKind::Resources),
        begin(ListKind::Templates),
        begin(ListKind::Prompts),
    ];
    touched.flush();
    let one = async |list: Option<List<'_>>| match list {
        Some(list) => list.read().await,
        None => Ok(Listing::default()),
    };
    let (tools, resources, templates, prompts) =
        tokio::join!(one(tools), one(resources), one(templates), one(prompts));
    let mut listing = tools?;
    let mut warnings = std::mem::take(&mut listing.warnings);
    let others = [
        (ListKind::Resources, resources),
        (ListKind::Templates, templates),
        (ListKind::Prompts, prompts),
    ];
    for (kind, got) in others {
        match got {
            Ok(got) => {
                warnings.extend(got.warnings.iter().cloned());
                listing.replace(kind, got);
            }
            Err(HandshakeError::Silent(method)) => return Err(HandshakeError::Silent(method)),
            // Servers with resources and no templates often do not know the question.
            Err(HandshakeError::Refused { .. }) if kind == ListKind::Templates => {}
            Err(error) => warnings.push(error.to_string()),
        }
    }
    listing.warnings = warnings;
    Ok(listing)
}

/// One list, page by page. A server that does not declare tools is asked for them all the same; a
/// refusal then means that there are none.
pub(crate) async fn list(
    connection: &Connection,
    hello: &ServerHello,
    kind: ListKind,
    instance: &Instance,
) -> Result<Listing, HandshakeError> {
    let mut touched = FlushSet::default();
    let list = List::begin(connection, hello, kind, instance, &mut touched);
    touched.flush();
    list.read().await
}

/// A list whose first page has been asked for.
struct List<'a> {
    connection: &'a Connection,
    hello: &'a ServerHello,
    kind: ListKind,
    instance: &'a Instance,
    /// Who we are, where every request says so.
    names: Option<Vec<u8>>,
    first: Option<Answer>,
}

impl<'a> List<'a> {
    fn begin(
        connection: &'a Connection,
        hello: &'a ServerHello,
        kind: ListKind,
        instance: &'a Instance,
        touched: &mut FlushSet,
    ) -> Self {
        let kin = connection.link.era() == Era::Modern && !hello.instances.is_empty();
        let names = kin.then(|| instance.with(std::iter::empty()));
        let params = list_params(None, names.as_deref());
        let begun = connection.link.put_request(kind.method(), &params, touched);
        let first = begun.map(|(_, answer)| answer);
        Self { connection, hello, kind, instance, names, first }
    }

    async fn read(self) -> Result<Listing, HandshakeError> {
        let Self { connection, hello, kind, instance, names, first } = self;
        let method = kind.method();
        let mut listing = empty_listing(connection);
        let mut seen = HashSet::new();
        let mut page = first;
        for left in (0..PAGES_PER_LISTING).rev() {
            let answer = match page {
                Some(answer) => answer.await.ok(),
                None => None,
            };
            let result = match result_of(method, answer) {
                Ok(result) => result,
                // However it says that it has none.
                Err(HandshakeError::Refused { .. } | HandshakeError::Unusable(..))
                    if kind == ListKind::Tools && !hello.tools =>
                {
                    return Ok(listing);
                }
                Err(error) => return Err(error),
            };
            if instance.is_among(&instance::read(&result)) {
                return Err(HandshakeError::Loop);
            }
            let cursor = match listing.add_page(kind, &result, ENTRIES_PER_LISTING) {
                Ok(cursor) => cursor,
                Err(_) if kind == ListKind::Tools && !hello.tools => return Ok(listing),
                Err(why) => return Err(HandshakeError::Senseless(method, why.to_string())),
            };
            let Some(cursor) = cursor else {
                return Ok(listing);
            };
            if !seen.insert(cursor.to_vec()) {
                let shown = String::from_utf8_lossy(cursor);
                listing.warnings.push(format!(
                    "its answer to {method} goes in circles (cursor {shown} came twice); what came \
                     so far is used"
                ));
                return Ok(listing);
            }
            if left == 0 {
                break;
            }
            let params = list_params(Some(cursor), names.as_deref());
            page = connection.link.begin(method, &params).map(|(_, answer)| answer);
        }
        listing.warnings.push(format!(
            "its answer to {method} has more than {PAGES_PER_LISTING} pages; the rest is left out"
        ));
        Ok(listing)
    }
}

/// `names`: one of our kind, to which no session says who asks, is told so each time.
fn list_params(cursor: Option<&[u8]>, names: Option<&[u8]>) -> Vec<u8> {
    let cursor = cursor.map(|cursor| [b"\"cursor\":", cursor].concat());
    let meta = names
        .map(|names| [b"\"_meta\":{\"", instance::KEY.as_bytes(), b"\":", names, b"}"].concat());
    let members: Vec<_> = [cursor, meta].into_iter().flatten().collect();
    match members.is_empty() {
        true => Vec::new(),
        false => [&b"{"[..], &members.join(&b","[..]), b"}"].concat(),
    }
}

fn empty_listing(connection: &Connection) -> Listing {
    match (connection.link.transport.is_pipe(), connection.link.era()) {
        _ if connection.link.simple => Listing::verbatim(),
        // A tool that asks for headers nobody can send must not be called there.
        (false, Era::Modern) => Listing::default().strict_headers(),
        _ => Listing::default(),
    }
}

/// Sends a request and returns its result, as written.
async fn ask(
    connection: &Connection,
    method: &'static str,
    params: &[u8],
) -> Result<Vec<u8>, HandshakeError> {
    result_of(method, connection.link.request(method, params).await)
}

/// The result in an answer, as written. `None`: there will be no answer.
fn result_of(
    method: &'static str,
    answer: Option<Result<Vec<u8>, String>>,
) -> Result<Vec<u8>, HandshakeError> {
    let answer = answer.ok_or(HandshakeError::Silent(method))?;
    let answer = answer.map_err(|error| HandshakeError::Unusable(method, error))?;
    let message =
        scan(&answer).map_err(|fault| HandshakeError::Senseless(method, fault.to_string()))?;
    if message.kind == Kind::Refusal {
        let error = refusal_text(message.text(message.error));
        return Err(HandshakeError::Refused { method, error });
    }
    Ok(message.text(message.result).to_vec())
}

//! What a valid config says: the servers, ready to be started.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::call_rules::CallRules;
use super::limit_rules::{SharedLimits, ToolLimits};
use super::network_rules::NetworkRules;
use super::on_change::OnChange;
use super::problem::{Problem, Problems};
use super::sandbox_rules::SandboxRules;
use super::secrets::Secrets;
use super::selection::{SelectedTools, Selection};
use crate::client::Client;
use crate::scan::ScanPolicy;

#[derive(Clone, Debug)]
pub struct Config {
    /// In file order.
    pub servers: Vec<ServerSpec>,
    /// In file order.
    pub custom: Vec<CustomTool>,
    /// The names of its presets.
    pub presets: Vec<String>,
    /// What callers and addresses may have.
    pub limits: SharedLimits,
    /// Where policies are, relative to the file.
    pub policies: Option<String>,
    /// Keys that were ignored, for a debug line each.
    pub notes: Vec<ConfigNote>,
    /// Worth a line on stderr; `render` shows them like errors.
    pub warnings: Problems,
    /// Where each custom tool's name stands: a problem of it, but for the message.
    pub(crate) custom_at: Vec<Problem>,
}

impl Config {
    /// Adds a warning about a server that only somebody who sees more than this file can give.
    pub fn warn_about_server(&mut self, key: &str, message: String, help: &str) {
        self.warnings.list.push(Problem::about_server(key, message).help(help));
    }
}

/// One server: references expanded, rules checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSpec {
    /// Which server it is, whatever it is called: one with the same id is the same one. In a config
    /// file there is nothing but the key to know it by.
    pub id: String,
    /// Exactly as written: it becomes the prefix of the server's tools.
    pub key: String,
    pub transport: Transport,
    /// Its values were not expanded: it is not going to be started.
    pub disabled: bool,
    pub secrets: Secrets,
    pub filter: ToolFilter,
    pub share: Share,
    pub era: Era,
    /// Somebody named its address who may not reach everything that Trunkline can.
    pub guarded: bool,
    /// Under what its login is kept, where it may want one.
    pub login: Option<String>,
    pub calls: CallRules,
    /// What its tools may have, each by itself: the first pattern that fits holds.
    pub tool_limits: Vec<ToolLimits>,
    pub run: RunRules,
    /// What is done about what it says to models.
    pub texts: TextRules,
    /// The walls around it, if it is a command; `None`: as whoever starts it decides.
    pub sandbox: Option<SandboxRules>,
}

impl ServerSpec {
    /// The id of a server of a config file.
    pub fn file_id(key: &str) -> String {
        format!("file:{key}")
    }
}

/// What is done about the texts that a server gives to models.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextRules {
    /// When it defines something in another way than before. `None`: the default.
    pub on_change: Option<OnChange>,
    /// About texts that lie.
    pub scan: ScanPolicy,
}

/// When a server runs; what it does not say is decided by who starts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunRules {
    pub start: Option<Start>,
    pub idle_stop: Option<IdleStop>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// At once.
    #[default]
    Eager,
    /// When it is first needed, once what it offers is known.
    Lazy,
}

/// Whether a server is stopped that nothing uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleStop {
    Off,
    After(Duration),
}

/// Which of a server's tools there are for clients, and what they are called. Names are the
/// server's own; the default is everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolFilter {
    /// `None`: all that are not hidden.
    pub exposed: Option<Vec<Exposed>>,
    /// Wins over `exposed`: what somebody wanted hidden is not shown by mistake.
    pub hidden: Vec<String>,
    /// Those that are listed where others have to be found: names, in which `*` is anything.
    pub pinned: Vec<String>,
    /// What presets take of it, and clients are not shown; `None`: nothing is said about that.
    pub selection: Option<Arc<Selection>>,
}

impl ToolFilter {
    /// What is left for clients of this kind, apart from what nobody is shown.
    pub fn seen_by(&self, client: Option<Client>, preset: Option<&str>) -> SelectedTools {
        let selection = self.selection.as_ref();
        selection.map(|it| it.seen_by(client, preset)).unwrap_or_default()
    }

    /// Is the tool that its server calls so listed in any case?
    pub fn pins(&self, original: &str) -> bool {
        self.pinned.iter().any(|pattern| fits(pattern, original))
    }

    /// Is the tool that its server calls so there for clients?
    pub fn shows(&self, original: &str) -> bool {
        let is_exposed = |list: &Vec<Exposed>| list.iter().any(|tool| tool.original == original);
        self.exposed.as_ref().is_none_or(is_exposed)
            && !self.hidden.iter().any(|hidden| hidden == original)
    }
}

/// Is the name one of those that the pattern means?
pub fn fits(pattern: &str, name: &str) -> bool {
    let Some((before, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(name) = name.strip_prefix(before) else { return false };
    let mut starts = name.char_indices().map(|(at, _)| at).chain([name.len()]);
    starts.any(|at| name.get(at..).is_some_and(|tail| fits(rest, tail)))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exposed {
    /// The tool as its server calls it.
    pub original: String,
    /// Its name for clients, if it is another one.
    pub exposed: Option<String>,
}

impl Exposed {
    /// What clients see.
    pub fn name(&self) -> &str {
        self.exposed.as_deref().unwrap_or(&self.original)
    }
}

/// How many clients one process of a server has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Share {
    /// One for all.
    #[default]
    Shared,
    /// Each client session has its own.
    PerSession,
}

/// Which revisions of the protocol a server is spoken to in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Era {
    /// As it answers when it is asked.
    #[default]
    Auto,
    /// Those that open with `initialize`, whatever else it can do.
    Legacy,
    /// The stateless one.
    Modern,
}

/// A tool of the config file that stands for tools of several servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustomTool {
    pub name: String,
    pub description: String,
    /// In file order.
    pub subtools: Vec<Subtool>,
    /// Which presets have it, and which clients are not shown it.
    pub selection: Option<Arc<Selection>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subtool {
    /// The key of a configured server.
    pub server: String,
    /// The tool as that server calls it, whatever the server's filter says.
    pub tool: String,
    pub description: Option<String>,
}

/// How to reach a server. `Debug` shows names and counts, never values: they may be secrets.
#[derive(Clone, PartialEq, Eq)]
pub enum Transport {
    Stdio {
        command: String,
        args: Vec<String>,
        /// In file order, each name once.
        env: Vec<(String, String)>,
        cwd: Option<String>,
    },
    Remote {
        url: String,
        kind: RemoteKind,
        headers: Vec<(String, String)>,
        network: NetworkRules,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteKind {
    /// Streamable HTTP: `type` says so, or the URL came as `httpUrl`.
    Http,
    /// The older HTTP+SSE.
    Sse,
    /// The file does not say: try streamable HTTP first, then SSE.
    Detect,
}

/// A key that means nothing to us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigNote {
    pub path: String,
    pub line: usize,
}

impl fmt::Display for ConfigNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ignored key {} (line {})", self.path, self.line)
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Transport::Stdio { args, env, cwd, .. } => f
                .debug_struct("Stdio")
                .field("args", &args.len())
                .field("env", &names(env))
                .field("cwd", &cwd.is_some())
                .finish_non_exhaustive(),
            Transport::Remote { kind, headers, network, .. } => f
                .debug_struct("Remote")
                .field("kind", kind)
                .field("headers", &names(headers))
                .field("network", network)
                .finish_non_exhaustive(),
        }
    }
}

fn names(pairs: &[(String, String)]) -> Vec<&str> {
    pairs.iter().map(|(name, _)| name.as_str()).collect()
}

/// How strictly a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// Everything the clients' files have; keys we do not know are ignored.
    Full,
    /// `--simple`: the literal standard config. Any other key is an error.
    Simple,
}

//! What a row of the client table can say. Pure data; `table` holds the rows.

use std::fmt;

use crate::jsonc::Dialect;

/// One client: one row.
#[derive(Debug)]
pub struct ClientSpec {
    /// The word after `--for`.
    pub id: &'static str,
    pub title: &'static str,
    /// `clientInfo.name` values, compared without case; used for one warning, never for behaviour.
    pub client_info: &'static [&'static str],
    pub names: NameRules,
    pub budget: Option<Budget>,
    pub started_from: StartedFrom,
    /// `None`: a set of name rules, not a program with a config file.
    pub config: Option<ConfigFile>,
}

/// What the client does to the names of tools.
#[derive(Debug)]
pub struct NameRules {
    pub alphabet: Alphabet,
    /// Longest name the client or its model API takes, the client's own prefix included.
    pub total: usize,
    /// What the client puts around our entry's name, before our wire name; `None`: nothing at all.
    pub prefix: Option<(&'static str, &'static str)>,
    /// Longest wire name of ours; `prefix` around [`super::ENTRY`] plus this stays within `total`.
    pub max: usize,
    pub bad_character: Fate,
    pub too_long: Fate,
}

/// The characters our part of a name may have: ASCII letters, digits and `_`, and these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alphabet {
    pub upper: bool,
    pub dash: bool,
    /// Google's function names start with a letter or `_`; matters where the client adds no prefix.
    pub digit_first: bool,
}

/// What happens to a name the client does not like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The tool, or the whole request, is lost.
    Refused,
    /// The client spells it in its own way and calls with ours.
    Rewritten,
    Kept,
}

/// How many tools the client carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    pub tools: usize,
    /// What happens above it, as the end of a sentence that starts with the client's title.
    pub beyond: &'static str,
}

/// From where the user starts the client, which decides what environment our process gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartedFrom {
    Terminal,
    /// Without what the shell's start-up files set.
    Desktop,
    /// The client reads the shell's environment itself, but not always its `PATH`.
    DesktopWithShell,
}

/// The file in which the client keeps its servers.
#[derive(Debug)]
pub struct ConfigFile {
    pub paths: Paths,
    /// The project's file, from the project's folder.
    pub project: Option<&'static str>,
    pub format: FileFormat,
    /// The object that holds one member for each server.
    pub key: &'static str,
    /// The object that holds, by folder, servers of single projects under `key`.
    pub projects: Option<&'static str>,
    pub entry: EntryWords,
    pub variables: Variables,
    pub env_policy: EnvPolicy,
    /// Names of entries that the client keeps for itself.
    pub reserved: &'static [&'static str],
    /// How the client takes notice of a new entry, and where to see that it did.
    pub next: &'static str,
    /// … when the entry is in a project's file; `None`: as `next`.
    pub next_in_project: Option<&'static str>,
    /// What else the user should know after `install`.
    pub note: Option<&'static str>,
}

/// The user's file on each system: the first that exists, or else the first.
#[derive(Debug)]
pub struct Paths {
    pub linux: &'static [FilePath],
    pub mac: &'static [FilePath],
    pub windows: &'static [FilePath],
    /// More files that `import` reads; a part `*` stands for every folder there.
    pub also_read: &'static [FilePath],
}

/// A file below a folder that depends on the user and the system.
#[derive(Debug, Clone, Copy)]
pub struct FilePath {
    pub base: PathBase,
    pub path: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathBase {
    Home,
    /// `$XDG_CONFIG_HOME`, else `~/.config`.
    XdgConfig,
    /// Where desktop programs keep their settings: [`PathBase::XdgConfig`],
    /// `~/Library/Application Support` or `%APPDATA%`.
    Settings,
    /// A program's own folder in [`PathBase::Settings`]. The path counts only if it is there.
    Program(&'static str),
    /// The folder this variable names. When it is set, no other path counts.
    Variable(&'static str),
    /// The first folder of this prefix in `%LOCALAPPDATA%\Packages`. When there is one, no other
    /// path counts.
    Package(&'static str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFormat {
    Json(Dialect),
    Toml,
    Yaml,
}

/// The client's words for what an entry says; what is `None` it cannot say.
#[derive(Debug)]
pub struct EntryWords {
    /// The values of `type`.
    pub transport: TransportWords,
    pub command: &'static str,
    /// The command and its arguments are one list under `command`; there is no `args`.
    pub command_is_list: bool,
    /// Whether the entry repeats its own name under `name`.
    pub named: bool,
    pub env: &'static str,
    pub named_variables: Option<NamedVariables>,
    pub cwd: bool,
    /// `None`: the file takes commands only.
    pub remote: Option<RemoteWords>,
    pub switch: Switch,
    pub tools: ToolWords,
    pub timeout: Option<TimeoutWords>,
    /// Values of `type` that mean a part of the client itself.
    pub built_in: &'static [&'static str],
    /// What `install` writes where the user says nothing.
    pub defaults: &'static [(&'static str, Literal)],
    /// Keys that only this client knows, with spaces between: import keeps them, export gives them
    /// back.
    pub own: &'static str,
    /// … where other clients have keys of the same name with other values.
    pub own_shaped: &'static [(&'static str, ValueShape)],
}

/// `None`: the client writes no `type` there.
#[derive(Debug)]
pub struct TransportWords {
    pub stdio: Option<&'static str>,
    pub http: Option<&'static str>,
    pub sse: Option<&'static str>,
}

/// A list of variables that the client takes from elsewhere and sets for the server.
#[derive(Debug)]
pub struct NamedVariables {
    pub key: &'static str,
    /// Their values are in the client's keyring, not in its environment.
    pub keyring: bool,
}

#[derive(Debug)]
pub struct RemoteWords {
    pub url: &'static str,
    /// The key of a streamable HTTP server, where it differs from that of an SSE one.
    pub http_url: Option<&'static str>,
    /// An address without a `type` is an SSE server.
    pub untyped_is_sse: bool,
    /// `"type": "http"` tries SSE, too.
    pub http_may_be_sse: bool,
    pub speaks_sse: bool,
    pub headers: &'static str,
    pub header_variables: Option<HeaderVariables>,
}

/// Keys for headers whose values are names of variables.
#[derive(Debug)]
pub struct HeaderVariables {
    /// An object: header to variable.
    pub each: &'static str,
    /// The variable of the bearer token.
    pub bearer: &'static str,
}

/// How an entry says that its server is off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    None,
    /// `"disabled": true`
    Disabled,
    /// `"enabled": false`
    Enabled,
    /// `"enabled"` is always written.
    EnabledAlways,
}

#[derive(Debug)]
pub struct ToolWords {
    pub shown: Option<&'static str>,
    pub hidden: Option<&'static str>,
    /// An empty list of shown tools shows all of them.
    pub none_shown_means_all: bool,
    /// The item that stands for every tool, where the client wants the list of shown tools always.
    pub all: Option<&'static str>,
}

#[derive(Debug)]
pub struct TimeoutWords {
    pub key: &'static str,
    /// 1 for seconds, 1000 for milliseconds.
    pub units_per_second: f64,
    /// The client's own bound, in seconds.
    pub longest: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Literal {
    Flag(bool),
    Number(u32),
    Text(&'static str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueShape {
    Text,
    Object,
    /// An object with at least one of these members.
    With(&'static [&'static str]),
}

/// How the client's file refers to variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variables {
    /// Not at all: everything is plain text.
    None,
    /// `${NAME}` and `${NAME:-default}`.
    Braces,
    /// Those and `$NAME`; a variable that is not set is empty.
    Shell,
    /// `{env:NAME}` and `{file:PATH}`; a variable that is not set is empty.
    Curly,
    /// `${env:NAME}`, without defaults.
    Env {
        /// `${userHome}`, `${workspaceFolder}` and the like.
        folders: bool,
        /// `${input:ID}`: the client asks a person.
        inputs: bool,
        /// `${file:PATH}`: the client reads a file.
        files: bool,
    },
}

/// Which variables of its own environment the client hands to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnvPolicy {
    All,
    /// Those to which the entry's `env` refers, as `$NAME`.
    Referred,
    /// These, and those that the entry lists (`named_variables`).
    Named(&'static [&'static str]),
}

impl NameRules {
    /// How many characters the client puts before our wire name when our entry is called `entry`.
    pub fn prefix_len(&self, entry: &str) -> usize {
        self.prefix.map_or(0, |(before, after)| before.len() + entry.len() + after.len())
    }

    /// Whether an entry of this name leaves the longest wire name whole.
    pub fn has_room_for(&self, entry: &str) -> bool {
        self.prefix_len(entry) + self.max <= self.total
    }
}

impl Alphabet {
    pub fn allows(self, c: char) -> bool {
        match c {
            'a'..='z' | '0'..='9' | '_' => true,
            'A'..='Z' => self.upper,
            '-' => self.dash,
            _ => false,
        }
    }

    pub fn allows_first(self, c: char) -> bool {
        self.allows(c) && (self.digit_first || c.is_ascii_alphabetic() || c == '_')
    }
}

/// The class as a regular expression writes it, for messages.
impl fmt::Display for Alphabet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let upper = if self.upper { "A-Z" } else { "" };
        let dash = if self.dash { "-" } else { "" };
        write!(f, "[a-z{upper}0-9_{dash}]")
    }
}

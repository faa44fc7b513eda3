//! What most clients have in common. A row of the table names only what differs.

use super::spec::{
    Alphabet, ClientSpec, ConfigFile, EntryWords, EnvPolicy, Fate, FileFormat, FilePath, NameRules,
    PathBase, Paths, RemoteWords, StartedFrom, Switch, TimeoutWords, ToolWords, TransportWords,
    Variables,
};
use crate::jsonc::Dialect;

/// A set of name rules; each row has its own.
pub(super) const CLIENT: ClientSpec = ClientSpec {
    id: "",
    title: "",
    client_info: &[],
    names: REFUSED,
    // Accuracy drops past 30–50 tools, but that is advice, not a limit.
    budget: None,
    started_from: StartedFrom::Terminal,
    config: None,
};

/// What the model APIs take, in clients that lose every other name.
pub(super) const REFUSED: NameRules = NameRules {
    alphabet: WORD_AND_DASH,
    total: 64,
    prefix: None,
    max: 50,
    bad_character: Fate::Refused,
    too_long: Fate::Refused,
};

/// … in clients that spell every other name in their own way.
pub(super) const REWRITTEN: NameRules =
    NameRules { bad_character: Fate::Rewritten, too_long: Fate::Rewritten, ..REFUSED };

/// The values of `type` in most files that have one.
pub(super) const TYPED: TransportWords =
    TransportWords { stdio: Some("stdio"), http: Some("http"), sse: Some("sse") };

pub(super) const STRICT: FileFormat = FileFormat::Json(Dialect::Strict);
const COMMENTED: FileFormat = FileFormat::Json(Dialect::Comments);

pub(super) const WORD_AND_DASH: Alphabet = Alphabet { upper: true, dash: true, digit_first: true };
/// As [`WORD_AND_DASH`], but hosts in front may be Google's.
pub(super) const LETTER_FIRST: Alphabet = Alphabet { upper: true, dash: true, digit_first: false };
pub(super) const WORD: Alphabet = Alphabet { upper: true, dash: false, digit_first: true };

/// What most clients write, and what a row changes of it.
pub(super) const COMMON: EntryWords = EntryWords {
    transport: TransportWords { stdio: None, http: None, sse: None },
    command: "command",
    command_is_list: false,
    named: false,
    env: "env",
    named_variables: None,
    cwd: false,
    remote: Some(REMOTE),
    switch: Switch::None,
    tools: ToolWords { shown: None, hidden: None, none_shown_means_all: false, all: None },
    timeout: None,
    built_in: &[],
    defaults: &[],
    own: "",
    own_shaped: &[],
};

pub(super) const REMOTE: RemoteWords = RemoteWords {
    url: "url",
    http_url: None,
    untyped_is_sse: false,
    http_may_be_sse: false,
    speaks_sse: true,
    headers: "headers",
    header_variables: None,
};

pub(super) const FILE: ConfigFile = ConfigFile {
    paths: everywhere(&[]),
    project: None,
    format: COMMENTED,
    key: "mcpServers",
    projects: None,
    entry: COMMON,
    variables: Variables::None,
    env_policy: EnvPolicy::All,
    reserved: &[],
    next: "",
    next_in_project: None,
    note: None,
};

pub(super) const SECONDS: TimeoutWords =
    TimeoutWords { key: "timeout", units_per_second: 1.0, longest: None };
pub(super) const MILLISECONDS: TimeoutWords = TimeoutWords { units_per_second: 1000.0, ..SECONDS };

pub(super) const fn everywhere(paths: &'static [FilePath]) -> Paths {
    Paths { linux: paths, mac: paths, windows: paths, also_read: &[] }
}

pub(super) const fn home(path: &'static str) -> FilePath {
    FilePath { base: PathBase::Home, path }
}

pub(super) const fn settings(path: &'static str) -> FilePath {
    FilePath { base: PathBase::Settings, path }
}

/// In a program's own folder, if the program has made it.
pub(super) const fn of_program(folder: &'static str, path: &'static str) -> FilePath {
    FilePath { base: PathBase::Program(folder), path }
}

pub(super) const fn xdg_config(path: &'static str) -> FilePath {
    FilePath { base: PathBase::XdgConfig, path }
}

pub(super) const fn in_variable(name: &'static str, path: &'static str) -> FilePath {
    FilePath { base: PathBase::Variable(name), path }
}

/// The words of Gemini CLI, which its descendants have kept [S].
pub(super) const GEMINI_WORDS: EntryWords = EntryWords {
    cwd: true,
    remote: Some(RemoteWords { http_url: Some("httpUrl"), untyped_is_sse: true, ..REMOTE }),
    tools: ToolWords { shown: Some("includeTools"), hidden: Some("excludeTools"), ..COMMON.tools },
    timeout: Some(MILLISECONDS),
    own: "trust description oauth \
          authProviderType targetAudience targetServiceAccount",
    ..COMMON
};

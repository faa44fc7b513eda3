//! What each key of a file takes and is for: one table, read by the checks and by whoever describes the file.

/// One key of an object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConfigKey {
    pub name: &'static str,
    pub takes: Takes,
    /// In the words that an editor shows.
    pub about: &'static str,
    /// The object is refused without it.
    pub needed: bool,
}

impl ConfigKey {
    pub(crate) const fn new(name: &'static str, takes: Takes, about: &'static str) -> Self {
        Self { name, takes, about, needed: false }
    }

    pub(crate) const fn needed(self) -> Self {
        Self { needed: true, ..self }
    }
}

/// The shapes of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Takes {
    /// It is not looked at.
    Anything,
    /// A string.
    Text,
    /// A string that says something.
    Filled,
    /// A string that is not empty: the name a server has for a tool.
    Name,
    /// A string that clients can call a tool by.
    ToolName,
    /// `http://…` or `https://…`, or a reference to a variable.
    Address,
    /// An array of strings.
    Texts,
    /// Names of variables and what they are set to: text, or a number or boolean as it is written.
    Variables,
    /// Names of headers and what they are set to, likewise.
    Headers,
    Flag,
    /// One of these.
    Word(&'static [&'static str]),
    /// One of these in any case, if the server is a command, or one of those, if it has an address.
    Type,
    /// A number within these bounds.
    Decimal {
        least: f64,
        most: f64,
    },
    /// Seconds, a text like `15m`, or `off`.
    IdleTime,
    /// The name of a profile, or an object of what is allowed.
    Sandbox,
    /// A boolean, or an object of what can be reached.
    Net,
    /// The image that a server runs in.
    Container,
    /// The files for the encryption towards a server.
    Tls,
    /// A whole number within these bounds.
    Count {
        least: u32,
        most: u32,
    },
    /// An array of the names of tools.
    ToolNames,
    /// … some of which get others.
    Exposed,
    /// … or what other clients write under the same key.
    ExposedElsewhere,
    /// Keys of servers, and servers.
    Servers,
    /// Names of custom tools, and these.
    CustomTools,
    /// Keys of servers, and tools of theirs.
    Subtools,
    /// An array of tools, or of tools with a description.
    SubtoolList,
    /// Names of presets, and lists of servers and tools.
    Presets,
    /// Clients, and what each is shown.
    Clients,
    /// What a server may have, and tools of it.
    ServerLimits,
    /// Tools, and what each may have.
    ToolLimits,
    /// What callers and addresses may have.
    SharedLimits,
    /// What each caller may have.
    CallerLimits,
    /// What each address may have.
    Limits,
}

/// What `type` says of a server that is a command, and of one that is elsewhere.
pub const LOCAL_TYPES: [&str; 2] = ["stdio", "local"];
pub const HTTP_TYPES: [&str; 4] = ["http", "streamable-http", "streamableHttp", "streamable_http"];
pub const SSE_TYPES: [&str; 1] = ["sse"];
